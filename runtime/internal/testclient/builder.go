package testclient

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Builder is the part that client builders share. B is the builder that embeds it, and the result type of the methods.
// A Builder is not safe for concurrent use.
type Builder[B any] struct {
	self    B
	opts    Options
	objects []runtime.Object
	calls   *client.Interceptor
	connect func(opts Options, objects []runtime.Object) (client.WithWatch, error)
}

// NewBuilder returns a builder. connect creates clients from options and from the objects to store.
func NewBuilder[B any](self B, connect func(Options, []runtime.Object) (client.WithWatch, error)) Builder[B] {
	return Builder[B]{self: self, connect: connect}
}

// WithScheme sets the Go types that the client reads and writes. Nil means the default of the builder.
func (b *Builder[B]) WithScheme(scheme *runtime.Scheme) B {
	b.opts.Scheme = scheme
	return b.self
}

// WithRESTMapper sets the resources and scopes of kinds without definition. The client's RESTMapper returns mapper.
func (b *Builder[B]) WithRESTMapper(mapper meta.RESTMapper) B {
	b.opts.Mapper = mapper
	return b.self
}

// WithObjects adds objects that the server has initially. They are stored unchanged, including status, UID, finalizers
// and times such as the deletion timestamp.
func (b *Builder[B]) WithObjects(objects ...object.Object) B {
	for _, obj := range objects {
		b.objects = append(b.objects, obj)
	}
	return b.self
}

// WithLists adds the items of lists, as WithObjects does.
func (b *Builder[B]) WithLists(lists ...object.List) B {
	for _, list := range lists {
		b.objects = append(b.objects, list)
	}
	return b.self
}

// WithStatusSubresource sets which kinds without a definition have the status subresource, so that only Status() writes
// their status. Built-in kinds with a status always have it, and other kinds never have it.
func (b *Builder[B]) WithStatusSubresource(objects ...object.Object) B {
	b.opts.Statuses = append(b.opts.Statuses, objects...)
	return b.self
}

// WithIndex allows lists of prototype's kind to select objects by a field with [client.MatchingFields].
func (b *Builder[B]) WithIndex(prototype object.Object, field string, values func(object.Object) []string) B {
	b.opts.Indexes = append(b.opts.Indexes, Index{Prototype: prototype, Field: field, Values: values})
	return b.self
}

// WithInterceptorFuncs sets functions that intercept the calls of the client, see [client.Intercept].
func (b *Builder[B]) WithInterceptorFuncs(calls client.Interceptor) B {
	b.calls = &calls
	return b.self
}

// Build returns a client. It panics if kctrl is not installed, a CRD is invalid, or an object cannot be stored.
func (b *Builder[B]) Build() client.WithWatch {
	c, err := b.connect(b.opts, b.objects)
	if err != nil {
		panic(fmt.Errorf("build a client: %w", err))
	}
	if b.calls != nil {
		return client.Intercept(c, *b.calls).(client.WithWatch)
	}
	return c
}
