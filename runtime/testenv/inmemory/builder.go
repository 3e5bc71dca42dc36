package inmemory

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/apiserver"
)

// ClientBuilder builds clients for tests of one function, in the form of controller-runtime's fake client. Each client has an API server
// in memory of its own, which starts nothing and has no sockets: it is gone when nobody holds the client. Make one by
// [NewClientBuilder]. It is used by one goroutine; a method returns the builder itself, which may build any number of clients.
//
// The server does what a real one does. Namespaces are made when something is put into them. A kind that has no definition, by
// [ClientBuilder.WithCRDs], is served with a schema that takes anything, as one of namespaces unless [ClientBuilder.WithRESTMapper]
// says otherwise. [ClientBuilder.AsGiven] leaves out the checks.
type ClientBuilder struct {
	scheme        *runtime.Scheme
	mapper        meta.RESTMapper
	objects       []runtime.Object
	statuses      []client.Object
	indexes       []fieldIndex
	calls         *client.Interceptor
	crds          []string
	asGiven       bool
	managedFields bool
}

// fieldIndex is a field that lists may select by.
type fieldIndex struct {
	prototype client.Object
	field     string
	values    cache.IndexerFunc
}

// NewClientBuilder returns a builder of clients for the built-in kinds.
func NewClientBuilder() *ClientBuilder { return &ClientBuilder{} }

// WithScheme sets the kinds that the client knows. Without it these are the built-in ones.
func (b *ClientBuilder) WithScheme(scheme *runtime.Scheme) *ClientBuilder {
	b.scheme = scheme
	return b
}

// WithRESTMapper says which resource and scope kinds without a definition have, and is what the client's RESTMapper returns.
func (b *ClientBuilder) WithRESTMapper(mapper meta.RESTMapper) *ClientBuilder {
	b.mapper = mapper
	return b
}

// WithObjects adds objects that there are when the client is built, as they are given: with status, UID, finalizers and times, that of a
// deletion included. They are not changed.
func (b *ClientBuilder) WithObjects(objects ...client.Object) *ClientBuilder {
	for _, obj := range objects {
		b.objects = append(b.objects, obj)
	}
	return b
}

// WithLists adds the items of lists, as WithObjects does.
func (b *ClientBuilder) WithLists(lists ...client.ObjectList) *ClientBuilder {
	for _, list := range lists {
		b.objects = append(b.objects, list)
	}
	return b
}

// WithRuntimeObjects adds objects, and the items of those that are lists, as WithObjects does.
func (b *ClientBuilder) WithRuntimeObjects(objects ...runtime.Object) *ClientBuilder {
	b.objects = append(b.objects, objects...)
	return b
}

// WithStatusSubresource says of which kinds without a definition the status is written by Status() alone. Built-in kinds that have a
// status are so always, others never.
func (b *ClientBuilder) WithStatusSubresource(objects ...client.Object) *ClientBuilder {
	b.statuses = append(b.statuses, objects...)
	return b
}

// WithIndex lets lists of the kind of prototype select by a field with [client.MatchingFields], as [cache.Cache.IndexField] does.
func (b *ClientBuilder) WithIndex(prototype client.Object, field string, values cache.IndexerFunc) *ClientBuilder {
	b.indexes = append(b.indexes, fieldIndex{prototype, field, values})
	return b
}

// WithInterceptorFuncs puts functions before the calls of the client, see [client.Intercept].
func (b *ClientBuilder) WithInterceptorFuncs(calls client.Interceptor) *ClientBuilder {
	b.calls = &calls
	return b
}

// WithCRDs installs the CustomResourceDefinitions in files and folders.
func (b *ClientBuilder) WithCRDs(paths ...string) *ClientBuilder {
	b.crds = append(b.crds, paths...)
	return b
}

// AsGiven makes the client take and return objects as controller-runtime's fake client does: nothing is checked and nothing is given a
// default, a UID or a time of creation; objects may lack what their kind requires, and a namespace; and what is read has no
// apiVersion, kind and managedFields if it is of a Go type. Resource versions are those of that client: an object that is created has 1,
// one that the client begins with 999 or its own, which it is told, and each change counts one up. It is for tests that were written
// for that client.
func (b *ClientBuilder) AsGiven() *ClientBuilder {
	b.asGiven = true
	return b
}

// WithReturnManagedFields leaves managedFields in what is read by a client [ClientBuilder.AsGiven], as they are in what others read.
func (b *ClientBuilder) WithReturnManagedFields() *ClientBuilder {
	b.managedFields = true
	return b
}

// Build returns a client, and panics when there is an object that cannot be stored.
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

func (b *ClientBuilder) build(ctx context.Context) (*fakeClient, error) {
	server := apiserver.New(apiserver.Options{Unchecked: b.asGiven})
	scheme := b.scheme
	if scheme == nil {
		scheme = apiserver.BuiltinScheme()
	}
	if err := install(server, b.crds); err != nil {
		return nil, err
	}
	mapper, err := newOpenMapper(server, scheme, b.mapper)
	if err != nil {
		return nil, err
	}
	live, err := client.New(server.Config(), client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, err
	}
	c := &fakeClient{WithWatch: live, server: server, mapper: mapper, given: b.mapper, asGiven: b.asGiven, managedFields: b.managedFields, indexes: map[schema.GroupKind]map[string]cache.IndexerFunc{}}
	for _, obj := range b.statuses {
		kind, err := object.GVK(obj, scheme)
		if err != nil {
			return nil, err
		}
		mapper.statuses[kind.GroupKind()] = true
	}
	for _, index := range b.indexes {
		kind, err := object.GVK(index.prototype, scheme)
		if err != nil {
			return nil, err
		}
		if c.indexes[kind.GroupKind()] == nil {
			c.indexes[kind.GroupKind()] = map[string]cache.IndexerFunc{}
		}
		c.indexes[kind.GroupKind()][index.field] = index.values
	}
	for _, obj := range b.objects {
		if err := c.put(ctx, obj); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// install installs definitions.
func install(server *apiserver.Server, paths []string) (err error) {
	if len(paths) == 0 {
		return nil
	}
	t := newSuite()
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = failed.error
		}
		err = errors.Join(err, t.end())
	}()
	testenv.Attach(t, server.Config(), testenv.WithCRDs(paths...))
	return nil
}
