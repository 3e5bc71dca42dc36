package migrate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// TestRepairs asks what to write for code that does not compile, testdata/repairs, each case of which is a package. What is to be written is Go, and nothing that
// does not compile is without.
func TestRepairs(t *testing.T) {
	dir := newModule(t, peerStub)
	cases := writeCases(t, dir, "before/", "testdata/repairs/*.txtar")
	p, err := loadCases(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	got, files := map[string]string{}, p.files()
	for _, e := range p.problems() {
		name, line := positionOf(e.Pos, p.dir)
		snippet := snippetFor(fileNamed(files, name), e)
		if err := isSnippet(snippet); err != nil {
			t.Errorf("%s:%d: %s: %v:\n%s", name, line, e.Msg, err, snippet)
		}
		if err := isSnippet(snippetFor(nil, e)); err != nil { // of a file that cannot be read
			t.Errorf("%s: %v", e.Msg, err)
		}
		folder, name, _ := strings.Cut(name, "/")
		got[folder] += fmt.Sprintf("%s:%d: %s\n\t%s\n", name, line, oneLine(e.Msg), strings.ReplaceAll(snippet, "\n", "\n\t"))
	}
	for folder, archive := range cases {
		t.Run(folder, func(t *testing.T) {
			if *update {
				archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "write" })
				archive.Files = append(archive.Files, txtar.File{Name: "write", Data: []byte(got[folder])})
				write(t, filepath.Join("testdata/repairs", folder+".txtar"), txtar.Format(archive))
				return
			}
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "write" })
			if i < 0 || got[folder] != string(archive.Files[i].Data) {
				t.Errorf("got:\n%s", got[folder])
			}
		})
	}
}

// TestRepairsOfRandomMistakes makes mistakes at random places of rewritten code. For each of them that does not compile there is a snippet, which is Go.
func TestRepairsOfRandomMistakes(t *testing.T) {
	seeds.Each(t, 1, func(t *testing.T, seed uint64) {
		dir := newModule(t, peerStub)
		writeMistakes(t, dir, rand.New(rand.NewPCG(seed, 1)))
		p, err := loadCases(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		files, problems := p.files(), p.problems()
		for _, e := range problems {
			name, line := positionOf(e.Pos, p.dir)
			if snippet := snippetFor(fileNamed(files, name), e); e.Kind == packages.TypeError && isSnippet(snippet) != nil {
				t.Errorf("%s:%d: %s\n%s: %v:\n%s", name, line, lineOf(dir, name, line), e.Msg, isSnippet(snippet), snippet)
			}
		}
		if len(problems) < 100 {
			t.Errorf("only %d mistakes do not compile", len(problems))
		}
	})
}

// writeMistakes writes the rewritten cases of rules to a module, with mistakes.
func writeMistakes(t *testing.T, dir string, random *rand.Rand) {
	t.Helper()
	cases := writeCases(t, dir, "after/", "testdata/rules/[^v]*.txtar")
	for _, folder := range slices.Sorted(maps.Keys(cases)) {
		for _, file := range cases[folder].Files {
			source, ok := strings.CutPrefix(file.Name, "after/")
			if !ok || !strings.HasSuffix(source, ".go") {
				continue
			}
			text := string(file.Data)
			for range 8 {
				text = withMistake(text, random)
			}
			write(t, filepath.Join(dir, folder, source), []byte(text))
		}
	}
}

// withMistake puts an expression of a Go file in the place of another one, takes an argument away, or gives one twice.
func withMistake(text string, random *rand.Rand) string {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, 0)
	if err != nil {
		return text
	}
	var places []ast.Expr
	var calls []*ast.CallExpr
	for _, decl := range file.Decls {
		if general, ok := decl.(*ast.GenDecl); ok && general.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				calls, places = append(calls, n), append(places, n)
			case *ast.SelectorExpr, *ast.Ident, *ast.BasicLit, *ast.CompositeLit, *ast.UnaryExpr:
				places = append(places, n.(ast.Expr))
			}
			return true
		})
	}
	at := func(pos token.Pos) int { return set.Position(pos).Offset }
	of := func(e ast.Expr) string { return text[at(e.Pos()):at(e.End())] }
	if len(places) == 0 {
		return text
	}
	from, to := places[random.IntN(len(places))], of(places[random.IntN(len(places))])
	if len(calls) > 0 && random.IntN(3) == 0 {
		if call := calls[random.IntN(len(calls))]; len(call.Args) > 0 {
			from, to = call.Args[random.IntN(len(call.Args))], ""
			if random.IntN(2) == 0 {
				to = of(from) + ", " + of(from)
			}
		}
	}
	changed := text[:at(from.Pos())] + to + text[at(from.End()):]
	if _, err := parser.ParseFile(token.NewFileSet(), "", changed, 0); err != nil {
		return text
	}
	return changed
}

// isSnippet says what is wrong with a snippet: it is an expression, statements, declarations, or one of the first two and declarations after an
// empty line.
func isSnippet(snippet string) error {
	if strings.TrimSpace(snippet) == "" {
		return fmt.Errorf("nothing to write")
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+snippet, 0); err == nil {
		return nil
	}
	here, declarations, _ := strings.Cut(snippet, "\n\n")
	_, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+declarations, 0)
	if err != nil {
		return err
	}
	for _, body := range []string{here, "type _ struct {\n" + here + "\n}", "_ = " + here, "_ = T{" + here + "}", here + "\n}"} {
		if _, err = parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+body+"\n}", 0); err == nil {
			return nil
		}
	}
	return err
}
