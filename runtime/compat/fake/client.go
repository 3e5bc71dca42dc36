package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/testclient"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	// begun is the resource version of a client's initial objects, unless they have one.
	begun = "999"
	// nowhere is the namespace of objects of namespaced kinds without one.
	nowhere = "kctrl-no-namespace"
	// noUID is the UID that the server stores for objects without one.
	noUID = "kctrl-no-uid"
	// waitsForNobody is the propagation policy of all deletions, since there is no garbage collector to complete the
	// others.
	waitsForNobody = metav1.DeletePropagationBackground
)

// fakeClient is a client of an unchecked server.
type fakeClient struct {
	*testclient.Client
	managedFields bool // return managedFields
}

// put stores an object, or the items of a list, unchanged, and sets its resource version.
func (c *fakeClient) put(ctx context.Context, obj runtime.Object) error {
	if meta.IsListType(obj) {
		return meta.EachListItem(obj, func(item runtime.Object) error { return c.put(ctx, item) })
	}
	u, mapping, err := c.Unstructured(obj)
	if err != nil {
		return err
	}
	switch {
	case mapping.Scope.Name() == meta.RESTScopeNameRoot:
		u.SetNamespace("")
	case u.GetNamespace() == "":
		u.SetNamespace(nowhere)
	}
	if u.GetResourceVersion() == "" {
		u.SetResourceVersion(begun)
	}
	if err := c.Put(mapping.Resource, u); err != nil {
		return err
	}
	given, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if err := c.Client.Get(ctx, object.KeyOf(u), u); err != nil {
		return fmt.Errorf("%s %s: %w", u.GetKind(), object.KeyOf(u), err)
	}
	given.SetResourceVersion(u.GetResourceVersion())
	return nil
}

// with makes a call for an object. During the call, an object of a namespaced kind has a namespace.
func (c *fakeClient) with(ctx context.Context, obj object.Object, call func(context.Context) error) error {
	// The call itself returns the error of an unknown kind.
	if namespaced, err := c.IsObjectNamespaced(obj); err == nil && namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(nowhere)
	}
	err := call(orBackground(ctx))
	if err == nil {
		c.show(obj)
	} else if obj.GetNamespace() == nowhere {
		obj.SetNamespace("")
	}
	return bare(err)
}

// show removes fields that the client does not return.
func (c *fakeClient) show(obj object.Object) {
	if obj.GetNamespace() == nowhere {
		obj.SetNamespace("")
	}
	if obj.GetUID() == noUID {
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

// orBackground returns ctx, or a background context if ctx is nil.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// bare returns a scheme's error without its prefix, as [runtime.IsNotRegisteredError] requires.
func bare(err error) error {
	if cause := errors.Unwrap(err); runtime.IsNotRegisteredError(cause) || runtime.IsMissingKind(cause) {
		return cause
	}
	return err
}

// named returns the error of a call for an object without a name, which does not exist.
func (c *fakeClient) named(obj runtime.Object, name string) error {
	if name != "" {
		return nil
	}
	kind, err := object.GVK(obj, c.Scheme())
	if err != nil {
		return err
	}
	mapping, err := c.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	return apierrors.NewNotFound(mapping.Resource.GroupResource(), "")
}

func (c *fakeClient) Get(ctx context.Context, key object.Key, obj object.Object, opts ...client.GetOption) error {
	if err := c.named(obj, key.Name); err != nil {
		return err
	}
	if namespaced, err := c.IsObjectNamespaced(obj); err == nil && namespaced && key.Namespace == "" {
		key.Namespace = nowhere
	}
	opts = slices.DeleteFunc(slices.Clone(opts), func(opt client.GetOption) bool { return opt == nil })
	err := c.Client.Get(orBackground(ctx), key, obj, opts...)
	if err == nil {
		c.show(obj)
	}
	return bare(err)
}

func (c *fakeClient) List(ctx context.Context, list object.List, opts ...client.ListOption) error {
	if err := c.Client.List(orBackground(ctx), list, opts...); err != nil {
		return bare(err)
	}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		c.show(item.(object.Object))
		return nil
	})
	list.SetResourceVersion("")
	if _, isUnstructured := list.(runtime.Unstructured); !isUnstructured {
		list.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return err
}

func (c *fakeClient) Create(ctx context.Context, obj object.Object, opts ...client.CreateOption) error {
	return c.with(ctx, obj, func(ctx context.Context) error { return c.Client.Create(ctx, obj, opts...) })
}

func (c *fakeClient) Update(ctx context.Context, obj object.Object, opts ...client.UpdateOption) error {
	if err := c.named(obj, obj.GetName()); err != nil {
		return err
	}
	return c.with(ctx, obj, func(ctx context.Context) error { return c.Client.Update(ctx, obj, opts...) })
}

func (c *fakeClient) Patch(ctx context.Context, obj object.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.with(ctx, obj, func(ctx context.Context) error { return c.Client.Patch(ctx, obj, patch, opts...) })
}

func (c *fakeClient) Apply(ctx context.Context, obj object.Object, opts ...client.ApplyOption) error {
	return c.with(ctx, obj, func(ctx context.Context) error { return c.Client.Apply(ctx, obj, opts...) })
}

func (c *fakeClient) Delete(ctx context.Context, obj object.Object, opts ...client.DeleteOption) error {
	if err := c.named(obj, obj.GetName()); err != nil {
		return err
	}
	var o client.DeleteOptions
	for _, opt := range opts {
		opt.ApplyToDelete(&o)
	}
	o.PropagationPolicy = waitsForNobody
	return c.with(ctx, obj, func(ctx context.Context) error { return c.Client.Delete(ctx, obj, &o) })
}

// DeleteAllOf deletes objects in all namespaces unless the options have one.
func (c *fakeClient) DeleteAllOf(ctx context.Context, obj object.Object, opts ...client.DeleteAllOfOption) error {
	ctx = orBackground(ctx)
	var o client.DeleteAllOfOptions
	for _, opt := range opts {
		opt.ApplyToDeleteAllOf(&o)
	}
	o.DeleteOptions.PropagationPolicy = waitsForNobody
	namespaced, err := c.IsObjectNamespaced(obj)
	if err != nil || !namespaced || o.ListOptions.Namespace != "" {
		return bare(c.Client.DeleteAllOf(ctx, obj, &o))
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
	events, err := c.Client.Watch(orBackground(ctx), list, opts...)
	if err != nil {
		return nil, err
	}
	return &fakeStream{events, c}, nil
}

// fakeStream returns the objects of a watch in the form that the client returns.
type fakeStream struct {
	client.Stream[object.Object]
	of *fakeClient
}

func (s *fakeStream) Next() (client.WatchEvent[object.Object], error) {
	event, err := s.Stream.Next()
	if err == nil && event.Object != nil {
		s.of.show(event.Object)
	}
	return event, err
}

func (c *fakeClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c *fakeClient) SubResource(name string) client.SubResourceClient {
	return &fakeSubResource{c.Client.SubResource(name), c, name}
}

// fakeSubResource is a subresource of the client's objects.
type fakeSubResource struct {
	client.SubResourceClient
	of   *fakeClient
	name string
}

// writer returns a client for sub, such as a TokenRequest, whose type may be missing from the client's scheme.
func (s *fakeSubResource) writer(sub object.Object) client.SubResourceClient {
	if _, err := object.GVK(sub, s.of.Scheme()); err == nil {
		return s.SubResourceClient
	}
	builtin, err := client.New(s.of.Config, client.Options{Scheme: scheme.Scheme, Mapper: s.of.Mapper, HTTPClient: s.of.HTTP})
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
