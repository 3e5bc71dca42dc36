package migrate

//lint:file-ignore SA1019 variables of functions are found by syntax, as what was rewritten has no types yet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// withoutUnused names the variables of a Go file that nothing uses, as what has used them was left out: they would not compile.
func withoutUnused(text string) string {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", text, 0) // with what names are resolved to
	if err != nil {
		return text
	}
	used := usedVariables(parsed)
	var edits []edit
	for _, statements := range lists(parsed) {
		for _, statement := range statements {
			for _, name := range declared(statement) {
				if name.Obj == nil || used[name.Obj] || name.Name == "_" {
					continue
				}
				end := set.PositionFor(statement.End(), false).Offset
				rest, _, _ := strings.Cut(text[end:], "\n")
				line, separator := "_ = "+name.Name+" // what used it is left out", "\n"
				if trimmed := strings.TrimSpace(rest); trimmed == "" || strings.HasPrefix(trimmed, "//") {
					end += len(rest)
				} else {
					line, separator = "_ = "+name.Name, "; "
				}
				edits = append(edits, edit{end, end, separator + line})
			}
		}
	}
	return (&file{source: []byte(text)}).spliceRange(0, len(text), edits)
}

// usedVariables returns what is named elsewhere than where it is declared or assigned to.
func usedVariables(parsed *ast.File) map[*ast.Object]bool {
	assigned := map[*ast.Ident]bool{}
	used := map[*ast.Object]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if ident, ok := left.(*ast.Ident); ok && (n.Tok == token.ASSIGN || n.Tok == token.DEFINE) {
					assigned[ident] = true
				}
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				assigned[name] = true
			}
		case *ast.Ident:
			if n.Obj != nil && !assigned[n] {
				used[n.Obj] = true
			}
		}
		return true
	})
	return used
}

// lists returns the lists of statements of a file.
func lists(parsed *ast.File) [][]ast.Stmt {
	var all [][]ast.Stmt
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			all = append(all, n.List)
		case *ast.CaseClause:
			all = append(all, n.Body)
		case *ast.CommClause:
			all = append(all, n.Body)
		}
		return true
	})
	return all
}

// declared returns the variables that a statement declares.
func declared(statement ast.Stmt) []*ast.Ident {
	var names []*ast.Ident
	switch s := statement.(type) {
	case *ast.AssignStmt:
		for _, left := range s.Lhs {
			if ident, ok := left.(*ast.Ident); ok && s.Tok == token.DEFINE && ident.Obj != nil && ident.Obj.Decl == s {
				names = append(names, ident)
			}
		}
	case *ast.DeclStmt:
		group, ok := s.Decl.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			return nil
		}
		for _, spec := range group.Specs {
			names = append(names, spec.(*ast.ValueSpec).Names...)
		}
	}
	return names
}
