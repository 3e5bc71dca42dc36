package randomapi

import (
	"fmt"
	"slices"
	"strings"
)

// generic is a generic type. Source text contains brackets where a generic type and its written-out type differ: ⟨0⟩ is
// the first parameter, ⟦pkg.Name⟧ is a type of the package of the generic type, and ⟪pkg.Name|a¦b⟫ is an instantiation
// with two arguments.
type generic struct {
	home        *file
	name        string
	constraints []string
	shape       shape
	keys        []string
	document    string
	definition  string // of the type, with brackets
}

// declareGeneric adds a generic type: mostly a struct, or a list or map of its parameter.
func (f *file) declareGeneric() *generic {
	f.count++
	g := &generic{home: f, name: fmt.Sprintf("%s%d", f.pick("Crate", "Ref", "Range", "PerZone"), f.count),
		constraints: []string{"any"}}
	if f.one(3) {
		g.constraints = []string{"~string", "any"}
	}
	f.parameters = nil
	for i := range g.constraints {
		f.parameters = append(f.parameters, typ{name: fmt.Sprintf("⟨%d⟩", i), shape: anything})
	}
	var lines []string
	switch f.IntN(8) {
	case 0:
		g.shape, g.definition = list, "[]"+f.lastParameter()
		lines = f.limits(typ{name: g.definition, shape: list, items: anything})
	case 1:
		g.shape, g.definition = dictionary, "map[string]"+f.lastParameter()
		lines = f.limits(typ{name: g.definition, shape: dictionary})
	default:
		lines = f.genericStruct(g)
	}
	f.parameters = nil
	g.document = f.document("", g.name, lines)
	f.declared = append(f.declared, g.declaration())
	f.generics = append(slices.Clip(f.generics), g)
	f.all = append(f.all, g)
	return g
}

func (f *file) lastParameter() string { return f.parameters[len(f.parameters)-1].name }

// genericStruct adds the fields of a generic struct, and returns its markers.
func (f *file) genericStruct(g *generic) []string {
	g.shape = structure
	var fields strings.Builder
	for _, parameter := range f.parameters {
		f.fields++
		lines, _ := f.fieldMarkers(parameter, true)
		json := fmt.Sprintf("value%d", f.fields)
		fmt.Fprintf(&fields, "%s\tValue%d %s `json:%q`\n", f.document("\t", json, lines), f.fields, f.compose(parameter).name,
			json)
	}
	if len(f.parameters) > 1 && f.one(2) {
		f.fields++
		fmt.Fprintf(&fields, "\tBy%d map[⟨0⟩]⟨1⟩ `json:\"by%d,omitempty\"`\n", f.fields, f.fields)
	}
	for range f.IntN(5) {
		if json, plain, _ := f.field(&fields); plain {
			g.keys = append(g.keys, json)
		}
	}
	g.definition = "struct {\n" + fields.String() + "}"
	return f.typeMarkers(g.keys)
}

// template marks declarations of generic types, which are omitted when types are written out.
const template = "⟪⟫"

// declaration returns the source text of the generic type.
func (g *generic) declaration() string {
	var parameters []string
	text := g.definition
	for i, constraint := range g.constraints {
		name := fmt.Sprintf("T%d", i)
		parameters = append(parameters, name+" "+constraint)
		text = strings.ReplaceAll(text, fmt.Sprintf("⟨%d⟩", i), name)
	}
	return template + g.document + "type " + g.name + "[" + strings.Join(parameters, ", ") + "] " + text + "\n"
}

// embedGeneric embeds an instantiation of a generic type that has no other instantiation.
func (f *file) embedGeneric(b *strings.Builder) {
	if len(f.parameters) > 0 {
		return
	}
	known := f.generics
	f.generics = nil
	g := f.declareGeneric()
	f.generics = known
	if g.shape != structure {
		return
	}
	fmt.Fprintf(b, "%s\t%s%s `json:%q`\n", f.document("\t", g.name, nil), f.pick("", "", "*"), f.instantiate(g, 1).name,
		f.pick(",inline", ",inline", ""))
}

// instance returns an instantiation of a random generic type. Its arguments have nested instantiations up to a depth.
func (f *file) instance(depth int) typ {
	return f.instantiate(f.generics[f.IntN(len(f.generics))], depth)
}

func (f *file) instantiate(g *generic, depth int) typ {
	var arguments []string
	for _, constraint := range g.constraints {
		arguments = append(arguments, f.argument(constraint, depth))
	}
	if g.home != f {
		f.use(typ{path: f.importPath(g.home.dir)})
	}
	name := "⟪" + g.home.pkg + "." + g.name + "|" + strings.Join(arguments, "¦") + "⟫"
	return typ{name: name, shape: g.shape, items: anything, limit: true, keys: g.keys, generic: true}
}

// argument returns a type that satisfies the constraint of a parameter.
func (f *file) argument(constraint string, depth int) string {
	if constraint != "any" {
		if len(f.parameters) > 1 && f.one(2) {
			return f.parameters[0].name
		}
		return f.pick("string", f.reference(typ{name: f.key()}).name)
	}
	if len(f.parameters) > 0 && f.one(2) {
		return f.lastParameter()
	}
	if depth > 0 && len(f.generics) > 0 && f.one(4) {
		return f.pick("", "", "*", "[]") + f.instance(depth-1).name
	}
	from := basic()
	switch f.IntN(3) {
	case 0:
		from = f.known
	case 1:
		from = append(slices.Clip(f.own), from[0])
	}
	t := from[f.IntN(len(from))]
	if t.alias {
		t = basic()[0]
	}
	if t.self {
		return f.pick("", "[]") + f.use(f.reference(t)).name
	}
	return f.pick("", "", "", "*", "[]", "map[string]") + f.use(f.reference(t)).name
}

// reference returns a type as source text refers to it. The text of generic types may be copied to another package.
func (f *file) reference(t typ) typ {
	known := func(own typ) bool { return own.name == t.name }
	if len(f.parameters) > 0 && slices.ContainsFunc(f.own, known) {
		t.name = "⟦" + f.pkg + "." + t.name + "⟧"
	}
	return t
}

// sameMode makes the default for optional fields the same in all packages, if the generic types of one package are
// written out in another. It returns the package markers.
func (f *file) sameMode(markers []string) []string {
	if !f.twice {
		return markers
	}
	const optional = "// +kubebuilder:validation:Optional"
	markers = slices.DeleteFunc(slices.Clone(markers), func(marker string) bool { return marker == optional })
	if f.optional {
		markers = append(markers, optional)
	}
	return markers
}

// render replaces the brackets with generic types, or with the types that replace their instantiations.
func (f *file) render(declarations []string, plain bool) []string {
	var rendered []string
	for _, text := range declarations {
		text, generic := strings.CutPrefix(text, template)
		switch {
		case !plain:
			rendered = append(rendered, f.replace(text, f.asGeneric))
		case !generic:
			rendered = append(rendered, f.replace(text, f.asPlain))
		}
	}
	return rendered
}

func (f *file) replace(text string, instance func(pkg, name string, arguments []string) string) string {
	for {
		end := strings.IndexAny(text, "⟫⟧")
		if end < 0 {
			return text
		}
		begin := max(strings.LastIndex(text[:end], "⟪"), strings.LastIndex(text[:end], "⟦"))
		token := text[begin+len("⟪") : end]
		pkg, name, _ := strings.Cut(token, ".")
		name, arguments, generic := strings.Cut(name, "|")
		replacement := f.qualified(pkg, name)
		if generic {
			replacement = instance(pkg, name, strings.Split(arguments, "¦"))
		}
		text = text[:begin] + replacement + text[end+len("⟫"):]
	}
}

// qualified returns the name of a type of the group as the package writes it.
func (f *file) qualified(pkg, name string) string {
	if pkg == f.pkg {
		return name
	}
	return pkg + "." + name
}

func (f *file) asGeneric(pkg, name string, arguments []string) string {
	return f.qualified(pkg, name) + "[" + strings.Join(arguments, ", ") + "]"
}

// asPlain returns the name of the type that replaces an instantiation. It declares the type on first use.
func (f *file) asPlain(pkg, name string, arguments []string) string {
	key := f.asGeneric(pkg, name, arguments)
	if plain, known := f.instances[key]; known {
		return plain
	}
	g := f.all[slices.IndexFunc(f.all, func(g *generic) bool { return g.home.pkg == pkg && g.name == name })]
	plain := fmt.Sprintf("%sInstance%d", name, len(f.instances))
	if f.instances == nil {
		f.instances = map[string]string{}
	}
	f.instances[key] = plain
	for path := range g.home.imports {
		f.use(typ{path: path})
	}
	text := g.definition
	for i, argument := range arguments {
		text = strings.ReplaceAll(text, fmt.Sprintf("⟨%d⟩", i), argument)
	}
	f.written = append(f.written, g.document+"type "+plain+" "+f.replace(text, f.asPlain)+"\n")
	return plain
}
