package cache

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/partial"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// KindOptions are what of one kind is cached. The zero value of a field means what [Options] say. With selectors the
// cache is the whole truth for its readers: an object that they do not select is not found.
type KindOptions struct {
	// Object is of the kind: a typed object, or one with its kind set.
	Object object.Object
	// Namespaces are the namespaces, in place of those of the cache; "" is all.
	Namespaces []string
	// Labels selects the objects by their labels.
	Labels labels.Selector
	// Fields selects the objects by fields that the server can select by.
	Fields fields.Selector
	// Mask are the only fields that are cached, see [Options].Masks.
	Mask []string
	// Packed keeps the objects packed, see [Options].Packed.
	Packed bool
	// KeepManagedFields keeps metadata.managedFields.
	KeepManagedFields bool
	// Transform is applied to each object before it is cached. It may modify the object, but not its namespace, its
	// name, its UID, or its version.
	Transform func(object.Object) (object.Object, error)
}

// optionsOf returns the options of a kind, which are the zero value for most.
func (c *Cache) optionsOf(gvk schema.GroupVersionKind) (KindOptions, error) {
	for _, opts := range c.opts.ByKind {
		of, err := object.GVK(opts.Object, c.live.Scheme())
		if err != nil {
			return KindOptions{}, fmt.Errorf("ByKind: %w", err)
		}
		if of == gvk {
			return opts, nil
		}
	}
	return KindOptions{}, nil
}

func maskOf(opts KindOptions, mask []string) []string {
	if opts.Mask != nil {
		return opts.Mask
	}
	return mask
}

// marking returns transform, behind which a masked object says that it is one: the mark is among the managedFields, which
// many a transform removes.
func marking(transform func(object.Object) (object.Object, error), mask []string) func(object.Object) (object.Object, error) {
	if transform == nil || len(mask) == 0 {
		return transform
	}
	mark := partial.New(mask)
	return func(o object.Object) (object.Object, error) {
		o, err := transform(o)
		if err == nil {
			mark.Put(o)
		}
		return o, err
	}
}

// scope is which objects of a kind are cached. Its zero value is all.
type scope struct {
	labels labels.Selector
	fields fields.Selector
}

func (s scope) all() bool { return s.labels == nil && s.fields == nil }

// has reports whether an object is in scope.
func (s scope) has(o object.Object) bool {
	if s.labels != nil && !s.labels.Matches(labels.Set(o.GetLabels())) {
		return false
	}
	if s.fields == nil {
		return true
	}
	data, err := json.Marshal(o)
	if err != nil {
		return true
	}
	var decoded map[string]any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return true
	}
	set := fields.Set{}
	for _, requirement := range s.fields.Requirements() {
		set[requirement.Field] = fieldAt(decoded, requirement.Field)
	}
	return s.fields.Matches(set)
}

// fieldAt returns what is at a path of names with dots, as the server compares it: "" is what is not there.
func fieldAt(value any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		below, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		value = below[name]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
