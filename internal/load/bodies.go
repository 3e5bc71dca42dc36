package load

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
)

// parseFile parses a file of the project. Generated code often consists of functions for the most part, which are passed
// over if no marker can be in them.
func parseFile(fset *token.FileSet, name string, content []byte) (*ast.File, error) {
	if isGenerated(content) && !hasIndentedMarker(content) {
		if file, err := parser.ParseFile(fset, name, withoutBodies(content), parserMode); err == nil {
			return file, nil
		}
	}
	return parser.ParseFile(fset, name, content, parserMode)
}

var (
	// generatedHeader is what "go help generate" says that generated code has above its package clause.
	generatedHeader = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	packageClause   = []byte("\npackage ")
)

// hasIndentedMarker reports whether a comment inside of a declaration may be a marker.
func hasIndentedMarker(content []byte) bool {
	for _, comment := range []string{"// +", "//+", "/*"} {
		if bytes.Contains(content, []byte("\t"+comment)) || bytes.Contains(content, []byte(" "+comment)) {
			return true
		}
	}
	return false
}

// isGenerated reports whether Go source was written by a program.
func isGenerated(content []byte) bool {
	head, _, found := bytes.Cut(content, packageClause)
	return found && generatedHeader.Match(head)
}

// withoutBodies returns Go source in which the bodies of functions are blank, so that they cost nothing to parse. Every
// byte that is left stays where it was. It looks for what gofmt makes of a function: "func " at the begin of a line,
// " {" at the end of one, and "}" as the only thing on a later line. Where a raw string looks the same, the result does
// not parse.
func withoutBodies(source []byte) []byte {
	out := bytes.Clone(source)
	for at := 0; at < len(out); {
		end := lineEnd(out, at)
		if !bytes.HasPrefix(out[at:], []byte("func ")) {
			at = end + 1
			continue
		}
		// The parameters may go on over several lines; a one-line function ends where it begins.
		for !bytes.HasSuffix(out[at:end], []byte(" {")) && !bytes.HasSuffix(out[at:end], []byte("}")) && end < len(out) && moreParameters(out[end:]) {
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

// moreParameters reports whether the next line of rest, which begins with a line feed, goes on with a signature.
func moreParameters(rest []byte) bool {
	return len(rest) > 1 && (rest[1] == '\t' || rest[1] == ')')
}

// hasDeclaration reports whether a line of text begins a declaration, as in code that gofmt has not seen: text is then
// more than the body of a function.
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

// blank replaces everything by spaces but line feeds.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// withoutC takes out of a file all types, constants and variables that speak of C, with their comments, and the import of
// it: what is left needs no C compiler. Of functions whose parameters do, the comments are left. Their bodies are not checked.
// It returns the names of the types.
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

// mentionsC reports whether something refers to package C, or imports it.
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
