package fields

import (
	"cmp"
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

// imports are Go packages by local name.
type imports map[string]string

var (
	metav1Import   = imports{"metav1": "k8s.io/apimachinery/pkg/apis/meta/v1"}
	resourceImport = imports{"resource": "k8s.io/apimachinery/pkg/api/resource"}
	intstrImport   = imports{"intstr": "k8s.io/apimachinery/pkg/util/intstr"}
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
	// golang is the Go type. imports are its packages; a type with imports is a struct, so an optional field is a pointer.
	golang string
	imports
	// parse converts the text in a flag to a JSON value. An error describes the values of the type.
	parse func(text string) (any, error)
	// values are values that are always valid; values.go derives further candidates, which constraints filter.
	values []any
	// literal returns a value as a Go expression.
	literal func(value any) string
}

// scalars are all types except lists, maps and references, which are composed of them.
var scalars = []scalar{
	{name: "string", kind: kindText, golang: "string", parse: parseText, literal: printed("%q")},
	{name: "int32", kind: kindInteger, golang: "int32", parse: parseInteger(32), literal: printed("%d")},
	{name: "int64", kind: kindInteger, golang: "int64", parse: parseInteger(64), literal: printed("%d")},
	{name: "bool", kind: kindBoolean, golang: "bool", parse: parseBool, values: []any{true, false},
		literal: printed("%t")},
	{
		name: "quantity", kind: kindIntOrString, golang: "resource.Quantity", imports: resourceImport,
		parse: parseAs("a quantity such as 500m or 1Gi", resource.ParseQuantity), values: []any{"1Gi", "2Gi", "3Gi"},
		literal: printed(`resource.MustParse("%v")`),
	},
	{
		name: "duration", kind: kindText, golang: "metav1.Duration", imports: metav1Import,
		parse: parseAs("a time such as 90s or 5m", time.ParseDuration), values: []any{"90s", "5m", "10m"},
		literal: durationLiteral,
	},
	{
		name: "int-or-string", kind: kindIntOrString, golang: "intstr.IntOrString", imports: intstrImport,
		parse: parseIntOrString, values: []any{"25%", int64(1), int64(2)}, literal: intOrStringLiteral,
	},
	{
		name: "time", kind: kindText, golang: "metav1.Time", imports: metav1Import,
		parse:  parseAs("a time such as 2026-01-02T15:04:05Z", timeIn(time.RFC3339)),
		values: []any{"2026-01-02T15:04:05Z", "2027-01-02T15:04:05Z"}, literal: timeLiteral("metav1.NewTime"),
	},
	{
		name: "microtime", kind: kindText, golang: "metav1.MicroTime", imports: metav1Import,
		parse:   parseAs("a time such as 2026-01-02T15:04:05.000000Z", timeIn("2006-01-02T15:04:05.000000Z07:00")),
		values:  []any{"2026-01-02T15:04:05.000000Z", "2027-01-02T15:04:05.000000Z"},
		literal: timeLiteral("metav1.NewMicroTime"),
	},
	{name: "object", kind: kindObject},
	{
		name: "condition", kind: kindObject, golang: "metav1.Condition", imports: metav1Import, parse: parseText,
		values: []any{map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "",
			"lastTransitionTime": "2026-01-02T15:04:05Z"}},
		literal: func(any) string {
			return `metav1.Condition{Type: "Ready", Status: "True", Reason: "Ready", LastTransitionTime: metav1.Now()}`
		},
	},
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

// setType parses the type in a flag.
func (f *Field) setType(text string) error {
	if rest, ok := strings.CutPrefix(text, "map["); ok {
		key, value, closed := strings.Cut(rest, "]")
		if key != "string" || !closed {
			return f.refuse(text, "the keys of a map must be strings", "write map[string]"+cmp.Or(value, "string"))
		}
		f.form, text = mapping, value
	} else if rest, ok := strings.CutPrefix(text, "[]"); ok {
		f.form, text = list, rest
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
	i := slices.IndexFunc(scalars, func(s scalar) bool { return s.name == text })
	if i < 0 {
		return f.unknownType(text)
	}
	f.scalar = &scalars[i]
	switch {
	case text == "object":
		f.setObject(&object{})
	case text == "condition" && f.form != list:
		return f.refuse(f.typ, "conditions must be a list", "write "+f.name+":[]condition")
	case text == "condition":
		f.keys = []string{"type"}
	}
	return nil
}

func (f *Field) unknownType(text string) error {
	names := slices.Sorted(maps.Keys(otherNames))
	for _, s := range scalars {
		names = append(names, s.name)
	}
	hint := "the types are string, int32, int64, bool, quantity, duration, time, int-or-string, object, ref=KIND, " +
		"[]TYPE and map[string]TYPE"
	if refused, ok := refusedTypes[text]; ok {
		hint = refused
	} else if other, ok := otherNames[text]; ok {
		hint = "did you mean " + other + "?"
	} else if near, ok := diagnostic.Near(text, names); ok {
		hint = "did you mean " + cmp.Or(otherNames[near], near) + "?"
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

// parseAs returns a function that parses text of a Go type and keeps it as text.
func parseAs[T any](form string, parse func(string) (T, error)) func(string) (any, error) {
	return func(text string) (any, error) {
		if _, err := parse(text); err != nil {
			return nil, errors.New(form)
		}
		return text, nil
	}
}

func timeIn(layout string) func(string) (time.Time, error) {
	return func(text string) (time.Time, error) { return time.Parse(layout, text) }
}

func parseIntOrString(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return n, nil
	}
	return text, nil
}

func printed(format string) func(any) string {
	return func(value any) string { return fmt.Sprintf(format, value) }
}

func durationLiteral(value any) string {
	d, _ := time.ParseDuration(value.(string)) // the parser of the type has accepted it
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}} {
		if d != 0 && d%unit.of == 0 {
			return fmt.Sprintf("metav1.Duration{Duration: %d * time.%s}", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("metav1.Duration{Duration: %d}", d)
}

func intOrStringLiteral(value any) string {
	if n, ok := value.(int64); ok {
		return fmt.Sprintf("intstr.FromInt32(%d)", n)
	}
	return fmt.Sprintf("intstr.FromString(%q)", value)
}

func timeLiteral(constructor string) func(any) string {
	return func(value any) string {
		t, _ := time.Parse(time.RFC3339Nano, value.(string)) // the parser of the type has accepted it
		t = t.UTC()
		return fmt.Sprintf("%s(time.Date(%d, %d, %d, %d, %d, %d, %d, time.UTC))", constructor,
			t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond())
	}
}
