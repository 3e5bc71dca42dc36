package lint

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// checkValues reports arguments that are of the right type and yet never valid.
func (n *subject) checkValues() {
	for _, e := range n.entries {
		switch value := e.Value.(type) {
		case crdmarkers.ListType:
			n.oneOf(e, "", string(value), "atomic", "map", "set")
		case crdmarkers.MapType:
			n.oneOf(e, "", string(value), "atomic", "granular")
		case crdmarkers.StructType:
			n.oneOf(e, "", string(value), "atomic", "granular")
		case crdmarkers.Type:
			n.oneOf(e, "", string(value), "", "Any", "array", "boolean", "integer", "number", "object", "string")
		case crdmarkers.Resource:
			n.oneOf(e, "scope", value.Scope, "", "Cluster", "Namespaced")
		case crdmarkers.XValidation:
			n.oneOf(e, "reason", value.Reason, "", string(apiextensionsv1.FieldValueDuplicate), string(apiextensionsv1.FieldValueForbidden),
				string(apiextensionsv1.FieldValueInvalid), string(apiextensionsv1.FieldValueRequired))
		case crdmarkers.UniqueItems:
			if value {
				n.badValue(e, "", "the API server refuses true", "write +listType=set")
			}
		case crdmarkers.Pattern:
			n.checkPattern(e, string(value))
		case crdmarkers.MaxLength, crdmarkers.MinLength, crdmarkers.MaxItems, crdmarkers.MinItems, crdmarkers.MaxProperties, crdmarkers.MinProperties:
			if size, _ := number(value); size < 0 {
				n.badValue(e, "", fmt.Sprintf("want 0 or more, got %s", formatNumber(size)), "")
			}
		}
	}
}

// badValue reports the value of an argument; the empty name stands for that of the marker.
func (n *subject) badValue(e entry, argument, message, hint string) {
	offset := markers.ValueOffset(e.Text)
	if argument != "" {
		offset = markers.ArgumentValueOffset(e.Text, argument)
		message = argument + ": " + message
	}
	n.reportAt(e, offset, diagnostic.Error{Code: CodeValue, Message: fmt.Sprintf("+%s: %s", e.label(), message), Hint: hint})
}

// oneOf reports a value that is none of those allowed, of which the empty one stands for no value.
func (n *subject) oneOf(e entry, argument, value string, allowed ...string) {
	if slices.Contains(allowed, value) {
		return
	}
	allowed = slices.DeleteFunc(slices.Clone(allowed), func(name string) bool { return name == "" || name == "Any" })
	near := slices.MinFunc(allowed, func(a, b string) int {
		return diagnostic.Slips(strings.ToLower(value), strings.ToLower(a)) - diagnostic.Slips(strings.ToLower(value), strings.ToLower(b))
	})
	hint := ""
	if diagnostic.Slips(strings.ToLower(value), strings.ToLower(near)) <= 2 {
		hint = "write " + near
	}
	n.badValue(e, argument, fmt.Sprintf("want %s, got %q", choice(allowed), value), hint)
}

// choice lists what can be chosen from.
func choice(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func (n *subject) checkPattern(e entry, pattern string) {
	if _, err := regexp.Compile(pattern); err != nil {
		message := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		n.badValue(e, "", "no regular expression: "+diagnostic.OneLine(message), "patterns are written as for Go's package regexp")
	}
}

// applies are the kinds that validation markers are about.
var applies = map[string][]kind{
	"Maximum": {kindInteger, kindNumber}, "Minimum": {kindInteger, kindNumber}, "MultipleOf": {kindInteger, kindNumber},
	"maximum": {kindInteger, kindNumber}, "minimum": {kindInteger, kindNumber},
	"ExclusiveMaximum": {kindInteger, kindNumber}, "ExclusiveMinimum": {kindInteger, kindNumber},
	"MaxLength": {kindString}, "MinLength": {kindString}, "Pattern": {kindString},
	"MaxItems": {kindArray}, "maxItems": {kindArray}, "MinItems": {kindArray}, "UniqueItems": {kindArray},
	"listType": {kindArray}, "listMapKey": {kindArray},
	"MaxProperties": {kindMap, kindStruct}, "MinProperties": {kindMap, kindStruct},
	"mapType": {kindMap, kindStruct}, "structType": {kindMap, kindStruct},
}

// instead are the markers to use for another kind than that which one is about.
var instead = map[string]map[kind]string{
	"Maximum":       {kindString: "MaxLength", kindArray: "MaxItems", kindMap: "MaxProperties"},
	"Minimum":       {kindString: "MinLength", kindArray: "MinItems", kindMap: "MinProperties"},
	"MaxLength":     {kindInteger: "Maximum", kindNumber: "Maximum", kindArray: "MaxItems", kindMap: "MaxProperties"},
	"MinLength":     {kindInteger: "Minimum", kindNumber: "Minimum", kindArray: "MinItems", kindMap: "MinProperties"},
	"MaxItems":      {kindString: "MaxLength", kindMap: "MaxProperties"},
	"MinItems":      {kindString: "MinLength", kindMap: "MinProperties"},
	"MaxProperties": {kindString: "MaxLength", kindArray: "MaxItems"},
	"MinProperties": {kindString: "MinLength", kindArray: "MinItems"},
	"Pattern":       {kindArray: "items:Pattern"},
}

// checkApplies reports validation markers that are not about values of the type of the subject.
func (n *subject) checkApplies() {
	items := n.items()
	for _, e := range n.entries {
		k := n.shape.kind
		if e.items {
			if k != "" && k != kindArray {
				n.reportAt(e, 0, diagnostic.Error{
					Code:    CodeMisplaced,
					Message: fmt.Sprintf("+%s is about the items of a list, and %s", e.label(), n.is()),
					Hint:    "write +" + e.name,
				})
				continue
			}
			k = items.kind
		}
		want := applies[e.short()]
		if k == "" || len(want) == 0 || slices.Contains(want, k) {
			n.checkWhole(e, k)
			continue
		}
		d := diagnostic.Error{
			Code:    CodeMisplaced,
			Message: fmt.Sprintf("+%s is about %s, and %s", e.label(), want[len(want)-1].article(), n.is()),
		}
		if e.items {
			d.Message = fmt.Sprintf("+%s is about %s, and the items are of type %s", e.label(), want[len(want)-1].article(), k)
		}
		d.Hint = "remove it, or move it to where " + want[len(want)-1].article() + " is"
		if better := instead[e.short()][k]; better != "" && strings.HasPrefix(e.name, "kubebuilder:validation:") {
			prefix := strings.TrimSuffix(e.label(), e.short())
			d.Hint = "write +" + prefix + better
			if k == kindArray && !e.items && n.items().kind == want[0] && better != "items:"+e.short() {
				d.Hint += ", or +" + prefix + "items:" + e.short() + " for each item"
			}
		}
		n.reportAt(e, 0, d)
	}
}

// is says what the subject is, to follow "and".
func (n *subject) is() string {
	if n.field != nil {
		return fmt.Sprintf("%s is %s", markers.FieldName(n.field), n.shape.kind.article())
	}
	return fmt.Sprintf("%s is %s", n.decl.name, n.shape.kind.article())
}

// checkWhole reports bounds with a fraction for integers.
func (n *subject) checkWhole(e entry, k kind) {
	value, ok := number(e.Value)
	if ok && k == kindInteger && value != math.Trunc(value) {
		n.reportAt(e, markers.ValueOffset(e.Text), diagnostic.Error{
			Code:    CodeValue,
			Message: fmt.Sprintf("+%s: want an integer, as the values are, got %s", e.label(), formatNumber(value)),
		})
	}
}

// items returns the shape of the items of a list.
func (n *subject) items() shape {
	if n.shape.kind != kindArray || n.shape.items == nil {
		return shape{}
	}
	return n.decls.shapeOf(n.shape.owner, n.shape.items)
}
