package fields

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// target is what a constraint is about. On a list or map, those of its items are about each item.
type target uint8

const (
	anything target = iota
	integers
	texts
	scalarsOnly // what has a value of its own: no objects
	lists
	maplike // maps and objects
)

// constraint is one that a flag may have behind its type.
type constraint struct {
	name, also string
	on         target
	example    string // of its value; empty when it has none
	take       func(f *Field, a argument) error
}

// constraints are all of them.
var constraints = []constraint{
	limit("min", "minimum", integers), limit("max", "maximum", integers), limit("multipleOf", "", integers),
	limit("minLength", "", texts), limit("maxLength", "", texts),
	{name: "pattern", on: texts, example: "^[a-z]+$", take: (*Field).takePattern},
	{name: "format", on: texts, example: "uri", take: (*Field).takeFormat},
	{name: "enum", on: scalarsOnly, example: "Fast|Safe", take: (*Field).takeEnum},
	limit("minItems", "", lists), limit("maxItems", "", lists),
	{name: "unique", also: "uniqueItems", on: lists, take: func(f *Field, _ argument) error { f.unique = true; return nil }},
	{name: "key", also: "listMapKey", on: lists, example: "name", take: (*Field).takeKey},
	limit("minProperties", "", maplike), limit("maxProperties", "", maplike),
	{name: "atomic", on: maplike, take: func(f *Field, _ argument) error { f.atomic = true; return nil }},
	{name: "default", example: "3", take: func(f *Field, a argument) error { f.defaultText = &a; return nil }},
	{name: "example", example: "3", take: func(f *Field, a argument) error { f.exampleText = &a; return nil }},
	{name: "required", take: func(f *Field, a argument) error { return f.presence(&f.required, a) }},
	{name: "optional", take: func(f *Field, a argument) error { return f.presence(&f.optional, a) }},
	{name: "immutable", take: func(f *Field, _ argument) error { f.immutable = true; return nil }},
	{name: "rule", example: `"self >= oldSelf"`, take: (*Field).takeRule},
	{name: "message", example: `"may only grow"`, take: (*Field).takeMessage},
	{name: "doc", example: `"How many pods there are."`, take: (*Field).takeDoc},
}

// foreignConstraints are what other tools call a constraint.
var foreignConstraints = map[string]string{
	"ge": "min", "gte": "min", "le": "max", "lte": "max", "regex": "pattern", "regexp": "pattern", "oneof": "enum", "values": "enum", "cel": "rule",
	"validation": "rule", "omitempty": "optional", "pointer": "optional", "nullable": "optional", "description": "doc", "comment": "doc", "set": "unique", "readonly": "immutable", "len": "maxLength", "length": "maxLength",
}

// rule is a CEL expression, and what to say where it is false.
type rule struct {
	argument
	message string
}

func limit(name, also string, on target) constraint {
	return constraint{name: name, also: also, on: on, example: "1", take: func(f *Field, a argument) error {
		n, err := strconv.ParseInt(a.value, 10, 64)
		switch {
		case err != nil:
			return f.refuse(a.text, "this is no whole number", "write "+name+"=1")
		case on != integers && n < 0, name == "multipleOf" && n <= 0:
			return f.refuse(a.text, "this is below what can be", "write "+name+"=1")
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

// constrain applies what is behind the type of a flag.
func (f *Field) constrain() error {
	seen := map[string]bool{}
	for _, a := range f.constraints {
		i := slices.IndexFunc(constraints, func(c constraint) bool { return c.name == a.name || c.also != "" && c.also == a.name })
		if i < 0 {
			return f.unknownConstraint(a)
		}
		c := constraints[i]
		switch {
		case seen[c.name] && c.name != "rule" && c.name != "message" && c.name != "key":
			return f.refuse(a.text, "this is said twice", "leave one of them out")
		case !f.hasTarget(c.on):
			return f.misplaced(a, c)
		case c.example != "" && (!a.hasValue || a.value == "" && c.name != "default" && c.name != "example"):
			return f.refuse(a.text, "it needs a value", "write "+c.name+"="+c.example)
		case c.example == "" && a.hasValue && a.value != "true":
			return f.refuse(a.text, "it takes no value", "write "+c.name+", or leave it out")
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
		hint = "put a value that has commas into quotes"
	}
	return f.refuse(a.text, "there is no such constraint", hint)
}

// hasTarget reports whether the field, or its items, are what a constraint is about.
func (f *Field) hasTarget(on target) bool {
	switch on {
	case integers:
		return f.scalar != nil && f.scalar.kind == kindInteger
	case texts:
		return f.scalar != nil && f.scalar.name == "string"
	case scalarsOnly:
		return f.scalar != nil && (f.scalar.name == "string" || f.scalar.kind == kindInteger)
	case lists:
		return f.isList
	case maplike:
		return f.isMap || f.object != nil && !f.isList
	}
	return true
}

func (f *Field) misplaced(a argument, c constraint) error {
	is := f.typ
	hint := "leave it out"
	for _, other := range []struct{ name, here string }{
		{"min", "minLength"}, {"max", "maxLength"}, {"min", "minItems"}, {"max", "maxItems"}, {"min", "minProperties"}, {"max", "maxProperties"},
		{"minLength", "min"}, {"maxLength", "max"}, {"minItems", "minLength"}, {"maxItems", "maxLength"}, {"minLength", "minItems"}, {"maxLength", "maxItems"},
		{"minItems", "minProperties"}, {"maxItems", "maxProperties"}, {"minProperties", "minItems"}, {"maxProperties", "maxItems"},
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
	return f.refuse(a.text, "a "+is+" has no "+c.name, hint)
}

func (f *Field) takePattern(a argument) error {
	pattern, err := regexp.Compile(a.value)
	if err != nil {
		return f.refuse(a.text, "this is no regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "put it into quotes: pattern='^[a-z]+$'")
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
			return f.refuse(a.text, "there is no value between two |", "write enum=Fast|Safe")
		case err != nil:
			return f.refuse(a.text, diagnostic.Quote(item)+" is no "+f.scalar.name, "write enum=1|2|3")
		case slices.Contains(f.enum, value):
			return f.refuse(a.text, diagnostic.Quote(item)+" is there twice", "leave one of them out")
		case strings.Contains(item, ",") && len(f.enum) == 0 && !strings.Contains(a.value, "|"):
			return f.refuse(a.text, "there is one value, with commas in it", "put | between values: enum=Fast|Safe")
		}
		f.enum = append(f.enum, value)
	}
	return nil
}

func (f *Field) takeKey(a argument) error {
	if f.object == nil && f.keys == nil {
		return f.refuse(a.text, "only objects have keys", "write unique for a list of "+f.scalar.name+"s that holds none twice")
	}
	if slices.Contains(f.keys, a.value) {
		return f.refuse(a.text, "this is said twice", "leave one of them out")
	}
	f.keys = append(f.keys, a.value)
	f.keyText = a.text
	return nil
}

func (f *Field) presence(which *bool, a argument) error {
	*which = true
	if f.required && f.optional {
		return f.refuse(a.text, "a field is required or optional", "leave one of them out")
	}
	return nil
}

func (f *Field) takeRule(a argument) error {
	f.rules = append(f.rules, rule{argument: a})
	return nil
}

func (f *Field) takeMessage(a argument) error {
	if len(f.rules) == 0 || f.rules[len(f.rules)-1].message != "" {
		return f.refuse(a.text, "there is no rule before the message", `write rule="self >= oldSelf",message="may only grow"`)
	}
	f.rules[len(f.rules)-1].message = a.value
	return nil
}

func (f *Field) takeDoc(a argument) error {
	if strings.HasPrefix(a.value, "+") {
		return f.refuse(a.text, "a text that begins with + is a marker in Go", "begin it with a word")
	}
	f.doc = a.value
	return nil
}

// check refuses what no object can be: constraints that contradict each other, values that they do not accept.
func (f *Field) check() error {
	for _, pair := range [][2]string{{"min", "max"}, {"minLength", "maxLength"}, {"minItems", "maxItems"}, {"minProperties", "maxProperties"}} {
		low, hasLow := f.limits[pair[0]]
		high, hasHigh := f.limits[pair[1]]
		if hasLow && hasHigh && low > high {
			return f.refuse("", fmt.Sprintf("%s=%d is more than %s=%d", pair[0], low, pair[1], high), "no value is both: change one of them")
		}
	}
	if f.unique && f.object != nil {
		return f.refuse("unique", "objects are told apart by a key", "write key=name, with a field of each item")
	}
	if f.object != nil && f.limits["maxProperties"] > 0 && f.limits["maxProperties"] < int64(len(f.object.required())) {
		return f.refuse("", "there are more required fields than maxProperties", "change one of them")
	}
	for _, key := range f.keys {
		if err := f.checkKey(key); err != nil {
			return err
		}
	}
	if err := cmp.Or(f.checkTransitions(), f.checkCost()); err != nil {
		return err
	}
	if f.top() && f.status && f.required {
		return f.refuse("required", "a status begins empty", "leave it out")
	}
	return f.checkValues()
}

func (f *Field) checkKey(key string) error {
	if f.object == nil {
		return nil // that of conditions
	}
	child := f.object.find(key)
	switch {
	case child == nil:
		return f.refuse(f.keyText, "the items have no field "+diagnostic.Quote(key), fmt.Sprintf("add %s %s[].%s:string", f.flag.name, f.path(), key))
	case child.collection() || child.object != nil || child.scalar.boxed:
		return child.refuse(child.typ, "the key of a list is a string, a number or a bool", "use string")
	case child.optional && child.defaultText == nil:
		return child.refuse("optional", "the key of a list is not left out", "leave optional out, or give it a default")
	}
	return nil
}

// checkTransitions refuses rules that compare with a value before where there is none to compare with.
func (f *Field) checkTransitions() error {
	compares := f.immutable
	for _, r := range f.rules {
		compares = compares || strings.Contains(r.value, "oldSelf")
	}
	for up := f.up; compares && up != nil; up = up.up {
		if up.isList && len(up.keys) == 0 {
			return f.refuse("", "nobody knows which item of "+up.name+" it was before", "give the list a key: "+up.flag.name+" "+up.path()+":[]object,key=name")
		}
	}
	return nil
}

// checkCost refuses a rule on what may be in an object so often that API servers refuse the rule. It is rough: they know more.
func (f *Field) checkCost() error {
	if !f.immutable && len(f.rules) == 0 {
		return nil
	}
	times := 1.0
	for up := f.up; up != nil; up = up.up {
		if !up.collection() {
			continue
		}
		times *= up.most()
		if times*f.weight() > maxCost {
			return f.refuse("", "it may be there so often that API servers refuse its rules", "bound what it is in, as by "+map[bool]string{true: "maxItems=64", false: "maxProperties=64"}[up.isList]+" of "+up.path()+", and its own size")
		}
	}
	return nil
}

const (
	// unbounded is how many items API servers take a list for that has no bound.
	unbounded = 1 << 20
	maxCost   = 500_000
)

// most returns how many items a list or map may have.
func (f *Field) most() float64 {
	for _, name := range []string{"maxItems", "maxProperties"} {
		if n, ok := f.limits[name]; ok {
			return float64(n)
		}
	}
	return unbounded
}

// weight returns how long it takes to compare two values, in the time for two numbers.
func (f *Field) weight() float64 {
	one := 1.0
	switch {
	case f.object != nil:
		for _, child := range f.object.fields {
			one += child.weight()
		}
	case f.scalar.name == "string" && len(f.enum) == 0:
		one = unbounded / 10
		if n, ok := f.limits["maxLength"]; ok {
			one = 1 + float64(n)/10
		}
	case f.scalar.kind != kindInteger && f.scalar.kind != kindBoolean && len(f.enum) == 0:
		one = unbounded / 10 // a text whose length no flag bounds
	}
	if f.collection() {
		return one * f.most()
	}
	return one
}

// checkValues reads the default and the example, and refuses what the constraints do not accept.
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
			if value, ok := first(f.values()); ok {
				hint = "write " + v.text.name + "=" + spell(value)
			}
			return f.refuse(v.text.text, err.Error(), hint)
		}
		*v.to = value
	}
	if f.defaultText != nil && f.required {
		return f.refuse("required", "what has a default may be left out", "leave required out")
	}
	if _, ok := first(f.values()); !ok {
		return f.refuse("", "no value was found that it accepts", "say one for the sample and the tests: example=VALUE")
	}
	return nil
}

// parse reads a value of the field: JSON where it is not a scalar.
func (f *Field) parse(text string) (any, error) {
	if !f.collection() && f.scalar != nil && f.scalar.parse != nil {
		value, err := f.scalar.parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s is not %w", diagnostic.Quote(text), err)
		}
		return value, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		return nil, fmt.Errorf("%s is not JSON", diagnostic.Quote(text))
	}
	return wholeNumbers(value), nil
}

// wholeNumbers makes the numbers of a value int64, as far as they are.
func wholeNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = wholeNumbers(v[k])
		}
	}
	return value
}

// spell returns a value as a flag has it.
func spell(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return inJSON(value)
}

// inJSON returns a value as JSON, in one line.
func inJSON(value any) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value) // never: it is of what JSON has
	}
	return strings.TrimSpace(out.String())
}
