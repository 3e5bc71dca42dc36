package witness

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/verify/sample"
)

// shallow returns a schema of a value without the constraints on its parts.
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

// refuses returns a function that reports whether a value is invalid for a schema.
func refuses(s *props) func(value any) bool {
	root := sample.NewSchema(&props{Type: "object", Properties: map[string]props{"value": *s}})
	return func(value any) bool {
		problems := root.CheckUpdate("Check", map[string]any{"value": cloned(value)}, nil)
		return slices.ContainsFunc(problems, func(p sample.Problem) bool { return p.Code != sample.CodeField })
	}
}

// breaker returns a function that reports whether a value shows a change, without regard to other changes.
func (s *search) breaker() func(before, value any) bool {
	c := s.change
	switch c.Keyword {
	case change.KeywordRule:
		if s.rule = s.newRule(c); s.rule != nil {
			return s.rule.refuses
		}
	case change.KeywordField, change.KeywordStorage:
		return func(_, value any) bool { object, _ := value.(map[string]any); _, has := object[c.Name]; return has }
	case change.KeywordNullable:
		return func(_, value any) bool { return value == nil }
	}
	if c.Lenient != nil {
		changed := shallow(c.Lenient)
		if change.Copy(c.Keyword, changed, c.Strict) {
			alone, together := refuses(changed), refuses(shallow(c.Strict))
			return func(_, value any) bool { return alone(value) && together(value) }
		}
	}
	return func(_, _ any) bool { return true }
}

// rule is a single validation rule.
type rule struct {
	validator  *schemacel.Validator
	structural *structuralschema.Structural
	// transition reports whether the rule uses oldSelf.
	transition bool
}

// newRule compiles a rule. It returns nil if that fails.
func (f *Finder) newRule(c *change.Change) *rule {
	structural := f.structuralOf(c.Strict)
	i := slices.IndexFunc(c.Strict.XValidations, func(r apiextensionsv1.ValidationRule) bool { return r.Rule == c.Name })
	if structural == nil || i < 0 {
		return nil
	}
	only := *structural
	only.XValidations = c.Strict.XValidations[i : i+1]
	if len(structural.Properties) > 0 && !wholeSelf.MatchString(c.Name) {
		// The compiler visits all fields, so only the fields that the rule mentions are kept.
		only.Properties = map[string]structuralschema.Structural{}
		for _, name := range identifier.FindAllString(c.Name, -1) {
			if p, ok := structural.Properties[name]; ok {
				only.Properties[name] = p
			}
		}
	}
	return &rule{schemacel.NewValidator(&only, len(c.Path) == 0, celconfig.PerCallLimit), &only,
		strings.Contains(c.Name, "oldSelf")}
}

// wholeSelf matches rules that may use all fields of a value, or a field with an escaped name.
var wholeSelf = regexp.MustCompile(`(self|Self)\s*($|[^.\w\s])|__`)

// structuralOf returns a schema without its rules in the form in which rules are compiled, or nil if it is invalid.
func (f *Finder) structuralOf(s *props) *structuralschema.Structural {
	if f.structural.of == s {
		return f.structural.schema
	}
	without := s.DeepCopy()
	edit(without, func(s *props) { s.XValidations = nil })
	internal := &apiextensions.JSONSchemaProps{}
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(without, internal, nil)
	f.structural.of, f.structural.schema = s, nil
	if err == nil {
		if structural, err := structuralschema.NewStructural(internal); err == nil {
			f.structural.schema = structural
		}
	}
	return f.structural.schema
}

// edit calls visit, which may change its argument, for a schema and all schemas in it.
func edit(s *props, visit func(*props)) {
	if s == nil {
		return
	}
	visit(s)
	for name, p := range s.Properties {
		edit(&p, visit)
		s.Properties[name] = p
	}
	edit(change.ItemsOf(s), visit)
	if s.AdditionalProperties != nil {
		edit(s.AdditionalProperties.Schema, visit)
	}
}

// refuses reports whether the rule is false.
func (r *rule) refuses(before, value any) bool { return r.reason(before, value) != "" }

// reason returns the message of the rule for a value, or "" if the rule is true.
func (r *rule) reason(before, value any) string {
	if r.validator == nil {
		return ""
	}
	value, before = cloned(value), cloned(before)
	structuraldefaulting.Default(value, r.structural)
	structuraldefaulting.Default(before, r.structural)
	errs, _ := r.validator.Validate(context.Background(), nil, r.structural, value, before, celconfig.RuntimeCELCostBudget)
	if len(errs) == 0 {
		return ""
	}
	return cmp.Or(errs[0].Detail, errs[0].ErrorBody())
}
