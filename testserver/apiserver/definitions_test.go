package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
)

// definitionRequests returns requests that create random CRDs. Many of these CRDs may be invalid, so they are only dry
// runs. For one CRD, the sequence also writes objects, changes the schema, adds and removes versions, and deletes the
// CRD.
func definitionRequests(seed uint64, salt string) []asked {
	s := &definitions{sequence: &sequence{Rand: rand.New(rand.NewPCG(seed, 11)),
		namespace: fmt.Sprintf("d%d%s", seed, salt)}}
	s.group = s.namespace + ".kctrl.dev"
	s.add(asked{method: "POST", path: "/api/v1/namespaces", body: object("v1", "Namespace", s.namespace, "", nil)})
	for range 12 {
		s.odds = 3
		s.tryDefinition()
	}
	s.odds = 0
	s.live()
	return s.requests
}

// definitions generates requests about the CRDs of one group.
type definitions struct {
	*sequence
	group string
	odds  int // how rarely a place is invalid; 0 means never

	versions []any // of the created CRD
	mark     int   // number in a column's name that shows when the server applies a change
}

// quotedWarnings matches the warnings of an answer.
var quotedWarnings = regexp.MustCompile(`"299 - (?:[^"\\]|\\.)*"`)

// firstProblem matches the place of the first of several problems.
var firstProblem = regexp.MustCompile(`(cannot be handled as a Thing: ).*?(json: cannot unmarshal)`)

// undeclared matches the problems of an object with an undeclared field. The real server visits the fields of a map in
// random order and stops at the first undeclared one, so it reports the problems of other fields only sometimes.
var undeclared = regexp.MustCompile(`(failed to convert (?:new|merged) object[^:"]*: )` +
	`(?:[^"\\]|\\.)*?field not declared(?:[^"\\]|\\.)*`)

// selfTypes matches random names that the CEL compiler generates.
var selfTypes = regexp.MustCompile(`selfType\d+`)

// maskedDefinitions returns an answer with sorted warnings and without the places of problems, because the real server
// finds them in map order.
func maskedDefinitions(answer string) string {
	answer = selfTypes.ReplaceAllString(answer, "selfType")
	answer = undeclared.ReplaceAllString(answer, "${1}field not declared")
	first, rest, _ := strings.Cut(firstProblem.ReplaceAllString(answer, "${1}SOMEWHERE: $2"), "\n")
	warnings := quotedWarnings.FindAllString(first, -1)
	slices.Sort(warnings)
	return quotedWarnings.ReplaceAllStringFunc(first, func(string) string {
		warning := warnings[0]
		warnings = warnings[1:]
		return warning
	}) + "\n" + rest
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// wrong reports whether to make a place invalid.
func (s *definitions) wrong() bool { return s.odds > 0 && s.IntN(s.odds*12) == 0 }

// some reports whether to include an optional part.
func (s *definitions) some(odds int) bool { return s.IntN(odds) == 0 }

// tryDefinition creates a CRD, which may be invalid, in a dry run.
func (s *definitions) tryDefinition() {
	plural := pick(s.sequence, "things", "boxes", "a-b", "x1")
	names := map[string]any{"plural": plural, "kind": pick(s.sequence, "Thing", "Box", "ABC")}
	s.vary(names, 3, "singular", "thing", "x", "")
	s.vary(names, 3, "listKind", "ThingList", "Things")
	s.vary(names, 3, "shortNames", []any{"t"}, []any{"t", "u"}, []any{})
	s.vary(names, 4, "categories", []any{"all"}, []any{"a-b"})
	if s.wrong() {
		maps.Copy(names, pick(s.sequence, map[string]any{"plural": "Things"}, map[string]any{"kind": "thing-"},
			map[string]any{"singular": "-x"}, map[string]any{"shortNames": []any{"T"}},
			map[string]any{"categories": []any{"A b"}},
			map[string]any{"listKind": names["kind"]}, map[string]any{"plural": strings.Repeat("x", 64)},
			map[string]any{"kind": ""}))
	}
	spec := map[string]any{"group": s.group, "scope": pick(s.sequence, "Namespaced", "Namespaced", "Cluster"),
		"names": names, "versions": s.someVersions()}
	if s.wrong() {
		maps.Copy(spec, pick(s.sequence, map[string]any{"scope": "Other"}, map[string]any{"scope": nil},
			map[string]any{"group": "A.b"}, map[string]any{"group": "single"}, map[string]any{"versions": []any{}},
			map[string]any{"preserveUnknownFields": true},
			map[string]any{"preserveUnknownFields": false}, map[string]any{"unknown": 1}, map[string]any{"group": ""}))
	}
	if s.some(4) {
		spec["conversion"] = s.conversion()
	}
	name := plural + "." + s.group
	if s.wrong() {
		name = pick(s.sequence, plural, "x."+s.group, "X", "")
	}
	metadata := map[string]any{}
	s.vary(metadata, 6, "annotations", map[string]any{"api-approved.kubernetes.io": "x"}, map[string]any{"a": "b"})
	s.add(asked{method: "POST", path: definitionsPath + "?dryRun=All" + pick(s.sequence, "", "", "&fieldValidation=Strict",
		"&fieldValidation=Ignore"),
		body: object("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, "",
			map[string]any{"metadata": metadata, "spec": spec})})
}

func (s *definitions) conversion() any {
	hook := map[string]any{"clientConfig": map[string]any{"url": "https://127.0.0.1:1/convert"},
		"conversionReviewVersions": []any{"v1"}}
	if s.wrong() || s.odds > 0 && s.some(3) {
		maps.Copy(hook, pick(s.sequence, map[string]any{"conversionReviewVersions": []any{}},
			map[string]any{"conversionReviewVersions": []any{"v2"}},
			map[string]any{"conversionReviewVersions": []any{"v1", "v1"}},
			map[string]any{"clientConfig": map[string]any{}}, map[string]any{"clientConfig": nil},
			map[string]any{"clientConfig": map[string]any{"url": "http://x"}},
			map[string]any{"clientConfig": map[string]any{"url": "https://x/?a=b"}},
			map[string]any{"clientConfig": map[string]any{"service": map[string]any{"name": "a"}}},
			map[string]any{"clientConfig": map[string]any{"service": map[string]any{"name": "a", "namespace": "b", "port": 0,
				"path": "x//"}}},
			map[string]any{"clientConfig": map[string]any{"url": "https://x", "caBundle": "aGVsbG8="}}))
	}
	return pick[any](s.sequence, map[string]any{"strategy": "None"},
		map[string]any{"strategy": "Webhook", "webhook": hook}, map[string]any{"strategy": "Webhook"},
		map[string]any{"strategy": "None", "webhook": hook}, map[string]any{"strategy": "x"}, map[string]any{})
}

// someVersions returns the versions of a CRD for a dry run.
func (s *definitions) someVersions() []any {
	names := []string{"v1", "v1beta1", "v2"}
	var all []any
	storage := s.IntN(2)
	count := 1 + s.IntN(2)
	for i := range count {
		version := s.version(names[i], s.root(), i == min(storage, count-1))
		if s.wrong() {
			maps.Copy(version, pick(s.sequence, map[string]any{"name": "V1"}, map[string]any{"name": "v1"},
				map[string]any{"storage": true}, map[string]any{"storage": false}, map[string]any{"schema": nil},
				map[string]any{"schema": map[string]any{}},
				map[string]any{"deprecationWarning": "x"}, map[string]any{"deprecated": true, "deprecationWarning": "old"},
				map[string]any{"deprecated": true, "deprecationWarning": ""},
				map[string]any{"deprecated": true, "deprecationWarning": strings.Repeat("x", 300)},
				map[string]any{"served": false}))
		}
		all = append(all, version)
	}
	return all
}

func (s *definitions) version(name string, schema map[string]any, storage bool) map[string]any {
	version := map[string]any{"name": name, "served": true, "storage": storage,
		"schema": map[string]any{"openAPIV3Schema": schema}}
	if s.some(2) {
		subresources := map[string]any{}
		s.vary(subresources, 2, "status", map[string]any{})
		if s.some(3) {
			subresources["scale"] = pick(s.sequence, map[string]any{"specReplicasPath": ".spec.a",
				"statusReplicasPath": ".status.a"}, map[string]any{"specReplicasPath": "spec.a", "statusReplicasPath": ".status.a"},
				map[string]any{"specReplicasPath": ".spec.a"}, map[string]any{"specReplicasPath": ".status.a",
					"statusReplicasPath": ".spec.a", "labelSelectorPath": ".x"}, map[string]any{"specReplicasPath": ".spec.a[0]",
					"statusReplicasPath": ".status.a", "labelSelectorPath": ".status.b"}, map[string]any{})
		}
		version["subresources"] = subresources
	}
	if s.some(3) {
		column := map[string]any{"name": "One", "type": pick(s.sequence, "string", "integer", "date", "boolean", "number"),
			"jsonPath": pick(s.sequence, ".spec.a", ".spec.b", ".metadata.creationTimestamp", ".spec.c[0]", ".spec.c[*].a")}
		s.vary(column, 3, "priority", 1, 0, -1)
		s.vary(column, 3, "format", "int32", "password", "date-time")
		if s.wrong() {
			maps.Copy(column, pick(s.sequence, map[string]any{"type": "x"}, map[string]any{"jsonPath": ""},
				map[string]any{"jsonPath": "{.a}"}, map[string]any{"jsonPath": ".a["}, map[string]any{"format": "x"},
				map[string]any{"name": ""}))
		}
		version["additionalPrinterColumns"] = []any{column}
	}
	if s.some(4) {
		version["selectableFields"] = []any{map[string]any{"jsonPath": pick(s.sequence, ".spec.a", ".spec.a", ".spec.b",
			".metadata.name", ".spec", "spec.a", ".spec.c[0]", ".status.x", "")}}
	}
	return version
}

func (s *definitions) vary(into map[string]any, odds int, name string, values ...any) {
	if s.some(odds) {
		into[name] = pick(s.sequence, values...)
	}
}

// root returns the schema of an object.
func (s *definitions) root() map[string]any {
	properties := map[string]any{"spec": s.object(0)}
	if s.some(2) {
		properties["status"] = s.object(1)
	}
	root := map[string]any{"type": "object", "properties": properties}
	if s.odds > 0 {
		s.vary(properties, 8, "metadata", map[string]any{"type": "object"},
			map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string",
				"maxLength": 3}}},
			map[string]any{"type": "object", "properties": map[string]any{"labels": map[string]any{"type": "object"}}},
			map[string]any{"type": "string"}, map[string]any{"type": "object", "description": "x"})
		s.vary(root, 10, "required", []any{"spec"}, []any{"nothing"})
		s.vary(root, 10, "x-kubernetes-validations", []any{map[string]any{"rule": "self.metadata.name.startsWith('a')"}},
			[]any{map[string]any{"rule": "self.metadata.labels == {}"}},
			[]any{map[string]any{"rule": "has(self.spec)", "fieldPath": ".spec"}},
			[]any{map[string]any{"rule": "self.kind == 'x' || self.apiVersion == 'y'"}})
	}
	return root
}

// object returns the schema of an object with some of the fields a to f.
func (s *definitions) object(depth int) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"}[:2+s.IntN(4)] {
		properties[name] = s.schema(depth + 1)
		if s.some(8) {
			required = append(required, name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	s.vary(schema, 8, "x-kubernetes-preserve-unknown-fields", true, true, true)
	s.vary(schema, 8, "x-kubernetes-map-type", "atomic", "granular")
	s.vary(schema, 10, "nullable", true)
	s.vary(schema, 10, "maxProperties", 2, 5)
	s.vary(schema, 12, "minProperties", 1)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if s.some(6) {
			schema["x-kubernetes-validations"] = append(asList(schema["x-kubernetes-validations"]),
				s.rule("!has(self."+name+") || ", "self."+name, properties[name].(map[string]any), " || !has(oldSelf."+name+")"))
		}
	}
	s.mistake(schema)
	return schema
}

func asList(value any) []any { list, _ := value.([]any); return list }

// rule returns an expression about a value of a schema.
func (s *definitions) rule(before, value string, schema map[string]any, after string) map[string]any {
	kind, _ := schema["type"].(string)
	expressions := map[string][]string{
		"string": {value + ".size() < 4", value + ".startsWith('a')", value + " in ['a', 'b', 'abc']",
			value + ".matches('^[a-z]*$')", value + " != ''", "isURL(" + value + ")", value + ".lowerAscii() == " + value},
		"integer": {value + " >= 0", value + " % 2 == 0", value + " < 100", "string(" + value + ").size() < 3"},
		"number":  {value + " > 0.5", value + " != 1.5"},
		"boolean": {value, "!" + value, value + " || true"},
		"array":   {"size(" + value + ") < 3", value + ".size() != 1"},
		"object":  {"true", "false"},
	}[kind]
	expression := pick(s.sequence, append(expressions, "true")...)
	one := map[string]any{"rule": before + expression}
	old := strings.Replace(value, "self", "oldSelf", 1)
	if s.some(4) && (kind == "string" || kind == "integer" || kind == "boolean") {
		one["rule"] = before + value + " == " + old + after
	}
	s.vary(one, 3, "message", "it is wrong", "no", "{{x}}")
	s.vary(one, 5, "messageExpression", "'it is ' + 'very wrong'", "string(1 + 1)", "''", "' '", "'a\\nb'")
	s.vary(one, 6, "reason", "FieldValueRequired", "FieldValueForbidden", "FieldValueDuplicate", "FieldValueInvalid")
	if s.wrong() {
		maps.Copy(one, pick(s.sequence, map[string]any{"rule": "self.nothing == 1"}, map[string]any{"rule": "self +"},
			map[string]any{"rule": "1"}, map[string]any{"rule": ""}, map[string]any{"rule": " "},
			map[string]any{"message": "a\nb"}, map[string]any{"message": " "},
			map[string]any{"messageExpression": "1"}, map[string]any{"messageExpression": "self.nothing"},
			map[string]any{"reason": "x"}, map[string]any{"fieldPath": ".nothing"}, map[string]any{"fieldPath": "x["},
			map[string]any{"optionalOldSelf": true},
			map[string]any{"rule": "oldSelf == self", "optionalOldSelf": true},
			map[string]any{"rule": "oldSelf.hasValue() || true", "optionalOldSelf": true},
			map[string]any{"rule": strings.Repeat("true && ", 500) + "true"}, map[string]any{"rule": "has(oldSelf.x)"}))
	}
	return one
}

// schema returns the schema of a random value.
func (s *definitions) schema(depth int) map[string]any {
	kinds := []string{"string", "string", "string", "integer", "integer", "number", "boolean", "array", "array", "map",
		"port", "free", "object", "object", "embedded"}
	if depth > 2 {
		kinds = kinds[:7]
	}
	schema := map[string]any{}
	kind := pick(s.sequence, kinds...)
	switch kind {
	case "string":
		schema["type"] = "string"
		s.vary(schema, 4, "format", "date", "date-time", "byte", "duration", "email", "hostname", "ipv4", "ipv6", "uri",
			"uuid", "uuid3", "uuid4", "uuid5", "cidr", "mac", "bsonobjectid", "password", "isbn", "isbn10", "isbn13",
			"creditcard", "ssn", "hexcolor", "rgbcolor", "datetime", "k8s-short-name", "k8s-long-name", "int32", "unknown")
		s.vary(schema, 6, "maxLength", 3, 0, 10)
		s.vary(schema, 8, "minLength", 1, 2)
		s.vary(schema, 6, "pattern", "^[a-z]+$", "a|b", "^$", "^(?:[a-z]{1,3})?$")
		s.vary(schema, 8, "enum", []any{"a", "b"}, []any{"abc", ""}, []any{"a"})
		s.vary(schema, 5, "default", "a", "abc", "")
		s.vary(schema, 10, "nullable", true)
	case "integer", "number":
		schema["type"] = kind
		s.vary(schema, 4, "format", "int32", "int64", "float", "double")
		s.vary(schema, 5, "minimum", 0, 1, -5)
		s.vary(schema, 5, "maximum", 10, 1, 5.5)
		s.vary(schema, 12, "exclusiveMinimum", true)
		s.vary(schema, 12, "exclusiveMaximum", true)
		s.vary(schema, 8, "multipleOf", 2, 0.5, 3)
		s.vary(schema, 8, "enum", []any{1, 2}, []any{0})
		s.vary(schema, 5, "default", 1, 2, 0)
		s.vary(schema, 10, "nullable", true)
	case "boolean":
		schema["type"] = kind
		s.vary(schema, 3, "default", true, false)
		s.vary(schema, 10, "nullable", true)
	case "array":
		schema["type"], schema["items"] = kind, s.schema(depth+1)
		s.vary(schema, 2, "maxItems", 3, 1, 0)
		s.vary(schema, 8, "minItems", 1)
		s.list(schema)
		s.vary(schema, 8, "default", []any{}, []any{"a"}, []any{1})
	case "map":
		schema["type"], schema["additionalProperties"] = "object", s.schema(depth+1)
		s.vary(schema, 4, "maxProperties", 2)
		s.vary(schema, 8, "default", map[string]any{}, map[string]any{"x": "a"})
	case "port":
		schema["x-kubernetes-int-or-string"] = true
		s.vary(schema, 4, "default", 1, "a", "50%")
		s.vary(schema, 6, "anyOf", []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}})
		s.vary(schema, 8, "pattern", "^[0-9]+%?$")
		s.vary(schema, 8, "maxLength", 3)
	case "free":
		schema["x-kubernetes-preserve-unknown-fields"] = true
		s.vary(schema, 2, "type", "object")
	case "embedded":
		schema = map[string]any{"type": "object", "x-kubernetes-embedded-resource": true,
			"x-kubernetes-preserve-unknown-fields": true}
	case "object":
		schema = s.object(depth)
		s.vary(schema, 6, "default", map[string]any{}, map[string]any{"a": "a"}, map[string]any{"a": 1})
	}
	if s.some(8) {
		s.choice(schema)
	}
	if s.some(6) {
		schema["x-kubernetes-validations"] = append(asList(schema["x-kubernetes-validations"]),
			s.rule("", "self", schema, ""))
	}
	s.vary(schema, 12, "description", "what it is")
	s.vary(schema, 20, "title", "Title")
	s.vary(schema, 20, "example", "x", 1)
	s.vary(schema, 24, "externalDocs", map[string]any{"url": "https://example.com"})
	if _, ok := schema["default"]; ok && s.odds == 0 {
		delete(schema, "default") // the default may become invalid, because live adds the rules of the created CRD
	}
	s.mistake(schema)
	return schema
}

// list chooses how an array is merged.
func (s *definitions) list(schema map[string]any) {
	items := schema["items"].(map[string]any)
	switch kind, _ := items["type"].(string); {
	case kind == "object" && items["properties"] != nil && s.some(2):
		properties := items["properties"].(map[string]any)
		properties["a"] = map[string]any{"type": pick(s.sequence, "string", "integer")}
		if s.some(3) {
			properties["b"] = map[string]any{"type": "string", "default": "x"}
			schema["x-kubernetes-list-map-keys"] = []any{"a", "b"}
		} else {
			schema["x-kubernetes-list-map-keys"] = []any{"a"}
		}
		items["required"] = []any{"a"}
		delete(items, "nullable")
		delete(items, "x-kubernetes-validations")
		schema["x-kubernetes-list-type"] = "map"
	case (kind == "string" || kind == "integer") && s.some(2):
		schema["x-kubernetes-list-type"] = "set"
		delete(items, "nullable")
	case s.some(4):
		schema["x-kubernetes-list-type"] = "atomic"
	}
}

// choice adds alternatives to a schema.
func (s *definitions) choice(schema map[string]any) {
	one := func() any {
		return pick[any](s.sequence, map[string]any{"minLength": 1}, map[string]any{"maximum": 5},
			map[string]any{"required": []any{"a"}}, map[string]any{"required": []any{"b"}},
			map[string]any{"enum": []any{"a", 1}}, map[string]any{"pattern": "^a"},
			map[string]any{"not": map[string]any{"required": []any{"a"}}}, map[string]any{"maxItems": 2}, map[string]any{})
	}
	switch s.IntN(4) {
	case 0:
		schema["anyOf"] = []any{one(), one()}
	case 1:
		schema["oneOf"] = []any{one(), one()}
	case 2:
		schema["allOf"] = []any{one()}
	case 3:
		schema["not"] = one()
	}
}

// mistake sometimes makes a schema invalid.
func (s *definitions) mistake(schema map[string]any) {
	if !s.wrong() {
		return
	}
	maps.Copy(schema, pick(s.sequence, map[string]any{"uniqueItems": true}, map[string]any{"$ref": "#/definitions/x"},
		map[string]any{"type": "x"}, map[string]any{"type": nil}, map[string]any{"additionalProperties": false},
		map[string]any{"additionalProperties": map[string]any{"type": "string"}},
		map[string]any{"pattern": "["}, map[string]any{"definitions": map[string]any{}}, map[string]any{"id": "x"},
		map[string]any{"$schema": "x"},
		map[string]any{"patternProperties": map[string]any{"x": map[string]any{"type": "string"}}},
		map[string]any{"dependencies": map[string]any{"a": []any{"b"}}},
		map[string]any{"x-kubernetes-list-type": "map"}, map[string]any{"x-kubernetes-list-type": "x"},
		map[string]any{"x-kubernetes-list-map-keys": []any{"nothing"}}, map[string]any{"x-kubernetes-map-type": "x"},
		map[string]any{"x-kubernetes-embedded-resource": true},
		map[string]any{"x-kubernetes-preserve-unknown-fields": false}, map[string]any{"x-kubernetes-int-or-string": true},
		map[string]any{"default": map[string]any{"unknown": 1}}, map[string]any{"default": nil},
		map[string]any{"default": 3.5}, map[string]any{"enum": []any{}}, map[string]any{"enum": []any{1, "a", nil}},
		map[string]any{"anyOf": []any{map[string]any{"type": "string"}}},
		map[string]any{"anyOf": []any{map[string]any{"default": "x"}}},
		map[string]any{"allOf": []any{map[string]any{"properties": map[string]any{"zz": map[string]any{"minimum": 1}}}}},
		map[string]any{"not": map[string]any{"description": "x"}},
		map[string]any{"items": []any{map[string]any{"type": "string"}}}, map[string]any{"additionalItems": true},
		map[string]any{"nullable": true, "default": nil}, map[string]any{"maxLength": -1}, map[string]any{"minimum": "x"},
		map[string]any{"unknown": 1}, map[string]any{"multipleOf": 0},
		map[string]any{"oneOf": []any{map[string]any{"x-kubernetes-preserve-unknown-fields": true}}},
		map[string]any{"x-kubernetes-validations": []any{map[string]any{"rule": "self == oldSelf"}}},
		map[string]any{"x-kubernetes-validations": []any{}},
		map[string]any{"x-kubernetes-validations": []any{map[string]any{}}}))
}

// value returns a value of a schema. If odd is set, it may have other fields and invalid values.
func (s *definitions) value(schema map[string]any, odd int) any {
	if s.some(odd) {
		return pick[any](s.sequence, nil, "abc", "", 1, -3, 1.5, true, []any{}, []any{"a"}, map[string]any{},
			map[string]any{"z": 1}, "2020-01-01", "2020-01-01T00:00:00Z", "5m", "10.0.0.1", int64(1)<<40, 1e30)
	}
	if schema["x-kubernetes-int-or-string"] == true {
		return pick[any](s.sequence, 1, "a", "50%")
	}
	if schema["x-kubernetes-embedded-resource"] == true {
		return pick[any](s.sequence, map[string]any{"apiVersion": "v1", "kind": "Pod"},
			map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a", "unknown": 1}, "x": 1},
			map[string]any{"kind": "Pod"}, map[string]any{"apiVersion": "v1", "kind": "Pod",
				"metadata": map[string]any{"labels": map[string]any{"a": 1}}})
	}
	if values := asList(schema["enum"]); len(values) > 0 {
		return pick(s.sequence, values...)
	}
	switch schema["type"] {
	case "string":
		return pick[any](s.sequence, "a", "b", "abc", "", "abcdefghijk", s.formatted(schema))
	case "integer":
		return pick[any](s.sequence, 0, 1, 2, 3, 6, 11, -1)
	case "number":
		return pick[any](s.sequence, 0, 1, 1.5, 2.0, 0.25, 100)
	case "boolean":
		return s.some(2)
	case "array":
		all := []any{}
		for range s.IntN(4) {
			all = append(all, s.value(schema["items"].(map[string]any), odd*2))
		}
		return all
	}
	value := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !s.some(3) || slices.Contains(asList(schema["required"]), any(name)) {
			value[name] = s.value(properties[name].(map[string]any), odd*2)
		}
	}
	if items, ok := schema["additionalProperties"].(map[string]any); ok {
		for _, name := range []string{"x", "y", "z"}[:s.IntN(4)] {
			value[name] = s.value(items, odd*2)
		}
	}
	if s.some(5) {
		value["other"] = pick[any](s.sequence, 1, "x", nil, map[string]any{"a": nil})
	}
	return value
}

// formatted returns a string that has the schema's format, or almost has it.
func (s *definitions) formatted(schema map[string]any) any {
	format, _ := schema["format"].(string)
	return pick(s.sequence, append([]any{"x"}, map[string][]any{
		"date": {"2020-02-29", "2021-02-29"}, "date-time": {"2020-01-01T00:00:00Z", "2020-01-01 00:00:00",
			"2020-01-01T00:00:00.5+01:00"}, "byte": {"aGVsbG8=", "?"}, "duration": {"1h", "1 hour", "3d", "1.5s"},
		"email":    {"a@b.c", "a@"},
		"hostname": {"a.b", "-a", "a_b"}, "ipv4": {"1.2.3.4", "1.2.3", "::1"}, "ipv6": {"::1", "1.2.3.4"},
		"uri": {"https://a/b", "a b"}, "uuid": {"123e4567-e89b-12d3-a456-426614174000", "123"},
		"cidr": {"10.0.0.0/8", "10.0.0.1"},
		"mac":  {"00:11:22:33:44:55", "00"}, "bsonobjectid": {"507f1f77bcf86cd799439011", "x"}, "isbn": {"0321751043", "1"},
		"isbn10": {"0321751043"}, "isbn13": {"978-0321751041"}, "creditcard": {"4111-1111-1111-1111", "1"},
		"ssn": {"111-11-1111"}, "hexcolor": {"#fff", "fff"},
		"rgbcolor": {"rgb(1,2,3)", "rgb"}, "k8s-short-name": {"a-b", "A"}, "k8s-long-name": {"a.b", "A.b"},
		"uuid4": {"123e4567-e89b-42d3-a456-426614174000"},
	}[format]...)...)
}

// live creates, changes and deletes one CRD.
func (s *definitions) live() {
	s.versions = []any{s.valid(func() map[string]any { return s.version("v1", s.root(), true) })}
	name := "things." + s.group
	s.add(asked{method: "POST", path: definitionsPath, body: object("apiextensions.k8s.io/v1", "CustomResourceDefinition",
		name, "", map[string]any{"spec": map[string]any{
			"group": s.group, "scope": "Namespaced", "names": map[string]any{"plural": "things", "kind": "Thing",
				"shortNames": []any{"th"}}, "versions": s.marked()}})})
	s.heeded("v1")
	s.add(asked{method: "GET", path: definitionsPath + "/" + name, until: `"InitialNamesAccepted"`})
	s.rival()
	s.write(0, "v1", 14)
	for range 2 {
		before := marshal(s.versions[0])
		s.versions[0] = s.valid(func() map[string]any {
			var changed map[string]any
			if err := json.Unmarshal([]byte(before), &changed); err != nil {
				panic(err)
			}
			s.change(schemaOf(changed))
			return changed
		})
		s.add(asked{method: "PATCH", path: definitionsPath + "/" + name, contentType: "application/merge-patch+json",
			body: marshal(map[string]any{"spec": map[string]any{"versions": s.marked()}})})
		s.heeded("v1")
		s.write(0, "v1", 12)
	}
	s.versions[0].(map[string]any)["storage"] = false
	second := s.valid(func() map[string]any { return s.version("v2", s.root(), true) }, s.versions...)
	s.versions = append(s.versions, second)
	s.add(asked{method: "PATCH", path: definitionsPath + "/" + name, contentType: "application/merge-patch+json",
		body: marshal(map[string]any{"spec": map[string]any{"versions": s.marked()}})})
	s.heeded("v2")
	s.heeded("v1")
	s.write(1, "v2", 6)
	s.write(0, "v1", 6)
	s.add(asked{method: "PATCH", path: definitionsPath + "/" + name, contentType: "application/merge-patch+json",
		body: marshal(map[string]any{"spec": map[string]any{"versions": s.versions[1:]}})})
	s.add(asked{method: "PATCH", path: definitionsPath + "/" + name + "/status",
		contentType: "application/merge-patch+json", body: marshal(
			map[string]any{"status": map[string]any{"storedVersions": pick(s.sequence, []any{"v2"}, []any{"v1"}, []any{})}})})
	s.add(asked{method: "DELETE", path: definitionsPath + "/" + name})
	s.add(asked{method: "GET", path: definitionsPath + "/" + name, until: `"code":404`})
	s.add(asked{method: "GET", path: s.things("v2", ""), until: "404 page not found"})
}

// rival creates another CRD with some names of the first, and deletes it.
func (s *definitions) rival() {
	names, decided := map[string]any{"plural": "others", "kind": "Other"}, `"InitialNamesAccepted"`
	if !s.some(6) {
		maps.Copy(names, pick(s.sequence, map[string]any{"kind": "Thing"}, map[string]any{"singular": "thing"},
			map[string]any{"shortNames": []any{"th", "ot"}}, map[string]any{"listKind": "ThingList"},
			map[string]any{"shortNames": []any{"things"}}))
		decided = `"NotAccepted"`
	}
	path := definitionsPath + "/others." + s.group
	s.add(asked{method: "POST", path: definitionsPath, body: object("apiextensions.k8s.io/v1", "CustomResourceDefinition",
		"others."+s.group, "", map[string]any{"spec": map[string]any{
			"group": s.group, "scope": "Cluster", "names": names,
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}}}})})
	s.add(asked{method: "GET", path: path, until: decided})
	s.add(asked{method: "DELETE", path: path})
	s.add(asked{method: "GET", path: path, until: `"code":404`})
}

func schemaOf(version any) map[string]any {
	return version.(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
}

// valid generates versions until the library of upstream accepts one as the storage version of a CRD beside others.
func (s *definitions) valid(make func() map[string]any, others ...any) map[string]any {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	for {
		version := make()
		given := &apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal([]byte(object("", "", "things."+s.group, "", map[string]any{"spec": map[string]any{
			"group": s.group, "scope": "Namespaced", "names": map[string]any{"plural": "things", "singular": "thing",
				"kind": "Thing", "listKind": "ThingList"},
			"versions": append(slices.Clip(others), version)}})), given); err != nil {
			panic(err)
		}
		scheme.Default(given)
		converted := &apiextensions.CustomResourceDefinition{}
		if err := scheme.Convert(given, converted, nil); err != nil {
			panic(err)
		}
		converted.Status.StoredVersions = []string{version["name"].(string)}
		if len(validation.ValidateCustomResourceDefinition(context.Background(), converted)) == 0 {
			return version
		}
	}
}

// marked returns the versions with a new column that shows when the server applies them.
func (s *definitions) marked() []any {
	s.mark++
	for _, version := range s.versions {
		version.(map[string]any)["additionalPrinterColumns"] = []any{map[string]any{"name": fmt.Sprintf("Mark%d", s.mark),
			"type": pick(s.sequence, "string", "integer", "date"), "jsonPath": pick(s.sequence, ".spec.a", ".spec.b",
				".spec.c[0]", ".status.a")}}
	}
	var copied []any
	if err := json.Unmarshal([]byte(marshal(s.versions)), &copied); err != nil {
		panic(err)
	}
	return copied
}

func (s *definitions) things(version, name string) string {
	return strings.TrimSuffix("/apis/"+s.group+"/"+version+"/namespaces/"+s.namespace+"/things/"+name, "/")
}

// heeded repeats a request until the server applies the last change.
func (s *definitions) heeded(version string) {
	s.add(asked{method: "GET", path: s.things(version, ""), accept: asTable, until: fmt.Sprintf(`"Mark%d"`, s.mark)})
}

// change changes the schema of existing objects.
func (s *definitions) change(schema map[string]any) {
	properties := schema["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any)
	for range 3 {
		name := pick(s.sequence, slices.Sorted(maps.Keys(properties))...)
		if s.some(4) {
			delete(properties, name)
			if len(properties) == 0 {
				properties["a"] = map[string]any{"type": "string"}
			}
			delete(schema["properties"].(map[string]any)["spec"].(map[string]any), "x-kubernetes-validations")
			delete(schema["properties"].(map[string]any)["spec"].(map[string]any), "required")
			continue
		}
		one := properties[name].(map[string]any)
		switch one["type"] {
		case "string":
			s.vary(one, 2, "maxLength", 1, 2)
			s.vary(one, 3, "pattern", "^a")
			s.vary(one, 2, "x-kubernetes-validations", []any{map[string]any{"rule": "self.size() > 1"}},
				[]any{map[string]any{"rule": "self == oldSelf"}})
		case "integer", "number":
			s.vary(one, 2, "maximum", 2)
			s.vary(one, 2, "minimum", 2)
		case "array":
			s.vary(one, 2, "maxItems", 1)
			s.vary(one, 2, "minItems", 2)
		case "object":
			s.vary(one, 2, "maxProperties", 1)
		default:
			properties["g"] = map[string]any{"type": "string", "default": "given"}
		}
	}
}

// write writes and reads objects.
func (s *definitions) write(index int, version string, count int) {
	schema := schemaOf(s.versions[index])
	for range count {
		content, ok := s.value(schema, 40).(map[string]any)
		if !ok {
			content = map[string]any{}
		}
		delete(content, "other")
		name := pick(s.sequence, "a", "b", "c")
		apiVersion := s.group + "/" + version
		query := pick(s.sequence, "", "", "?fieldValidation=Strict", "?fieldValidation=Ignore", "?dryRun=All")
		switch s.IntN(12) {
		case 0, 1, 2:
			s.add(asked{method: "POST", path: s.things(version, "") + query, body: object(apiVersion, "Thing", name, "",
				content)})
		case 3:
			s.add(asked{method: "PUT", path: s.things(version, name) + query,
				body: object(apiVersion, "Thing", name, pick(s.sequence, "{{version "+name+"}}", "{{version "+name+"}}", ""),
					content)})
		case 4, 5:
			s.add(asked{method: "PATCH", path: s.things(version, name) + query, contentType: "application/merge-patch+json",
				body: marshal(content)})
		case 6:
			force := "?fieldManager=" + pick(s.sequence, "one", "two") + pick(s.sequence, "", "&force=true")
			s.add(asked{method: "PATCH", path: s.things(version, name) + force, contentType: "application/apply-patch+yaml",
				body: object(apiVersion, "Thing", name, "", content)})
		case 7:
			s.add(asked{method: "PATCH", path: s.things(version, name) + "/status", contentType: "application/merge-patch+json",
				body: marshal(map[string]any{"status": content["status"]})})
		case 8:
			s.add(asked{method: pick(s.sequence, "DELETE", "GET", "GET"), path: s.things(version, name),
				accept: pick(s.sequence, "", asTable)})
		case 9:
			s.add(asked{method: "GET", path: s.things(version, "") + "?fieldSelector=" + pick(s.sequence, "spec.a%3Da",
				"spec.b%3D1", "spec.a!%3D", "metadata.name%3Da", "spec.c%3Da,spec.a%3Db", "status.x%3Dtrue"),
				accept: pick(s.sequence, "", asTable)})
		case 10:
			field := pick(s.sequence, "/spec/a", "/spec/b", "/spec/c/0", "/status/a", "/spec/b/x")
			operation := map[string]any{"op": pick(s.sequence, "add", "replace", "remove", "test", "add"), "path": field,
				"value": pick[any](s.sequence, "a", 1, nil, []any{"a"}, map[string]any{"a": "b"}, true)}
			s.add(asked{method: "PATCH", path: s.things(version, name) + query, contentType: "application/json-patch+json",
				body: marshal([]any{operation})})
		case 11:
			scale := object("autoscaling/v1", "Scale", name, "",
				map[string]any{"spec": map[string]any{"replicas": pick[any](s.sequence, 0, 3, -1, "x")}})
			s.add(pick(s.sequence, asked{method: "GET", path: s.things(version, name) + "/scale"},
				asked{method: "PUT", path: s.things(version, name) + "/scale", body: scale},
				asked{method: "PATCH", path: s.things(version, name) + "/scale", contentType: "application/merge-patch+json",
					body: scale}))
		}
	}
	s.add(asked{method: "GET", path: s.things(version, "")})
}
