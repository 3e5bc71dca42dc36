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

// StrategicMergeFrom is the strategic merge patch from base, a copy taken before the changes, to the object that is
// passed to Patch. It is [MergeFrom] for the built-in kinds of Kubernetes, whose Go types say which lists are merged by a
// key: of such a list it names only the items that differ, so that changes of others to other items stay. The server
// refuses it for custom resources. The objects must be typed.
func StrategicMergeFrom(base object.Object) Patch {
	return &mergeFromPatch{patchType: types.StrategicMergePatchType, base: base}
}

// StrategicMergeFromWithOptimisticLock is [StrategicMergeFrom] with the resourceVersion of base, so that the patch fails
// with a conflict when the object has changed since. base must have one.
func StrategicMergeFromWithOptimisticLock(base object.Object) Patch {
	return &mergeFromPatch{patchType: types.StrategicMergePatchType, base: base, lock: true}
}

// The directives of a strategic merge patch.
const (
	directive       = "$patch" // with a value of the next two
	replaceAll      = "replace"
	deleteItem      = "delete"
	retainKeys      = "$retainKeys"
	deleteFromList  = "$deleteFromPrimitiveList/"
	setElementOrder = "$setElementOrder/"
)

// strategicMaps returns the strategic merge patch that makes modified of base, which are what values of type t are in
// JSON. It is empty when there is nothing to change.
func strategicMaps(t reflect.Type, base, modified map[string]any) map[string]any {
	patch := map[string]any{}
	for name, old := range base {
		if old != nil && modified[name] == nil {
			patch[name] = nil
		}
	}
	for name, value := range modified {
		old := base[name]
		switch {
		case value == nil || reflect.DeepEqual(old, value):
		case old == nil:
			patch[name] = value
		default:
			strategicField(patch, name, fieldOf(t, name), old, value)
		}
	}
	return patch
}

// strategicField adds to patch what makes value of old in a field, which differ.
func strategicField(patch map[string]any, name string, f patchField, old, value any) {
	oldMap, wasMap := old.(map[string]any)
	newMap, isMap := value.(map[string]any)
	oldList, wasList := old.([]any)
	newList, isList := value.([]any)
	switch {
	case wasMap && isMap && (f.opaque || f.has("replace")):
		patch[name] = replacement(newMap)
	case wasMap && isMap:
		diff := strategicMaps(f.of, oldMap, newMap)
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

// replacement returns the patch that takes the place of all that is there.
func replacement(value map[string]any) map[string]any {
	patch := maps.Clone(value)
	patch[directive] = replaceAll
	return patch
}

// strategicValues adds to patch what makes the set of values of old.
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

// strategicItems adds to patch what makes items of old, which are told apart by a key. Lists of which that is not so are
// replaced.
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
		if diff := strategicMaps(f.of, oldItem, item); len(diff) > 0 {
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

// byKey returns the items by the value of their key. It reports false when one has none, or that of another one.
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

// patchField is what the tags of a field say about patches.
type patchField struct {
	of         reflect.Type // of its value, or of the items of a list
	opaque     bool         // what is below it is not known
	strategies []string
	key        string // of the items of a list
}

func (f patchField) has(strategy string) bool { return slices.Contains(f.strategies, strategy) }

// retain lets the fields go that value does not have, of a union.
func (f patchField) retain(patch, value map[string]any) {
	if !f.has("retainKeys") || len(patch) == 0 {
		return
	}
	keys := []any{} // of none it is a list too
	for _, key := range slices.Sorted(maps.Keys(value)) {
		if value[key] != nil {
			keys = append(keys, key)
		}
	}
	patch[retainKeys] = keys
}

// fieldOf returns what is known of the field that is called name in JSON, of values of type t.
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
	f := patchField{of: withoutPointer(t), key: tag.Get("patchMergeKey"), strategies: strings.Split(tag.Get("patchStrategy"), ",")}
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

// jsonField returns the field of the struct t that is called name in JSON, also one of an embedded struct.
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
