package randomapi

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// shape is the JSON form of a value.
type shape int

const (
	text shape = iota
	number
	truth
	list
	dictionary
	structure
	anything
)

// typ is a type that fields can have.
type typ struct {
	name  string // as written, with its package
	path  string // import path, or ""
	shape shape
	items shape    // of a list
	keys  []string // JSON names of the plain fields of a structure, which can be list keys
	enum  bool
	limit bool // has limits or a default, which other markers might contradict
	below bool // contains a type of another package
	self  bool // marshals itself, or is known to the generators
	alias bool // alias of a basic type, which controller-gen supports only in plain fields

	generic bool // instantiation of a generic type: other instantiations have the same fields with other types
}

// foreign reports whether the type is from another package or contains such a type.
func (t typ) foreign() bool { return t.below || strings.Contains(t.name, ".") }

// others are types of other modules.
func others() []typ {
	const meta, core = "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/api/core/v1"
	return []typ{
		{name: "metav1.Time", path: meta, shape: text, self: true},
		{name: "metav1.Duration", path: meta, shape: text, self: true},
		{name: "metav1.LabelSelector", path: meta, shape: structure},
		{name: "metav1.Condition", path: meta, shape: structure, keys: []string{"type"}},
		{name: "metav1.ObjectMeta", path: meta, shape: structure, self: true},
		{name: "corev1.LocalObjectReference", path: core, shape: structure},
		{name: "corev1.SecretKeySelector", path: core, shape: structure},
		{name: "corev1.ResourceRequirements", path: core, shape: structure},
		{name: "corev1.Protocol", path: core, shape: text, enum: true},
		{name: "corev1.ResourceList", path: core, shape: dictionary},
		{name: "resource.Quantity", path: "k8s.io/apimachinery/pkg/api/resource", shape: anything, self: true},
		{name: "intstr.IntOrString", path: "k8s.io/apimachinery/pkg/util/intstr", shape: anything, self: true},
		{name: "runtime.RawExtension", path: "k8s.io/apimachinery/pkg/runtime", shape: anything, self: true},
		{name: "apiextensionsv1.JSON", path: "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", shape: anything,
			self: true},
		{name: "types.UID", path: "k8s.io/apimachinery/pkg/types", shape: text},
	}
}

// basic returns the predeclared types.
func basic() []typ {
	found := []typ{{name: "string", shape: text}, {name: "bool", shape: truth}}
	for _, name := range []string{"int", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"} {
		found = append(found, typ{name: name, shape: number})
	}
	return append(found, typ{name: "string", shape: text}, typ{name: "string", shape: text},
		typ{name: "[]byte", shape: text, self: true})
}

// file is a package under construction. It becomes two Go files.
type file struct {
	*group
	dir, pkg string
	markers  []string
	known    []typ // types of other packages
	own      []typ // types of this package, which later types use
	kinds    []string
	declared []string // source text
	imports  map[string]bool

	generics   []*generic        // generic types that the package can instantiate
	parameters []typ             // of the generic type under construction
	instances  map[string]string // names of types that replace instantiations
	written    []string          // declarations of these types
}

// export returns the types of the package with qualified names.
func (f *file) export() []typ {
	var found []typ
	for _, t := range f.own {
		t.name, t.path = f.pkg+"."+t.name, f.importPath(f.dir)
		found = append(found, t)
	}
	return found
}

// anyType returns a type for a field and adds its import.
func (f *file) anyType() typ {
	from := basic()
	switch {
	case len(f.parameters) > 0 && f.one(2):
		return f.parameters[f.IntN(len(f.parameters))]
	case len(f.generics) > 0 && f.one(4):
		return f.instance(2)
	case len(f.own) > 0 && f.one(2):
		from = f.own
	case f.one(3):
		from = f.known
	}
	return f.use(f.reference(from[f.IntN(len(from))]))
}

// use adds the import of a type.
func (f *file) use(t typ) typ {
	if f.imports == nil {
		f.imports = map[string]bool{}
	}
	if t.path != "" {
		f.imports[t.path] = true
	}
	return t
}

// compose returns a list, map or pointer of a type, or the type itself.
func (f *file) compose(t typ) typ {
	pointer := ""
	if f.one(5) {
		pointer = "*"
	}
	if t.alias {
		return t
	}
	if t.self || strings.HasPrefix(t.name, "⟨") {
		// controller-gen's deep copies do not compile for lists of pointers to types with their own DeepCopy. A parameter may
		// be such a type.
		pointer = ""
	}
	switch f.IntN(10) {
	case 0, 1:
		return typ{name: "[]" + pointer + t.name, shape: list, items: t.shape, keys: t.keys, limit: t.limit || t.self ||
			t.foreign()}
	case 2:
		return typ{name: "map[" + f.key() + "]" + pointer + t.name, shape: dictionary}
	case 3:
		return typ{name: "map[string][]" + t.name, shape: dictionary}
	case 4:
		return typ{name: "[][]" + t.name, shape: list, items: list}
	case 5, 6:
		t.name = "*" + t.name
	}
	return t
}

// key returns the type of the keys of a map.
func (f *file) key() string {
	for _, t := range f.own {
		if t.shape == text && !t.self && !t.alias && f.one(3) {
			return f.reference(t).name
		}
	}
	return "string"
}

// write adds the package to the files of the group: its doc comment and markers, and the declarations in random order.
func (f *file) write(doc string, markers ...string) {
	f.Shuffle(len(f.declared), func(i, j int) { f.declared[i], f.declared[j] = f.declared[j], f.declared[i] })
	half := f.IntN(len(f.declared) + 1)
	together := strings.Join(f.sameMode(markers), "\n")
	if f.one(2) {
		text := doc + "\n" + together + "\npackage " + f.pkg + "\n"
		f.files[f.dir+"/doc.go"], f.plain[f.dir+"/doc.go"] = text, text
		doc, together = "// A license.\n", ""
	} else {
		doc += "\n" + together
		together = ""
	}
	for i, head := range []string{doc + "\npackage " + f.pkg + "\n" + together, "package " + f.pkg + "\n"} {
		name, part := f.dir+"/types.go", f.declared[:half]
		if i == 1 {
			name, part = f.dir+"/more_types.go", f.declared[half:]
		}
		f.files[name] = head + f.source(f.render(part, false))
		if f.twice {
			f.plain[name] = head + f.source(f.render(part, true))
		}
	}
	if len(f.written) > 0 {
		f.plain[f.dir+"/instances.go"] = "package " + f.pkg + "\n" + f.source(f.written)
	}
}

// source returns declarations with the imports that they use.
func (f *file) source(declarations []string) string {
	code := strings.Join(declarations, "\n")
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(f.imports)) {
		name := importName(path)
		if regexp.MustCompile(`(?m)(^|[^\w/])` + name + `\.`).MatchString(code) {
			fmt.Fprintf(&b, "\nimport %s %q\n", name, path)
		}
	}
	return b.String() + "\n" + code
}

func importName(path string) string {
	switch path {
	case "k8s.io/apimachinery/pkg/apis/meta/v1":
		return "metav1"
	case "k8s.io/api/core/v1":
		return "corev1"
	case "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1":
		return "apiextensionsv1"
	}
	return path[strings.LastIndex(path, "/")+1:]
}
