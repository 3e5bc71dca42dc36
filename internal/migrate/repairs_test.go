package migrate

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestRepairs asks what to write for code that does not compile, testdata/repairs, each case of which is a package. What is to be written is Go, and nothing that
// does not compile is without.
func TestRepairs(t *testing.T) {
	names, err := filepath.Glob("testdata/repairs/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	dir := newModule(t, peerStub)
	cases := map[string]*txtar.Archive{} // by the folder of the package
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimSuffix(filepath.Base(name), ".txtar")
		cases[folder] = archive
		for _, file := range archive.Files {
			if source, ok := strings.CutPrefix(file.Name, "before/"); ok {
				write(t, filepath.Join(dir, folder, source), file.Data)
			}
		}
	}
	p, err := load(t.Context(), newDeclarations(), dir, []goModule{{path: "example.com/cases", folder: "."}}, []string{"GOFLAGS=-mod=mod", "GOWORK=off"})
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
