package randomapi

import (
	"fmt"
	"strings"
)

// field adds a field to a struct. It returns the JSON name, whether the field is plain, so that it can be a list key,
// and whether it is optional.
func (f *file) field(b *strings.Builder) (json string, plain, optional bool) {
	f.fields++
	i := f.fields
	name := fmt.Sprintf("%s%d", f.pick("Name", "Port", "Weight", "URL", "Enabled", "TTLSeconds", "A"), i)
	json = strings.ToLower(name[:1]) + name[1:]
	switch f.IntN(40) {
	case 0:
		if f.twice {
			// A copied type of another package cannot copy unexported fields.
			return "", false, false
		}
		fmt.Fprintf(b, "\t%s map[int][]*bool `json:\"-\"`\n", json)
		return "", false, false
	case 1:
		fmt.Fprintf(b, "\t%s %s `json:\"-\"`\n", name, f.anyType().name)
		return "", false, false
	case 2:
		json = f.pick("with-dash", "$ref", "UPPER", "snake_case", "ünicode") + fmt.Sprint(i)
	}
	t := f.anyType()
	whole := f.compose(t)
	if whole.name == t.name && f.one(20) && t.shape == structure && !strings.HasPrefix(t.name, "*") && t.path == "" &&
		!t.generic {
		fmt.Fprintf(b, "%s\t%s %s `json:\",inline\"`\n", f.document("\t", json, nil), name, t.name)
		return "", false, false
	}
	options := f.pick("", "", ",omitempty", ",omitempty", ",omitempty", ",omitzero", ",omitempty,omitzero",
		",string,omitempty")
	tag := fmt.Sprintf("json:%q", json+options)
	if f.one(10) {
		tag = fmt.Sprintf("%s protobuf:\"bytes,%d,opt,name=%s\"", tag, i+1, json)
	}
	lines, required := f.fieldMarkers(whole, options == "")
	fmt.Fprintf(b, "%s\t%s %s `%s`\n", f.document("\t", json, lines), name, whole.name, tag)
	if f.one(4) {
		b.WriteString("\n")
	}
	plain = whole.name == t.name && (t.shape == text || t.shape == number) && !strings.ContainsAny(json, "-$_ü")
	return json, plain, !required
}

// fieldMarkers chooses markers for a field. It also returns whether the field is required.
func (f *file) fieldMarkers(t typ, required bool) ([]string, bool) {
	var lines []string
	switch f.IntN(8) {
	case 0:
		lines = append(lines, f.pick("// +optional", "// +kubebuilder:validation:Optional", "// +k8s:optional"))
		required = false
	case 1:
		lines = append(lines, f.pick("// +required", "// +kubebuilder:validation:Required"))
		required = true
	}
	if !t.self && f.one(2) {
		lines = append(lines, f.limits(t)...)
	}
	if value := f.value(t); value != "" && f.one(3) {
		lines = append(lines, f.pick("// +kubebuilder:default=", "// +kubebuilder:default:=", "// +kubebuilder:example=")+
			value)
	}
	lines = append(lines, f.some(1, "// +nullable", "// +kubebuilder:title=Short",
		"// +kubebuilder:externalDocs:url=https://example.com/a")...)
	if f.one(10) {
		lines = append(lines, f.rule(nil))
	} else if f.one(20) {
		lines = append(lines, "// +k8s:immutable")
	}
	switch {
	case t.shape == structure && f.one(8):
		lines = append(lines, "// +structType=atomic")
	case strings.HasSuffix(t.name, "RawExtension"):
		lines = append(lines, f.some(2, "// +kubebuilder:pruning:PreserveUnknownFields",
			"// +kubebuilder:validation:EmbeddedResource")...)
	case t.shape == anything && f.one(6):
		lines = append(lines, "// +kubebuilder:validation:Schemaless", f.pick("// +kubebuilder:pruning:PreserveUnknownFields",
			"// +kubebuilder:validation:XIntOrString", "// +kubebuilder:validation:Type=object"))
	}
	f.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return lines, required
}

// value returns a valid value of a type.
func (f *file) value(t typ) string {
	switch t.shape {
	case text:
		return f.pick("a", `"a b"`, "`x`", `""`, `"1"`)
	case number:
		return f.pick("0", "1", "-7", "100")
	case truth:
		return f.pick("true", "false")
	case list:
		switch t.items {
		case text:
			return f.pick("{}", "{a,b}", "a;b", `{"x y"}`)
		case number:
			return f.pick("{1,2}", "{}")
		}
		return "{}"
	case dictionary, structure:
		return f.pick("{}", "{a: b}", `{"k": 1, "l": {"m"}}`)
	}
	return ""
}
