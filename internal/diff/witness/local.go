package witness

import (
	"context"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/verify/sample"
)

// shallow returns a schema of a value without what is said of the parts of the value.
func shallow(s *props) *props {
	out := *s
	out.XValidations, out.Default = nil, nil
	out.Properties = make(map[string]props, len(s.Properties))
	for name, p := range s.Properties {
		out.Properties[name] = props{XPreserveUnknownFields: new(true), Nullable: true, Default: p.Default}
	}
	any := &props{XPreserveUnknownFields: new(true), Nullable: true}
	if s.Items != nil {
		out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: any}
	}
	if s.AdditionalProperties != nil {
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: any}
	} else if s.Type != "array" {
		out.XPreserveUnknownFields = new(true)
	}
	return &out
}

// checker checks values of one schema.
type checker struct{ kinds sample.Kinds }

var checked = schema.GroupVersionKind{Group: "check", Version: "v1", Kind: "Check"}

func newChecker(s *props) *checker {
	c := &checker{}
	root := &props{Type: "object", Properties: map[string]props{"value": *s}}
	c.kinds.Add(&apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: checked.Group, Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: checked.Kind},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: checked.Version, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root},
		}},
	}})
	return c
}

// refuses reports whether a value is not valid.
func (c *checker) refuses(value any) bool {
	object := map[string]any{"value": runtime.DeepCopyJSONValue(value)}
	for _, p := range c.kinds.Check(checked, object) {
		if p.Code != sample.CodeField {
			return true
		}
	}
	return false
}

// breaker returns what reports whether a value shows a change, by itself and not by another change beside it.
func breaker(c *change.Change) func(before, value any) bool {
	switch c.Keyword {
	case change.KeywordRule:
		if r := newRule(c); r != nil {
			return r.refuses
		}
	case change.KeywordField, change.KeywordStorage:
		return func(_, value any) bool { object, _ := value.(map[string]any); _, has := object[c.Name]; return has }
	case change.KeywordNullable:
		return func(_, value any) bool { return value == nil }
	}
	if c.Lenient != nil {
		changed := shallow(c.Lenient)
		if change.Copy(c.Keyword, changed, c.Strict) {
			alone, together := newChecker(changed), newChecker(shallow(c.Strict))
			return func(_, value any) bool { return alone.refuses(value) && together.refuses(value) }
		}
	}
	return func(_, _ any) bool { return true }
}

// rule is a validation rule on its own.
type rule struct {
	validator  *schemacel.Validator
	structural *structuralschema.Structural
	// transition says that the rule is about updates.
	transition bool
}

// newRule compiles a rule. It returns nil if that is not possible.
func newRule(c *change.Change) *rule {
	s := c.Strict.DeepCopy()
	var only apiextensionsv1.ValidationRules
	for _, r := range s.XValidations {
		if r.Rule == c.Name {
			only = append(only, r)
		}
	}
	withoutRules(s)
	s.XValidations = only
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s, internal, nil); err != nil {
		return nil
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil
	}
	return &rule{schemacel.NewValidator(structural, len(c.Path) == 0, celconfig.PerCallLimit), structural, strings.Contains(c.Name, "oldSelf")}
}

func withoutRules(s *props) {
	s.XValidations = nil
	for name, p := range s.Properties {
		withoutRules(&p)
		s.Properties[name] = p
	}
	if of := change.ItemsOf(s); of != nil {
		withoutRules(of)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		withoutRules(s.AdditionalProperties.Schema)
	}
}

// refuses reports whether the rule does not hold.
func (r *rule) refuses(before, value any) bool {
	if r.validator == nil {
		return false
	}
	errs, _ := r.validator.Validate(context.Background(), nil, r.structural, value, before, celconfig.RuntimeCELCostBudget)
	return len(errs) > 0
}
