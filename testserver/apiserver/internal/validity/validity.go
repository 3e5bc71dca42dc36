// Package validity recognizes custom resources that are certainly valid, in a fraction of the time that upstream's
// validators need.
//
// A [Schema] is compiled once from the structural schema of a version. Has reports that pruning and coercion would not
// change an object. Valid reports that all values conform to the schema, and that lists which are sets or maps contain
// no duplicates. If one of them returns false, the object may still be valid: the validators of
// k8s.io/apiextensions-apiserver then decide and return the errors. Tests compare the results of both with random
// schemas and objects. Expressions (x-kubernetes-validations) and metadata are not checked here.
package validity

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Schema is a compiled schema. It is immutable.
type Schema struct {
	kinds      []reflect.Kind // permitted kinds of values; nil means all kinds
	properties map[string]*Schema
	others     *Schema // schema of the values of other names; nil if no others are allowed
	items      *Schema // schema of the items; nil if no items are allowed

	defaults bool // the schema or one of its parts has a default
	unsure   bool // only upstream can validate values
	checks   []func(value any) bool
}

// New compiles the schema of the objects of a version. It returns nil if there is no schema, or if the schema has its
// own rules for the status as a whole or for fields that all objects have.
func New(s *schema.Structural) *Schema {
	if s == nil || s.Type != "object" {
		return nil
	}
	root := *s
	root.Properties = map[string]schema.Structural{"apiVersion": {}, "kind": {}, "metadata": {}}
	for name, property := range s.Properties {
		rules := property
		rules.Description, rules.Title, rules.Type, rules.ValueValidation = "", "", "", nil
		ruled := property.ValueValidation != nil && !reflect.DeepEqual(*property.ValueValidation, schema.ValueValidation{})
		ruled = ruled || !reflect.DeepEqual(rules, schema.Structural{})
		_, every := root.Properties[name]
		if every && ruled || name == "status" && property.Default.Object != nil {
			return nil
		}
		root.Properties[name] = property
	}
	c := compile(&root)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		c.properties[name] = anything
	}
	return c
}

// anything is the schema of values that are always kept unchanged.
var anything = func() *Schema {
	s := &Schema{}
	s.others, s.items = s, s
	return s
}()

var kinds = map[string][]reflect.Kind{
	"string": {reflect.String}, "integer": {reflect.Int64}, "number": {reflect.Int64, reflect.Float64},
	"boolean": {reflect.Bool}, "array": {reflect.Slice}, "object": {reflect.Map},
}

func compile(s *schema.Structural) *Schema {
	c := &Schema{kinds: kinds[s.Type], properties: map[string]*Schema{}, defaults: s.Default.Object != nil}
	switch {
	case s.XIntOrString:
		c.kinds = []reflect.Kind{reflect.String, reflect.Int64}
	case s.XEmbeddedResource || s.Type == "" && !s.XPreserveUnknownFields:
		c.kinds = []reflect.Kind{} // upstream modifies the metadata of embedded resources
	}
	part := func(of *schema.Structural) *Schema {
		compiled := compile(of)
		c.defaults = c.defaults || compiled.defaults
		return compiled
	}
	for name, property := range s.Properties {
		c.properties[name] = part(&property)
	}
	if s.XPreserveUnknownFields {
		c.others, c.items = anything, anything
	}
	if s.Items != nil {
		c.items = part(s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		c.others = part(s.AdditionalProperties.Structural)
	}
	if s.ValueValidation != nil {
		c.addChecks(s)
	}
	c.addUnique(s)
	return c
}

// Defaults reports whether the schema has defaults.
func (s *Schema) Defaults() bool { return s.defaults }

// Has reports whether reading a value with the schema would not change it.
func (s *Schema) Has(value any) bool {
	kind := reflect.Invalid
	switch value := value.(type) {
	case map[string]any:
		kind = reflect.Map
		for name, member := range value {
			if property := s.of(name); property == nil || !property.Has(member) {
				return false
			}
		}
	case []any:
		kind = reflect.Slice
		if s.items == nil || slices.ContainsFunc(value, func(item any) bool { return !s.items.Has(item) }) {
			return false
		}
	case string:
		kind = reflect.String
	case bool:
		kind = reflect.Bool
	case int64:
		kind = reflect.Int64
	case float64:
		if kind = reflect.Float64; value == math.Trunc(value) {
			return false
		}
	}
	return kind != reflect.Invalid && (s.kinds == nil || slices.Contains(s.kinds, kind))
}

func (s *Schema) of(name string) *Schema {
	if property := s.properties[name]; property != nil {
		return property
	}
	return s.others
}

// Valid reports whether a value is certainly valid. Has must be true for the value.
func (s *Schema) Valid(value any) bool {
	if s.unsure || slices.ContainsFunc(s.checks, func(check func(any) bool) bool { return !check(value) }) {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if !s.of(name).Valid(member) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !s.items.Valid(item) })
	}
	return true
}

// check adds a check for values of type T. Values of other types fail the check.
func check[T any](s *Schema, passes func(value T) bool) {
	s.checks = append(s.checks, func(value any) bool {
		typed, ok := value.(T)
		return ok && passes(typed)
	})
}

// addChecks compiles the rules for the value itself. If some rules are not handled here, only upstream can validate
// values.
func (s *Schema) addChecks(of *schema.Structural) {
	rest := *of.ValueValidation
	if v := rest; v.Required != nil {
		check(s, func(members map[string]any) bool {
			return !slices.ContainsFunc(v.Required, func(name string) bool { _, there := members[name]; return !there })
		})
	}
	if least, most := rest.MinItems, rest.MaxItems; least != nil || most != nil {
		check(s, func(items []any) bool { return between(len(items), least, most) })
	}
	if least, most := rest.MinLength, rest.MaxLength; least != nil || most != nil {
		check(s, func(text string) bool { return between(utf8.RuneCountInString(text), least, most) })
	}
	if rest.Pattern != "" {
		pattern, err := regexp.Compile(rest.Pattern)
		s.unsure = s.unsure || err != nil
		check(s, func(text string) bool { return pattern.MatchString(text) })
	}
	if values := rest.Enum; values != nil {
		check(s, func(text string) bool {
			return slices.ContainsFunc(values, func(value schema.JSON) bool { return value.Object == text })
		})
	}
	s.addBounds(&rest)
	for _, bound := range []*float64{rest.Minimum, rest.Maximum} {
		// If a bound does not fit into the format, upstream rejects every value.
		s.unsure = s.unsure || bound != nil && validate.IsValueValidAgainstRange(*bound, of.Type, rest.Format, "", "") != nil
	}
	s.addFormat(rest.Format, of.Type == "string" || of.Type == "" || of.XIntOrString)
	alternative := func(of string) schema.NestedValueValidation {
		return schema.NestedValueValidation{ForbiddenGenerics: schema.Generic{Type: of}}
	}
	either := []schema.NestedValueValidation{alternative("integer"), alternative("string")}
	if of.XIntOrString && reflect.DeepEqual(rest.AnyOf, either) {
		rest.AnyOf = nil // x-kubernetes-int-or-string has the same effect
	}
	rest.Required, rest.Enum, rest.Pattern, rest.Format = nil, nil, "", ""
	rest.MinItems, rest.MaxItems, rest.MinLength, rest.MaxLength = nil, nil, nil, nil
	rest.Minimum, rest.Maximum, rest.ExclusiveMinimum, rest.ExclusiveMaximum = nil, nil, false, false
	s.unsure = s.unsure || !reflect.DeepEqual(rest, schema.ValueValidation{})
}

func between(number int, least, most *int64) bool {
	return (least == nil || int64(number) >= *least) && (most == nil || int64(number) <= *most)
}

// addBounds compiles the bounds of integers. It leaves bounds with a fraction to upstream, which truncates some of
// them.
func (s *Schema) addBounds(v *schema.ValueValidation) {
	least, most := math.Inf(-1), math.Inf(1)
	if v.Minimum != nil {
		least = *v.Minimum
	}
	if v.Maximum != nil {
		most = *v.Maximum
	}
	if v.Minimum == nil && v.Maximum == nil {
		return
	}
	s.unsure = s.unsure || least != math.Trunc(least) || most != math.Trunc(most)
	exclusive := [2]bool{v.ExclusiveMinimum, v.ExclusiveMaximum}
	check(s, func(whole int64) bool {
		number := float64(whole)
		above := number > least || number == least && !exclusive[0]
		below := number < most || number == most && !exclusive[1]
		return whole > -1<<53 && whole < 1<<53 && above && below
	})
}

func (s *Schema) addFormat(format string, text bool) {
	switch format {
	case "":
	case "int64", "float", "double":
		s.unsure = s.unsure || text
	case "int32":
		check(s, func(number int64) bool { return int64(int32(number)) == number })
	case "date-time": // only in the form in which Go programs write the times of objects
		check(s, func(text string) bool {
			_, err := time.Parse("2006-01-02T15:04:05Z", text)
			return err == nil && len(text) == len("2006-01-02T15:04:05Z")
		})
	default:
		s.unsure = true
	}
}

// addUnique compiles the check that a set, or a map list with one key, has no duplicate items.
func (s *Schema) addUnique(of *schema.Structural) {
	if of.XListType == nil || *of.XListType != "set" && *of.XListType != "map" {
		return
	}
	keys := of.XListMapKeys
	check(s, func(items []any) bool {
		seen := make(map[any]struct{}, len(items))
		for _, item := range items {
			if members, ok := item.(map[string]any); ok && len(keys) == 1 {
				item = members[keys[0]]
			}
			switch item.(type) {
			case string, int64, bool:
				seen[item] = struct{}{}
			default:
				return len(items) < 2
			}
		}
		return len(seen) == len(items)
	})
}
