package migrate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// What does not compile after the rules is left to the author together with what to write, which is made of the compiler's error and of the
// types at its place. Snippets are Go: an expression, statements or declarations, and a comment where something is to be taken away.

// repair is what to write for one kind of error.
type repair struct {
	// name says which errors it is for, in a few words.
	name string
	// message is what they say.
	message *regexp.Regexp
	// write returns the snippet, empty where nothing is known.
	write func(b *breakage) string
}

// repairs are the errors that are known, the more special ones first: of those that match the first that writes something does.
var repairs = []repair{
	{"a package that is not there", regexp.MustCompile(`could not import (\S+)|no required module provides package ([^\s;]+)|cannot find (?:package|module providing package) "?([^\s":]+)`), (*breakage).fetch},
	{"a type that is asked what it cannot be", regexp.MustCompile(`^impossible type (?:assertion|switch case)|is not an interface$`), (*breakage).askedType},
	{"a value of another type", regexp.MustCompile(`^cannot use `), (*breakage).otherType},
	{"a type argument that lacks something", regexp.MustCompile(`does not satisfy (\w*)`), (*breakage).typeArgument},
	{"a name that a package has not", regexp.MustCompile(`^undefined: |not exported by package`), (*breakage).otherName},
	{"a field or method that a type has not", regexp.MustCompile(`undefined \(`), (*breakage).otherMember},
	{"a field that a literal has not", regexp.MustCompile(`^unknown field `), (*breakage).otherField},
	{"other arguments", regexp.MustCompile(`^(?:not enough|too many) arguments in call`), (*breakage).otherArguments},
	{"other results", regexp.MustCompile(`^assignment mismatch`), (*breakage).otherResults},
	{"other returned values", regexp.MustCompile(`^(?:not enough|too many) return values`), (*breakage).otherReturn},
	{"what cannot be compared", regexp.MustCompile(`cannot be compared|cannot compare|mismatched types|not defined on`), (*breakage).comparison},
	{"a generic name without its types", regexp.MustCompile(`without instantiation|cannot infer|not enough type arguments|does not satisfy`), (*breakage).instantiation},
	{"a name that is declared twice", regexp.MustCompile(`^(\w+) redeclared|^\s*other declaration of (\w+)`), (*breakage).otherDeclaration},
	{"a variable that nothing uses", regexp.MustCompile(`^declared and not used: (\w+)`), func(b *breakage) string { return "_ = " + b.words[1] }},
	{"a value that nothing uses", regexp.MustCompile(` is not used$`), (*breakage).unused},
	{"an import that nothing uses", regexp.MustCompile(`^(".+") imported (?:as \w+ )?and not used`), func(b *breakage) string { return "// without the import " + b.words[1] }},
	{"anything else", regexp.MustCompile(``), (*breakage).declaration},
}

// breakage is a place that does not compile. The stack of its file is what is around the node that was looked at last.
type breakage struct {
	*file
	// nodes are those at the place, the outermost first.
	nodes []ast.Node
	words []string
}

// snippetFor returns what to write for an error of the compiler in a file, which is nil where it could not be read.
func snippetFor(f *file, e packages.Error) string {
	if f == nil { // what cannot be read has no place, and only its message
		f = &file{program: &program{}}
	}
	b := &breakage{file: f, nodes: f.nodesAt(e.Pos)}
	for _, known := range repairs {
		if b.words = known.message.FindStringSubmatch(e.Msg); b.words == nil {
			continue
		}
		if text := known.write(b); text != "" {
			return text
		}
	}
	return lastResort
}

// safely returns what to write, and the last resort where it cannot be found out: that is no reason to migrate nothing.
func safely(snippet func() string) (text string) {
	defer func() {
		if recover() != nil {
			text = lastResort
		}
	}()
	return snippet()
}

// lastResort is what is said where nothing is known of an error.
const lastResort = "// what git diff has here, with the names that docs/from-controller-runtime.md has in its right column"

// fileNamed returns the file of a name, or nil.
func fileNamed(files []*file, name string) *file {
	if i := slices.IndexFunc(files, func(f *file) bool { return f.name == name }); i >= 0 {
		return files[i]
	}
	return nil
}

// nodesAt returns the nodes at a position, the outermost first.
func (f *file) nodesAt(position string) []ast.Node {
	var line, column int
	if _, after, found := strings.Cut(position, ".go:"); found {
		fmt.Sscanf(after, "%d:%d", &line, &column)
	}
	if f.syntax == nil {
		return nil
	}
	in := f.fset.File(f.syntax.Package)
	if line < 1 || line > in.LineCount() {
		return nil
	}
	pos := in.LineStart(line) + token.Pos(max(column-1, 0))
	nodes, _ := astutil.PathEnclosingInterval(f.syntax, pos, pos)
	slices.Reverse(nodes)
	return nodes
}

// find returns the innermost node at the place that is wanted, and looks at it.
func (b *breakage) find(wanted func(n ast.Node) bool) ast.Node {
	for i, n := range slices.Backward(b.nodes) {
		if b.stack = b.nodes[:i]; wanted(n) {
			return n
		}
	}
	return nil
}

// innermost returns the innermost node of a type at the place, and looks at it.
func innermost[N ast.Node](b *breakage) (found N, ok bool) {
	b.find(func(n ast.Node) bool {
		found, ok = n.(N)
		return ok
	})
	return found, ok
}

// plainName is the name of a package in a snippet.
func (b *breakage) plainName(p *types.Package) string {
	if p == b.pkg.Types {
		return ""
	}
	for _, spec := range b.syntax.Imports {
		if importPathOf(spec) == p.Path() {
			return b.importName(spec)
		}
	}
	if isVersion.MatchString(p.Name()) {
		return path.Base(path.Dir(p.Path())) + p.Name() // as everybody names it: corev1
	}
	return p.Name()
}

var isVersion = regexp.MustCompile(`^v[0-9]`)

// nameOf returns a type as a snippet writes it.
func (b *breakage) nameOf(t types.Type) string {
	if t == types.Typ[types.UntypedNil] {
		return "any"
	}
	return strings.ReplaceAll(types.TypeString(types.Default(t), b.plainName), types.Typ[types.Invalid].String(), "any") // where another error is
}

// signatureOf returns a signature without func.
func (b *breakage) signatureOf(s *types.Signature) string {
	return strings.TrimPrefix(b.nameOf(named(s)), "func")
}

// named is a signature whose parameters have names, so that it can be declared.
func named(s *types.Signature) *types.Signature {
	params := make([]*types.Var, s.Params().Len())
	taken := map[string]bool{}
	for i := range params {
		v := s.Params().At(i)
		name := cmp.Or(strings.Trim(v.Name(), "_"), parameterName(v.Type()))
		for taken[name] {
			name += "2"
		}
		taken[name] = true
		params[i] = types.NewVar(v.Pos(), v.Pkg(), name, v.Type())
	}
	return types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), s.Results(), s.Variadic())
}

// parameterName is a name for a parameter of a type.
func parameterName(t types.Type) string {
	switch name := base(namedOf(t)); {
	case name == "Context":
		return "ctx"
	case name != "":
		return strings.ToLower(name[:1])
	}
	return "value"
}

// fetch writes how a module is got.
func (b *breakage) fetch() string {
	return "// go get " + cmp.Or(b.words[1], b.words[2], b.words[3]) + ", where a module proxy has it"
}
