package inmemory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/configuration"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// fakeClient is a client with its server.
type fakeClient struct {
	client.WithWatch
	server        *apiserver.Server
	mapper        *openMapper
	given         meta.RESTMapper
	asGiven       bool
	managedFields bool // are shown
	indexes       map[schema.GroupKind]map[string]cache.IndexerFunc
	spaces        sync.Map // of namespaces that there are
}

// begun is the resource version of objects that a client as given begins with, unless they have one: that of controller-runtime's.
const begun = "999"

// nowhere is the namespace of objects that have none although their kind asks for one.
const nowhere = "kctrl-no-namespace"

// RESTMapper returns what the author has given, or what tells the kinds that are served.
func (c *fakeClient) RESTMapper() meta.RESTMapper {
	if c.given != nil {
		return c.given
	}
	return c.mapper.Mapper
}

// put stores an object, or the items of a list, as they are given.
func (c *fakeClient) put(ctx context.Context, obj runtime.Object) error {
	if meta.IsListType(obj) {
		return meta.EachListItem(obj, func(item runtime.Object) error { return c.put(ctx, item) })
	}
	kind, err := object.GVK(obj, c.Scheme())
	if err != nil {
		return err
	}
	content, err := configuration.Map(obj)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	switch {
	case mapping.Scope.Name() == meta.RESTScopeNameRoot:
		u.SetNamespace("")
	case u.GetNamespace() == "" && c.asGiven:
		u.SetNamespace(nowhere)
	default:
		if err := c.ensureNamespace(ctx, u.GetNamespace()); err != nil {
			return err
		}
	}
	if c.asGiven && u.GetResourceVersion() == "" {
		u.SetResourceVersion(begun)
	}
	if err := c.server.Put(ctx, mapping.Resource, u); err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind, object.KeyOf(u), err)
	}
	if !c.asGiven {
		return nil
	}
	return c.tellVersion(ctx, obj, u)
}

// tellVersion gives an object the resource version that it is stored with, as controller-runtime's fake client does: a test may update it.
func (c *fakeClient) tellVersion(ctx context.Context, obj runtime.Object, stored *unstructured.Unstructured) error {
	given, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if err := c.WithWatch.Get(ctx, object.KeyOf(stored), stored); err != nil {
		return fmt.Errorf("%s %s: %w", stored.GetKind(), object.KeyOf(stored), err)
	}
	given.SetResourceVersion(stored.GetResourceVersion())
	return nil
}

// ensureNamespace makes a namespace that is not there, once.
func (c *fakeClient) ensureNamespace(ctx context.Context, name string) error {
	if name == "" || c.asGiven {
		return nil
	}
	if _, known := c.spaces.Load(name); known {
		return nil
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	if err := c.mapper.live.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	c.spaces.Store(name, true)
	return nil
}

// with makes a call with an object, which is as the server wants it meanwhile.
func (c *fakeClient) with(ctx context.Context, obj client.Object, call func(context.Context) error) error {
	ctx = given(ctx)
	namespaced, err := c.IsObjectNamespaced(obj)
	switch known := err == nil; { // of what is not, the call itself says what is wrong
	case known && namespaced && !c.asGiven:
		if err := c.ensureNamespace(ctx, obj.GetNamespace()); err != nil {
			return err
		}
	case known && namespaced && obj.GetNamespace() == "":
		obj.SetNamespace(nowhere)
	}
	if err = call(ctx); err == nil {
		c.shown(obj)
	} else if obj.GetNamespace() == nowhere {
		obj.SetNamespace("")
	}
	return c.failed(err)
}

// shown brings an object to what the client shows.
func (c *fakeClient) shown(obj client.Object) {
	if !c.asGiven {
		return
	}
	if obj.GetNamespace() == nowhere {
		obj.SetNamespace("")
	}
	if obj.GetUID() == apiserver.NoUID {
		obj.SetUID("")
	}
	if !c.managedFields {
		obj.SetManagedFields(nil)
	}
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
	default:
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

func (c *fakeClient) Get(ctx context.Context, key object.Key, obj object.Object, opts ...client.GetOption) error {
	ctx = given(ctx)
	if c.asGiven {
		if err := c.named(obj, key.Name); err != nil {
			return err
		}
		if namespaced, err := c.IsObjectNamespaced(obj); err == nil && namespaced && key.Namespace == "" {
			key.Namespace = nowhere
		}
		opts = slices.DeleteFunc(slices.Clone(opts), func(opt client.GetOption) bool { return opt == nil })
	}
	err := c.WithWatch.Get(ctx, key, obj, opts...)
	if err == nil {
		c.shown(obj)
	}
	return c.failed(err)
}

// given is the context of a call: a test that leaves it out gets one.
func given(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// named is the error of a call for an object without a name, which is not there.
func (c *fakeClient) named(obj runtime.Object, name string) error {
	if name != "" {
		return nil
	}
	kind, err := object.GVK(obj, c.Scheme())
	if err != nil {
		return err
	}
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	return apierrors.NewNotFound(mapping.Resource.GroupResource(), "")
}

// failed is what a client shows of an error: that of the scheme alone, which [runtime.IsNotRegisteredError] knows, where objects are as
// they are given.
func (c *fakeClient) failed(err error) error {
	if cause := errors.Unwrap(err); c.asGiven && (runtime.IsNotRegisteredError(cause) || runtime.IsMissingKind(cause)) {
		return cause
	}
	return err
}

// List selects by the indexes itself.
func (c *fakeClient) List(ctx context.Context, list object.List, opts ...client.ListOption) error {
	o, err := client.ListOptionsOf(opts...)
	if err != nil {
		return err
	}
	kind, err := object.GVK(list, c.Scheme())
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	wanted, others := c.split(kind, o.FieldSelector)
	o.FieldSelector = others
	ctx = given(ctx)
	if err := c.WithWatch.List(ctx, list, &o); err != nil {
		return c.failed(err)
	}
	var kept []runtime.Object
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if obj := item.(client.Object); selects(wanted, obj) {
			c.shown(obj)
			kept = append(kept, item)
		}
		return nil
	})
	if err == nil && c.asGiven {
		list.SetResourceVersion("")
		if _, isUnstructured := list.(runtime.Unstructured); !isUnstructured {
			list.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		}
	}
	if err != nil || len(wanted) == 0 {
		return err
	}
	return meta.SetList(list, kept)
}

// condition is that an index has a value, or has not.
type condition struct {
	values cache.IndexerFunc
	value  string
	not    bool
}

func selects(wanted []condition, obj client.Object) bool {
	return !slices.ContainsFunc(wanted, func(w condition) bool { return slices.Contains(w.values(obj), w.value) == w.not })
}

// split takes what is asked of indexes out of a selector.
func (c *fakeClient) split(kind schema.GroupVersionKind, selector fields.Selector) (wanted []condition, others fields.Selector) {
	if selector == nil || selector.Empty() {
		return nil, selector
	}
	for _, r := range selector.Requirements() {
		values := c.indexes[kind.GroupKind()][r.Field]
		switch {
		case values != nil:
			wanted = append(wanted, condition{values, r.Value, r.Operator == selection.NotEquals})
		case r.Operator == selection.NotEquals:
			others = and(others, fields.OneTermNotEqualSelector(r.Field, r.Value))
		default:
			others = and(others, fields.OneTermEqualSelector(r.Field, r.Value))
		}
	}
	return wanted, others
}

func and(a, b fields.Selector) fields.Selector {
	if a == nil {
		return b
	}
	return fields.AndSelectors(a, b)
}

func (c *fakeClient) Create(ctx context.Context, obj object.Object, opts ...client.CreateOption) error {
	return c.with(ctx, obj, func(ctx context.Context) error { return c.WithWatch.Create(ctx, obj, opts...) })
}

func (c *fakeClient) Update(ctx context.Context, obj object.Object, opts ...client.UpdateOption) error {
	if c.asGiven {
		if err := c.named(obj, obj.GetName()); err != nil {
			return err
		}
	}
	return c.with(ctx, obj, func(ctx context.Context) error { return c.WithWatch.Update(ctx, obj, opts...) })
}

func (c *fakeClient) Patch(ctx context.Context, obj object.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.with(ctx, obj, func(ctx context.Context) error { return c.WithWatch.Patch(ctx, obj, patch, opts...) })
}

func (c *fakeClient) Apply(ctx context.Context, obj object.Object, opts ...client.ApplyOption) error {
	return c.with(ctx, obj, func(ctx context.Context) error { return c.WithWatch.Apply(ctx, obj, opts...) })
}

func (c *fakeClient) Delete(ctx context.Context, obj object.Object, opts ...client.DeleteOption) error {
	if c.asGiven {
		if err := c.named(obj, obj.GetName()); err != nil {
			return err
		}
	}
	if c.asGiven {
		var o client.DeleteOptions
		for _, opt := range opts {
			opt.ApplyToDelete(&o)
		}
		o.PropagationPolicy = waitsForNobody
		opts = []client.DeleteOption{&o}
	}
	return c.with(ctx, obj, func(ctx context.Context) error { return c.WithWatch.Delete(ctx, obj, opts...) })
}

// waitsForNobody is how objects as given are deleted: else some would wait for a garbage collector, which is not there, to delete or orphan
// what they own.
const waitsForNobody = metav1.DeletePropagationBackground

// DeleteAllOf deletes in all namespaces what is in none that is named, if objects are as they are given.
func (c *fakeClient) DeleteAllOf(ctx context.Context, obj object.Object, opts ...client.DeleteAllOfOption) error {
	ctx = given(ctx)
	if !c.asGiven {
		return c.WithWatch.DeleteAllOf(ctx, obj, opts...)
	}
	var o client.DeleteAllOfOptions
	for _, opt := range opts {
		opt.ApplyToDeleteAllOf(&o)
	}
	o.DeleteOptions.PropagationPolicy = waitsForNobody
	namespaced, err := c.IsObjectNamespaced(obj)
	if err != nil || !namespaced || o.ListOptions.Namespace != "" {
		return c.failed(c.WithWatch.DeleteAllOf(ctx, obj, &o))
	}
	kind, err := object.GVK(obj, c.Scheme())
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list, &o.ListOptions); err != nil {
		return err
	}
	for i := range list.Items {
		if err := c.Delete(ctx, &list.Items[i], &o.DeleteOptions); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (c *fakeClient) Watch(ctx context.Context, list object.List, opts ...client.ListOption) (client.Stream[object.Object], error) {
	ctx = given(ctx)
	events, err := c.WithWatch.Watch(ctx, list, opts...)
	if err != nil {
		return nil, err
	}
	return &fakeStream{events, c}, nil
}

// fakeStream shows the objects of a watch as the client does.
type fakeStream struct {
	client.Stream[object.Object]
	of *fakeClient
}

func (s *fakeStream) Next() (client.WatchEvent[object.Object], error) {
	event, err := s.Stream.Next()
	if err == nil && event.Object != nil {
		s.of.shown(event.Object)
	}
	return event, err
}

func (c *fakeClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c *fakeClient) SubResource(name string) client.SubResourceClient {
	return &fakeSubResource{c.WithWatch.SubResource(name), c, name}
}

// fakeSubResource is a subresource of the client's objects.
type fakeSubResource struct {
	client.SubResourceClient
	of   *fakeClient
	name string
}

// writer is what makes a subresource, such as a TokenRequest, which need not be in the scheme where objects are as they are given.
func (s *fakeSubResource) writer(sub object.Object) client.SubResourceClient {
	if _, err := object.GVK(sub, s.of.Scheme()); err == nil || !s.of.asGiven {
		return s.SubResourceClient
	}
	builtin, err := client.New(s.of.server.Config(), client.Options{Scheme: apiserver.BuiltinScheme(), Mapper: s.of.mapper})
	if err != nil {
		return s.SubResourceClient
	}
	return builtin.SubResource(s.name)
}

func (s *fakeSubResource) Get(ctx context.Context, obj, sub object.Object, opts ...client.GetOption) error {
	return s.of.with(ctx, obj, func(ctx context.Context) error { return s.SubResourceClient.Get(ctx, obj, sub, opts...) })
}

func (s *fakeSubResource) Create(ctx context.Context, obj, sub object.Object, opts ...client.CreateOption) error {
	return s.of.with(ctx, obj, func(ctx context.Context) error { return s.writer(sub).Create(ctx, obj, sub, opts...) })
}

func (s *fakeSubResource) Update(ctx context.Context, obj object.Object, opts ...client.UpdateOption) error {
	return s.of.with(ctx, obj, func(ctx context.Context) error { return s.SubResourceClient.Update(ctx, obj, opts...) })
}

func (s *fakeSubResource) Patch(ctx context.Context, obj object.Object, patch client.Patch, opts ...client.PatchOption) error {
	return s.of.with(ctx, obj, func(ctx context.Context) error { return s.SubResourceClient.Patch(ctx, obj, patch, opts...) })
}

func (s *fakeSubResource) Apply(ctx context.Context, obj object.Object, opts ...client.ApplyOption) error {
	return s.of.with(ctx, obj, func(ctx context.Context) error { return s.SubResourceClient.Apply(ctx, obj, opts...) })
}
