package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strconv"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// checkTypes reports what is wrong with the values of the markers of a package.
func (c *checker) checkTypes(pkg *packageDecls) {
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				c.checkType(c.decls.bySpec[spec.(*ast.TypeSpec)])
			}
		}
	}
}

func (c *checker) checkType(t *typeDecl) {
	entries := t.pkg.entries[t.spec]
	if len(entries) > 0 {
		at := target{checker: c, decl: t, entries: entries, shape: c.decls.shapeOf(t, t.spec.Type)}
		if k, ok := overriddenKind(entries); ok || t.custom || t.spec.TypeParams != nil {
			at.shape = shape{kind: k}
		}
		at.check()
	}
	c.checkFieldNames(t)
	for _, field := range structFields(t.spec) {
		entries := t.pkg.entries[field]
		if len(entries) == 0 {
			continue
		}
		at := target{checker: c, decl: t, field: field, entries: entries, shape: c.decls.shapeOf(t, field.Type)}
		if k, ok := overriddenKind(entries); ok {
			at.shape = shape{kind: k}
		}
		at.check()
	}
}

// target is a type or field with its markers: what they describe.
type target struct {
	*checker
	decl    *typeDecl  // the type, or that of the field
	field   *ast.Field // nil for a type
	entries []entry
	shape   shape
}

func (t *target) check() {
	t.checkValues()
	t.checkApplies()
	t.checkRepeated()
	t.checkBounds()
	t.checkRequired()
	t.checkEnum()
	t.checkList()
	t.checkDefault()
}

// reportAt reports what is wrong with a marker, offset bytes behind its begin.
func (t *target) reportAt(e entry, offset int, d diagnostic.Error) {
	t.report(e.Pos+token.Pos(offset), t.reaches(e.Marker), d)
}

// find returns the markers with a name, without those for items.
func find(entries []entry, names ...string) []entry {
	var found []entry
	for _, e := range entries {
		if !e.items && slices.Contains(names, e.name) {
			found = append(found, e)
		}
	}
	return found
}

// limits returns the markers that hold for values of the target: its own, then those of the named types of it.
func (t *target) limits() []entry {
	all := slices.Clone(t.entries)
	for _, named := range t.shape.named {
		all = append(all, named.entries...)
	}
	return all
}

// number returns the value of a marker that has a number for it.
func number(value any) (float64, bool) {
	v := reflect.ValueOf(value)
	switch {
	case !v.IsValid():
		return 0, false
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

func formatNumber(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// checkBounds reports lower bounds above upper bounds. Those of the type of a field count with its own.
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

// strictest returns the marker with the strictest of some limits. Of equal ones the first counts.
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

// checkBound reports a lower bound above an upper one at that of the target, or, if both are, at the later one.
func (t *target) checkBound(low, high entry) {
	lower, _ := number(low.Value)
	upper, _ := number(high.Value)
	open := lower == upper && low.short() == "Minimum" && (t.isSet("ExclusiveMinimum", low.items) || t.isSet("ExclusiveMaximum", low.items))
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
	d := diagnostic.Error{
		Code:    CodeContradiction,
		Message: fmt.Sprintf("+%s=%s is %s +%s=%s: no value is valid", at.label(), formatNumber(value), relation, other.label(), formatNumber(limit)),
		Hint:    "change one of the two",
	}
	if open {
		d.Message = fmt.Sprintf("+%s=%s is +%s=%s, and one of them is exclusive: no value is valid", at.label(), formatNumber(value), other.label(), formatNumber(limit))
	}
	if !t.owns(other) {
		d.Hint = fmt.Sprintf("+%s stands at the type, %s", other.label(), t.where(other))
	}
	t.reportAt(at, markers.ValueOffset(at.Text), d)
}

// owns reports whether a marker stands at the target itself.
func (t *target) owns(e entry) bool {
	return slices.ContainsFunc(t.entries, func(own entry) bool { return own.Pos == e.Pos })
}

// where returns the position of a marker as text.
func (t *target) where(e entry) string {
	pos := diagnostic.Relative(t.program.Dir(), t.program.Fset().Position(e.Pos))
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}

// isSet reports whether a marker that is true or false holds for the target.
func (t *target) isSet(short string, items bool) bool {
	return slices.ContainsFunc(t.limits(), func(e entry) bool {
		v := reflect.ValueOf(e.Value)
		return e.items == items && e.short() == short && v.Kind() == reflect.Bool && v.Bool()
	})
}

// saying returns the markers that say of a field whether it has to be there.
func saying(entries []entry, presence markers.Presence) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.rules().Presence != presence })
}

// checkRequired reports fields that are optional and required.
func (t *target) checkRequired() {
	optional, required := saying(t.entries, markers.Optional), saying(t.entries, markers.Required)
	if t.field == nil || len(optional) == 0 || len(required) == 0 {
		return
	}
	first, later := optional[0], required[0]
	if later.Pos < first.Pos {
		first, later = later, first
	}
	t.reportAt(later, 0, diagnostic.Error{
		Code:    CodeContradiction,
		Message: fmt.Sprintf("+%s contradicts +%s above", later.name, first.name),
		Hint:    "remove one of the two",
	})
}

// checkRepeated reports markers that stand twice at one target with different values, of which only one can hold.
func (t *target) checkRepeated() {
	for i, e := range t.entries {
		if !e.rules().Single {
			continue
		}
		before := slices.IndexFunc(t.entries[:i], func(other entry) bool { return other.name == e.name && other.items == e.items })
		if before < 0 || reflect.DeepEqual(t.entries[before].Value, e.Value) {
			continue
		}
		t.reportAt(e, 0, diagnostic.Error{
			Code:    CodeContradiction,
			Message: fmt.Sprintf("+%s stands twice, with different values", e.label()),
			Hint:    "remove one; the other is on line " + strconv.Itoa(t.program.Fset().Position(t.entries[before].Pos).Line),
		})
	}
}

// checkFieldNames reports fields that have the same name in JSON as one before them.
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
		c.report(field.Tag.Pos(), c.emitted[t.spec], diagnostic.Error{
			Code:    CodeFieldName,
			Message: fmt.Sprintf("field %s has the JSON name %q, as %s", markers.FieldName(field), name, markers.FieldName(before)),
			Hint:    "give one of them another name",
		})
	}
}
