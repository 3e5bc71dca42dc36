package testenv

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/testclient"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ClientBuilder builds clients for tests of one function. [NewClientBuilder] makes one. Each client has an API server in
// memory of its own, in the process of [Start], whatever [ServerVariable] and [KubeconfigVariable] are. A server stops
// after its client has become unreachable, at the latest with the test binary. Neither the builder nor a client works in a
// synctest bubble.
//
// The server checks objects as a real one does. A namespace is created when an object is written into it. A kind without a
// definition is served with a schema that accepts any fields, in namespaces unless [ClientBuilder.WithRESTMapper] differs.
//
// A builder is used by one goroutine. Its methods return the builder itself, which builds any number of clients.
type ClientBuilder struct {
	opts    testclient.Options
	objects []runtime.Object
	calls   *client.Interceptor
	crds    []string
}

// NewClientBuilder returns a builder of clients for unstructured objects. [ClientBuilder.WithScheme] adds Go types.
func NewClientBuilder() *ClientBuilder { return &ClientBuilder{} }

// WithScheme sets the Go types that the client reads and writes.
func (b *ClientBuilder) WithScheme(scheme *runtime.Scheme) *ClientBuilder {
	b.opts.Scheme = scheme
	return b
}

// WithRESTMapper sets the resources and scopes of kinds without a definition. The client returns mapper as its RESTMapper.
func (b *ClientBuilder) WithRESTMapper(mapper meta.RESTMapper) *ClientBuilder {
	b.opts.Mapper = mapper
	return b
}

// WithObjects adds objects that the server has when the client is built, as they are given: with status, UID, finalizers
// and times, that of a deletion included. They are not changed.
func (b *ClientBuilder) WithObjects(objects ...object.Object) *ClientBuilder {
	for _, obj := range objects {
		b.objects = append(b.objects, obj)
	}
	return b
}

// WithLists adds the items of lists, as WithObjects does.
func (b *ClientBuilder) WithLists(lists ...object.List) *ClientBuilder {
	for _, list := range lists {
		b.objects = append(b.objects, list)
	}
	return b
}

// WithStatusSubresource names the kinds without a definition whose status only Status() writes. Built-in kinds that have a
// status are always so, other kinds never.
func (b *ClientBuilder) WithStatusSubresource(objects ...object.Object) *ClientBuilder {
	b.opts.Statuses = append(b.opts.Statuses, objects...)
	return b
}

// WithIndex lets lists of the kind of prototype select by a field with [client.MatchingFields], as an index of a cache does.
func (b *ClientBuilder) WithIndex(prototype object.Object, field string, values func(object.Object) []string) *ClientBuilder {
	b.opts.Indexes = append(b.opts.Indexes, testclient.Index{Prototype: prototype, Field: field, Values: values})
	return b
}

// WithInterceptorFuncs puts functions before the calls of the client, see [client.Intercept].
func (b *ClientBuilder) WithInterceptorFuncs(calls client.Interceptor) *ClientBuilder {
	b.calls = &calls
	return b
}

// WithCRDs installs the CustomResourceDefinitions in files and directories, as the option [WithCRDs] does.
func (b *ClientBuilder) WithCRDs(paths ...string) *ClientBuilder {
	b.crds = append(b.crds, paths...)
	return b
}

// Build returns a client. It panics if kctrl is not installed, a CRD is invalid, or the server refuses an object.
func (b *ClientBuilder) Build() client.WithWatch {
	c, err := b.build(context.Background())
	if err != nil {
		panic(fmt.Errorf("build a client: %w", err))
	}
	if b.calls != nil {
		return client.Intercept(c, *b.calls).(client.WithWatch)
	}
	return c
}

func (b *ClientBuilder) build(ctx context.Context) (*builtClient, error) {
	opts := b.opts
	if opts.Scheme == nil {
		opts.Scheme = runtime.NewScheme()
	}
	built, err := testclient.New(opts)
	if err != nil {
		return nil, err
	}
	if len(b.crds) > 0 {
		if err := createAll(ctx, built.Config, b.crds); err != nil {
			return nil, fmt.Errorf("install CRDs: %w", err)
		}
	}
	live, err := client.New(built.Config, client.Options{Scheme: runtime.NewScheme(), Mapper: built.Mapper, HTTPClient: built.HTTP})
	if err != nil {
		return nil, err
	}
	c := &builtClient{Client: built, live: live}
	for _, obj := range b.objects {
		if err := c.put(ctx, obj); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// builtClient creates the namespaces of what it writes.
type builtClient struct {
	*testclient.Client
	live       *client.REST
	namespaces sync.Map // names of those that exist
}

// put stores an object, or the items of a list, as they are given.
func (c *builtClient) put(ctx context.Context, obj runtime.Object) error {
	if meta.IsListType(obj) {
		return meta.EachListItem(obj, func(item runtime.Object) error { return c.put(ctx, item) })
	}
	u, mapping, err := c.Unstructured(obj)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		u.SetNamespace("")
	} else if err := c.ensureNamespace(ctx, u.GetNamespace()); err != nil {
		return err
	}
	return c.Put(mapping.Resource, u)
}

// ensureNamespace creates a namespace that does not exist.
func (c *builtClient) ensureNamespace(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	if _, known := c.namespaces.Load(name); known {
		return nil
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	if err := c.live.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	c.namespaces.Store(name, true)
	return nil
}

// ensureNamespaceOf creates the namespace of an object. The call that follows reports an unknown kind.
func (c *builtClient) ensureNamespaceOf(ctx context.Context, obj object.Object) error {
	if namespaced, err := c.IsObjectNamespaced(obj); err != nil || !namespaced {
		return nil
	}
	return c.ensureNamespace(ctx, obj.GetNamespace())
}

func (c *builtClient) Create(ctx context.Context, obj object.Object, opts ...client.CreateOption) error {
	if err := c.ensureNamespaceOf(ctx, obj); err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, opts...)
}

func (c *builtClient) Update(ctx context.Context, obj object.Object, opts ...client.UpdateOption) error {
	if err := c.ensureNamespaceOf(ctx, obj); err != nil {
		return err
	}
	return c.Client.Update(ctx, obj, opts...)
}

func (c *builtClient) Patch(ctx context.Context, obj object.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := c.ensureNamespaceOf(ctx, obj); err != nil {
		return err
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func (c *builtClient) Apply(ctx context.Context, obj object.Object, opts ...client.ApplyOption) error {
	if err := c.ensureNamespaceOf(ctx, obj); err != nil {
		return err
	}
	return c.Client.Apply(ctx, obj, opts...)
}
