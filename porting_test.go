package kctrl_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	portingDoc   = "docs/from-controller-runtime.md"
	portingBegin = "<!-- Written by: go test . -run TestPortingTable -update -->\n"
	portingEnd   = "<!-- The end of what is written. -->\n"
)

// portingFiles are the files of bench/porting/before, each of which is a table of the document.
var portingFiles = []string{"types.go", "manager.go", "controllers.go", "reconcilers.go", "webhooks.go", "fakes.go"}

// TestPortingTable compares the tables of docs/from-controller-runtime.md with the code in bench/porting, which make
// test-porting compiles. Rows with two equal columns are omitted. With -update it writes the tables.
func TestPortingTable(t *testing.T) {
	text, err := os.ReadFile(portingDoc)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(text), portingBegin)
	_, tail, ends := strings.Cut(rest, portingEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the tables", portingDoc)
	}
	want := head + portingBegin + portingTables(t) + portingEnd + tail
	if *update {
		if err := os.WriteFile(portingDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s does not match bench/porting; run go test . -run TestPortingTable -update", portingDoc)
	}
}

// TestPortingNamesEveryImport checks that the import map contains each package that the code in bench/porting imports.
func TestPortingNamesEveryImport(t *testing.T) {
	text, err := os.ReadFile(portingDoc)
	if err != nil {
		t.Fatal(err)
	}
	for side, prefix := range map[string]string{"before": "sigs.k8s.io/controller-runtime",
		"after": "github.com/kctrl-dev/kctrl/runtime/"} {
		files, err := filepath.Glob("bench/porting/" + side + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range file.Imports {
				path := strings.Trim(spec.Path.Value, `"`)
				if after, ok := strings.CutPrefix(path, prefix); ok && !strings.Contains(string(text), "`"+short(side, after)+"`") {
					t.Errorf("%s: the import map lacks %s", name, path)
				}
			}
		}
	}
}

// short returns the name of a package in the document.
func short(side, path string) string {
	if side == "after" {
		return "runtime/" + path
	}
	return strings.TrimPrefix("controller-runtime"+path, "controller-runtime/")
}

// column is one side of the tables: the code and the subject of each name, and the names in order.
type column struct {
	code, about map[string]string
	names       []string
}

func portingTables(t *testing.T) string {
	var text strings.Builder
	for _, name := range portingFiles {
		title, before := readColumn(t, filepath.Join("bench/porting/before", name))
		_, after := readColumn(t, filepath.Join("bench/porting/after", name))
		if extra := slices.DeleteFunc(slices.Sorted(maps.Keys(after.code)),
			func(n string) bool { return before.code[n] != "" }); len(extra) > 0 {
			t.Errorf("bench/porting/after/%s has functions that before lacks: %q", name, extra)
		}
		fmt.Fprintf(&text, "\n### %s\n\n| task | controller-runtime | kctrl |\n|---|---|---|\n", title)
		for _, n := range before.names {
			if after.code[n] == "" {
				t.Errorf("bench/porting/after/%s lacks %s", name, n)
			}
			if before.code[n] != after.code[n] {
				fmt.Fprintf(&text, "| %s | %s | %s |\n", before.about[n], cell(before.code[n]), cell(after.code[n]))
			}
		}
	}
	return text.String() + "\n"
}

// readColumn returns the exported functions and types of a file, and its title.
func readColumn(t *testing.T, name string) (title string, c column) {
	t.Helper()
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	at := func(from, to token.Pos) string {
		return string(source[fset.Position(from).Offset:fset.Position(to).Offset])
	}
	c = column{code: map[string]string{}, about: map[string]string{}}
	add := func(id *ast.Ident, about *ast.CommentGroup, code string) {
		if id.IsExported() {
			c.names = append(c.names, id.Name)
			c.code[id.Name], c.about[id.Name] = code, strings.TrimSpace(about.Text())
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			add(decl.Name, decl.Doc, body(at(decl.Body.Lbrace+1, decl.Body.Rbrace)))
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					add(spec.Name, spec.Doc, at(spec.Type.Pos(), spec.Type.End()))
				}
			}
		}
	}
	if len(file.Comments) > 0 {
		title = strings.TrimSuffix(strings.TrimSpace(file.Comments[0].Text()), ".")
	}
	return title, c
}

// body returns the lines of a function without blank assignments.
func body(text string) string {
	var lines []string
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), "\t")
		if !strings.HasPrefix(line, "_") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// cell writes code into a cell of a table.
func cell(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		text := strings.TrimLeft(strings.TrimRight(line, "\n"), "\t")
		indent := strings.Repeat("&emsp;", len(strings.TrimRight(line, "\n"))-len(text))
		lines = append(lines, indent+"`"+strings.ReplaceAll(text, "|", `\|`)+"`")
	}
	return strings.Join(lines, "<br>")
}
