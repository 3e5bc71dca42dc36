package controllerutil

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// node is a part of a managedFields entry in the FieldsV1 format. Its keys are the owned fields, list items and set
// values below a path: "f:" and a field, "k:" and the key fields of an item as JSON, "v:" and a value as JSON, "i:" and
// an index, or "." for the path itself. An empty node means that the path is owned as a whole.
type node = map[string]any

// desired is a configuration and its field owner.
type desired struct {
	configuration map[string]any
	owner         string
	subresource   string
}

// isIn reports whether the owner owns exactly the fields of the configuration in live, with the same values. In doubt
// it returns false.
func (d desired) isIn(live *unstructured.Unstructured) bool {
	applied, certain := applicable(d.configuration, live)
	if !certain {
		return false
	}
	owned := d.ownedIn(live)
	return owned != nil && sameFields(applied, live.Object, owned)
}

// ownedIn returns the fields of live that the owner owns by apply, or nil if there are none or they are unknown.
func (d desired) ownedIn(live *unstructured.Unstructured) node {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != d.owner || entry.Operation != metav1.ManagedFieldsOperationApply ||
			entry.Subresource != d.subresource {
			continue
		}
		owned := node{}
		if entry.APIVersion != d.configuration["apiVersion"] || entry.FieldsV1 == nil ||
			json.Unmarshal([]byte(entry.FieldsV1.String()), &owned) != nil {
			return nil
		}
		return owned
	}
	return nil
}

// applicable returns the fields of configuration that can have owners. It reports false if one of the other fields has
// an additional effect, such as a precondition, or differs from live.
func applicable(configuration map[string]any, live *unstructured.Unstructured) (applied map[string]any, certain bool) {
	data, err := json.Marshal(configuration)
	if err != nil || utiljson.Unmarshal(data, &applied) != nil { // numbers then have the types of decoded JSON
		return nil, false
	}
	delete(applied, "apiVersion")
	delete(applied, "kind")
	metadata, _ := applied["metadata"].(map[string]any)
	current, _ := live.Object["metadata"].(map[string]any)
	for _, name := range []string{"uid", "resourceVersion"} {
		if wanted, ok := metadata[name]; ok && wanted != current[name] {
			return nil, false
		}
	}
	for _, name := range []string{"name", "namespace", "generateName", "uid", "resourceVersion", "generation",
		"creationTimestamp", "selfLink"} {
		delete(metadata, name)
	}
	if len(metadata) == 0 {
		delete(applied, "metadata")
	}
	return applied, true
}

// same reports whether value equals live, and owned consists of exactly the fields of value.
func same(value, live any, owned node) bool {
	kind, certain := entryKind(owned)
	if !certain {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		if kind == "f" {
			live, ok := live.(map[string]any)
			return ok && sameFields(value, live, owned)
		}
	case []any:
		live, ok := live.([]any)
		complete := ok && len(value) == count(owned)
		switch kind {
		case "k":
			return complete && sameItems(value, live, owned)
		case "v":
			return complete && sameValues(value, live, owned)
		}
	}
	return kind == "" && reflect.DeepEqual(value, live)
}

// entryKind returns the common prefix of the names below a path, or "" without names. It reports false for different
// prefixes.
func entryKind(owned node) (kind string, certain bool) {
	for name := range owned {
		if name == "." {
			continue
		}
		prefix, _, _ := strings.Cut(name, ":")
		if kind != "" && kind != prefix {
			return "", false
		}
		kind = prefix
	}
	return kind, true
}

func sameFields(value, live map[string]any, owned node) bool {
	if len(value) != count(owned) {
		return false
	}
	for name, v := range value {
		below, ok := owned["f:"+name].(node)
		current, exists := live[name]
		if !ok || !exists || !same(v, current, below) {
			return false
		}
	}
	return true
}

// sameItems is the variant of same for a list whose items have key fields. The items must be in the same order in both
// lists.
func sameItems(value, live []any, owned node) bool {
	for _, v := range value {
		item, ok := v.(map[string]any)
		key, below := entryOf(item, owned)
		if !ok || key == nil {
			return false
		}
		at := slices.IndexFunc(live, func(candidate any) bool { return hasKey(candidate, key) })
		if at < 0 || !same(item, live[at], below) {
			return false
		}
		live = live[at+1:]
	}
	return true
}

// entryOf returns the key fields of item's entry in owned, and the fields below. A key field that item lacks has its
// default. entryOf does not know the default, so it accepts any value if only one entry matches: with a value other
// than the default, the key field would be an owned field, which item does not have.
func entryOf(item map[string]any, owned node) (key map[string]any, below node) {
	for name, value := range owned {
		candidate := keyIn(name)
		if candidate == nil || !fits(item, candidate) {
			continue
		}
		if key != nil {
			return nil, nil
		}
		key, below = candidate, asNode(value)
	}
	return key, below
}

// keyIn returns the key fields in the name of an entry, or nil if it has none.
func keyIn(name string) (key map[string]any) {
	if text, ok := strings.CutPrefix(name, "k:"); !ok || utiljson.Unmarshal([]byte(text), &key) != nil {
		return nil
	}
	return key
}

// fits reports whether the key fields that item has equal the fields in key.
func fits(item, key map[string]any) bool {
	for name, value := range key {
		if v, ok := item[name]; ok && !reflect.DeepEqual(v, value) {
			return false
		}
	}
	return true
}

func hasKey(live any, key map[string]any) bool {
	item, ok := live.(map[string]any)
	for name, value := range key {
		ok = ok && reflect.DeepEqual(item[name], value)
	}
	return ok
}

// sameValues is the variant of same for a list that is a set of values.
func sameValues(value, live []any, owned node) bool {
	for _, v := range value {
		text, err := json.Marshal(v)
		if _, ok := owned["v:"+string(text)]; !ok || err != nil {
			return false
		}
		at := slices.IndexFunc(live, func(candidate any) bool { return reflect.DeepEqual(candidate, v) })
		if at < 0 {
			return false
		}
		live = live[at+1:]
	}
	return true
}

// count returns the number of entries below a path.
func count(owned node) int {
	if _, ok := owned["."]; ok {
		return len(owned) - 1
	}
	return len(owned)
}
