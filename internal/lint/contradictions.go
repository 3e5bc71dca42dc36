package lint

import (
	"fmt"
	"go/ast"
	"reflect"
	"slices"
	"strconv"

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
	t.reportAt(later, 0, diagnostic.Error{
		Code:    CodeContradiction,
		Message: fmt.Sprintf("+%s contradicts +%s above", later.name, first.name),
		Hint:    "remove one of them",
	})
}

// checkRepeated reports markers that a target has several times with different values, although only one can apply.
func (t *target) checkRepeated() {
	for i, e := range t.entries {
		if !e.rules().Single {
			continue
		}
		before := slices.IndexFunc(t.entries[:i], func(other entry) bool {
			return other.name == e.name &&
				other.items == e.items
		})
		if before < 0 || reflect.DeepEqual(t.entries[before].Value, e.Value) {
			continue
		}
		t.reportAt(e, 0, diagnostic.Error{
			Code:    CodeContradiction,
			Message: fmt.Sprintf("+%s is repeated with a different value", e.label()),
			Hint:    "remove one; the other is on line " + strconv.Itoa(t.program.Fset().Position(t.entries[before].Pos).Line),
		})
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
		case first.Scope == "Cluster" && later.Scope != "Cluster":
			argument = "scope"
		case first.Scope != later.Scope && later.Scope != "" && first.Scope != "":
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
		t.reportAt(markers[i], 0, diagnostic.Error{
			Code:    CodeContradiction,
			Message: fmt.Sprintf("+kubebuilder:resource contradicts the one above in %s: only the last one counts", argument),
			Hint:    "write both as one marker",
		})
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
		c.report(field.Tag.Pos(), c.emitted[t.spec], diagnostic.Error{
			Code: CodeFieldName,
			Message: fmt.Sprintf("field %s has the same JSON name %q as %s", markers.FieldName(field), name,
				markers.FieldName(before)),
			Hint: "give one of them another name",
		})
	}
}
