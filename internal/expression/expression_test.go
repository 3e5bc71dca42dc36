package expression_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/expression"
)

func schemaOf(t *testing.T, text string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

const shelf = `
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    required: [size]
    properties:
      size: {type: integer}
      ratio: {type: number}
      open: {type: boolean}
      since: {type: string, format: date-time}
      port: {x-kubernetes-int-or-string: true}
      any: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: string}}}
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
      namespace: {type: string}
      dash-ed: {type: string}
      tags: {type: array, items: {type: string}}
      books: {type: array, items: {type: object, properties: {title: {type: string}}}}
      labels: {type: object, additionalProperties: {type: string}}
`

// TestAdmissionRefusesWhatAPIServersDo checks expressions that API servers reject. It also expects errors with
// positions for expressions that their schema makes invalid, and no error for expressions that may be valid.
func TestAdmissionRefusesWhatAPIServersDo(t *testing.T) {
	admission, err := expression.NewAdmission("Shelf", schemaOf(t, shelf))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`object.spec.size > 3`:                                                                                               "",
		`object.spec.size > oldObject.spec.size && 1 < 2`:                                                                    "",
		`oldObject == null || has(object.spec.open)`:                                                                         "",
		`object.spec.ratio + 1.5 > 2.0 && object.spec.size < 1.5`:                                                            "",
		`object.spec.since == "x" || timestamp(object.spec.since) < timestamp("2020-01-01T00:00:00Z")`:                       "",
		`object.spec.port == 80 || object.spec.port == "http"`:                                                               "",
		`object.spec.any.other == 1 && object.spec.template.spec.x == 1`:                                                     "",
		`object.spec.__namespace__ == "" && object.spec.dash__dash__ed == ""`:                                                "",
		`object.spec.tags.all(t, t.size() < 3) && object.spec.books.exists(b, b.title == "")`:                                "",
		`object.metadata.labels["a"] == object.spec.labels["a"] && object.metadata.ownerReferences.exists(o, o.kind == "A")`: "",
		`request.userInfo.username != "me" && request.operation == "CREATE" && !request.dryRun`:                              "",
		`namespaceObject.metadata.labels["a"] == "b"`:                                                                        "",
		`authorizer.group("").resource("pods").check("get").allowed()`:                                                       "",
		`quantity("1Gi").isGreaterThan(quantity("1Mi")) && "a".matches("b")`:                                                 "",
		`object.spec.sise > 3`: "1:12 there is no field sise",
		"object.spec.size > 3 &&\n  object.spec.books.exists(b, b.titel == '')": "2:32 there is no field titel",
		`objekt.spec.size > 3`: "1:1 there is no variable or function objekt",
		`params.size > 3`:      "1:1 there is no variable or function params",
		`object.spec.size >`:   "1:19 syntax error: it ends too early",
		`object.spec.size`:     "0:0 want true or false, and this is of type int",
		`object.spec.books`:    "0:0 want true or false, and this is a list",
		`object.spec`:          "0:0 want true or false, and this is an object",
		`object.spec.open`: "0:0 API servers do not know whether this is true or false: what objects of a " +
			"kind have is nothing to them",
		`object.spec.size + "a" == "b"`: "1:18 found no matching overload for '_+_' applied to '(int, string)'",
		`object.spec.tags == 3`:         "1:18 found no matching overload for '_==_' applied to '(list(string), int)'",
		`request.userInfo.name == "a"`:  "1:17 there is no field name",
	} {
		got := ""
		if p := admission.Check(text, text); p != nil {
			got = place(*p) + p.Message
		}
		if got != want {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
	}
	stored := `oldObject == null || (object.spec.open)`
	if p := admission.Check(`object.spec.open`, stored); p != nil {
		t.Errorf("%s: %+v", stored, p)
	}
}

func place(p expression.Problem) string { return fmt.Sprintf("%d:%d ", p.Line, p.Column) }

// TestAdmissionOfUnknownKinds checks that expressions about a kind without a schema may refer to any field of objects,
// while the rest of the expression is checked.
func TestAdmissionOfUnknownKinds(t *testing.T) {
	admission, err := expression.NewAdmission("Deployment", nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, fine := range map[string]bool{
		`object.spec.replicas < 3 && object.spec.nobody.knows == "x"`: true, `request.operation == "CREATE"`: true,
		`object.spec.paused`: false, `object.spec.replicas <`: false, `requst.operation == "CREATE"`: false, `1`: false,
	} {
		if p := admission.Check(text, text); (p == nil) != fine {
			t.Errorf("%s: %+v", text, p)
		}
	}
}

// TestRulesAreThoseThatAPIServersTake checks rules that do not compile, and rules whose cost may exceed the limit
// according to the schema.
func TestRulesAreThoseThatAPIServersTake(t *testing.T) {
	for rules, want := range map[string]string{
		`spec: {type: object, properties: {size: {type: integer, x-kubernetes-validations: [{rule: self > 3}]}}}`:                                                                                                                        "",
		`spec: {type: object, properties: {size: {type: integer, x-kubernetes-validations: [{rule: "self >"}]}}}`:                                                                                                                        `spec.size "self >" 1:7 syntax error: it ends too early`,
		`spec: {type: object, properties: {size: {type: integer, x-kubernetes-validations: [{rule: self + 1}]}}}`:                                                                                                                        `spec.size "self + 1" 0:0 want true or false`,
		`spec: {type: object, x-kubernetes-validations: [{rule: self.sise > 3}], properties: {size: {type: integer}}}`:                                                                                                                   `spec "self.sise > 3" 1:5 there is no field sise`,
		`spec: {type: object, x-kubernetes-validations: [{rule: "slf.size > 3"}], properties: {size: {type: integer}}}`:                                                                                                                  `spec "slf.size > 3" 1:1 there is no variable or function slf`,
		`spec: {type: object, x-kubernetes-validations: [{rule: self.size > 3, messageExpression: "self.size"}], properties: {size: {type: integer}}}`:                                                                                   `spec "self.size > 3" messageExpression 0:0 want a string`,
		`spec: {type: object, x-kubernetes-validations: [{rule: self.size > 3, messageExpression: "'a' + self.sise"}], properties: {size: {type: integer}}}`:                                                                             `spec "self.size > 3" messageExpression 1:11 there is no field sise`,
		`spec: {type: object, x-kubernetes-validations: [{rule: self.size > 3, fieldPath: ".sise"}], properties: {size: {type: integer}}}`:                                                                                               `spec "self.size > 3" fieldPath 0:0`,
		`spec: {type: object, x-kubernetes-validations: [{rule: self.size > 3, fieldPath: ".size"}], properties: {size: {type: integer}}}`:                                                                                               "",
		`spec: {type: object, x-kubernetes-validations: [{rule: ""}], properties: {size: {type: integer}}}`:                                                                                                                              `spec "" 0:0 it is empty`,
		`spec: {type: object, x-kubernetes-validations: [{rule: "self.size >\n 3"}], properties: {size: {type: integer}}}`:                                                                                                               `spec "self.size >\n 3" message 0:0 a rule of several lines`,
		`spec: {type: object, x-kubernetes-validations: [{rule: "self.size > 3", optionalOldSelf: true}], properties: {size: {type: integer}}}`:                                                                                          `spec "self.size > 3" optionalOldSelf 0:0 the rule has no oldSelf`,
		`spec: {type: object, x-kubernetes-validations: [{rule: "self.size == 3"}], properties: {size: {type: object, properties: {a: {type: integer}}}}}`:                                                                               `spec "self.size == 3" 1:11 found no matching overload for '_==_' applied to '(selfType.size, int)'`,
		`spec: {type: object, x-kubernetes-validations: [{rule: "self == oldSelf", optionalOldSelf: true}], properties: {size: {type: integer}}}`:                                                                                        `spec "self == oldSelf" 1:6 found no matching overload for '_==_' applied to '(selfType, optional_type(selfType))'`,
		`spec: {type: object, x-kubernetes-validations: [{rule: "self == oldSelf"}]}`:                                                                                                                                                    "",
		`spec: {type: array, maxItems: 3, items: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}}`:                                                                                                                  `spec[] "self == oldSelf" 0:0 there is no oldSelf in a list that is not one of +listType=map`,
		`spec: {type: array, maxItems: 3, x-kubernetes-list-type: set, items: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}}`:                                                                                     `spec[] "self == oldSelf" 0:0 there is no oldSelf in a list`,
		`spec: {type: array, maxItems: 3, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a], items: {type: object, required: [a], properties: {a: {type: string}}, x-kubernetes-validations: [{rule: self.a == oldSelf.a}]}}`: "",
		`spec: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}}}`:                                                                                     "",
		`spec: {type: array, maxItems: 10, items: {type: string, maxLength: 10, x-kubernetes-validations: [{rule: 'self.matches("a.*b")'}]}}`:                                                                                            "",
		`spec: {type: array, items: {type: string, x-kubernetes-validations: [{rule: 'self.matches("a.*b")'}]}}`:                                                                                                                         `spec[] "self.matches(\"a.*b\")" 0:0 API servers estimate it at`,
		`spec: {type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: 'self.matches("a.*b")'}]}}`:                                                                                                         `spec{} "self.matches(\"a.*b\")" 0:0 API servers estimate it at`,
	} {
		schema := schemaOf(t, "type: object\nproperties:\n  "+rules+"\n")
		found, err := expression.Rules(schema)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range found {
			argument := p.Argument + " "
			if p.Argument == "rule" {
				argument = ""
			}
			got += p.Field() + " " + strconv.Quote(p.Rule) + " " + argument + place(p.Problem) + p.Message
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", rules, got, want)
		}
	}
}
