package kctrl_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const apiIntro = `# The stable API of the runtime: every exported identifier, one per line. Review each change of this file as a change of what
# operators compile against. The packages compat, registry and garbagecollector are not stable, and
# not listed.
# Written by: go test . -run TestPublicFace -update

`

// unstable lists the packages of the runtime whose API may still change, with the reason. Packages below them are
// unstable as well.
var unstable = map[string]string{
	"compat":           "names of other libraries, for migrated code",
	"registry":         "few programs run many controllers with flags for each",
	"garbagecollector": "clusters without kube-controller-manager run it",
}

// isStable reports whether docs/api.txt lists a package of the runtime.
func isStable(pkg string) bool {
	for prefix := range unstable {
		if strings.HasPrefix(pkg+"/", prefix+"/") {
			return false
		}
	}
	return true
}

// TestPublicFace compares the exported identifiers of the stable packages of runtime/ with docs/api.txt. With -update
// it writes the file.
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
	t.Errorf("the API of runtime/ differs from %s; if that is intended, run go test . -run TestPublicFace -update", file)
}

// publicFace lists the exported identifiers of every package of runtime/ that others may import, in order.
func publicFace(t *testing.T) string {
	var lines []string
	declared, internal := map[string][]ast.Decl{}, map[string][]ast.Decl{} // by package
	for _, src := range sources(t) {
		if src.test || !strings.HasPrefix(src.dir, "runtime/") {
			continue
		}
		if slices.Contains(strings.Split(src.dir, "/"), "internal") {
			internal[path.Base(src.dir)] = append(internal[path.Base(src.dir)], src.file.Decls...)
			continue
		}
		pkg := strings.TrimPrefix(src.dir, "runtime/")
		if !isStable(pkg) {
			continue
		}
		declared[pkg] = append(declared[pkg], src.file.Decls...)
		for _, decl := range src.file.Decls {
			for _, declared := range exported(decl) {
				lines = append(lines, pkg+": "+declared)
			}
		}
	}
	for pkg, decls := range declared {
		for name, form := range structs(decls) {
			if ast.IsExported(name) {
				for _, promoted := range promoted(decls, internal, name, form) {
					lines = append(lines, pkg+": "+promoted)
				}
			}
		}
	}
	slices.Sort(lines)
	return apiIntro + strings.Join(slices.Compact(lines), "\n") + "\n"
}

// structs returns the structs that decls declare, by name.
func structs(decls []ast.Decl) map[string]*ast.StructType {
	forms := map[string]*ast.StructType{}
	for _, decl := range decls {
		types, _ := decl.(*ast.GenDecl)
		if types == nil {
			continue
		}
		for _, spec := range types.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok {
				if form, ok := spec.Type.(*ast.StructType); ok {
					forms[spec.Name.Name] = form
				}
			}
		}
	}
	return forms
}

// promoted returns a line for each exported method and field that the named struct promotes from an embedded type. The
// embedded type is unexported, or an alias of a type in an internal package.
func promoted(decls []ast.Decl, internal map[string][]ast.Decl, name string, form *ast.StructType) (lines []string) {
	for _, field := range form.Fields.List {
		of, from := receiverName(field.Type), decls
		if len(field.Names) > 0 || ast.IsExported(of) {
			continue
		}
		if pkg, alias := aliasOf(decls, of); alias != "" {
			of, from = alias, internal[pkg]
		}
		embedded := structs(from)[of]
		if embedded == nil {
			continue
		}
		for _, decl := range from {
			method, _ := decl.(*ast.FuncDecl)
			if method == nil || method.Recv == nil || !method.Name.IsExported() || receiverName(method.Recv.List[0].Type) != of {
				continue
			}
			as := *method
			as.Body, as.Doc = nil, nil
			as.Recv = &ast.FieldList{List: []*ast.Field{{Type: &ast.StarExpr{X: ast.NewIdent(name)}}}}
			lines = append(lines, oneLine(&as))
		}
		for _, inner := range embedded.Fields.List {
			for _, field := range inner.Names {
				if field.IsExported() {
					lines = append(lines, "type "+name+" struct, "+field.Name+" "+oneLine(inner.Type))
				}
			}
		}
		lines = append(lines, promoted(from, internal, name, embedded)...)
	}
	return lines
}

// aliasOf returns the package and the name of the type that an alias in decls refers to. The type is in another package
// and may be generic.
func aliasOf(decls []ast.Decl, name string) (pkg, of string) {
	for _, decl := range decls {
		types, _ := decl.(*ast.GenDecl)
		if types == nil {
			continue
		}
		for _, spec := range types.Specs {
			spec, ok := spec.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name || !spec.Assign.IsValid() {
				continue
			}
			aliased := spec.Type
			if generic, ok := aliased.(*ast.IndexExpr); ok {
				aliased = generic.X
			}
			if selector, ok := aliased.(*ast.SelectorExpr); ok {
				return selector.X.(*ast.Ident).Name, selector.Sel.Name
			}
		}
	}
	return "", ""
}

// exported returns a line for each identifier that decl exports, including struct fields and interface methods.
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

// exportedType returns a line for the type, and one for each exported struct field or interface method.
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

// receiverName returns the name of the type in a receiver expression, without its package, pointer and type arguments.
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
