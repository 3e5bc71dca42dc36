package lint

import (
	"fmt"
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// withPresence returns the markers that declare a presence, which is optional or required.
func withPresence(entries []entry, presence markers.Presence) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.rules().Presence != presence })
}

// checkRequired reports fields with markers for both optional and required.
func (t *target) checkRequired() {
	optional, required := withPresence(t.entries, markers.Optional), withPresence(t.entries, markers.Required)
	if t.field == nil || len(optional) == 0 || len(required) == 0 {
		return
	}
	first, later := optional[0], required[0]
	if later.Pos < first.Pos {
		first, later = later, first
	}
	t.reportAt(later, 0, problem(CodeContradiction, fmt.Sprintf("+%s contradicts +%s above", later.name, first.name),
		"remove one of them"))
}

// checkRepeated reports markers that a target has several times with different values, although only one can apply.
func (t *target) checkRepeated() {
	for i, e := range t.entries {
		if !e.rules().Single {
			continue
		}
		before := slices.IndexFunc(t.entries[:i], func(other entry) bool {
			return other.name == e.name && other.items == e.items
		})
		if before < 0 || reflect.DeepEqual(t.entries[before].Value, e.Value) {
			continue
		}
		t.reportAt(e, 0, problem(CodeContradiction, fmt.Sprintf("+%s is repeated with a different value", e.label()),
			"remove one; the other is on line "+strconv.Itoa(t.program.Fset().Position(t.entries[before].Pos).Line)))
	}
}

// checkNames reports markers for the names and the scope of a kind that contradict an earlier marker of the kind.
// Generators use only the last one. If it does not set the scope, the scope of an earlier marker is also lost.
func (t *target) checkNames() {
	markers := find(t.entries, "kubebuilder:resource")
	for i := 1; i < len(markers); i++ {
		first, later := markers[i-1].Value.(crdmarkers.Resource), markers[i].Value.(crdmarkers.Resource)
		argument := ""
		switch {
		case first.Scope == "Cluster" && later.Scope != "Cluster",
			first.Scope != later.Scope && later.Scope != "" && first.Scope != "":
			argument = "scope"
		case first.Path != later.Path && first.Path != "" && later.Path != "":
			argument = "path"
		case first.Singular != later.Singular && first.Singular != "" && later.Singular != "":
			argument = "singular"
		case len(first.ShortName) > 0 && len(later.ShortName) > 0 && !slices.Equal(first.ShortName, later.ShortName):
			argument = "shortName"
		default:
			continue
		}
		t.reportAt(markers[i], 0, problem(CodeContradiction,
			fmt.Sprintf("+kubebuilder:resource contradicts the one above in %s: only the last one counts", argument),
			"write both as one marker"))
	}
}

// checkFieldNames reports fields that have the same JSON name as an earlier field.
func (c *checker) checkFieldNames(t *typeDecl) {
	seen := map[string]*ast.Field{}
	for _, field := range structFields(t.spec) {
		name, inline, ok := jsonName(field)
		if !ok || inline {
			continue
		}
		before := seen[name]
		if before == nil {
			seen[name] = field
			continue
		}
		c.report(field.Tag.Pos(), c.emitted[t.spec], problem(CodeFieldName,
			fmt.Sprintf("field %s has the same JSON name %q as %s", markers.FieldName(field), name, markers.FieldName(before)),
			"give one of them another name"))
	}
}

// checkList reports lists of type map without keys, keys that are not fields of the items, and keys of lists that do
// not have type map.
func (t *target) checkList() {
	if t.shape.kind != "" && t.shape.kind != markers.KindArray {
		return
	}
	keys := find(t.entries, "listMapKey", "k8s:listMapKey")
	types := find(t.entries, "listType", "k8s:listType")
	isMap := slices.ContainsFunc(types, func(e entry) bool { return e.Value == crdmarkers.ListType("map") })
	switch {
	case len(keys) > 0 && !isMap:
		d := problem(CodeContradiction, fmt.Sprintf("+%s requires a list of type map", keys[0].name),
			"add // +"+strings.Replace(keys[0].name, "listMapKey", "listType", 1)+"=map")
		if len(types) > 0 {
			d.Hint = fmt.Sprintf("write +%s=map, or remove the key", types[0].name)
		}
		t.reportAt(keys[0], 0, d)
		return
	case isMap && len(keys) == 0:
		t.reportAt(types[0], 0, problem(CodeContradiction,
			fmt.Sprintf("+%s=map requires the name of the key field", types[0].name),
			"add // +"+strings.Replace(types[0].name, "listType", "listMapKey", 1)+"=<field>"))
		return
	}
	if len(keys) > 0 && t.shape.kind == markers.KindArray {
		t.checkKeys(keys)
	}
}

func (t *target) checkKeys(keys []entry) {
	item := t.decls.structOf(t.shape.owner, t.shape.items)
	if item == nil {
		return
	}
	names, complete := t.decls.fieldNames(item)
	if !complete {
		return
	}
	for _, key := range keys {
		name := string(key.Value.(crdmarkers.ListMapKey))
		if names[name] {
			continue
		}
		all := slices.Sorted(maps.Keys(names))
		hint := item.name + " has no fields"
		if len(all) > 0 {
			hint = "the fields are " + strings.Join(all, ", ")
			if near, ok := diagnostic.Near(name, all); ok {
				hint = fmt.Sprintf("write // +%s=%s", key.name, near)
			}
		}
		t.reportAt(key, markers.ValueOffset(key.Text), problem(CodeListMapKey,
			fmt.Sprintf("+%s=%s: the items, of type %s, have no field %q", key.name, name, item.name, name), hint))
	}
}

// checkBounds reports lower bounds that exceed the upper bounds. The bounds of a field include the bounds of its type.
func (t *target) checkBounds() {
	all := t.limits()
	for _, of := range []markers.Measure{markers.OfValue, markers.OfLength, markers.OfItems, markers.OfProperties} {
		for _, items := range []bool{false, true} {
			low, hasLow := strictest(all, markers.Limit{Of: of}, items)
			high, hasHigh := strictest(all, markers.Limit{Of: of, Upper: true}, items)
			if hasLow && hasHigh {
				t.checkBound(low, high)
			}
		}
	}
}

// strictest returns the marker with the strictest limit of a kind. If several limits are equal, it returns the first.
func strictest(entries []entry, limit markers.Limit, items bool) (found entry, ok bool) {
	var best float64
	for _, e := range entries {
		value, isNumber := number(e.Value)
		if e.items != items || !isNumber || e.rules().Limit != limit {
			continue
		}
		if !ok || limit.Upper && value < best || !limit.Upper && value > best {
			found, best, ok = e, value, true
		}
	}
	return found, ok
}

// checkBound reports a lower bound that exceeds the upper bound. The position of the finding is the marker of the
// target, or the later marker if both belong to the target.
func (t *target) checkBound(low, high entry) {
	lower, _ := number(low.Value)
	upper, _ := number(high.Value)
	open := lower == upper && low.short() == "Minimum" && (t.isSet("ExclusiveMinimum", low.items) ||
		t.isSet("ExclusiveMaximum", low.items))
	if lower < upper || lower == upper && !open {
		return
	}
	at, relation := low, "above"
	if t.owns(high) && (!t.owns(low) || high.Pos > low.Pos) {
		at, relation = high, "below"
	}
	if !t.owns(at) {
		return
	}
	other := low
	if at.Pos == low.Pos {
		other = high
	}
	value, _ := number(at.Value)
	limit, _ := number(other.Value)
	d := problem(CodeContradiction, fmt.Sprintf("+%s=%s is %s +%s=%s: no value is valid", at.label(),
		formatNumber(value), relation, other.label(), formatNumber(limit)), "change one of them")
	if open {
		d.Message = fmt.Sprintf("+%s=%s is +%s=%s, and one of them is exclusive: no value is valid", at.label(),
			formatNumber(value), other.label(), formatNumber(limit))
	}
	if !t.owns(other) {
		d.Hint = fmt.Sprintf("+%s is at the type, %s", other.label(), t.where(other))
	}
	t.reportAt(at, markers.ValueOffset(at.Text), d)
}
