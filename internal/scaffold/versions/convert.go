package versions

import (
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Side is one of two versions of a kind.
type Side struct {
	*Package
	// Version is the API version, and Alias the local name of the package's import.
	Version, Alias string
}

// Functions are the bodies of the conversion functions of a kind, and their helpers.
type Functions struct {
	// FromHub sets the fields of the spoke, and ToHub sets the fields of the hub.
	FromHub, ToHub string
	// Helpers are functions that both call.
	Helpers string
	// Imports are the paths of the packages that the functions use, by local name.
	Imports map[string]string
	// Left is the number of fields that cannot be converted from the syntax alone. Comments in the functions list them.
	Left int
}

// Convert returns the functions that convert a kind between its hub and a spoke. Function names begin with variable,
// and differ from the names in taken.
func Convert(kind, variable string, hub, spoke Side, taken map[string]bool) Functions {
	reserved := map[string]string{"context": "context", "conversion": "-", hub.Alias: "-", spoke.Alias: "-"}
	w := &writer{variable: variable, helpers: map[[2]string]string{}, taken: map[string]bool{},
		imports: maps.Clone(reserved)}
	maps.Copy(w.taken, taken)
	var f Functions
	w.keeps = true
	f.FromHub = w.root(kind, "hub", "spoke", hub, spoke)
	w.keeps = false
	f.ToHub = w.root(kind, "spoke", "hub", spoke, hub)
	if len(w.kept) > 0 {
		name := w.free(variable + title(spoke.Version) + "Kept")
		f.FromHub += w.keep(name)
		f.ToHub += w.restore(name)
		w.declareKept(name, spoke.Version)
	}
	maps.DeleteFunc(w.imports, func(name, _ string) bool { return reserved[name] != "" })
	f.Helpers, f.Imports, f.Left = w.written.String(), w.imports, w.left
	return f
}

// writer writes the functions without formatting them.
type writer struct {
	variable string
	helpers  map[[2]string]string // function names, by source and target type
	taken    map[string]bool      // declared names
	imports  map[string]string    // paths, by name
	written  strings.Builder      // the helpers
	keeps    bool                 // set if the functions keep fields of a hub that have no counterpart
	kept     []keptField
	left     int
}

// keptField is a field of a hub, or of a struct in the hub, that the spoke lacks.
type keptField struct{ path, name, typ string }

// keepField records a hub field that the conversion to the spoke keeps for the conversion back. It returns false for a
// field in a list, in a map or behind a pointer, because the restored value could not be matched to its element.
func (w *writer) keepField(path string, t typ) bool {
	below, ok := strings.CutPrefix(path, "hub.")
	if !w.keeps || !ok || strings.ContainsAny(below, "[]()*") {
		return false
	}
	name := strings.ReplaceAll(below, ".", "")
	if slices.ContainsFunc(w.kept, func(k keptField) bool { return k.name == name }) {
		return false
	}
	w.kept = append(w.kept, keptField{path, name, w.text(t)})
	return true
}

// keep writes the code that keeps the fields, and restore writes the code that reads them back.
func (w *writer) keep(name string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "kept := %s{\n", name)
	for _, k := range w.kept {
		fmt.Fprintf(&out, "%s: %s,\n", k.name, k.path)
	}
	out.WriteString("}\nif err := conversion.Keep(spoke, kept); err != nil {\nreturn err\n}\n")
	return out.String()
}

func (w *writer) restore(name string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "var kept %s\nif err := conversion.Restore(spoke, &kept); err != nil {\nreturn err\n}\n", name)
	for _, k := range w.kept {
		fmt.Fprintf(&out, "%s = kept.%s\n", k.path, k.name)
	}
	return out.String()
}

func (w *writer) declareKept(name, version string) {
	fmt.Fprintf(&w.written, "\n// %s has the fields that %s lacks.\ntype %s struct {\n", name, version, name)
	for _, k := range w.kept {
		fmt.Fprintf(&w.written, "%s %s `json:\"%s,omitzero\"`\n", k.name, k.typ, strings.ToLower(k.name[:1])+k.name[1:])
	}
	w.written.WriteString("}\n")
}

// free returns an unused name.
func (w *writer) free(wanted string) string {
	name := wanted
	for n := 2; w.taken[name]; n++ {
		name = wanted + "x" + strconv.Itoa(n)
	}
	w.taken[name] = true
	return name
}

// typ is a type expression in a file of one of the two versions.
type typ struct {
	side Side
	file *file
	expr ast.Expr
}

// declared returns the declaration of a type of the version's package, or nil for other types.
func (t typ) declared() *declaredType {
	ident, ok := t.expr.(*ast.Ident)
	if !ok {
		return nil
	}
	return t.side.types[ident.Name]
}

// under returns the underlying type. It resolves the names that the version's package declares.
func (t typ) under() typ {
	for range 100 { // limits invalid recursive declarations
		d := t.declared()
		if d == nil || d.spec.TypeParams != nil {
			return t
		}
		t = typ{t.side, d.file, ast.Unparen(d.spec.Type)}
	}
	return t
}

func (t typ) of(expr ast.Expr) typ { return typ{t.side, t.file, ast.Unparen(expr)} }

// text returns the type as the conversion file writes it.
func (w *writer) text(t typ) string {
	var out strings.Builder
	_ = printer.Fprint(&out, token.NewFileSet(), w.qualified(t, t.expr)) // a builder never fails
	return out.String()
}

// qualified returns a type expression with the names of the conversion file.
func (w *writer) qualified(t typ, expr ast.Expr) ast.Expr {
	switch e := ast.Unparen(expr).(type) {
	case *ast.Ident:
		if t.side.types[e.Name] != nil {
			return &ast.SelectorExpr{X: ast.NewIdent(t.side.Alias), Sel: ast.NewIdent(e.Name)}
		}
		return ast.NewIdent(e.Name)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return &ast.SelectorExpr{X: ast.NewIdent(w.imported(x.Name, t.file.imports[x.Name])), Sel: ast.NewIdent(e.Sel.Name)}
		}
	case *ast.StarExpr:
		return &ast.StarExpr{X: w.qualified(t, e.X)}
	case *ast.ArrayType:
		length := e.Len
		if length != nil {
			length = w.qualified(t, length)
		}
		return &ast.ArrayType{Len: length, Elt: w.qualified(t, e.Elt)}
	case *ast.MapType:
		return &ast.MapType{Key: w.qualified(t, e.Key), Value: w.qualified(t, e.Value)}
	case *ast.BasicLit:
		return &ast.BasicLit{Kind: e.Kind, Value: e.Value}
	}
	return expr
}

// imported returns the local name of a package in the conversion file.
func (w *writer) imported(name, importPath string) string {
	for n, wanted := 2, name; w.imports[name] != "" && w.imports[name] != importPath; n++ {
		name = wanted + "x" + strconv.Itoa(n)
	}
	w.imports[name] = importPath
	return name
}

// root writes the conversion of a whole object, without its metadata.
func (w *writer) root(kind, src, dst string, from, to Side) string {
	var out strings.Builder
	w.fields(&out, dst, src, typ{from, nil, ast.NewIdent(kind)}.under(), typ{to, nil, ast.NewIdent(kind)}.under(), true)
	return out.String()
}

// field is a field of a struct.
type field struct {
	name string
	json string
	typ  typ
}

// fieldsOf returns the fields of a struct.
func fieldsOf(t typ) []field {
	var all []field
	for _, f := range t.expr.(*ast.StructType).Fields.List {
		tag := ""
		if f.Tag != nil {
			text, _ := strconv.Unquote(f.Tag.Value)
			tag, _, _ = strings.Cut(reflect.StructTag(text).Get("json"), ",")
		}
		for _, name := range f.Names {
			all = append(all, field{name.Name, tag, t.of(f.Type)})
		}
		if len(f.Names) == 0 {
			all = append(all, field{embeddedName(f.Type), tag, t.of(f.Type)})
		}
	}
	return all
}

func embeddedName(expr ast.Expr) string {
	switch e := ast.Unparen(expr).(type) {
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "_"
}

func isStruct(t typ) bool {
	_, ok := t.expr.(*ast.StructType)
	return ok
}

// fields writes the conversion of a struct field by field. whole is set for an object whose metadata the caller
// converts.
func (w *writer) fields(out *strings.Builder, dst, src string, from, to typ, whole bool) {
	if !isStruct(from) || !isStruct(to) {
		w.leave(out, "%s has a type that its syntax does not show", dst)
		return
	}
	targets := fieldsOf(to)
	for _, f := range fieldsOf(from) {
		if f.name == "_" || whole && (f.name == "TypeMeta" || f.name == "ObjectMeta") {
			continue
		}
		at := slices.IndexFunc(targets, func(t field) bool { return t.name == f.name })
		if at < 0 && f.json != "" && f.json != "-" {
			at = slices.IndexFunc(targets, func(t field) bool { return t.json == f.json })
		}
		switch {
		case !ast.IsExported(f.name):
			w.leave(out, "%s.%s is a field that no other package can set", src, f.name)
		case at < 0 && w.keepField(src+"."+f.name, f.typ):
		case at < 0:
			w.leave(out, "%s has no field for %s.%s", to.side.Version, src, f.name)
		default:
			t := targets[at]
			var text strings.Builder
			if w.value(&text, dst+"."+t.name, src+"."+f.name, f.typ, t.typ, 1) {
				out.WriteString(text.String())
				continue
			}
			w.leave(out, "%s.%s has another type than %s.%s", src, f.name, dst, t.name)
		}
	}
}

// leave writes a comment about a field that the user must convert.
func (w *writer) leave(out *strings.Builder, format string, args ...any) {
	fmt.Fprintf(out, "// work left: "+format+"\n", args...)
	w.left++
}

// value writes the conversion of src to dst, and reports whether that is possible.
func (w *writer) value(out *strings.Builder, dst, src string, from, to typ, depth int) bool {
	fromUnder, toUnder := from.under(), to.under()
	switch {
	case same(from, to):
		fmt.Fprintf(out, "%s = %s\n", dst, src)
		return true
	case isStruct(fromUnder) && isStruct(toUnder):
		w.fields(out, dst, src, fromUnder, toUnder, false)
		return true
	case same(fromUnder, toUnder):
		fmt.Fprintf(out, "%s = %s(%s)\n", dst, w.text(to), src)
		return true
	}
	switch f := fromUnder.expr.(type) {
	case *ast.StarExpr:
		if t, ok := toUnder.expr.(*ast.StarExpr); ok {
			return w.pointer(out, dst, src, fromUnder.of(f.X), toUnder.of(t.X), depth)
		}
	case *ast.ArrayType:
		if t, ok := toUnder.expr.(*ast.ArrayType); ok && sameLength(f.Len, t.Len) {
			return w.list(out, dst, src, fromUnder.of(f.Elt), toUnder.of(t.Elt), to, f.Len != nil, depth)
		}
	case *ast.MapType:
		if t, ok := toUnder.expr.(*ast.MapType); ok {
			return w.mapping(out, dst, src, fromUnder, toUnder, f, t, to, depth)
		}
	}
	return false
}

func sameLength(a, b ast.Expr) bool {
	x, ok := a.(*ast.BasicLit)
	y, also := b.(*ast.BasicLit)
	return a == nil && b == nil || ok && also && x.Value == y.Value
}

func (w *writer) pointer(out *strings.Builder, dst, src string, from, to typ, depth int) bool {
	if isStruct(from.under()) && isStruct(to.under()) {
		fmt.Fprintf(out, "if %s != nil {\n%s = new(%s)\n%s(%s, %s)\n}\n", src, dst, w.text(to), w.helper(from, to), src, dst)
		return true
	}
	if same(from.under(), to.under()) {
		fmt.Fprintf(out, "%s = (*%s)(%s)\n", dst, w.text(to), src)
		return true
	}
	var inner strings.Builder
	if !w.value(&inner, "(*"+dst+")", "(*"+src+")", from, to, depth) {
		return false
	}
	fmt.Fprintf(out, "if %s != nil {\n%s = new(%s)\n%s}\n", src, dst, w.text(to), inner.String())
	return true
}

func (w *writer) list(out *strings.Builder, dst, src string, from, to, whole typ, isArray bool, depth int) bool {
	i := indexName(depth)
	var inner strings.Builder
	if !w.element(&inner, dst+"["+i+"]", src+"["+i+"]", from, to, depth+1) {
		return false
	}
	loop := fmt.Sprintf("for %s := range %s {\n%s}\n", i, src, inner.String())
	if isArray {
		out.WriteString(loop)
	} else {
		fmt.Fprintf(out, "if %s != nil {\n%s = make(%s, len(%s))\n%s}\n", src, dst, w.text(whole), src, loop)
	}
	return true
}

func (w *writer) mapping(out *strings.Builder, dst, src string, from, to typ, f, t *ast.MapType, whole typ,
	depth int) bool {
	suffix := ""
	if depth > 1 {
		suffix = strconv.Itoa(depth)
	}
	key, value, converted := "key"+suffix, "value"+suffix, "converted"+suffix
	fromKey, toKey := from.of(f.Key), to.of(t.Key)
	newKey := key
	switch {
	case same(fromKey, toKey):
	case same(fromKey.under(), toKey.under()):
		newKey = w.text(toKey) + "(" + key + ")"
	default:
		return false
	}
	var inner strings.Builder
	if !w.element(&inner, converted, value, from.of(f.Value), to.of(t.Value), depth+1) {
		return false
	}
	if same(from.of(f.Value), to.of(t.Value)) {
		fmt.Fprintf(out, "if %s != nil {\n%s = make(%s, len(%s))\nfor %s, %s := range %s {\n%s[%s] = %s\n}\n}\n",
			src, dst, w.text(whole), src, key, value, src, dst, newKey, value)
		return true
	}
	fmt.Fprintf(out, "if %s != nil {\n%s = make(%s, len(%s))\nfor %s, %s := range %s {\nvar %s %s\n%s%s[%s] = %s\n}\n}\n",
		src, dst, w.text(whole), src, key, value, src, converted, w.text(to.of(t.Value)), inner.String(), dst, newKey,
		converted)
	return true
}

// element is [writer.value] for elements of a list or a map. It calls a helper function for each struct.
func (w *writer) element(out *strings.Builder, dst, src string, from, to typ, depth int) bool {
	if !same(from, to) && isStruct(from.under()) && isStruct(to.under()) {
		fmt.Fprintf(out, "%s(&%s, &%s)\n", w.helper(from, to), src, dst)
		return true
	}
	return w.value(out, dst, src, from, to, depth)
}

func indexName(depth int) string {
	if depth <= 3 {
		return string(rune('i' + depth - 1))
	}
	return "i" + strconv.Itoa(depth)
}

// helper returns the name of the function that converts a struct of one version to the struct of the other version.
func (w *writer) helper(from, to typ) string {
	types := [2]string{w.text(from), w.text(to)}
	if name, ok := w.helpers[types]; ok {
		return name
	}
	name := w.variable
	if ident, ok := to.expr.(*ast.Ident); ok {
		name += ident.Name
	}
	name += title(from.side.Version) + "To" + title(to.side.Version)
	name = w.free(name)
	w.helpers[types] = name // before its fields, which may contain the type itself
	var body strings.Builder
	w.fields(&body, "to", "from", from.under(), to.under(), false)
	fmt.Fprintf(&w.written, "\nfunc %s(from *%s, to *%s) {\n%s}\n", name, types[0], types[1], body.String())
	return name
}

func title(version string) string {
	if version == "" {
		return ""
	}
	return strings.ToUpper(version[:1]) + version[1:]
}

// same reports whether two types are identical: the same predeclared type, or the same type of a package other than the
// two.
func same(a, b typ) bool {
	if a.declared() != nil || b.declared() != nil {
		return false
	}
	switch x := a.expr.(type) {
	case *ast.Ident:
		y, ok := b.expr.(*ast.Ident)
		return ok && x.Name == y.Name
	case *ast.SelectorExpr:
		y, ok := b.expr.(*ast.SelectorExpr)
		return ok && x.Sel.Name == y.Sel.Name && importOf(a, x) == importOf(b, y)
	case *ast.StarExpr:
		y, ok := b.expr.(*ast.StarExpr)
		return ok && same(a.of(x.X), b.of(y.X))
	case *ast.ArrayType:
		y, ok := b.expr.(*ast.ArrayType)
		return ok && sameLength(x.Len, y.Len) && same(a.of(x.Elt), b.of(y.Elt))
	case *ast.MapType:
		y, ok := b.expr.(*ast.MapType)
		return ok && same(a.of(x.Key), b.of(y.Key)) && same(a.of(x.Value), b.of(y.Value))
	case *ast.InterfaceType:
		y, ok := b.expr.(*ast.InterfaceType)
		return ok && len(x.Methods.List) == 0 && len(y.Methods.List) == 0
	case *ast.IndexExpr:
		y, ok := b.expr.(*ast.IndexExpr)
		return ok && same(a.of(x.X), b.of(y.X)) && same(a.of(x.Index), b.of(y.Index))
	}
	return false
}

// importOf returns the import path of a qualified name.
func importOf(t typ, selector *ast.SelectorExpr) string {
	x, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	if importPath := t.file.imports[x.Name]; importPath != "" {
		return importPath
	}
	return x.Name
}
