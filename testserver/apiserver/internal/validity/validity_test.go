package validity

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// TestValidObjectsPassUpstream generates random schemas and objects, and compares definite results with the results of
// upstream's code.
func TestValidObjectsPassUpstream(t *testing.T) {
	valid, certain := 0, 0
	seeds.Each(t, 4, func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 3))}
		for range 80 {
			s := newSubject(t, g)
			for range 12 {
				object := map[string]any{"apiVersion": "a/v1", "kind": "K", "metadata": map[string]any{"name": "x"}}
				for name, property := range s.given.Properties {
					if name != "apiVersion" && name != "kind" && name != "metadata" && g.IntN(4) > 0 {
						object[name] = g.value(&property)
					}
				}
				if g.IntN(30) == 0 {
					object["unknown"] = int64(1)
				}
				has, right := s.check(t, object)
				if has && right {
					valid++
					if s.own.Valid(object) {
						certain++
					}
				}
			}
		}
	})
	t.Logf("%d of %d valid objects were certain", certain, valid)
	if certain < valid/2 {
		t.Errorf("%d of %d valid objects were certain: hardly anything was tested", certain, valid)
	}
}

type subject struct {
	given      *apiextensionsv1.JSONSchemaProps
	structural *schema.Structural
	upstream   validation.SchemaValidator
	own        *Schema
}

func newSubject(t *testing.T, g generator) subject {
	t.Helper()
	s := subject{given: &apiextensionsv1.JSONSchemaProps{Type: "object",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"apiVersion": {Type: "string"}, "kind": {Type: "string", Description: "as controller-gen has them"},
			"metadata": {Type: "object"}, "spec": *g.schema(3), "status": *g.schema(2), "data": *g.schema(2),
		}}}
	internal := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s.given, internal, nil)
	if err == nil {
		s.structural, err = schema.NewStructural(internal)
	}
	if err == nil {
		s.upstream, _, err = validation.NewSchemaValidator(internal)
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.own = New(s.structural); s.own == nil {
		t.Fatal("nothing is certain")
	}
	return s
}

// check fails the test if upstream contradicts a definite result. It prints upstream's errors.
func (s subject) check(t *testing.T, object map[string]any) (unchanged, right bool) {
	t.Helper()
	read := runtime.DeepCopyJSON(object)
	pruning.Prune(read, s.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(read, s.structural)
	if err := objectmeta.Coerce(nil, read, s.structural, false, false); err != nil {
		t.Fatal(err)
	}
	unchanged = reflect.DeepEqual(read, object)
	problems := append(validation.ValidateCustomResource(nil, object, s.upstream),
		listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	text, _ := json.MarshalIndent(map[string]any{"schema": s.given, "object": object}, "", " ")
	switch has := s.own.Has(object); {
	case has && !unchanged:
		t.Fatalf("upstream reads it otherwise:\n%s", text)
	case has && s.own.Valid(object) && len(problems) > 0:
		t.Fatalf("upstream reports: %v\n%s", problems, text)
	default:
		return has, len(problems) == 0
	}
	return false, false
}

type generator struct{ *rand.Rand }

func one[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

func (g generator) schema(depth int) *apiextensionsv1.JSONSchemaProps {
	s := &apiextensionsv1.JSONSchemaProps{Nullable: g.IntN(10) == 0}
	kinds := []string{"string", "string", "integer", "number", "boolean", "int-or-string"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "object", "map", "array", "array", "set", "keyed", "preserved")
	}
	number := func(most int64) *int64 { n := g.Int64N(most); return &n }
	maybe := func(odds int, do func()) {
		if g.IntN(odds) == 0 {
			do()
		}
	}
	switch kind := one(g, kinds...); kind {
	case "int-or-string":
		s.XIntOrString = true
		maybe(2, func() { s.AnyOf = []apiextensionsv1.JSONSchemaProps{{Type: "integer"}, {Type: "string"}} })
		maybe(4, func() { s.Pattern = "^[a-z]" })
	case "string":
		s.Type = kind
		maybe(5, func() { s.MinLength = number(3) })
		maybe(5, func() { s.MaxLength = number(6) })
		maybe(5, func() { s.Pattern = one(g, "^a", "b$", "^[a-z]+$") })
		maybe(5, func() {
			s.Format = one(g, "date-time", "int32", "byte", "ipv4", "uuid", "email", "date", "duration", "password", "unknown")
		})
		maybe(5, func() { s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"ab"`)}} })
	case "integer", "number":
		s.Type = kind
		maybe(4, func() { n := float64(g.IntN(3)); s.Minimum, s.ExclusiveMinimum = &n, g.IntN(2) == 0 })
		maybe(4, func() {
			n := float64(g.IntN(5)) + 0.5*float64(g.IntN(2))
			s.Maximum, s.ExclusiveMaximum = &n, g.IntN(2) == 0
		})
		maybe(20, func() { n := float64(1 << 32); s.Maximum = &n })
		maybe(4, func() { s.Format = one(g, "int32", "int64", "float", "double") })
		maybe(8, func() { n := 2.0; s.MultipleOf = &n })
		maybe(8, func() { s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`1`)}} })
	case "object":
		s.Type, s.Properties = kind, map[string]apiextensionsv1.JSONSchemaProps{}
		for i := range 1 + g.IntN(3) {
			s.Properties[fmt.Sprintf("f%d", i)] = *g.schema(depth - 1)
		}
		maybe(3, func() { s.Required = []string{"f0"} })
		maybe(10, func() { s.MinProperties = number(3) })
		maybe(10, func() { keep := true; s.XPreserveUnknownFields = &keep })
		maybe(12, func() {
			s.OneOf = []apiextensionsv1.JSONSchemaProps{{Required: []string{"f0"}}, {Required: []string{"f1"}}}
		})
		maybe(12, func() { s.Not = &apiextensionsv1.JSONSchemaProps{Required: []string{"f1"}} })
	case "map":
		s.Type, s.AdditionalProperties = "object", &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true,
			Schema: g.schema(depth - 1)}
		maybe(5, func() { s.MaxProperties = number(4) })
	case "preserved":
		keep := true
		s.XPreserveUnknownFields = &keep
		maybe(2, func() { s.Type = "object" })
	default:
		s.Type, s.Items = "array", &apiextensionsv1.JSONSchemaPropsOrArray{Schema: g.schema(depth - 1)}
		maybe(5, func() { s.MinItems = number(2) })
		maybe(5, func() { s.MaxItems = number(4) })
		if kind == "set" {
			s.XListType, s.Items.Schema = &kind, &apiextensionsv1.JSONSchemaProps{Type: one(g, "string", "integer")}
		}
		if kind == "keyed" {
			list := "map"
			s.XListType, s.XListMapKeys = &list, one(g, []string{"f0"}, []string{"f0", "f1"})
			s.Items.Schema = &apiextensionsv1.JSONSchemaProps{Type: "object",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"f0": {Type: "string"}, "f1": {Type: "integer"},
					"f2": *g.schema(depth - 1)}}
		}
	}
	return s
}

// value returns a value that conforms to a schema, or almost conforms.
func (g generator) value(s *apiextensionsv1.JSONSchemaProps) any {
	if g.IntN(80) == 0 {
		return one[any](g, nil, "a", int64(1), 1.5, 2.0, true, map[string]any{}, []any{}, map[string]any{"x": nil})
	}
	switch s.Type {
	case "string":
		if s.Format != "" && g.IntN(3) > 0 {
			return one[any](g, "2024-02-03T04:05:06Z", "2024-02-30T04:05:06Z", "2024-02-03T24:05:06Z", "2024-02-03T04:05:60Z",
				"2024-02-03t04:05:06.5+01:00", "YWI=", "1.2.3.4", "5m", "2024-02-03", "a@b.c")
		}
		return one[any](g, "a", "a", "a", "ab", "abc", "b", "", "äöü", "x y", "abcdefgh")
	case "integer":
		return one[any](g, int64(0), int64(1), int64(2), int64(3), int64(-1), int64(1<<53+1))
	case "number":
		return one[any](g, int64(0), int64(1), 0.5, 1.5, 2.5, int64(4), 3.0)
	case "boolean":
		return g.IntN(2) == 0
	case "array":
		items := []any{}
		for range g.IntN(4) {
			items = append(items, g.value(s.Items.Schema))
		}
		return items
	case "object":
		members := map[string]any{}
		for name, property := range s.Properties {
			if g.IntN(5) > 0 {
				members[name] = g.value(&property)
			}
		}
		if others := s.AdditionalProperties; others != nil {
			for range g.IntN(3) {
				members[one(g, "a", "b", "c")] = g.value(others.Schema)
			}
		}
		if g.IntN(60) == 0 || s.XPreserveUnknownFields != nil && g.IntN(2) == 0 {
			members["other"] = one[any](g, int64(1), "x", map[string]any{"a": []any{int64(1), map[string]any{"b": "c"}}})
		}
		return members
	}
	if s.XIntOrString {
		return one[any](g, int64(1), "a", "50%", 1.5)
	}
	return one[any](g, int64(1), "a", 1.5, map[string]any{"a": []any{"b"}}, []any{map[string]any{}})
}
