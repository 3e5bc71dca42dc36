package client

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/internal/configuration"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// StrategicMergeFrom returns the strategic merge patch from base, a copy that was taken before the changes, to the
// object that is passed to Patch. It is the equivalent of [MergeFrom] for built-in kinds, whose Go types define which
// lists are merged by a key. Of such a list, the patch contains only the items that differ, so concurrent changes to
// other items are kept. The objects must be typed. The server rejects strategic merge patches for custom resources.
func StrategicMergeFrom(base object.Object) Patch {
	return &mergeFromPatch{patchType: types.StrategicMergePatchType, base: base}
}

// StrategicMergeFromWithOptimisticLock returns the patch of [StrategicMergeFrom] with the resourceVersion of base,
// which must be set. The patch fails with a conflict if the object has changed since.
func StrategicMergeFromWithOptimisticLock(base object.Object) Patch {
	return &mergeFromPatch{patchType: types.StrategicMergePatchType, base: base, lock: true}
}

// Directives of a strategic merge patch.
const (
	directive       = "$patch" // its value is one of the next two
	replaceAll      = "replace"
	deleteItem      = "delete"
	retainKeys      = "$retainKeys"
	deleteFromList  = "$deleteFromPrimitiveList/"
	setElementOrder = "$setElementOrder/"
)

// strategicDiff returns the strategic merge patch from base to modified, which are values of type t as decoded JSON.
// The patch is empty if they are equal.
func strategicDiff(t reflect.Type, base, modified map[string]any) map[string]any {
	return diffFields(base, modified, func(patch map[string]any, name string, old, value any) {
		strategicField(patch, name, fieldOf(t, name), old, value)
	})
}

// strategicField adds the change of a field from old to value, which differ, to patch.
func strategicField(patch map[string]any, name string, f patchField, old, value any) {
	oldMap, wasMap := old.(map[string]any)
	newMap, isMap := value.(map[string]any)
	oldList, wasList := old.([]any)
	newList, isList := value.([]any)
	switch {
	case wasMap && isMap && (f.opaque || f.has("replace")):
		whole := maps.Clone(newMap)
		whole[directive] = replaceAll
		patch[name] = whole
	case wasMap && isMap:
		diff := strategicDiff(f.of, oldMap, newMap)
		f.retain(diff, newMap)
		patch[name] = diff
	case wasList && isList && f.has("merge") && f.key == "" && areScalars(oldList) && areScalars(newList):
		strategicValues(patch, name, oldList, newList)
	case wasList && isList && f.has("merge") && f.key != "":
		strategicItems(patch, name, f, oldList, newList)
	default:
		patch[name] = value
	}
}

// strategicValues adds the change of a set from old to values to patch.
func strategicValues(patch map[string]any, name string, old, values []any) {
	added := slices.DeleteFunc(slices.Clone(values), func(v any) bool { return slices.Contains(old, v) })
	removed := slices.DeleteFunc(slices.Clone(old), func(v any) bool { return slices.Contains(values, v) })
	if len(added) > 0 {
		patch[name] = added
	}
	if len(removed) > 0 {
		patch[deleteFromList+name] = removed
	}
	if len(values) > 0 {
		patch[setElementOrder+name] = values
	}
}

func areScalars(values []any) bool {
	return !slices.ContainsFunc(values, func(v any) bool { return v == nil || !reflect.TypeOf(v).Comparable() })
}

// strategicItems adds the change of a keyed list from old to items to patch. Lists without unique keys are replaced.
func strategicItems(patch map[string]any, name string, f patchField, old, items []any) {
	before, unique := byKey(old, f.key)
	after, uniqueAfter := byKey(items, f.key)
	if !unique || !uniqueAfter {
		patch[name] = append([]any{map[string]any{directive: replaceAll}}, items...)
		return
	}
	var changes, order []any
	for _, item := range items {
		item := item.(map[string]any)
		key := item[f.key]
		order = append(order, map[string]any{f.key: key})
		oldItem, existed := before[key]
		if !existed {
			changes = append(changes, item)
			continue
		}
		if diff := strategicDiff(f.of, oldItem, item); len(diff) > 0 {
			f.retain(diff, item)
			diff[f.key] = key
			changes = append(changes, diff)
		}
	}
	for _, item := range old {
		key := item.(map[string]any)[f.key]
		if _, stays := after[key]; !stays {
			changes = append(changes, map[string]any{directive: deleteItem, f.key: key})
		}
	}
	if len(changes) > 0 {
		patch[name] = changes
	}
	if len(order) > 0 {
		patch[setElementOrder+name] = order
	}
}

// byKey returns the items by their key. It reports false if an item has no key, or if two items have the same key.
func byKey(items []any, key string) (byKey map[any]map[string]any, unique bool) {
	byKey = map[any]map[string]any{}
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		switch value := fields[key].(type) {
		case string, bool, int64, float64:
			if _, taken := byKey[value]; taken {
				return nil, false
			}
			byKey[value] = fields
		default:
			return nil, false
		}
	}
	return byKey, true
}

// patchField holds the patch settings from the tags of a field.
type patchField struct {
	of         reflect.Type // type of the value, or of the items of a list
	opaque     bool         // the fields in the value are unknown
	strategies []string
	key        string // key of the items of a list
}

func (f patchField) has(strategy string) bool { return slices.Contains(f.strategies, strategy) }

// retain adds to patch the list of fields that are set in value, if f is a union, so that the server removes all other
// fields.
func (f patchField) retain(patch, value map[string]any) {
	if !f.has("retainKeys") || len(patch) == 0 {
		return
	}
	keys := []any{} // not nil, so that an empty list is encoded
	for _, key := range slices.Sorted(maps.Keys(value)) {
		if value[key] != nil {
			keys = append(keys, key)
		}
	}
	patch[retainKeys] = keys
}

// fieldOf returns the settings of the field with a JSON name in type t.
func fieldOf(t reflect.Type, name string) patchField {
	t = withoutPointer(t)
	switch t.Kind() {
	case reflect.Map:
		return newPatchField(t.Elem(), "")
	case reflect.Struct:
		if field, ok := jsonField(t, name); ok {
			return newPatchField(field.Type, field.Tag)
		}
	}
	return patchField{opaque: true}
}

func newPatchField(t reflect.Type, tag reflect.StructTag) patchField {
	f := patchField{of: withoutPointer(t), key: tag.Get("patchMergeKey"),
		strategies: strings.Split(tag.Get("patchStrategy"), ",")}
	f.opaque = configuration.EncodesItself(f.of) || f.of.Kind() != reflect.Struct && f.of.Kind() != reflect.Map
	if f.of.Kind() == reflect.Slice {
		f.of = withoutPointer(f.of.Elem())
	}
	return f
}

func withoutPointer(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// jsonField returns the field of the struct t with a JSON name, including fields of embedded structs.
func jsonField(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		field := t.Field(i)
		tagged, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		embedded := withoutPointer(field.Type)
		switch {
		case tagged == "" && field.Anonymous && embedded.Kind() == reflect.Struct:
			if found, ok := jsonField(embedded, name); ok {
				return found, true
			}
		case tagged == name, tagged == "" && field.Name == name:
			return field, true
		}
	}
	return reflect.StructField{}, false
}
