package fields

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// The packages of the types of fields.
const (
	metaPackage       = "k8s.io/apimachinery/pkg/apis/meta/v1"
	quantityPackage   = "k8s.io/apimachinery/pkg/api/resource"
	intOrStringImport = "k8s.io/apimachinery/pkg/util/intstr"
)

// schemaKind is the kind of a value in a schema.
type schemaKind string

const (
	kindText        schemaKind = "string"
	kindInteger     schemaKind = "integer"
	kindBoolean     schemaKind = "boolean"
	kindIntOrString schemaKind = "integer or string"
	kindObject      schemaKind = "object"
)

// scalar is a scalar type that flags can use.
type scalar struct {
	name string
	kind schemaKind
	// golang is the Go type, and imports are its packages.
	golang string
	imports
	// boxed reports whether the Go type is a struct, so that an optional field is a pointer.
	boxed bool
	// parse converts the text in a flag to a JSON value.
	parse func(text string) (any, error)
	// values are values that are always valid; values.go derives further candidates, which constraints filter.
	values []any
	// literal returns a value as a Go expression, with its imports.
	literal func(value any) (string, imports)
}

// imports are Go packages by local name.
type imports map[string]string

func (i imports) with(other imports) imports {
	all := maps.Clone(i)
	if all == nil {
		all = imports{}
	}
	maps.Copy(all, other)
	return all
}

// scalars are all types except lists, maps and references, which are composed of them.
var scalars = []scalar{
	{name: "string", kind: kindText, golang: "string", parse: parseText, literal: quoted},
	{name: "int32", kind: kindInteger, golang: "int32", parse: parseInteger(32), literal: plain},
	{name: "int64", kind: kindInteger, golang: "int64", parse: parseInteger(64), literal: plain},
	{name: "bool", kind: kindBoolean, golang: "bool", parse: parseBool, values: []any{true, false}, literal: plain},
	{
		name: "quantity", kind: kindIntOrString, golang: "resource.Quantity", imports: imports{"resource": quantityPackage},
		boxed: true,
		parse: parseQuantity, values: []any{"1Gi", "2Gi", "3Gi"}, literal: called("resource.MustParse(%q)", "resource",
			quantityPackage),
	},
	{
		name: "duration", kind: kindText, golang: "metav1.Duration", imports: imports{"metav1": metaPackage}, boxed: true,
		parse: parseDuration, values: []any{"90s", "5m", "10m"}, literal: durationLiteral,
	},
	{
		name: "int-or-string", kind: kindIntOrString, golang: "intstr.IntOrString",
		imports: imports{"intstr": intOrStringImport}, boxed: true,
		parse: parseIntOrString, values: []any{"25%", int64(1), int64(2)}, literal: intOrStringLiteral,
	},
	{
		name: "time", kind: kindText, golang: "metav1.Time", imports: imports{"metav1": metaPackage}, boxed: true,
		parse: parseTime(time.RFC3339), values: []any{"2026-01-02T15:04:05Z", "2027-01-02T15:04:05Z"},
		literal: timeLiteral("metav1.NewTime"),
	},
	{
		name: "microtime", kind: kindText, golang: "metav1.MicroTime", imports: imports{"metav1": metaPackage}, boxed: true,
		parse: parseTime(microTime), values: []any{"2026-01-02T15:04:05.000000Z", "2027-01-02T15:04:05.000000Z"},
		literal: timeLiteral("metav1.NewMicroTime"),
	},
	{name: "object", kind: kindObject},
	{name: "condition", kind: kindObject, golang: "metav1.Condition", imports: imports{"metav1": metaPackage},
		boxed: true},
}

// otherNames maps the names that other tools use for types to kctrl's names.
var otherNames = map[string]string{
	"str": "string", "text": "string", "integer": "int32", "int": "int32", "long": "int64", "boolean": "bool",
	"struct":            "object",
	"resource.Quantity": "quantity", "metav1.Duration": "duration", "metav1.Time": "time", "metav1.Condition": "condition",
	"intstr.IntOrString": "int-or-string", "IntOrString": "int-or-string", "intorstring": "int-or-string",
	"date-time": "time", "timestamp": "time",
	"secretRef": "ref=Secret", "configMapRef": "ref=ConfigMap", "number": "int32",
}

// refusedTypes maps types that APIs cannot use to the hint for each.
var refusedTypes = map[string]string{
	"float": noFloats, "float32": noFloats, "float64": noFloats, "double": noFloats,
	"uint": noUnsigned, "uint8": noUnsigned, "uint16": noUnsigned, "uint32": noUnsigned, "uint64": noUnsigned,
	"int8": noSmall, "int16": noSmall,
	"byte": noSmall, "any": noAny, "interface{}": noAny, "map": "write map[string]string, or map[string]object",
	"list": "write []string, or []object", "array": "write []string, or []object",
	"[]": "write []string, or []object",
}

const (
	noFloats   = "floating-point numbers differ between languages: use quantity, or int64 of a smaller unit"
	noUnsigned = "use int32 or int64 with min=0: not all programs have unsigned numbers"
	noSmall    = "use int32 with min and max"
	noAny      = "declare its content: object, with its own fields (--field template.image:string)"
)

// typeNames returns the types that a hint may suggest.
func typeNames() []string {
	names := slices.Sorted(maps.Keys(otherNames))
	for _, s := range scalars {
		names = append(names, s.name)
	}
	return names
}

// setType parses the type in a flag.
func (f *Field) setType(text string) error {
	if rest, ok := strings.CutPrefix(text, "map["); ok {
		key, value, closed := strings.Cut(rest, "]")
		if key != "string" || !closed {
			return f.refuse(text, "the keys of a map must be strings", "write map[string]"+orElse(value, "string"))
		}
		f.isMap, text = true, value
	} else if rest, ok := strings.CutPrefix(text, "[]"); ok {
		f.isList, text = true, rest
	}
	if f.collection() && (strings.HasPrefix(text, "[]") || strings.HasPrefix(text, "map[")) {
		return f.refuse(f.typ, "flags cannot declare a list or map of lists or maps",
			"use []object, with the list as a field")
	}
	if to, ok := otherNames[text]; ok && strings.HasPrefix(to, "ref=") {
		text = to
	}
	if kind, ok := strings.CutPrefix(text, "ref="); ok {
		return f.setReference(kind)
	}
	for i := range scalars {
		if scalars[i].name == text {
			f.scalar = &scalars[i]
		}
	}
	switch {
	case f.scalar == nil:
		return f.unknownType(text)
	case f.scalar.name == "condition" && !f.isList:
		return f.refuse(f.typ, "conditions must be a list", "write "+f.name+":[]condition")
	case f.scalar.name == "object" || f.scalar.name == "condition":
		f.keys = map[string][]string{"condition": {"type"}}[f.scalar.name]
		if f.scalar.name == "object" {
			f.object = &object{}
		}
	}
	return nil
}

func (f *Field) unknownType(text string) error {
	hint := "the types are string, int32, int64, bool, quantity, duration, time, int-or-string, object, ref=KIND, " +
		"[]TYPE and map[string]TYPE"
	if refused, ok := refusedTypes[text]; ok {
		hint = refused
	} else if other, ok := otherNames[text]; ok {
		hint = "did you mean " + other + "?"
	} else if near, ok := diagnostic.Near(text, typeNames()); ok {
		hint = "did you mean " + orElse(otherNames[near], near) + "?"
	}
	return f.refuse(f.typ, "unknown type", hint)
}

func parseText(text string) (any, error) { return text, nil }

func parseInteger(bits int) func(string) (any, error) {
	return func(text string) (any, error) {
		n, err := strconv.ParseInt(text, 10, bits)
		if errors.Is(err, strconv.ErrRange) {
			return nil, fmt.Errorf("a number from %d to %d", int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits))
		}
		if err != nil {
			return nil, errors.New("a whole number")
		}
		return n, nil
	}
}

func parseBool(text string) (any, error) {
	if text != "true" && text != "false" {
		return nil, errors.New("true or false")
	}
	return text == "true", nil
}

func parseQuantity(text string) (any, error) {
	if _, err := resource.ParseQuantity(text); err != nil {
		return nil, errors.New("a quantity such as 500m or 1Gi")
	}
	return text, nil
}

func parseDuration(text string) (any, error) {
	if _, err := time.ParseDuration(text); err != nil {
		return nil, errors.New("a time such as 90s or 5m")
	}
	return text, nil
}

func parseIntOrString(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return n, nil
	}
	return text, nil
}

// microTime is the format of times with microseconds in the API.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

func parseTime(layout string) func(string) (any, error) {
	return func(text string) (any, error) {
		if _, err := time.Parse(layout, text); err != nil {
			return nil, errors.New("a time such as " + strings.Replace(strings.Replace(layout, "Z07:00", "Z", 1), "2006", "2026",
				1))
		}
		return text, nil
	}
}

func quoted(value any) (string, imports) { return strconv.Quote(value.(string)), nil }

func plain(value any) (string, imports) { return fmt.Sprint(value), nil }

func called(format, name, path string) func(any) (string, imports) {
	return func(value any) (string, imports) { return fmt.Sprintf(format, value), imports{name: path} }
}

func durationLiteral(value any) (string, imports) {
	d, _ := time.ParseDuration(value.(string)) // parseDuration has accepted it
	need := imports{"metav1": metaPackage, "time": "time"}
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}} {
		if d != 0 && d%unit.of == 0 {
			return fmt.Sprintf("metav1.Duration{Duration: %d * time.%s}", d/unit.of, unit.name), need
		}
	}
	return fmt.Sprintf("metav1.Duration{Duration: %d}", d), imports{"metav1": metaPackage}
}

func intOrStringLiteral(value any) (string, imports) {
	need := imports{"intstr": intOrStringImport}
	if n, ok := value.(int64); ok {
		return fmt.Sprintf("intstr.FromInt32(%d)", n), need
	}
	return fmt.Sprintf("intstr.FromString(%q)", value), need
}

func timeLiteral(constructor string) func(any) (string, imports) {
	return func(value any) (string, imports) {
		t, _ := time.Parse(time.RFC3339Nano, value.(string)) // parseTime has accepted it
		t = t.UTC()
		return fmt.Sprintf("%s(time.Date(%d, %d, %d, %d, %d, %d, %d, time.UTC))", constructor,
				t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond()),
			imports{"metav1": metaPackage, "time": "time"}
	}
}
