package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
)

// checkType reports invalid values of the markers of a type and its fields.
func (c *checker) checkType(t *typeDecl) {
	c.checkTarget(target{checker: c, decl: t, entries: t.pkg.entries[t.spec]}, t.spec.Type)
	c.checkFieldNames(t)
	for _, field := range structFields(t.spec) {
		c.checkTarget(target{checker: c, decl: t, field: field, entries: t.pkg.entries[field]}, field.Type)
	}
}

func (c *checker) checkTarget(t target, of ast.Expr) {
	if len(t.entries) == 0 {
		return
	}
	kind, overridden := overriddenKind(t.entries)
	if overridden || t.field == nil && (t.decl.custom || t.decl.spec.TypeParams != nil) {
		t.shape = shape{kind: kind}
	} else {
		t.shape = c.decls.shapeOf(t.decl, of)
	}
	t.check()
}

// target is a type or field with its markers.
type target struct {
	*checker
	decl    *typeDecl  // the type, or the type that contains the field
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
	t.checkNames()
	t.checkEnum()
	t.checkList()
	t.checkDefault()
}

// reportAt adds a finding whose position is an offset, in bytes, in a marker.
func (t *target) reportAt(e entry, offset int, d diagnostic.Error) {
	t.report(e.Pos+token.Pos(offset), t.reaches(e.Marker), d)
}

// find returns the markers with one of the names, except markers that apply to items.
func find(entries []entry, names ...string) []entry {
	var found []entry
	for _, e := range entries {
		if !e.items && slices.Contains(names, e.name) {
			found = append(found, e)
		}
	}
	return found
}

// limits returns the markers that apply to values of the target: first its own markers, then the markers of its named
// types.
func (t *target) limits() []entry {
	all := slices.Clone(t.entries)
	for _, named := range t.shape.named {
		all = append(all, named.entries...)
	}
	return all
}

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

// owns reports whether a marker is on the target itself.
func (t *target) owns(e entry) bool {
	return slices.ContainsFunc(t.entries, func(own entry) bool { return own.Pos == e.Pos })
}

// where describes the position of a marker.
func (t *target) where(e entry) string {
	pos := diagnostic.Relative(t.program.Dir(), t.program.Fset().Position(e.Pos))
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}

// isSet reports whether a boolean marker applies to the target.
func (t *target) isSet(short string, items bool) bool {
	return slices.ContainsFunc(t.limits(), func(e entry) bool {
		v := reflect.ValueOf(e.Value)
		return e.items == items && e.short() == short && v.Kind() == reflect.Bool && v.Bool()
	})
}

type entry struct {
	markers.Marker
	name  string // name of the definition, without "items:"
	items bool   // the marker applies to the items of a list
}

// short returns the last part of the name of a marker.
func (e entry) short() string { return e.name[strings.LastIndexByte(e.name, ':')+1:] }

func (e entry) rules() markers.Rules { return markers.RulesOf(e.name) }

// label returns the name of a marker as the user wrote it, without arguments.
func (e entry) label() string {
	if e.items {
		return crdmarkers.ValidationItemsPrefix + e.short()
	}
	return e.name
}
