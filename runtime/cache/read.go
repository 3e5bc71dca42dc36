package cache

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Get reads the object named key into obj: from the informer when its kind is declared, in the Go type of obj, and its
// namespace is cached, and live otherwise.
func (c *Cache) Get(ctx context.Context, key object.Key, obj object.Object, opts ...client.GetOption) error {
	gvk, err := object.GVK(obj, c.live.Scheme())
	if err != nil {
		return fmt.Errorf("get %s: %w", key, err)
	}
	i := c.declared(gvk)
	if i == nil || !i.holds(obj) {
		return c.live.Get(ctx, key, obj, opts...)
	}
	if err := i.Wait(ctx); err != nil {
		return fmt.Errorf("get %s %s: %w", gvk.Kind, key, err)
	}
	cached, found, covered := i.get(key)
	switch {
	case !covered:
		return c.live.Get(ctx, key, obj, opts...)
	case !found:
		return apierrors.NewNotFound(c.resource(gvk), key.Name)
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(cached.DeepCopyObject()).Elem())
	return nil
}

// resource names a kind as the API server does in its errors.
func (c *Cache) resource(gvk schema.GroupVersionKind) schema.GroupResource {
	mapping, err := c.live.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		return plural.GroupResource()
	}
	return mapping.Resource.GroupResource()
}

// List reads objects into list, ordered by namespace and name: from the informer when the kind is declared, in the Go
// type of the items, and the namespace is cached, and live otherwise. Field selectors on anything but metadata.name and
// metadata.namespace are for the server, and so are continue tokens.
func (c *Cache) List(ctx context.Context, list object.List, opts ...client.ListOption) error {
	o, err := client.ListOptionsOf(opts...)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	gvk, err := object.GVK(list, c.live.Scheme())
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	i := c.declared(gvk)
	if i == nil || !holdsItemsOf(i, list) || o.Continue != "" || !selectsByName(o.FieldSelector) || !covers(i, o.Namespace) {
		return c.live.List(ctx, list, opts...)
	}
	if err := i.Wait(ctx); err != nil {
		return fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	return c.fill(list, i, o)
}

// fill copies what matches out of the stores.
func (c *Cache) fill(list object.List, i *Informer, o client.ListOptions) error {
	var matching []object.Object
	version := ""
	for namespace, part := range i.parts {
		if o.Namespace != "" && namespace != "" && namespace != o.Namespace {
			continue
		}
		version = part.Store().ResourceVersion()
		for _, cached := range part.Store().All() {
			if matches(cached, o) {
				matching = append(matching, cached)
			}
		}
	}
	slices.SortFunc(matching, func(a, b object.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	if o.Limit > 0 && int64(len(matching)) > o.Limit {
		matching = matching[:o.Limit]
	}
	items := make([]runtime.Object, len(matching))
	for n, cached := range matching {
		items[n] = cached.DeepCopyObject()
	}
	if len(i.parts) == 1 { // versions of several watches are not that of one list
		list.SetResourceVersion(version)
	}
	return meta.SetList(list, items)
}

func matches(cached object.Object, o client.ListOptions) bool {
	if o.Namespace != "" && cached.GetNamespace() != o.Namespace {
		return false
	}
	if o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(cached.GetLabels())) {
		return false
	}
	return o.FieldSelector == nil || o.FieldSelector.Matches(fields.Set{
		nameField:      cached.GetName(),
		namespaceField: cached.GetNamespace(),
	})
}

const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// selectsByName reports whether the cache has all the fields that selector asks about.
func selectsByName(selector fields.Selector) bool {
	if selector == nil {
		return true
	}
	return !slices.ContainsFunc(selector.Requirements(), func(r fields.Requirement) bool {
		return r.Field != nameField && r.Field != namespaceField
	})
}

// covers reports whether the stores of i have all objects of a namespace. All namespaces are all those that are cached.
func covers(i *Informer, namespace string) bool {
	_, ok := i.part(namespace)
	return ok || namespace == ""
}

// holdsItemsOf reports whether the items of list have the Go type of the cached objects.
func holdsItemsOf(i *Informer, list object.List) bool {
	itemsPtr, err := meta.GetItemsPtr(list)
	if err != nil {
		return false
	}
	item := reflect.TypeOf(itemsPtr).Elem().Elem()
	return item == reflect.TypeOf(i.prototype) || item == reflect.TypeOf(i.prototype).Elem()
}
