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

// checkTypes reports invalid values of markers in a package.
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

// number converts the value of a marker to a number.
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

// entry is a marker with its value.
type entry struct {
	markers.Marker
	name  string // name of the definition, without "items:"
	items bool   // the marker applies to the items of a list
}

// short returns the last part of the name of a marker.
func (e entry) short() string { return e.name[strings.LastIndexByte(e.name, ':')+1:] }

// rules returns the rules of the marker.
func (e entry) rules() markers.Rules { return markers.RulesOf(e.name) }

// label returns the name of a marker as the user wrote it, without arguments.
func (e entry) label() string {
	if e.items {
		return crdmarkers.ValidationItemsPrefix + e.short()
	}
	return e.name
}
