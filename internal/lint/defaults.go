package lint

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
)

func kindOfValue(value any) markers.Kind {
	switch v := reflect.ValueOf(value); {
	case !v.IsValid():
		return ""
	case v.Kind() == reflect.String:
		return markers.KindString
	case v.Kind() == reflect.Bool:
		return markers.KindBoolean
	case v.CanInt():
		return markers.KindInteger
	case v.CanFloat() && v.Float() == math.Trunc(v.Float()):
		return markers.KindInteger
	case v.CanFloat():
		return markers.KindNumber
	case v.Kind() == reflect.Slice:
		return markers.KindArray
	case v.Kind() == reflect.Map:
		return markers.KindMap
	}
	return ""
}

// fits reports whether a value has the kind. It returns true if the kind of the value or the wanted kind is unknown.
func fits(value any, want markers.Kind) bool {
	got := kindOfValue(value)
	switch {
	case got == "" || want == "" || got == want:
		return true
	case want == markers.KindNumber:
		return got == markers.KindInteger
	case want == markers.KindStruct:
		return got == markers.KindMap
	case want == markers.KindArray:
		return got == markers.KindMap && reflect.ValueOf(value).Len() == 0 // {} means an empty list or an empty map
	}
	return false
}

func spell(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// plainNumber matches numbers that have the same spelling in Go markers and in JSON.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// retype converts a value to another type, and returns the converted value and its spelling in a marker. text is the
// current spelling. ok is false if there is no unambiguous conversion.
func retype(value any, text string, want markers.Kind) (other any, written string, ok bool) {
	content, isString := value.(string)
	got := kindOfValue(value)
	switch {
	case want == markers.KindString && got != markers.KindArray && got != markers.KindMap:
		return text, strconv.Quote(text), true
	case isString && (want == markers.KindInteger || want == markers.KindNumber) && plainNumber.MatchString(content):
		number, err := strconv.ParseFloat(content, 64)
		return number, content, err == nil && fits(number, want)
	case isString && want == markers.KindBoolean && (strings.EqualFold(content, "true") ||
		strings.EqualFold(content, "false")):
		return strings.EqualFold(content, "true"), strings.ToLower(content), true
	}
	return nil, "", false
}

// asList converts a value to a list with items of a kind, and returns the list and its spelling, in braces or as JSON.
func asList(value any, items markers.Kind, inJSON bool) (list []any, written string, ok bool) {
	begin, end := "{", "}"
	if inJSON {
		begin, end = "[", "]"
	}
	switch got := kindOfValue(value); {
	case value == "[]":
		return []any{}, begin + end, true
	case got == markers.KindMap || !fits(value, items):
		return nil, "", false
	}
	return []any{value}, begin + spell(value) + end, true
}

// retyped returns the spelling that gives a default the type of its field. It returns "" if the API server would also
// reject the converted default.
func (t *target) retyped(e entry, value any) string {
	_, inJSON := e.Value.(crdmarkers.KubernetesDefault)
	var other any
	var written string
	var ok bool
	if t.shape.kind == markers.KindArray {
		other, written, ok = asList(value, t.items().kind, inJSON)
	} else {
		other, written, ok = retype(value, strings.TrimSpace(e.Text[markers.ValueOffset(e.Text):]), t.shape.kind)
	}
	if !ok || t.refuses(other) != nil {
		return ""
	}
	return "write " + written
}

// checkDefault reports defaults that the API server would reject.
func (t *target) checkDefault() {
	for _, e := range t.entries {
		var value any
		switch marker := e.Value.(type) {
		case crdmarkers.Default:
			value = marker.Value
		case crdmarkers.KubernetesDefault:
			value = marker.Value
		}
		if value == nil {
			continue
		}
		if !fits(value, t.shape.kind) {
			t.reportAt(e, markers.ValueOffset(e.Text), problem(CodeDefault,
				fmt.Sprintf("default %s: want %s, like the field", spell(value), article(t.shape.kind)), t.retyped(e, value)))
			continue
		}
		if refused := t.refuses(value); refused != nil {
			d := problem(CodeDefault, fmt.Sprintf("default %s is rejected by +%s", spell(value),
				diagnostic.Cut(strings.TrimPrefix(refused.Text, "+"))), "change one of them")
			if !t.owns(*refused) {
				d.Hint = "the marker is at the type, " + t.where(*refused)
			}
			t.reportAt(e, markers.ValueOffset(e.Text), d)
		}
	}
}

func (t *target) refuses(value any) *entry {
	for _, e := range t.limits() {
		if !e.items && t.breaks(value, e) {
			return &e
		}
	}
	return nil
}

func (t *target) breaks(value any, e entry) bool {
	if values, ok := e.Value.(crdmarkers.Enum); ok {
		for _, allowed := range values {
			if spell(allowed) == spell(value) {
				return false
			}
		}
		return t.shape.kind != "" && len(values) > 0
	}
	if pattern, ok := e.Value.(crdmarkers.Pattern); ok {
		text, isString := value.(string)
		compiled, err := regexp.Compile(string(pattern))
		return isString && err == nil && !compiled.MatchString(text)
	}
	limit, ok := number(e.Value)
	if !ok {
		return false
	}
	amount, isNumber := number(value)
	switch at := e.rules().Limit; {
	case e.short() == "MultipleOf":
		return isNumber && limit != 0 && math.Mod(amount, limit) != 0 && limit == math.Trunc(limit)
	case at.Of == markers.OfValue && at.Upper:
		return isNumber && (amount > limit || amount == limit && t.isSet("ExclusiveMaximum", false))
	case at.Of == markers.OfValue:
		return isNumber && (amount < limit || amount == limit && t.isSet("ExclusiveMinimum", false))
	case at.Of == markers.OfLength && kindOfValue(value) != markers.KindString, at.Of == markers.OfItems &&
		kindOfValue(value) != markers.KindArray:
		return false
	case at.Of == markers.OfLength, at.Of == markers.OfItems:
		size := sizeOf(value)
		return at.Upper && size > limit || !at.Upper && size < limit
	}
	// The API server first adds the defaults of the fields, so the size of an object in a marker is not final.
	return false
}

// sizeOf returns the number of characters of a string, or of items of a list.
func sizeOf(value any) float64 {
	if text, ok := value.(string); ok {
		return float64(utf8.RuneCountInString(text))
	}
	return float64(reflect.ValueOf(value).Len())
}
