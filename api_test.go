package kctrl_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

const apiIntro = `# The public face of the runtime: every identifier that a program outside of it can use, one a line.
# A change of this file is a change of what operators compile against, and is read as such in review.
# Written by: go test . -run TestPublicFace -update

`

// TestPublicFace compares the exported identifiers of runtime/ with docs/api.txt. With -update it writes the file.
func TestPublicFace(t *testing.T) {
	face := publicFace(t)
	const file = "docs/api.txt"
	if *update {
		if err := os.WriteFile(file, []byte(face), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) == face {
		return
	}
	known, now := strings.Split(string(written), "\n"), strings.Split(face, "\n")
	for _, line := range known {
		if !slices.Contains(now, line) {
			t.Errorf("- %s", line)
		}
	}
	for _, line := range now {
		if !slices.Contains(known, line) {
			t.Errorf("+ %s", line)
		}
	}
	t.Errorf("the public face of runtime/ is not that of %s; if that is intended, run go test . -run TestPublicFace -update", file)
}

// publicFace lists the exported identifiers of every package of runtime/ that others may import, in order.
func publicFace(t *testing.T) string {
	var lines []string
	for _, src := range sources(t) {
		if src.test || !strings.HasPrefix(src.folder, "runtime/") || slices.Contains(strings.Split(src.folder, "/"), "internal") {
			continue
		}
		pkg := strings.TrimPrefix(src.folder, "runtime/")
		for _, decl := range src.file.Decls {
			for _, declared := range exported(decl) {
				lines = append(lines, pkg+": "+declared)
			}
		}
	}
	slices.Sort(lines)
	return apiIntro + strings.Join(slices.Compact(lines), "\n") + "\n"
}

// exported returns a line for each identifier that decl exports, fields and methods of interfaces too.
func exported(decl ast.Decl) []string {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if !decl.Name.IsExported() || decl.Recv != nil && !ast.IsExported(receiverName(decl.Recv.List[0].Type)) {
			return nil
		}
		signature := *decl
		signature.Body, signature.Doc = nil, nil
		return []string{oneLine(&signature)}
	case *ast.GenDecl:
		var lines []string
		for _, spec := range decl.Specs {
			lines = append(lines, exportedBy(decl.Tok, spec)...)
		}
		return lines
	}
	return nil
}

func exportedBy(tok token.Token, spec ast.Spec) (lines []string) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if !name.IsExported() {
				continue
			}
			line := tok.String() + " " + name.Name
			if spec.Type != nil {
				line += " " + oneLine(spec.Type)
			}
			lines = append(lines, line)
		}
	case *ast.TypeSpec:
		if spec.Name.IsExported() {
			lines = exportedType(spec)
		}
	}
	return lines
}

// exportedType returns a line for the type, and one for each exported field or method of an interface.
func exportedType(spec *ast.TypeSpec) []string {
	head := "type " + spec.Name.Name
	if spec.TypeParams != nil {
		head += "[" + fields(spec.TypeParams) + "]"
	}
	var members *ast.FieldList
	switch written := spec.Type.(type) {
	case *ast.StructType:
		head, members = head+" struct", written.Fields
	case *ast.InterfaceType:
		head, members = head+" interface", written.Methods
	default:
		if spec.Assign.IsValid() {
			head += " ="
		}
		return []string{head + " " + oneLine(spec.Type)}
	}
	lines := []string{head}
	for _, member := range members.List {
		if len(member.Names) == 0 && ast.IsExported(receiverName(member.Type)) {
			lines = append(lines, head+", "+oneLine(member.Type))
		}
		for _, name := range member.Names {
			if name.IsExported() {
				lines = append(lines, head+", "+name.Name+" "+oneLine(member.Type))
			}
		}
	}
	return lines
}

// receiverName is the name of the type that expr names, without its package, pointer and type arguments.
func receiverName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name
	case *ast.StarExpr:
		return receiverName(expr.X)
	case *ast.SelectorExpr:
		return expr.Sel.Name
	case *ast.IndexExpr:
		return receiverName(expr.X)
	case *ast.IndexListExpr:
		return receiverName(expr.X)
	}
	return ""
}

func fields(list *ast.FieldList) string {
	var parts []string
	for _, field := range list.List {
		var names []string
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
		parts = append(parts, strings.Join(names, ", ")+" "+oneLine(field.Type))
	}
	return strings.Join(parts, ", ")
}

// oneLine prints a node on one line.
func oneLine(node any) string {
	var out bytes.Buffer
	if err := printer.Fprint(&out, token.NewFileSet(), node); err != nil {
		return fmt.Sprint(err)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
