// Package fake builds clients that store objects as controller-runtime's fake client does, for tests that were
// written for that client.
//
// Each client has an API server in memory of its own, in the process of [testenv.Start]. The server checks nothing, gives
// no default, UID or time of creation, and accepts objects that lack a namespace. What is read into a Go type has no
// apiVersion, kind and managedFields. Each object counts its own resource versions: one that is created has 1, one that
// the client begins with 999 or its own, and each change adds one. New tests use [testenv.NewClientBuilder], whose server
// is as strict as a real one.
package fake

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/testclient"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ClientBuilder builds clients. [NewClientBuilder] makes one. A server stops after its client has become unreachable, at
// the latest with the test binary.
//
// A kind without a definition is served with a schema that accepts any fields, in namespaces unless
// [ClientBuilder.WithRESTMapper] differs. A builder is used by one goroutine. Its methods return the builder itself, which
// builds any number of clients.
type ClientBuilder struct {
	opts          testclient.Options
	objects       []runtime.Object
	calls         *client.Interceptor
	managedFields bool
}

// NewClientBuilder returns a builder of clients with the scheme of client-go.
func NewClientBuilder() *ClientBuilder {
	return &ClientBuilder{opts: testclient.Options{Unchecked: true}}
}

// NewFakeClient returns a client with the scheme of client-go and objects.
func NewFakeClient(objects ...runtime.Object) client.WithWatch {
	return NewClientBuilder().WithRuntimeObjects(objects...).Build()
}

// NewFakeClientWithScheme returns a client with a scheme and objects.
func NewFakeClientWithScheme(scheme *runtime.Scheme, objects ...runtime.Object) client.WithWatch {
	return NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(objects...).Build()
}

// WithScheme sets the Go types that the client reads and writes. nil means those of client-go.
func (b *ClientBuilder) WithScheme(scheme *runtime.Scheme) *ClientBuilder {
	b.opts.Scheme = scheme
	return b
}

// WithRESTMapper sets the resources and scopes of kinds without a definition. The client returns mapper as its RESTMapper.
func (b *ClientBuilder) WithRESTMapper(mapper meta.RESTMapper) *ClientBuilder {
	b.opts.Mapper = mapper
	return b
}

// WithObjects adds objects that the server has when the client is built. Build sets their resource version.
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

// WithRuntimeObjects adds objects, and the items of lists, as WithObjects does.
func (b *ClientBuilder) WithRuntimeObjects(objects ...runtime.Object) *ClientBuilder {
	b.objects = append(b.objects, objects...)
	return b
}

// WithStatusSubresource names the kinds without a definition whose status only Status() writes. Built-in kinds that have a
// status are always so, other kinds never.
func (b *ClientBuilder) WithStatusSubresource(objects ...object.Object) *ClientBuilder {
	b.opts.Statuses = append(b.opts.Statuses, objects...)
	return b
}

// WithIndex lets lists of the kind of prototype select by a field with [client.MatchingFields].
func (b *ClientBuilder) WithIndex(prototype object.Object, field string, values func(object.Object) []string) *ClientBuilder {
	b.opts.Indexes = append(b.opts.Indexes, testclient.Index{Prototype: prototype, Field: field, Values: values})
	return b
}

// WithInterceptorFuncs puts functions before the calls of the client, see [client.Intercept].
func (b *ClientBuilder) WithInterceptorFuncs(calls client.Interceptor) *ClientBuilder {
	b.calls = &calls
	return b
}

// WithReturnManagedFields leaves managedFields in what is read.
func (b *ClientBuilder) WithReturnManagedFields() *ClientBuilder {
	b.managedFields = true
	return b
}

// Build returns a client. It panics if kctrl is not installed, or an object cannot be stored.
func (b *ClientBuilder) Build() client.WithWatch {
	c, err := b.build(context.Background())
	if err != nil {
		panic(fmt.Errorf("build a fake client: %w", err))
	}
	if b.calls != nil {
		return client.Intercept(c, *b.calls).(client.WithWatch)
	}
	return c
}

func (b *ClientBuilder) build(ctx context.Context) (*fakeClient, error) {
	opts := b.opts
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	built, err := testclient.New(opts)
	if err != nil {
		return nil, err
	}
	c := &fakeClient{Client: built, managedFields: b.managedFields}
	for _, obj := range b.objects {
		if err := c.put(ctx, obj); err != nil {
			return nil, err
		}
	}
	return c, nil
}
