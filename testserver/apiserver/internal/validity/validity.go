// Package validity knows of custom resources that are certainly valid, in a fraction of the time that upstream's validators take.
//
// A [Schema] is a structural schema, made once for each version of a definition. Of an object it says two things. Has: that the object
// has nothing that pruning and coercion would change, such as unknown fields, nulls, and numbers that are not written as Kubernetes
// writes them. Valid: that all values are as the schema wants them, lists that are sets and maps included. When it does not say so that
// means nothing: the validators of k8s.io/apiextensions-apiserver have the word, and the text. The tests hold both answers to them with
// random schemas and objects. Expressions (x-kubernetes-validations) are not its business.
package validity

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// Schema is what values have to be like. Nobody changes it.
type Schema struct {
	kinds      kind
	properties map[string]*Schema
	others     *Schema // of names that are no property; nil where there may be none
	items      *Schema

	defaults bool // it, or what is in it, has some
	unsure   bool // there is something to check that only upstream knows
	checks   []func(value any) bool
	required []string
	unique   func(items []any) bool // nil for lists of any items
}

// kind is a set of the kinds that a value may be of.
type kind uint

const (
	text kind = 1 << iota
	whole
	fraction
	truth
	list
	object
	anything = text | whole | fraction | truth | list | object
)

// New makes the schema of the objects of a version. It returns nil where nothing in them is certain: without a schema, and where
// metadata or status have rules of their own.
func New(s *schema.Structural) *Schema {
	if s == nil || s.Type != "object" {
		return nil
	}
	root := *s
	root.Properties = map[string]schema.Structural{}
	for name, property := range s.Properties {
		switch name {
		case "apiVersion", "kind":
			if !free(&property) {
				return nil
			}
			continue
		case "metadata":
			if !free(&property) || len(property.Properties) > 0 || property.AdditionalProperties != nil {
				return nil
			}
			continue
		case "status":
			if property.Default.Object != nil {
				return nil
			}
		}
		root.Properties[name] = property
	}
	return compile(&root)
}

// free reports whether a property of each object has no rules.
func free(s *schema.Structural) bool {
	v := s.ValueValidation
	return (v == nil || reflect.DeepEqual(*v, schema.ValueValidation{})) && s.Default.Object == nil && len(s.XValidations) == 0 && !s.Nullable
}

var kinds = map[string]kind{"string": text, "integer": whole, "number": whole | fraction, "boolean": truth, "array": list, "object": object}

func compile(s *schema.Structural) *Schema {
	c := &Schema{kinds: kinds[s.Type], properties: map[string]*Schema{}, defaults: s.Default.Object != nil}
	switch {
	case s.XIntOrString:
		c.kinds = text | whole
	case s.XEmbeddedResource:
		c.kinds = 0 // what upstream does to metadata is done to those of objects in it too
	case s.Type == "" && s.XPreserveUnknownFields:
		c.kinds = anything
	}
	for name, property := range s.Properties {
		c.properties[name] = compile(&property)
		c.defaults = c.defaults || c.properties[name].defaults
	}
	if s.Items != nil {
		c.items = compile(s.Items)
		c.defaults = c.defaults || c.items.defaults
	}
	switch others := s.AdditionalProperties; {
	case others != nil && others.Structural != nil:
		c.others = compile(others.Structural)
		c.defaults = c.defaults || c.others.defaults
	case s.XPreserveUnknownFields:
		c.others = preserved
		if c.items == nil {
			c.items = preserved
		}
	}
	c.check(s)
	c.checkItems(s)
	return c
}

// preserved is what is kept whatever it is.
var preserved = func() *Schema {
	s := &Schema{kinds: anything}
	s.others, s.items = s, s
	return s
}()

// Defaults reports whether there are some.
func (s *Schema) Defaults() bool { return s.defaults }

// Has reports whether an object has nothing that reading it by the schema changes. Its metadata are not looked at.
func (s *Schema) Has(object map[string]any) bool {
	for name, member := range object {
		switch name {
		case "apiVersion", "kind", "metadata":
			continue
		}
		if property := s.of(name); property == nil || !property.has(member) {
			return false
		}
	}
	return true
}

func (s *Schema) of(name string) *Schema {
	if property := s.properties[name]; property != nil {
		return property
	}
	return s.others
}

func (s *Schema) has(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if s.kinds&object == 0 || value == nil {
			return false
		}
		for name, member := range value {
			if property := s.of(name); property == nil || !property.has(member) {
				return false
			}
		}
		return true
	case []any:
		if s.kinds&list == 0 || s.items == nil || value == nil {
			return false
		}
		for _, item := range value {
			if !s.items.has(item) {
				return false
			}
		}
		return true
	case float64:
		return s.kinds&fraction != 0 && value != math.Trunc(value)
	}
	return s.kinds&scalar(value) != 0
}

func scalar(value any) kind {
	switch value.(type) {
	case string:
		return text
	case int64:
		return whole
	case bool:
		return truth
	}
	return 0
}

// Valid reports whether an object that the schema has is certainly valid.
func (s *Schema) Valid(object map[string]any) bool {
	if s.unsure {
		return false
	}
	for name, member := range object {
		switch name {
		case "apiVersion", "kind", "metadata":
			continue
		}
		if !s.of(name).valid(member) {
			return false
		}
	}
	return s.checked(object)
}

func (s *Schema) valid(value any) bool {
	if s.unsure {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if !s.of(name).valid(member) {
				return false
			}
		}
		return s.checked(value)
	case []any:
		for _, item := range value {
			if !s.items.valid(item) {
				return false
			}
		}
		if s.unique != nil && !s.unique(value) {
			return false
		}
	}
	return s.checked(value)
}

func (s *Schema) checked(value any) bool {
	if members, ok := value.(map[string]any); ok {
		for _, name := range s.required {
			if _, there := members[name]; !there {
				return false
			}
		}
	}
	for _, check := range s.checks {
		if !check(value) {
			return false
		}
	}
	return true
}

// check compiles what a schema says of the value itself.
func (s *Schema) check(of *schema.Structural) {
	v := of.ValueValidation
	if v == nil {
		return
	}
	s.required = v.Required
	alternatives := of.XIntOrString && intOrString(v)
	s.unsure = len(v.AllOf)+len(v.OneOf) > 0 || len(v.AnyOf) > 0 && !alternatives || v.Not != nil || v.MultipleOf != nil || v.UniqueItems || v.MinProperties != nil || v.MaxProperties != nil
	s.checkText(v)
	s.checkNumber(v)
	if v.MinItems != nil || v.MaxItems != nil {
		s.checks = append(s.checks, func(value any) bool {
			items, ok := value.([]any)
			return ok && between(int64(len(items)), v.MinItems, v.MaxItems)
		})
	}
	if len(v.Enum) > 0 {
		var values []string
		for _, value := range v.Enum {
			if text, ok := value.Object.(string); ok {
				values = append(values, text)
			}
		}
		s.checks = append(s.checks, func(value any) bool {
			text, ok := value.(string)
			return ok && slices.Contains(values, text)
		})
	}
}

// intOrString reports whether alternatives are those that x-kubernetes-int-or-string says already.
func intOrString(v *schema.ValueValidation) bool {
	if len(v.AnyOf) != 2 {
		return false
	}
	for i, kind := range []string{"integer", "string"} {
		if v.AnyOf[i].ForbiddenGenerics.Type != kind {
			return false
		}
		if n := v.AnyOf[i].ValueValidation; n.Format != "" || n.Pattern != "" || n.Maximum != nil || n.Minimum != nil || n.MaxLength != nil || n.MinLength != nil || len(n.Enum) > 0 || n.Not != nil || n.MultipleOf != nil || len(n.AllOf)+len(n.AnyOf)+len(n.OneOf) > 0 {
			return false
		}
	}
	return true
}

func between(number int64, least, most *int64) bool {
	return (least == nil || number >= *least) && (most == nil || number <= *most)
}

func (s *Schema) checkText(v *schema.ValueValidation) {
	if v.MinLength != nil || v.MaxLength != nil {
		s.checks = append(s.checks, func(value any) bool {
			text, ok := value.(string)
			return ok && between(int64(utf8.RuneCountInString(text)), v.MinLength, v.MaxLength)
		})
	}
	if v.Pattern != "" {
		pattern, err := regexp.Compile(v.Pattern)
		if s.unsure = s.unsure || err != nil; s.unsure {
			return
		}
		s.checks = append(s.checks, func(value any) bool {
			text, ok := value.(string)
			return ok && pattern.MatchString(text)
		})
	}
	numbers := s.kinds&text == 0
	switch v.Format {
	case "":
	case "int64", "float", "double":
		s.unsure = s.unsure || !numbers
	case "int32":
		s.unsure = s.unsure || !numbers
		s.checks = append(s.checks, func(value any) bool {
			number, ok := value.(int64)
			return ok && int64(int32(number)) == number
		})
	case "date-time":
		s.checks = append(s.checks, func(value any) bool {
			text, ok := value.(string)
			return ok && instant(text)
		})
	default:
		s.unsure = true
	}
}

// instant reports whether a text is a time as Go programs write those of objects.
func instant(text string) bool {
	if len(text) != len("2006-01-02T15:04:05Z") || text[len(text)-1] != 'Z' {
		return false
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

func (s *Schema) checkNumber(v *schema.ValueValidation) {
	if v.Minimum == nil && v.Maximum == nil {
		return
	}
	for _, bound := range []*float64{v.Minimum, v.Maximum} {
		if bound != nil && *bound != math.Trunc(*bound) {
			s.unsure = true // which upstream cuts off, or does not take
		}
	}
	s.checks = append(s.checks, func(value any) bool {
		number, ok := value.(float64)
		if exact, isWhole := value.(int64); isWhole {
			number, ok = float64(exact), exact > -1<<53 && exact < 1<<53
		}
		return ok && (v.Minimum == nil || number > *v.Minimum || number == *v.Minimum && !v.ExclusiveMinimum) &&
			(v.Maximum == nil || number < *v.Maximum || number == *v.Maximum && !v.ExclusiveMaximum)
	})
}

// checkItems compiles that the items of a list which is a set or a map are not there twice.
func (s *Schema) checkItems(of *schema.Structural) {
	if of.XListType == nil {
		return
	}
	switch keys := of.XListMapKeys; *of.XListType {
	case "set":
		s.unique = func(items []any) bool { return distinct(items, func(item any) any { return item }) }
	case "map":
		if len(keys) != 1 {
			s.unique = func(items []any) bool { return len(items) < 2 }
			return
		}
		s.unique = func(items []any) bool {
			return distinct(items, func(item any) any {
				members, _ := item.(map[string]any)
				return members[keys[0]]
			})
		}
	}
}

// distinct reports whether what is of each item is a scalar that no other item has.
func distinct(items []any, of func(item any) any) bool {
	seen := make(map[any]struct{}, len(items))
	for _, item := range items {
		value := of(item)
		if scalar(value) == 0 {
			return false
		}
		if _, twice := seen[value]; twice {
			return false
		}
		seen[value] = struct{}{}
	}
	return true
}
