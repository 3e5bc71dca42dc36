package rewrite

import "go/ast"

// Rule replaces the text of nodes. It reports whether the node is done: then its children are not visited.
type Rule func(f *File, n ast.Node) bool

// On returns a rule for the nodes of one type.
func On[N ast.Node](rule func(f *File, n N) bool) Rule {
	return func(f *File, n ast.Node) bool {
		typed, ok := n.(N)
		return ok && rule(f, typed)
	}
}

// Group is a set of rules that a package gets together or not at all.
type Group struct {
	Name  string
	Rules []Rule
	// Converters are for values that the package exchanges with others.
	Converters []Converter
}

// Converter is a function of controller-runtime's module that converts a value between the types of both APIs.
type Converter struct {
	// From is the type of the value, such as "sigs.k8s.io/controller-runtime/pkg/client.Client".
	From string
	// Path and Name are those of the function.
	Path, Name string
}

// apply applies groups to the file. The first rule that is done with a node ends the search for it.
func (f *File) apply(groups []Group) {
	f.edits, f.imports = nil, nil
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		for _, group := range groups {
			for _, rule := range group.Rules {
				if rule(f, n) {
					return false
				}
			}
		}
		return true
	})
}
