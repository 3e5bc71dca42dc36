package verify_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// sink is a CRD that contains every part that a mutation changes.
const sink = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sinks.kitchen.example.com}
spec:
  group: kitchen.example.com
  scope: Namespaced
  names: {kind: Sink, listKind: SinkList, plural: sinks, singular: sink, shortNames: [sk], categories: [all]}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {name: hook, namespace: system, path: /convert}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}
    additionalPrinterColumns:
    - {name: Size, type: integer, format: int32, jsonPath: .spec.replicas}
    selectableFields: [{jsonPath: .spec.color}]
    schema: &schema
      openAPIV3Schema:
        type: object
        x-kubernetes-validations:
        - {rule: "self.spec.replicas >= 0", message: never}
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [color]
            properties:
              replicas: {type: integer, format: int32, minimum: 0, maximum: 9, default: 1}
              color: {type: string, maxLength: 20, enum: [red, blue], default: red}
              name: {type: string, maxLength: 40, pattern: "^[a-z]+$"}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              labels: {type: object, maxProperties: 5, additionalProperties: {type: string, maxLength: 9}}
              tags: {type: array, maxItems: 8, items: {type: string, maxLength: 9}, x-kubernetes-list-type: set}
              ports:
                type: array
                maxItems: 8
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string, maxLength: 9}, number: {type: integer}, nested: {type: object, properties: {a: {type: string}}}}
                  x-kubernetes-validations:
                  - {rule: "self.name != 'x'", message: no x, reason: FieldValueInvalid, fieldPath: .name}
              nested:
                type: object
                default: {}
                properties: {a: {type: string, default: x}, b: {type: object, properties: {c: {type: boolean}}}}
          status: {type: object, properties: {replicas: {type: integer}, selector: {type: string}}}
  - name: v2
    served: true
    storage: false
    deprecated: true
    deprecationWarning: use v1
    schema: *schema
`

func kitchenSink(t *testing.T) named {
	t.Helper()
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(sink), &tree); err != nil {
		t.Fatal(err)
	}
	return named{"the kitchen sink", tree}
}

// mutant is a CRD that mutations change.
type mutant struct {
	*rand.Rand
	tree map[string]any
}

func (m *mutant) one(of ...string) string { return of[m.IntN(len(of))] }

func (m *mutant) spec() map[string]any { return m.tree["spec"].(map[string]any) }

func (m *mutant) names() map[string]any { return m.spec()["names"].(map[string]any) }

func (m *mutant) version() map[string]any {
	versions := m.spec()["versions"].([]any)
	return versions[m.IntN(len(versions))].(map[string]any)
}

// schema returns a schema of the CRD for which wanted returns true, or nil.
func (m *mutant) schema(wanted func(map[string]any) bool) map[string]any {
	var found []map[string]any
	var visit func(any)
	visit = func(node any) {
		s, ok := node.(map[string]any)
		if !ok {
			return
		}
		if wanted(s) {
			found = append(found, s)
		}
		properties, _ := s["properties"].(map[string]any)
		for _, name := range sorted(properties) {
			visit(properties[name])
		}
		visit(s["items"])
		visit(s["additionalProperties"])
	}
	root, _ := m.version()["schema"].(map[string]any)
	properties, _ := root["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)
	for _, name := range []string{"spec", "status"} {
		visit(properties[name])
	}
	if len(found) == 0 {
		return nil
	}
	return found[m.IntN(len(found))]
}

func sorted(of map[string]any) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func typed(name string) func(map[string]any) bool {
	return func(s map[string]any) bool { return s["type"] == name }
}

func has(key string) func(map[string]any) bool {
	return func(s map[string]any) bool { _, ok := s[key]; return ok }
}

// onSchema changes a schema for which wanted returns true.
func onSchema(wanted func(map[string]any) bool, change func(m *mutant, s map[string]any)) func(*mutant) bool {
	return func(m *mutant) bool {
		s := m.schema(wanted)
		if s == nil {
			return false
		}
		change(m, s)
		return true
	}
}

// withRule adds a validation rule to a schema for which wanted returns true.
func withRule(wanted func(map[string]any) bool, rules ...map[string]any) func(*mutant) bool {
	return onSchema(wanted, func(m *mutant, s map[string]any) {
		s["x-kubernetes-validations"] = []any{rules[m.IntN(len(rules))]}
	})
}

func rule(pairs ...any) map[string]any {
	r := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		r[pairs[i].(string)] = pairs[i+1]
	}
	return r
}

// mutations are the classes of mistakes.
var mutations = []struct {
	name   string
	change func(*mutant) bool
}{
	{"name of the CRD", func(m *mutant) bool {
		m.tree["metadata"].(map[string]any)["name"] = m.one("x", "Sinks.kitchen.example.com", "other.example.com")
		return true
	}},
	{"group", func(m *mutant) bool {
		m.spec()["group"] = m.one("", "example", "Example.com", "a_b.com", "-.com")
		return true
	}},
	{"group of Kubernetes", func(m *mutant) bool {
		m.spec()["group"] = m.one("x.k8s.io", "y.kubernetes.io")
		m.tree["metadata"].(map[string]any)["name"] = m.names()["plural"].(string) + "." + m.spec()["group"].(string)
		return true
	}},
	{"scope", func(m *mutant) bool { m.spec()["scope"] = m.one("", "cluster", "Namespace"); return true }},
	{"kind", func(m *mutant) bool { m.names()["kind"] = m.one("", "A_B", "9a", "A.B"); return true }},
	{"list kind", func(m *mutant) bool { m.names()["listKind"] = m.one("A_B", m.names()["kind"].(string)); return true }},
	{"plural", func(m *mutant) bool { m.names()["plural"] = m.one("", "Sinks", "a_b", "9s"); return true }},
	{"singular", func(m *mutant) bool { m.names()["singular"] = m.one("Sink", "a_b", "a.b"); return true }},
	{"short name", func(m *mutant) bool {
		m.names()["shortNames"] = []any{"ok",
			m.one("SK", "a_b", "", "9")}
		return true
	}},
	{"category", func(m *mutant) bool { m.names()["categories"] = []any{m.one("All", "a b", "")}; return true }},
	{"version name", func(m *mutant) bool { m.version()["name"] = m.one("", "V1", "1", "v_1", "v1.1"); return true }},
	{"two versions of a name", func(m *mutant) bool {
		m.spec()["versions"] = append(m.spec()["versions"].([]any), m.version())
		return true
	}},
	{"storage versions", func(m *mutant) bool { v := m.version(); v["storage"] = v["storage"] != true; return true }},
	{"no versions", func(m *mutant) bool { m.spec()["versions"] = []any{}; return true }},
	{"no schema", func(m *mutant) bool { delete(m.version(), "schema"); return true }},
	{"deprecation", func(m *mutant) bool {
		v := m.version()
		v["deprecated"], v["deprecationWarning"] = m.IntN(2) == 0, m.one("", strings.Repeat("x", 300), "a\nb", "fine")
		return true
	}},
	{"column", func(m *mutant) bool {
		column := map[string]any{"name": "A", "type": "string", "jsonPath": ".spec"}
		column[m.one("name", "type", "format", "jsonPath")] = m.one("", "text", "{.spec}", "spec", ".spec[", ".a b.c")
		m.version()["additionalPrinterColumns"] = []any{column}
		return true
	}},
	{"selectable field", func(m *mutant) bool {
		m.version()["selectableFields"] = []any{map[string]any{"jsonPath": m.one("", ".spec.nope", ".spec", ".metadata.name",
			"spec.color", ".spec.ports[0].name", ".kind")}}
		return true
	}},
	{"many selectable fields", func(m *mutant) bool {
		s := m.schema(has("properties"))
		if s == nil {
			return false
		}
		var fields []any
		v := m.version()
		schema := v["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		spec, _ := schema["properties"].(map[string]any)["spec"].(map[string]any)
		properties, ok := spec["properties"].(map[string]any)
		if !ok {
			return false
		}
		for i := range 5 + m.IntN(8) {
			name := "f" + string(rune('a'+i))
			properties[name] = map[string]any{"type": "string"}
			fields = append(fields, map[string]any{"jsonPath": ".spec." + name})
		}
		v["selectableFields"] = fields
		return true
	}},
	{"scale", func(m *mutant) bool {
		scale := map[string]any{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
		scale[m.one("specReplicasPath", "statusReplicasPath", "labelSelectorPath")] = m.one("", "spec.replicas", ".status",
			".spec[0].a", ".replicas", "{.spec.x}")
		m.version()["subresources"] = map[string]any{"scale": scale, "status": map[string]any{}}
		return true
	}},
	{"conversion", func(m *mutant) bool {
		hook := map[string]any{"conversionReviewVersions": []any{m.one("v1", "v9", "V1", "v1beta1")}}
		hook["clientConfig"] = []any{nil, map[string]any{},
			map[string]any{"url": m.one("http://x", "https://x/y", "https://x?y", "x")},
			map[string]any{"service": map[string]any{"name": m.one("", "a"), "namespace": "b",
				"path": m.one("/x", "x", "/x//y")}}}[m.IntN(4)]
		m.spec()["conversion"] = map[string]any{"strategy": m.one("Webhook", "Webhook", "None", "webhook"), "webhook": hook}
		return true
	}},
	{"preserveUnknownFields", func(m *mutant) bool { m.spec()["preserveUnknownFields"] = true; return true }},
	{"type", onSchema(has("type"), func(m *mutant, s map[string]any) {
		s["type"] = m.one("", "int", "String", "null",
			"array", "object")
	})},
	{"no type", onSchema(has("type"), func(_ *mutant, s map[string]any) { delete(s, "type") })},
	{"no items", onSchema(typed("array"), func(_ *mutant, s map[string]any) { delete(s, "items") })},
	{"properties and additionalProperties", onSchema(has("properties"), func(m *mutant, s map[string]any) {
		s["additionalProperties"] = []any{true, false, map[string]any{"type": "string"}}[m.IntN(3)]
	})},
	{"default", onSchema(func(s map[string]any) bool { return s["type"] != nil && s["x-kubernetes-int-or-string"] == nil },
		func(m *mutant, s map[string]any) {
			s["default"] = []any{1, "x", true, []any{}, map[string]any{}, 1.5, []any{1}, "red", -1}[m.IntN(9)]
		})},
	{"nested default", onSchema(has("properties"), func(m *mutant, s map[string]any) {
		properties := s["properties"].(map[string]any)
		names := sorted(properties)
		if len(names) == 0 {
			return
		}
		s["default"] = map[string]any{names[m.IntN(len(names))]: []any{3, "x", map[string]any{"nope": 1}, nil}[m.IntN(4)],
			m.one("nope", names[0]): "x"}
	})},
	{"pattern", onSchema(typed("string"), func(m *mutant, s map[string]any) {
		s["pattern"] = m.one("[", "(?=x)", "*",
			"^a$")
	})},
	{"list type", onSchema(typed("array"), func(m *mutant, s map[string]any) {
		s["x-kubernetes-list-type"] = m.one("map", "set", "atomic", "Map", "")
	})},
	{"list type of no list", onSchema(typed("string"),
		func(m *mutant, s map[string]any) { s["x-kubernetes-list-type"] = m.one("set", "atomic", "map") })},
	{"list map keys", onSchema(typed("array"), func(m *mutant, s map[string]any) {
		s["x-kubernetes-list-type"] = "map"
		s["x-kubernetes-list-map-keys"] = []any{m.one("name", "nope", "nested", "number"),
			m.one("name", "number")}[:1+m.IntN(2)]
	})},
	{"optional list map key", onSchema(has("x-kubernetes-list-map-keys"),
		func(_ *mutant, s map[string]any) { delete(s["items"].(map[string]any), "required") })},
	{"map type", onSchema(has("type"), func(m *mutant, s map[string]any) {
		s["x-kubernetes-map-type"] = m.one("atomic",
			"granular", "Atomic")
	})},
	{"keywords", onSchema(has("type"), func(m *mutant, s map[string]any) {
		s[m.one("uniqueItems", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
			"x-kubernetes-preserve-unknown-fields", "nullable")] = m.IntN(3) > 0
	})},
	{"forbidden keywords", onSchema(has("type"), func(m *mutant, s map[string]any) {
		key := m.one("$ref", "id", "definitions", "dependencies", "patternProperties", "additionalItems")
		s[key] = map[string]any{"$ref": "#/x", "id": "x",
			"definitions":       map[string]any{"a": map[string]any{"type": "string"}},
			"dependencies":      map[string]any{"a": []any{"b"}},
			"patternProperties": map[string]any{"a": map[string]any{"type": "string"}}, "additionalItems": true}[key]
	})},
	{"logic", onSchema(has("type"), func(m *mutant, s map[string]any) {
		s[m.one("allOf", "anyOf", "oneOf")] = []any{map[string]any{m.one("type", "description", "default", "pattern",
			"minLength", "title"): []any{"string", "a", 1}[m.IntN(3)]}}
	})},
	{"wrong JSON", onSchema(has("type"), func(m *mutant, s map[string]any) {
		s[m.one("maxLength", "required", "description", "minimum", "properties", "enum")] = []any{"x", true,
			map[string]any{"a": 1}}[m.IntN(3)]
	})},
	{"rule that does not compile", withRule(has("type"), rule("rule", "self +"), rule("rule", "nope == 1"),
		rule("rule", "self.nope"), rule("rule", "1 + 'a' == 2"), rule("rule", "'a'"), rule("rule", " "))},
	{"rule that costs", withRule(typed("array"), rule("rule", "self.all(a, self.all(b, self.all(c, a == b || b == c)))"),
		rule("rule", "self.all(a, self.exists_one(b, a == b))"))},
	{"rule on texts", withRule(typed("string"), rule("rule", "self.matches('^a*b*c*$')"),
		rule("rule", "self.contains(self + 'x')"), rule("rule", "size(self) > 1"), rule("rule", "self.format('x')"))},
	{"oldSelf", withRule(has("type"), rule("rule", "self == oldSelf"), rule("rule", "oldSelf == self", "optionalOldSelf",
		true), rule("rule", "true", "optionalOldSelf", true))},
	{"message", withRule(has("type"), rule("rule", "true", "message", " "), rule("rule", "true", "message", "a\nb"),
		rule("rule", "true\n&& true"), rule("rule", "true", "messageExpression", "1"),
		rule("rule", "true", "messageExpression", "self +"), rule("rule", "true", "messageExpression", " "))},
	{"reason and path", withRule(has("properties"), rule("rule", "true", "reason", "Nope"),
		rule("rule", "true", "fieldPath", ".nope"), rule("rule", "true", "fieldPath", "x"),
		rule("rule", "true", "fieldPath", " "))},
	{"metadata", func(m *mutant) bool {
		root := m.version()["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		properties, ok := root["properties"].(map[string]any)
		if !ok {
			return false
		}
		properties["metadata"] = []any{map[string]any{"type": "string"},
			map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string",
				"default": "x"}}},
			map[string]any{"type": "object", "properties": map[string]any{"labels": map[string]any{"type": "object"}}},
			map[string]any{"type": "object", "required": []any{"name"}}}[m.IntN(4)]
		return true
	}},
	{"root", func(m *mutant) bool {
		root := m.version()["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		switch m.IntN(4) {
		case 0:
			root["type"] = m.one("string", "array", "")
		case 1:
			root["nullable"] = true
		case 2:
			root["additionalProperties"] = map[string]any{"type": "string"}
		default:
			root["oneOf"] = []any{map[string]any{"required": []any{"spec"}}}
		}
		return true
	}},
}
