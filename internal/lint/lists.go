package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

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
		d := diagnostic.Error{
			Code:    CodeContradiction,
			Message: fmt.Sprintf("+%s requires a list of type map", keys[0].name),
			Hint:    "add // +" + strings.Replace(keys[0].name, "listMapKey", "listType", 1) + "=map",
		}
		if len(types) > 0 {
			d.Hint = fmt.Sprintf("write +%s=map, or remove the key", types[0].name)
		}
		t.reportAt(keys[0], 0, d)
		return
	case isMap && len(keys) == 0:
		t.reportAt(types[0], 0, diagnostic.Error{
			Code:    CodeContradiction,
			Message: fmt.Sprintf("+%s=map requires the name of the key field", types[0].name),
			Hint:    "add // +" + strings.Replace(types[0].name, "listType", "listMapKey", 1) + "=<field>",
		})
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
		t.reportAt(key, markers.ValueOffset(key.Text), diagnostic.Error{
			Code:    CodeListMapKey,
			Message: fmt.Sprintf("+%s=%s: the items, of type %s, have no field %q", key.name, name, item.name, name),
			Hint:    hint,
		})
	}
}
