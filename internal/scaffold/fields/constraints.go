package fields

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// target is the kind of fields to which a constraint applies. On a list or map, a constraint for items applies to each
// item.
type target uint8

const (
	anything target = iota
	integers
	texts
	scalarsOnly // fields with a scalar value, not objects
	lists
	maplike // maps and objects
)

// constraint is a constraint that a flag can have after the type.
type constraint struct {
	name, also string
	on         target
	example    string // example of its value; empty if it has no value
	take       func(f *Field, a argument) error
}

// constraints are all constraints.
var constraints = []constraint{
	limit("min", "minimum", integers), limit("max", "maximum", integers), limit("multipleOf", "", integers),
	limit("minLength", "", texts), limit("maxLength", "", texts),
	{name: "pattern", on: texts, example: "^[a-z]+$", take: (*Field).takePattern},
	{name: "format", on: texts, example: "uri", take: (*Field).takeFormat},
	{name: "enum", on: scalarsOnly, example: "Fast|Safe", take: (*Field).takeEnum},
	limit("minItems", "", lists), limit("maxItems", "", lists),
	{name: "unique", also: "uniqueItems", on: lists, take: func(f *Field, _ argument) error {
		f.unique = true
		return nil
	}},
	{name: "key", also: "listMapKey", on: lists, example: "name", take: (*Field).takeKey},
	limit("minProperties", "", maplike), limit("maxProperties", "", maplike),
	{name: "atomic", on: maplike, take: func(f *Field, _ argument) error { f.atomic = true; return nil }},
	{name: "default", example: "3", take: func(f *Field, a argument) error { f.defaultText = &a; return nil }},
	{name: "example", example: "3", take: func(f *Field, a argument) error { f.exampleText = &a; return nil }},
	{name: "required", take: func(f *Field, a argument) error { return f.presence(&f.required, a) }},
	{name: "optional", take: func(f *Field, a argument) error { return f.presence(&f.optional, a) }},
	{name: "immutable", take: func(f *Field, _ argument) error { f.immutable = true; return nil }},
	{name: "rule", example: `"self >= oldSelf"`, take: func(f *Field, a argument) error {
		f.rules = append(f.rules, rule{argument: a})
		return nil
	}},
	{name: "message", example: `"may only grow"`, take: (*Field).takeMessage},
	{name: "doc", example: `"How many pods there are."`, take: (*Field).takeDoc},
}

// foreignConstraints maps the names that other tools use for constraints to kctrl's names.
var foreignConstraints = map[string]string{
	"ge": "min", "gte": "min", "le": "max", "lte": "max", "regex": "pattern", "regexp": "pattern", "oneof": "enum",
	"values": "enum", "cel": "rule",
	"validation": "rule", "omitempty": "optional", "pointer": "optional", "nullable": "optional", "description": "doc",
	"comment": "doc", "set": "unique", "readonly": "immutable", "len": "maxLength", "length": "maxLength",
}

// rule is a CEL expression, and the error message for objects for which it is false.
type rule struct {
	argument
	message string
}

func limit(name, also string, on target) constraint {
	return constraint{name: name, also: also, on: on, example: "1", take: func(f *Field, a argument) error {
		n, err := strconv.ParseInt(a.value, 10, 64)
		switch {
		case err != nil:
			return f.refuse(a.text, "not a whole number", "write "+name+"=1")
		case on != integers && n < 0, name == "multipleOf" && n <= 0:
			return f.refuse(a.text, "below the allowed minimum", "write "+name+"=1")
		}
		if on == integers && f.scalar.name == "int32" {
			if _, err := f.scalar.parse(a.value); err != nil {
				return f.refuse(a.text, "an int32 is "+err.Error(), "use int64")
			}
		}
		f.limits[name] = n
		return nil
	}}
}

// constrain applies the constraints of a flag.
func (f *Field) constrain() error {
	seen := map[string]bool{}
	for _, a := range f.constraints {
		i := slices.IndexFunc(constraints, func(c constraint) bool { return a.name == c.name || a.name == c.also })
		if i < 0 {
			return f.unknownConstraint(a)
		}
		c := constraints[i]
		switch {
		case seen[c.name] && c.name != "rule" && c.name != "message" && c.name != "key":
			return f.refuse(a.text, "duplicate constraint", "remove one of them")
		case !f.hasTarget(c.on):
			return f.misplaced(a, c)
		case c.example != "" && (!a.hasValue || a.value == "" && c.name != "default" && c.name != "example"):
			return f.refuse(a.text, "a value is required", "write "+c.name+"="+c.example)
		case c.example == "" && a.hasValue && a.value != "true":
			return f.refuse(a.text, "a value is not allowed", "write "+c.name+", or omit it")
		}
		seen[c.name] = true
		if err := c.take(f, a); err != nil {
			return err
		}
	}
	return nil
}

func (f *Field) unknownConstraint(a argument) error {
	var names []string
	for _, c := range constraints {
		names = append(names, c.name)
	}
	hint := "the constraints are " + strings.Join(names, ", ")
	near, ok := diagnostic.Near(a.name, names)
	if other, known := foreignConstraints[strings.ToLower(a.name)]; known {
		near, ok = other, true
	}
	if ok {
		hint = "did you mean " + near + "?"
	} else if !a.hasValue && strings.ContainsAny(a.text, " |:{}[]()^$") {
		hint = "put a value with commas into quotes"
	}
	return f.refuse(a.text, "unknown constraint", hint)
}

// hasTarget reports whether a constraint applies to the field or its items.
func (f *Field) hasTarget(on target) bool {
	switch on {
	case integers:
		return f.scalar != nil && f.scalar.kind == kindInteger
	case texts:
		return f.scalar != nil && f.scalar.name == "string"
	case scalarsOnly:
		return f.scalar != nil && (f.scalar.name == "string" || f.scalar.kind == kindInteger)
	case lists:
		return f.form == list
	case maplike:
		return f.form == mapping || f.object != nil && f.form == single
	}
	return true
}

func (f *Field) misplaced(a argument, c constraint) error {
	hint := "omit it"
	for _, other := range []struct{ name, here string }{
		{"min", "minLength"}, {"max", "maxLength"}, {"min", "minItems"}, {"max", "maxItems"}, {"min", "minProperties"},
		{"max", "maxProperties"},
		{"minLength", "min"}, {"maxLength", "max"}, {"minItems", "minLength"}, {"maxItems", "maxLength"},
		{"minLength", "minItems"}, {"maxLength", "maxItems"},
		{"minItems", "minProperties"}, {"maxItems", "maxProperties"}, {"minProperties", "minItems"},
		{"maxProperties", "maxItems"},
	} {
		i := slices.IndexFunc(constraints, func(c constraint) bool { return c.name == other.here })
		if other.name == c.name && f.hasTarget(constraints[i].on) {
			hint = "did you mean " + other.here + "?"
			break
		}
	}
	if f.scalar != nil && f.scalar.name == "quantity" && (c.name == "min" || c.name == "max") {
		hint = `write rule="quantity(string(self)).isGreaterThan(quantity('0'))"`
	}
	return f.refuse(a.text, "a "+f.typ+" has no "+c.name, hint)
}

func (f *Field) takePattern(a argument) error {
	pattern, err := regexp.Compile(a.value)
	if err != nil {
		return f.refuse(a.text, "not a regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			"put it into quotes: pattern='^[a-z]+$'")
	}
	f.pattern = pattern
	return nil
}

func (f *Field) takeFormat(a argument) error {
	if _, ok := formats[a.value]; !ok {
		names := slices.Sorted(maps.Keys(formats))
		hint := "API servers check " + strings.Join(names, ", ")
		if near, ok := diagnostic.Near(a.value, names); ok {
			hint = "did you mean " + near + "?"
		}
		return f.refuse(a.text, "API servers do not check this format", hint)
	}
	f.format = a.value
	return nil
}

func (f *Field) takeEnum(a argument) error {
	for item := range strings.SplitSeq(a.value, "|") {
		item = unquote(strings.TrimSpace(item))
		value, err := f.scalar.parse(item)
		switch {
		case item == "":
			return f.refuse(a.text, "empty value between two |", "write enum=Fast|Safe")
		case err != nil:
			return f.refuse(a.text, diagnostic.Quote(item)+" is not a valid "+f.scalar.name, "write enum=1|2|3")
		case slices.Contains(f.enum, value):
			return f.refuse(a.text, diagnostic.Quote(item)+" is repeated", "remove one of them")
		case strings.Contains(item, ",") && len(f.enum) == 0 && !strings.Contains(a.value, "|"):
			return f.refuse(a.text, "this is one value with commas", "put | between values: enum=Fast|Safe")
		}
		f.enum = append(f.enum, value)
	}
	return nil
}

func (f *Field) takeKey(a argument) error {
	if f.object == nil && f.keys == nil {
		return f.refuse(a.text, "only objects have keys", "write unique for a list of "+f.scalar.name+"s without duplicates")
	}
	if slices.Contains(f.keys, a.value) {
		return f.refuse(a.text, "duplicate constraint", "remove one of them")
	}
	f.keys = append(f.keys, a.value)
	f.keyText = a.text
	return nil
}

func (f *Field) presence(which *bool, a argument) error {
	*which = true
	if f.required && f.optional {
		return f.refuse(a.text, "a field cannot be required and optional", "remove one of them")
	}
	return nil
}

func (f *Field) takeMessage(a argument) error {
	if len(f.rules) == 0 || f.rules[len(f.rules)-1].message != "" {
		return f.refuse(a.text, "a message must follow a rule", `write rule="self >= oldSelf",message="may only grow"`)
	}
	f.rules[len(f.rules)-1].message = a.value
	return nil
}

func (f *Field) takeDoc(a argument) error {
	if strings.HasPrefix(a.value, "+") {
		return f.refuse(a.text, "text that starts with + is a marker in Go", "start it with a word")
	}
	f.doc = a.value
	return nil
}

// check rejects contradictory constraints, and defaults and examples that violate them.
func (f *Field) check() error {
	for _, pair := range [][2]string{{"min", "max"}, {"minLength", "maxLength"}, {"minItems", "maxItems"},
		{"minProperties", "maxProperties"}} {
		low, hasLow := f.limits[pair[0]]
		high, hasHigh := f.limits[pair[1]]
		if hasLow && hasHigh && low > high {
			return f.refuse("", fmt.Sprintf("%s=%d is more than %s=%d", pair[0], low, pair[1], high),
				"no value satisfies both: change one of them")
		}
	}
	if f.unique && f.object != nil {
		return f.refuse("unique", "objects are compared by a key", "write key=name, with a field of each item")
	}
	if f.object != nil && f.limits["maxProperties"] > 0 && f.limits["maxProperties"] < int64(len(f.object.required())) {
		return f.refuse("", "more required fields than maxProperties", "change one of them")
	}
	for _, key := range f.keys {
		if err := f.checkKey(key); err != nil {
			return err
		}
	}
	if f.in.of == nil && f.in.status && f.required {
		return f.refuse("required", "a new object has an empty status", "omit it")
	}
	return f.checkValues()
}

func (f *Field) checkKey(key string) error {
	if f.object == nil {
		return nil // the key of conditions
	}
	child := f.object.find(key)
	switch {
	case child == nil:
		return f.refuse(f.keyText, "the items have no field "+diagnostic.Quote(key),
			fmt.Sprintf("add %s %s[].%s:string", f.flag.name, f.path(), key))
	case child.collection() || child.object != nil || child.scalar.imports != nil:
		return child.refuse(child.typ, "the key of a list must be a string, a number or a bool", "use string")
	case child.optional && child.defaultText == nil:
		return child.refuse("optional", "the key of a list cannot be optional", "remove optional, or add a default")
	}
	return nil
}

// checkValues parses the default and the example, and rejects values that violate the constraints.
func (f *Field) checkValues() error {
	for _, v := range []struct {
		text *argument
		to   *any
	}{{f.defaultText, &f.byDefault}, {f.exampleText, &f.example}} {
		if v.text == nil {
			continue
		}
		value, err := f.parse(v.text.value)
		if err == nil {
			err = f.accept(value)
		}
		if err != nil {
			hint := "give a value that it accepts"
			if valid := f.values(1); len(valid) > 0 {
				hint = "write " + v.text.name + "=" + spell(valid[0])
			}
			return f.refuse(v.text.text, err.Error(), hint)
		}
		*v.to = value
	}
	if f.defaultText != nil && f.required {
		return f.refuse("required", "a field with a default is optional", "remove required")
	}
	if len(f.values(1)) == 0 {
		return f.refuse("", "no valid value was found", "add one for the sample and the tests: example=VALUE")
	}
	return nil
}

// parse parses a value of the field. Values that are not scalars are JSON.
func (f *Field) parse(text string) (any, error) {
	if f.form == single && f.object == nil {
		value, err := f.scalar.parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s is not %w", diagnostic.Quote(text), err)
		}
		return value, nil
	}
	var value any
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		return nil, fmt.Errorf("%s is not JSON", diagnostic.Quote(text))
	}
	return value, nil
}

// spell returns a value in the form that a user writes in a flag.
func spell(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return inJSON(value)
}

// inJSON returns a value as JSON on one line.
func inJSON(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value) // unreachable: the value contains only JSON types
	}
	return strings.TrimSpace(out.String())
}
