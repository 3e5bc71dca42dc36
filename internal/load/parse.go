package load

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/source"
)

// parseFile parses a file of the project. It skips the function bodies of generated code if they cannot contain a
// marker, because such code often consists mostly of function bodies.
func parseFile(fset *token.FileSet, name string, content []byte) (*ast.File, error) {
	if isGenerated(content) && !hasIndentedMarker(content) {
		if file, err := parser.ParseFile(fset, name, withoutBodies(content), parserMode); err == nil {
			return file, nil
		}
	}
	return parser.ParseFile(fset, name, content, parserMode)
}

var (
	// generatedHeader is the line that marks generated code, as defined by "go help generate".
	generatedHeader = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	packageClause   = []byte("\npackage ")
)

// hasIndentedMarker reports whether a comment inside a declaration may be a marker.
func hasIndentedMarker(content []byte) bool {
	for _, comment := range []string{"// +", "//+", "/*"} {
		if bytes.Contains(content, []byte("\t"+comment)) || bytes.Contains(content, []byte(" "+comment)) {
			return true
		}
	}
	return false
}

func isGenerated(content []byte) bool {
	head, _, found := bytes.Cut(content, packageClause)
	return found && generatedHeader.Match(head)
}

// withoutBodies replaces function bodies by spaces, so that parsing them costs almost nothing. All other bytes keep
// their offset. The function relies on gofmt's format: "func " at the beginning of a line, " {" at the end of a line,
// and a later line "}". If a raw string contains such lines, the result has syntax errors.
func withoutBodies(source []byte) []byte {
	out := bytes.Clone(source)
	for at := 0; at < len(out); {
		end := lineEnd(out, at)
		if !bytes.HasPrefix(out[at:], []byte("func ")) {
			at = end + 1
			continue
		}
		// The parameters can span several lines. A function of one line ends on its first line.
		for !bytes.HasSuffix(out[at:end], []byte(" {")) && !bytes.HasSuffix(out[at:end], []byte("}")) && end < len(out) &&
			moreParameters(out[end:]) {
			at = end + 1
			end = lineEnd(out, at)
		}
		if !bytes.HasSuffix(out[at:end], []byte(" {")) {
			at = end + 1
			continue
		}
		closing := bytes.Index(out[end:], []byte("\n}\n"))
		if closing < 0 {
			return out
		}
		if hasDeclaration(out[end : end+closing]) {
			at = end + 1
			continue
		}
		blank(out[end : end+closing])
		at = end + closing + len("\n}\n")
	}
	return out
}

// moreParameters reports whether the next line of rest, which begins with a line feed, continues a signature.
func moreParameters(rest []byte) bool {
	return len(rest) > 1 && (rest[1] == '\t' || rest[1] == ')')
}

// hasDeclaration reports whether a line of text begins a declaration. This happens in code that is not formatted with
// gofmt, and means that text is more than the body of a function.
func hasDeclaration(text []byte) bool {
	for _, keyword := range []string{"\ntype ", "\nfunc ", "\nvar ", "\nconst "} {
		if bytes.Contains(text, []byte(keyword)) {
			return true
		}
	}
	return false
}

func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// blank replaces all bytes except line feeds by spaces.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// withoutC removes from a file the import of package C and all types, constants and variables that refer to it, with
// their comments, so that the type checker needs no C compiler. It also removes functions whose parameters refer to C,
// but keeps their comments. It does not check function bodies. It returns the names of the removed types.
func withoutC(file *ast.File) (types []string) {
	var gone []ast.Node
	takeOut := func(spec ast.Spec) bool {
		if !mentionsC(spec) {
			return false
		}
		gone = append(gone, spec)
		if spec, ok := spec.(*ast.TypeSpec); ok {
			types = append(types, spec.Name.Name)
		}
		return true
	}
	file.Decls = slices.DeleteFunc(file.Decls, func(decl ast.Decl) bool {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			function := decl.(*ast.FuncDecl)
			if function.Recv != nil && mentionsC(function.Recv) || mentionsC(function.Type) {
				function.Name, function.Recv = ast.NewIdent("_"), nil
				function.Type = &ast.FuncType{Func: function.Type.Func, Params: &ast.FieldList{}}
			}
			return false
		}
		before := len(general.Specs)
		general.Specs = slices.DeleteFunc(general.Specs, takeOut)
		if before > 0 && len(general.Specs) == 0 {
			gone = append(gone, general)
			return true
		}
		return false
	})
	file.Imports = slices.DeleteFunc(file.Imports, func(spec *ast.ImportSpec) bool { return mentionsC(spec) })
	file.Comments = slices.DeleteFunc(file.Comments, func(group *ast.CommentGroup) bool {
		return slices.ContainsFunc(gone, func(of ast.Node) bool {
			return of.Pos() <= group.Pos() && group.End() <= of.End() || docOf(of) == group
		})
	})
	return types
}

// mentionsC reports whether a node refers to package C or imports it.
func mentionsC(node ast.Node) bool {
	found := false
	ast.Inspect(node, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			name, ok := node.X.(*ast.Ident)
			found = found || ok && name.Name == "C"
		case *ast.ImportSpec:
			found = found || node.Path.Value == `"C"` || node.Path.Value == "`C`"
		}
		return !found
	})
	return found
}

func docOf(node ast.Node) *ast.CommentGroup {
	switch node := node.(type) {
	case *ast.GenDecl:
		return node.Doc
	case *ast.ImportSpec:
		return node.Doc
	case *ast.TypeSpec:
		return node.Doc
	case *ast.ValueSpec:
		return node.Doc
	}
	return nil
}

// parsePackage parses the package in a directory. It returns nil if a file has a syntax error, or if all files use cgo.
func (p *Program) parsePackage(f source.Dir) (*Package, []error) {
	pkg := &Package{folder: f, cgo: map[string]bool{}}
	root, t, fset := p.dir, p.tree, p.fset
	if !p.lenient {
		// An unreadable directory is already reported.
		more, _ := t.CgoFiles(f.Dir, f.Files)
		f.Files = slices.Concat(f.Files, more)
		slices.Sort(f.Files)
	}
	var syntax []*ast.File
	var errs []error
	for _, name := range f.Files {
		name = filepath.Join(f.Dir, name)
		content, err := t.ReadFile(name)
		if err != nil {
			errs = append(errs, diagnostic.Unreadable(root, name, err))
			continue
		}
		file, err := parseFile(fset, name, content)
		if err != nil && filepath.Base(name) == generatedFile {
			// For example, the file may contain a merge conflict. The generators do not read this file, and replace it.
			pkg.broken = append(pkg.broken, name)
			continue
		}
		if err != nil {
			errs = append(errs, syntaxError(root, name, err))
			continue
		}
		if importsC(file) {
			if p.lenient {
				continue
			}
			pkg.cgo[name] = true
			pkg.ofC = append(pkg.ofC, withoutC(file)...)
		}
		syntax = append(syntax, file)
		pkg.files = append(pkg.files, name)
	}
	errs = append(errs, severalPackages(root, fset, syntax)...)
	if len(errs) > 0 || len(syntax) == 0 {
		return nil, errs
	}
	pkg.Package = &loader.Package{Package: &packages.Package{
		ID:              f.ImportPath(),
		PkgPath:         f.ImportPath(),
		Name:            syntax[0].Name.Name,
		GoFiles:         pkg.files,
		CompiledGoFiles: pkg.files,
		Fset:            fset,
		Syntax:          syntax,
	}}
	return pkg, nil
}

func importsC(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return mentionsC(spec) })
}

// severalPackages returns an error for each file that is not in the most frequent package of its directory.
func severalPackages(root string, fset *token.FileSet, syntax []*ast.File) []error {
	count := map[string]int{}
	for _, file := range syntax {
		count[file.Name.Name]++
	}
	if len(count) < 2 {
		return nil
	}
	usual := syntax[0] // the first file of the most common package
	for _, file := range syntax {
		if count[file.Name.Name] > count[usual.Name.Name] {
			usual = file
		}
	}
	var errs []error
	for _, file := range syntax {
		if file.Name.Name == usual.Name.Name {
			continue
		}
		errs = append(errs, diagnostic.At(diagnostic.Relative(root, fset.Position(file.Name.Pos())),
			fmt.Sprintf("package %s, and %s in the same directory is package %s", file.Name.Name,
				filepath.Base(fset.Position(usual.Pos()).Filename), usual.Name.Name),
			"give both the same package, or move one of them to its own directory"))
	}
	return errs
}

// syntaxError returns the first syntax error of a file. Later errors of the parser are usually caused by it.
func syntaxError(root, name string, err error) error {
	list, ok := err.(scanner.ErrorList)
	if !ok || len(list) == 0 {
		return diagnostic.Unreadable(root, name, err)
	}
	return &diagnostic.Error{
		Pos:     diagnostic.Relative(root, list[0].Pos),
		Message: diagnostic.OneLine(list[0].Msg),
		Hint:    "fix the syntax first: kctrl reads no markers from invalid files",
		Cause:   err,
	}
}

// parseDependency parses a package that has no syntax yet, without function bodies. If the package has syntax errors,
// it does nothing, because the loader parses the package again and reports them.
func (p *Program) parseDependency(pkg *loader.Package) {
	if pkg.Syntax != nil {
		return
	}
	syntax := make([]*ast.File, len(pkg.CompiledGoFiles))
	var wg sync.WaitGroup
	for i, name := range pkg.CompiledGoFiles {
		wg.Go(func() {
			content, err := p.tree.ReadFile(name)
			if err != nil {
				return
			}
			file, err := parser.ParseFile(p.fset, name, withoutBodies(content), parserMode)
			if err != nil {
				file, err = parser.ParseFile(p.fset, name, content, parserMode)
			}
			if err == nil {
				syntax[i] = file
			}
		})
	}
	wg.Wait()
	if !slices.Contains(syntax, nil) {
		pkg.Syntax = syntax
	}
}
