package crd

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	sigsyaml "sigs.k8s.io/yaml"
)

// byTheLibrary returns the output of printDefinition without the writer.
func byTheLibrary(definition apiextensionsv1.CustomResourceDefinition) (string, error) {
	fields, err := fieldsOf(*definition.DeepCopy(), "v1", crd.Generator{})
	if err != nil {
		return "", err
	}
	text, err := sigsyaml.Marshal(fields)
	return "---\n" + string(text), err
}

func definitionOf(schemas ...apiextensionsv1.JSONSchemaProps) apiextensionsv1.CustomResourceDefinition {
	definition := apiextensionsv1.CustomResourceDefinition{}
	definition.APIVersion, definition.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	definition.Name, definition.Annotations = "a.b", map[string]string{"schema": "{}", "a": "\nschema: {}\n"}
	for i, schema := range schemas {
		definition.Spec.Versions = append(definition.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: "v" + string(rune('1'+i)), Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
		})
	}
	return definition
}

// compareWithLibrary prints CRDs both ways, and reports whether the writer supports them.
func compareWithLibrary(t *testing.T, schemas ...apiextensionsv1.JSONSchemaProps) bool {
	t.Helper()
	definition, omit := definitionOf(schemas...), true
	want, wantErr := byTheLibrary(definition)
	copied := definition.DeepCopy()
	documents, err := printDefinition(definition, "", crd.Generator{OmitToolVersion: &omit})
	if err != nil && wantErr != nil {
		return false
	}
	if err != nil || wantErr != nil {
		t.Fatalf("error %v, the library has %v", err, wantErr)
	}
	if got := string(documents[0].Content); got != want {
		t.Fatalf("%s", cmp.Diff(want, got))
	}
	_, written, _ := writeDefinition(*copied, "v1", crd.Generator{})
	return written
}

// texts are fragments of random texts.
var texts = []string{
	"word", "a", "two words", "yes", "On", "null", "~", "1", "0x1f", "1e3", "1:20", "2001-01-01", ":", "a: b", "a:", "- a",
	"-", "# a", "a #b", "a#b", "?", "'", `"`, "{}", "[a]", "`", "@", "%", "&a", "*a", "!a", "|", ">", "\\", "\t", "\n",
	"\n\n", " ", "  ", "ä", "…", "\u2028", "\x7f", "\x01", "\ufeff", "漢", "\xff", "---", "...", "<<", "=", ".", "x-y",
	"x.y/z", strings.Repeat("long ", 30), strings.Repeat("unbroken", 20),
	"^[a-z]([-a-z0-9]*[a-z0-9])?$", "self.a == 'b'", "10", "9", "a10", "a9", "a09", "A", "_", "$ref", "é1",
}

func randomText(r *rand.Rand) string {
	var text strings.Builder
	for range 1 + r.IntN(4) {
		text.WriteString(texts[r.IntN(len(texts))])
		if r.IntN(3) == 0 {
			text.WriteByte(' ')
		}
	}
	return text.String()
}

// plainText returns a text that the writer supports.
func plainText(r *rand.Rand) string {
	all := []string{"Name is one.", "string", "a", "Words: they go on", "Some lines\nof a text\n\n  and more", "Ends.\n",
		"yes", strings.Repeat("words of a sentence ", 1+r.IntN(12)) + "end", "^[a-z]$", "ä – b", "12"}
	return all[r.IntN(len(all))]
}

// fill sets some of the fields of a schema. It eventually sets each field of the struct.
func fill(r *rand.Rand, v reflect.Value, depth int, odd bool) {
	text, usual := plainText, 5
	if odd {
		text, usual = randomText, 9
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(r))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int64:
		v.SetInt(int64(r.IntN(2000) - 1000))
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, -5, 100, 1e14, 0.5, 1e15, 1e21, -1e300}[r.IntN(usual)])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), depth, odd)
	case reflect.Slice:
		n := r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i), depth, odd)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(4) {
			item := reflect.New(v.Type().Elem()).Elem()
			fill(r, item, depth, odd)
			v.SetMapIndex(reflect.ValueOf(text(r)).Convert(v.Type().Key()), item)
		}
	case reflect.Struct:
		if raw, ok := v.Addr().Interface().(*apiextensionsv1.JSON); ok {
			values := []string{`"a"`, `"yes"`, `""`, `1`, `true`, `null`, `{}`, `[]`,
				`{"b":[1,{"c":null,"a":"x y"}],"a":{"d":[]}}`, `[1,"a"]`, ` { "z" : 1 } `, `[[1]]`, `1.5`, `1e3`,
				`1234567890123456789`, `"a\nb"`}
			if !odd {
				values = values[:10]
			}
			raw.Raw = []byte(values[r.IntN(len(values))])
			return
		}
		for i := range v.NumField() {
			deep := v.Type().Field(i).Type.Kind() != reflect.String
			if r.IntN(12) < 3 && (depth > 0 || !deep) {
				fill(r, v.Field(i), depth-1, odd)
			}
		}
	}
}

// withoutRare clears the fields for which the writer uses the library.
func withoutRare(s *apiextensionsv1.JSONSchemaProps) {
	s.ID, s.Schema, s.Ref, s.PatternProperties, s.Dependencies, s.AdditionalItems, s.Definitions, s.ExternalDocs = "", "",
		nil, nil, nil, nil, nil, nil
	if s.Items != nil {
		s.Items.JSONSchemas = nil
		if s.Items.Schema == nil {
			s.Items = nil
		} else {
			withoutRare(s.Items.Schema)
		}
	}
	for _, list := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range list {
			withoutRare(&list[i])
		}
	}
	if s.Not != nil {
		withoutRare(s.Not)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		withoutRare(s.AdditionalProperties.Schema)
	}
	for name, field := range s.Properties {
		withoutRare(&field)
		s.Properties[name] = field
	}
}

func TestSchemasAreThoseOfTheLibrary(t *testing.T) {
	taken := 0
	const seeds = 600
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 1))
		schemas := make([]apiextensionsv1.JSONSchemaProps, 1+r.IntN(2))
		for i := range schemas {
			fill(r, reflect.ValueOf(&schemas[i]).Elem(), 4, seed%3 == 0)
			if seed%10 != 0 {
				withoutRare(&schemas[i])
			}
		}
		if compareWithLibrary(t, schemas...) {
			taken++
		}
	}
	if taken < seeds/5 {
		t.Errorf("the writer took %d of %d", taken, seeds)
	}
}

func FuzzTextsAreThoseOfTheLibrary(f *testing.F) {
	for _, text := range texts {
		f.Add(text, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, depth uint8) {
		schema := apiextensionsv1.JSONSchemaProps{Description: text, Pattern: text, Required: []string{text}}
		schema.XValidations = apiextensionsv1.ValidationRules{{Rule: text, Message: text}}
		schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{text: {Type: "a"}, text + "a": {}, "a" + text: {}}
		for range depth % 45 {
			schema = apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": schema}}
		}
		compareWithLibrary(t, schema)
	})
}

func FuzzKeysAreInTheOrderOfTheLibrary(f *testing.F) {
	f.Add("a9", "a10")
	f.Add("a09", "a9")
	f.Add("é", "z1")
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == b || !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		text, err := yaml.Marshal(map[string]int{a: 1, b: 2})
		if err != nil {
			return
		}
		var read yaml.MapSlice
		if err := yaml.Unmarshal(text, &read); err != nil || len(read) != 2 {
			return
		}
		w := &writer{}
		if got := w.sorted([]string{a, b})[0] == a; !w.refused && got != (read[0].Value == 1) {
			t.Errorf("%q before %q: %v in the library", a, b, !got)
		}
	})
}
