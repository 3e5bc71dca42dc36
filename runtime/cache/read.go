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
// namespace is cached, and live otherwise. A version that [client.NotOlderThan] asks for is for the server.
func (c *Cache) Get(ctx context.Context, key object.Key, obj object.Object, opts ...client.GetOption) error {
	o, err := client.GetOptionsOf(opts...)
	if err != nil {
		return fmt.Errorf("get %s: %w", key, err)
	}
	gvk, err := object.GVK(obj, c.live.Scheme())
	if err != nil {
		return fmt.Errorf("get %s: %w", key, err)
	}
	i := c.declared(gvk)
	if i == nil || i.live || !i.holds(obj) || o.NotOlderThan != "" {
		return c.live.Get(ctx, key, obj, opts...)
	}
	parts := i.in(key.Namespace)
	if len(parts) != 1 {
		return c.live.Get(ctx, key, obj, opts...)
	}
	debts := parts[0].owes(parts[0].ledger.unseen(key))
	if err := parts[0].wait(ctx); err != nil {
		return fmt.Errorf("get %s %s: %w", gvk.Kind, key, err)
	}
	if err := i.catchUp(ctx, debts); err != nil {
		return fmt.Errorf("get %s %s: %w", gvk.Kind, key, err)
	}
	cached, found := parts[0].Store().Get(key)
	if !found {
		return c.notFound(ctx, key, gvk)
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(cached.DeepCopyObject()).Elem())
	return nil
}

// notFound is the error for a key that the store does not have, in the words of the API server. A key that cannot name
// an object of the kind is another error than one that names none.
func (c *Cache) notFound(ctx context.Context, key object.Key, gvk schema.GroupVersionKind) error {
	mapper := meta.ToRESTMapperWithContext(c.live.RESTMapper())
	mapping, err := mapper.RESTMappingWithContext(ctx, gvk.GroupKind(), gvk.Version)
	if err != nil { // the store has synced, so the kind was known
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		return apierrors.NewNotFound(plural.GroupResource(), key.Name)
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	switch {
	case key.Name == "":
		return fmt.Errorf("get %s %s: the name is empty", gvk.Kind, key)
	case namespaced && key.Namespace == "":
		return fmt.Errorf("get %s %s: the kind is namespaced, and the namespace is empty", gvk.Kind, key)
	case !namespaced && key.Namespace != "":
		return fmt.Errorf("get %s %s: the kind is cluster-scoped, and has no namespace", gvk.Kind, key)
	}
	return apierrors.NewNotFound(mapping.Resource.GroupResource(), key.Name)
}

// List reads objects into list, ordered by namespace and name: from the informer when the kind is declared, in the Go
// type of the items, and the namespace is cached, and live otherwise. Field selectors on anything but metadata.name and
// metadata.namespace are for the server, and so are versions that [client.NotOlderThan] asks for. With a limit the list
// comes in pages, as it does from the server; the pages are then not of one moment.
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
	i, parts := c.answering(gvk, list, o)
	if len(parts) == 0 {
		return c.live.List(ctx, list, opts...)
	}
	var debts []owed
	for _, part := range parts {
		debts = append(debts, part.owes(part.ledger.unseenIn(o))...)
	}
	for _, part := range parts {
		if err := part.wait(ctx); err != nil {
			return fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
	}
	if err := i.catchUp(ctx, debts); err != nil {
		return fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	return fill(list, parts, o)
}

// answering returns the informer and its parts that have what a List asks for, or none when it is for the server.
func (c *Cache) answering(gvk schema.GroupVersionKind, list object.List, o client.ListOptions) (*Informer, []part) {
	i := c.declared(gvk)
	if i == nil || i.live || !holdsItemsOf(i, list) || !selectsByName(o.FieldSelector) || o.NotOlderThan != "" {
		return nil, nil
	}
	if _, ok := afterToken(o.Continue); !ok {
		return nil, nil
	}
	return i, i.in(o.Namespace)
}

// fill copies what matches out of the stores.
func fill(list object.List, parts []part, o client.ListOptions) error {
	var matching []object.Object
	version := ""
	after, _ := afterToken(o.Continue)
	for _, part := range parts {
		version = part.Store().ResourceVersion()
		for key, cached := range part.Store().All() {
			if compareKeys(key, after) > 0 && matches(cached, o) {
				matching = append(matching, cached)
			}
		}
	}
	slices.SortFunc(matching, func(a, b object.Object) int { return compareKeys(object.KeyOf(a), object.KeyOf(b)) })
	next := ""
	if o.Limit > 0 && int64(len(matching)) > o.Limit {
		matching = matching[:o.Limit]
		next = tokenAfter(matching[len(matching)-1])
	}
	items := make([]runtime.Object, len(matching))
	for n, cached := range matching {
		items[n] = cached.DeepCopyObject()
	}
	if len(parts) > 1 {
		version = "" // versions of several watches are not that of one list
	}
	list.SetResourceVersion(version)
	list.SetContinue(next)
	list.SetRemainingItemCount(nil)
	return meta.SetList(list, items)
}

func compareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// tokenPrefix begins the continue tokens of cached lists. Those of the API server have no colon.
const tokenPrefix = "cached:"

// tokenAfter is the continue token of a page that ends with last.
func tokenAfter(last object.Object) string { return tokenPrefix + object.KeyOf(last).String() }

// afterToken returns the last key of the page before, or the zero key for the first page. It reports whether token is
// one of a cached list, or empty.
func afterToken(token string) (object.Key, bool) {
	if token == "" {
		return object.Key{}, true
	}
	text, ok := strings.CutPrefix(token, tokenPrefix)
	namespace, name, _ := strings.Cut(text, "/")
	return object.Key{Namespace: namespace, Name: name}, ok
}

// selectsKey reports whether an object with that key may be one that o asks for.
func selectsKey(o client.ListOptions, key object.Key) bool {
	if o.Namespace != "" && key.Namespace != o.Namespace {
		return false
	}
	return o.FieldSelector == nil || o.FieldSelector.Matches(fields.Set{nameField: key.Name, namespaceField: key.Namespace})
}

func matches(cached object.Object, o client.ListOptions) bool {
	return selectsKey(o, object.KeyOf(cached)) && (o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(cached.GetLabels())))
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

// holdsItemsOf reports whether the items of list have the Go type of the cached objects.
func holdsItemsOf(i *Informer, list object.List) bool {
	itemsPtr, err := meta.GetItemsPtr(list)
	if err != nil {
		return false
	}
	item := reflect.TypeOf(itemsPtr).Elem().Elem()
	return item == reflect.TypeOf(i.prototype) || item == reflect.TypeOf(i.prototype).Elem()
}
