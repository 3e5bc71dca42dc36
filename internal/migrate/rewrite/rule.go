package rewrite

import "go/ast"

// Rule replaces the text of nodes. It reports whether it is done with the node, so that the children of the node are
// not visited.
type Rule func(f *File, n ast.Node) bool

// On returns a rule for nodes of type N.
func On[N ast.Node](rule func(f *File, n N) bool) Rule {
	return func(f *File, n ast.Node) bool {
		typed, ok := n.(N)
		return ok && rule(f, typed)
	}
}

// Group is a set of rules that are either all applied to a package or all not applied.
type Group struct {
	Name  string
	Rules []Rule
	// Converters convert values that the package exchanges with other packages.
	Converters []Converter
}

// Converter is a function of the module in third_party that converts a value between the types of both APIs.
type Converter struct {
	// From is the type of values that it converts, such as "sigs.k8s.io/controller-runtime/pkg/client.Client".
	From string
	// Path and Name identify the function.
	Path, Name string
}

// apply applies groups to the file. For each node, it stops at the first rule that is done with the node. It does not
// change fixed files.
func (f *File) apply(groups []Group) {
	f.edits, f.imports = nil, nil
	if f.fixed {
		return
	}
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
