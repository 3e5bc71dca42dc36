package randomapi

import (
	"fmt"
	"strings"
)

// declare adds a random type.
func (f *file) declare() {
	f.count++
	name := fmt.Sprintf("%s%d", f.pick("Server", "Color", "Policy", "HTTPRoute", "Rule"), f.count)
	if f.twice && f.one(3) {
		f.declareGeneric()
		return
	}
	switch f.IntN(12) {
	case 0:
		f.add(f.named(name, basic()[f.IntN(len(basic()))]))
	case 1:
		f.enumeration(name)
	case 2:
		f.add(f.named(name, f.compose(f.anyType())))
	case 3:
		f.alias(name)
	case 4:
		f.marshaler(name)
	case 5:
		t := f.use(f.own2())
		f.add(f.named(name, t))
	default:
		f.structure(name)
	}
}

// own2 returns a declared type, or a basic one.
func (f *file) own2() typ {
	if len(f.generics) > 0 && f.one(3) {
		return f.instance(2)
	}
	if len(f.own) == 0 {
		return typ{name: "string", shape: text}
	}
	return f.own[f.IntN(len(f.own))]
}

func (f *file) add(t typ, code string) {
	f.own = append(f.own, t)
	f.declared = append(f.declared, code)
}

// named returns a named type and its underlying type.
func (f *file) named(name string, of typ) (typ, string) {
	of.name = strings.TrimPrefix(of.name, "*")
	if of.self {
		// controller-gen treats a field of a []byte type first as a list and then as a string. Other types lose their
		// methods.
		of = typ{name: "string", shape: text}
	}
	t := of
	t.name, t.path, t.below = name, "", of.foreign()
	var lines []string
	if !of.self && f.one(2) {
		lines = f.limits(of)
		t.limit = t.limit || len(lines) > 0
	}
	return t, f.document("", name, lines) + "type " + name + " " + of.name + "\n"
}

// alias declares an alias of a type.
func (f *file) alias(name string) {
	t := f.own2()
	if t.shape == list || t.shape == dictionary || t.path != "" {
		t = typ{name: "string", shape: text}
	}
	of := t.name
	t.name, t.alias = name, t.shape != structure
	f.add(t, f.document("", name, nil)+"type "+name+" = "+of+"\n")
}

// enumeration declares a string with a few values, listed in a marker or as constants.
func (f *file) enumeration(name string) {
	t := typ{name: name, shape: text, enum: true, limit: true}
	var code strings.Builder
	if f.one(2) {
		code.WriteString(f.document("", name, []string{"// +kubebuilder:validation:Enum=" + f.pick("a;b;c", `"";Always;Never`,
			"{One,Two}", "1;2", "true;false", "`x y`;\"z\"")}))
		fmt.Fprintf(&code, "type %s string\n", name)
	} else {
		code.WriteString(f.document("", name, []string{"// +k8s:enum"}))
		fmt.Fprintf(&code, "type %s string\n\nconst (\n", name)
		for i, value := range append(f.some(3, "Zebra", "Ape", "", "with space"), "ümlaut") {
			fmt.Fprintf(&code, "\t// %sValue%d %s\n\t%sValue%d %s = %q\n", name, i, f.sentence(), name, i, name, value)
		}
		code.WriteString(")\n")
	}
	f.add(t, code.String())
}

// marshaler declares a type with its own JSON form.
func (f *file) marshaler(name string) {
	t := typ{name: name, shape: text, self: true, limit: true}
	lines := []string{}
	method := "func (in " + name + ") MarshalText() ([]byte, error) { return nil, nil }\n"
	if f.one(2) {
		lines = []string{"// +kubebuilder:validation:Type=" + f.pick("string", "integer", "object"),
			"// +kubebuilder:validation:Format=" + f.pick("custom", "date")}
		method = "func (in " + name + ") MarshalJSON() ([]byte, error) { return nil, nil }\n"
		t.shape = anything
	}
	if f.one(3) {
		lines = append(lines, "// +kubebuilder:object:generate=false")
		method += "\nfunc (in *" + name + ") DeepCopyInto(out *" + name + ") { out.parts = append([]string(nil), " +
			"in.parts...) }\n\n" +
			"func (in *" + name + ") DeepCopy() *" + name + " { out := new(" + name + "); in.DeepCopyInto(out); return out }\n"
	}
	f.add(t, f.document("", name, lines)+"type "+name+" struct {\n\tparts []string\n}\n\n"+method)
}

// structure declares a struct.
func (f *file) structure(name string) {
	t := typ{name: name, shape: structure}
	var fields strings.Builder
	var optional []string
	if f.one(4) {
		f.embed(&fields)
	}
	for range f.IntN(9) {
		json, plain, omitted := f.field(&fields)
		if plain {
			t.keys = append(t.keys, json)
		}
		if omitted {
			optional = append(optional, json)
		}
	}
	lines := f.typeMarkers(t.keys)
	if len(optional) > 1 && f.one(3) {
		lines = append(lines, "// +kubebuilder:validation:"+f.pick("AtMostOneOf", "ExactlyOneOf", "AtLeastOneOf")+"="+
			strings.Join(optional, ";"))
	}
	if f.one(12) && !f.twice {
		lines = append(lines, "// +kubebuilder:object:generate=true")
	}
	f.add(t, f.document("", name, lines)+"type "+name+" struct {\n"+fields.String()+"}\n")
}

// embed adds an embedded struct, inline or with a name.
func (f *file) embed(b *strings.Builder) {
	if f.twice && f.one(2) {
		f.embedGeneric(b)
		return
	}
	for _, t := range f.own {
		if t.shape != structure || t.alias || t.generic || f.one(2) {
			continue
		}
		b.WriteString(f.document("\t", t.name, nil))
		fmt.Fprintf(b, "\t%s%s `json:%q`\n", f.pick("", "", "*"), t.name,
			f.pick(",inline", ",inline", "", "embedded,omitempty", "embedded"))
		return
	}
}

// kind adds a kind, with its spec, status and list.
func (f *file) kind() {
	name := fmt.Sprintf("%s%d", f.pick("Gateway", "Mesh", "Box", "Proxy", "Index"), f.count)
	f.structure(name + "Spec")
	f.structure(name + "Status")
	f.count += 4
	f.kinds = append(f.kinds, name)
	f.imports["k8s.io/apimachinery/pkg/apis/meta/v1"] = true
	f.declared = append(f.declared, f.document("", name, f.kindMarkers(name, len(f.kinds)))+"type "+name+` struct {
	metav1.TypeMeta   `+"`json:\",inline\"`"+`
	metav1.ObjectMeta `+"`json:\"metadata"+f.pick("", ",omitempty", ",omitzero")+"\"`"+`

`+f.document("\t", "spec", nil)+`	Spec `+f.pick("", "*")+name+`Spec `+"`json:\"spec"+f.pick("", ",omitempty")+"\"`"+`
	Status `+name+`Status `+"`json:\"status,omitempty\"`"+`
}

// +kubebuilder:object:root=true

// `+name+`List has many.
type `+name+`List struct {
	metav1.TypeMeta `+"`json:\",inline\"`"+`
	metav1.ListMeta `+"`json:\"metadata,omitempty\"`"+`
	Items []`+name+" `json:\"items\"`"+`
}
`)
}

// otherVersion declares a kind of v1 in this version as well, as a separate type or as one that refers to v1.
func (f *file) otherVersion(name string) {
	if f.one(2) {
		f.use(typ{path: f.importPath(f.name + "/v1")})
		f.declared = append(f.declared, "// +kubebuilder:object:root=true\n\n// "+name+" is that of v1.\ntype "+name+" v1."+
			name+"\n")
		return
	}
	f.structure(name + "Spec")
	f.use(typ{path: "k8s.io/apimachinery/pkg/apis/meta/v1"})
	f.count++
	f.declared = append(f.declared, "// +kubebuilder:object:root=true\n// "+name+" is older.\ntype "+name+
		" struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n"+
		"\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n\tSpec "+name+"Spec `json:\"spec\"`\n}\n")
}
