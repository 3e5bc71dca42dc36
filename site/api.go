package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

const module = "github.com/kctrl-dev/kctrl/runtime/"

// writeAPI writes a page for each public package below dir, and a table of them.
func writeAPI(dir string) error {
	index := "# Go API\n\nThese packages are the runtime, which operators import. " +
		"[Compatibility](../compatibility.md) lists those that are stable.\n\n| package | description |\n|---|---|\n"
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || file == dir {
			return err
		}
		if entry.Name() == "internal" || entry.Name() == "testdata" {
			return fs.SkipDir
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		pkg, err := load(file, filepath.ToSlash(name))
		if err != nil || pkg == nil {
			return err
		}
		index += fmt.Sprintf("| [%s](%[1]s.md) | %s |\n", pkg.name, pkg.Synopsis(pkg.Doc))
		return writePage("api/"+pkg.name+".md", pkg.page())
	})
	if err != nil {
		return err
	}
	return writePage("api/index.md", index)
}

// apiPackage is a package of the runtime; its name is the import path below the runtime.
type apiPackage struct {
	*doc.Package
	name  string
	files *token.FileSet
	text  strings.Builder
}

// load returns nil for a directory without Go files.
func load(dir, name string) (*apiPackage, error) {
	found, err := build.ImportDir(dir, 0)
	if _, none := err.(*build.NoGoError); none {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, file := range found.GoFiles {
		syntax, err := parser.ParseFile(files, filepath.Join(dir, file), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, syntax)
	}
	pkg, err := doc.NewFromFiles(files, parsed, module+name)
	return &apiPackage{Package: pkg, name: name, files: files}, err
}

func (p *apiPackage) page() string {
	fmt.Fprintf(&p.text, "# Package %s\n\n```go\nimport %q\n```\n\n%s\n", p.name, p.ImportPath, p.markdown(p.Doc, 2))
	p.values("Constants", p.Consts)
	p.values("Variables", p.Vars)
	if len(p.Funcs) > 0 {
		p.text.WriteString("## Functions\n\n")
		p.functions(3, p.Funcs)
	}
	if len(p.Types) > 0 {
		p.text.WriteString("## Types\n\n")
	}
	for _, t := range p.Types {
		p.heading(3, "type "+t.Name, t.Name)
		p.declaration(t.Decl, t.Doc, 4)
		for _, group := range [][]*doc.Value{t.Consts, t.Vars} {
			for _, v := range group {
				p.value(v, 4)
			}
		}
		p.functions(4, t.Funcs)
		p.functions(4, t.Methods)
	}
	return p.text.String()
}

func (p *apiPackage) values(title string, values []*doc.Value) {
	if len(values) > 0 {
		fmt.Fprintf(&p.text, "## %s\n\n", title)
	}
	for _, v := range values {
		p.value(v, 3)
	}
}

func (p *apiPackage) value(v *doc.Value, level int) {
	for _, name := range v.Names {
		fmt.Fprintf(&p.text, "<a id=%q></a>\n", name)
	}
	p.text.WriteString("\n")
	p.declaration(v.Decl, v.Doc, level)
}

func (p *apiPackage) functions(level int, functions []*doc.Func) {
	for _, f := range functions {
		f.Decl.Body = nil
		title, anchor := "func "+f.Name, f.Name
		if f.Recv != "" {
			receiver, _, _ := strings.Cut(strings.TrimPrefix(f.Recv, "*"), "[")
			title, anchor = fmt.Sprintf("func (%s) %s", receiver, f.Name), receiver+"."+f.Name
		}
		p.heading(level, title, anchor)
		p.declaration(f.Decl, f.Doc, level+1)
	}
}

func (p *apiPackage) heading(level int, title, anchor string) {
	fmt.Fprintf(&p.text, "%s %s {#%s}\n\n", strings.Repeat("#", level), title, anchor)
}

// declaration writes the source of a declaration and its comment; level is the level of headings in the comment.
func (p *apiPackage) declaration(decl ast.Node, comment string, level int) {
	var code bytes.Buffer
	if err := format.Node(&code, p.files, decl); err != nil {
		panic(err) // the source was parsed, so it can be printed
	}
	fmt.Fprintf(&p.text, "```go\n%s\n```\n\n%s\n", code.String(), p.markdown(comment, level))
}

func (p *apiPackage) markdown(text string, level int) string {
	printer := p.Printer()
	printer.HeadingLevel = level
	printer.DocLinkURL = func(link *comment.DocLink) string {
		anchor := strings.Trim(link.Recv+"."+link.Name, ".")
		if anchor != "" {
			anchor = "#" + anchor
		}
		name, runtime := strings.CutPrefix(link.ImportPath, module)
		switch {
		case link.ImportPath == "":
			return anchor
		case runtime && !strings.Contains(name, "internal"):
			return strings.Repeat("../", strings.Count(p.name, "/")) + path.Clean(name) + ".md" + anchor
		default:
			return "https://pkg.go.dev/" + link.ImportPath + anchor
		}
	}
	return string(printer.Markdown(p.Parser().Parse(text)))
}
