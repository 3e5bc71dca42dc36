// Package fake provides clients for tests that keep objects in memory, like controller-runtime's fake client.
//
// A client has no server: it stores objects in a tracker of client-go, without defaults, validation or garbage
// collection. Use envtest to test those.
package fake

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// NewFakeClient returns a client with the scheme of client-go and objects.
func NewFakeClient(initObjs ...runtime.Object) client.WithWatch {
	return NewClientBuilder().WithRuntimeObjects(initObjs...).Build()
}

// ClientBuilder builds a client.
type ClientBuilder struct {
	scheme     *runtime.Scheme
	mapper     meta.RESTMapper
	objects    []runtime.Object
	statuses   []client.Object
	tracker    testing.ObjectTracker
	converters []managedfields.TypeConverter
	intercept  *interceptor.Funcs
	indexes    indexes
	managed    bool
	global     bool
	built      bool
}

// NewClientBuilder returns a builder with the scheme of client-go.
func NewClientBuilder() *ClientBuilder { return &ClientBuilder{indexes: indexes{}} }

// WithScheme sets the scheme.
func (f *ClientBuilder) WithScheme(scheme *runtime.Scheme) *ClientBuilder {
	f.scheme = scheme
	return f
}

// WithRESTMapper sets the mapper. By default, it is empty.
func (f *ClientBuilder) WithRESTMapper(restMapper meta.RESTMapper) *ClientBuilder {
	f.mapper = restMapper
	return f
}

// WithObjects adds objects.
func (f *ClientBuilder) WithObjects(initObjs ...client.Object) *ClientBuilder {
	for _, obj := range initObjs {
		f.objects = append(f.objects, obj)
	}
	return f
}

// WithLists adds the items of lists.
func (f *ClientBuilder) WithLists(initLists ...client.ObjectList) *ClientBuilder {
	for _, list := range initLists {
		f.objects = append(f.objects, list)
	}
	return f
}

// WithRuntimeObjects adds objects, and the items of lists.
func (f *ClientBuilder) WithRuntimeObjects(initRuntimeObjs ...runtime.Object) *ClientBuilder {
	f.objects = append(f.objects, initRuntimeObjs...)
	return f
}

// WithObjectTracker sets the tracker that stores the objects. It cannot be combined with
// [ClientBuilder.WithTypeConverters].
func (f *ClientBuilder) WithObjectTracker(ot testing.ObjectTracker) *ClientBuilder {
	f.tracker = ot
	return f
}

// WithGlobalResourceVersionCounter uses one counter for the versions of all objects, like API servers. By default, each
// object has its own counter.
func (f *ClientBuilder) WithGlobalResourceVersionCounter() *ClientBuilder {
	f.global = true
	return f
}

// WithTypeConverters sets the converters for server-side apply. They replace the converters of client-go and those
// deduced from fields. The first converter that supports an object converts it. It cannot be combined with
// [ClientBuilder.WithObjectTracker].
func (f *ClientBuilder) WithTypeConverters(typeConverters ...managedfields.TypeConverter) *ClientBuilder {
	f.converters = append(f.converters, typeConverters...)
	return f
}

// WithIndex adds a field index for the kind of obj. It panics if the scheme lacks the kind or the field already has an
// index.
func (f *ClientBuilder) WithIndex(
	obj runtime.Object, field string, extractValue client.IndexerFunc,
) *ClientBuilder {
	if err := f.indexes.add(f.schemeOrDefault(), obj, field, extractValue); err != nil {
		panic(fmt.Errorf("indexer conflict: %w", err))
	}
	return f
}

// WithStatusSubresource gives the kinds of objects a status subresource.
func (f *ClientBuilder) WithStatusSubresource(o ...client.Object) *ClientBuilder {
	f.statuses = append(f.statuses, o...)
	return f
}

// WithInterceptorFuncs intercepts calls of the client.
func (f *ClientBuilder) WithInterceptorFuncs(interceptorFuncs interceptor.Funcs) *ClientBuilder {
	f.intercept = &interceptorFuncs
	return f
}

// WithReturnManagedFields keeps managedFields in the results of reads.
func (f *ClientBuilder) WithReturnManagedFields() *ClientBuilder {
	f.managed = true
	return f
}

// Build returns the client. It panics if it is called twice, if options conflict, or if an object has a
// deletionTimestamp but no finalizers, because an API server would have deleted that object.
func (f *ClientBuilder) Build() client.WithWatch {
	if f.built {
		panic("Build() must not be called multiple times when creating a ClientBuilder")
	}
	f.built = true
	if f.mapper == nil {
		f.mapper = meta.NewDefaultRESTMapper(nil)
	}
	s, err := f.store()
	if err != nil {
		panic(err)
	}
	built := client.WithWatch(&fakeClient{store: s, mapper: f.mapper, indexes: f.indexes, managedFields: f.managed})
	if f.intercept != nil {
		return interceptor.NewClient(built, *f.intercept)
	}
	return built
}

// store returns a store with the initial objects.
func (f *ClientBuilder) store() (*store, error) {
	s := &store{objects: f.tracker, scheme: f.schemeOrDefault(), statuses: builtinStatuses(), global: f.global}
	switch {
	case s.objects == nil:
		s.managed = true
		s.objects = testing.NewFieldManagedObjectTracker(
			s.scheme, serializer.NewCodecFactory(s.scheme).UniversalDecoder(), f.convertersOrDefault())
	case len(f.converters) > 0:
		return nil, errors.New("WithObjectTracker and WithTypeConverters exclude each other")
	}
	for _, obj := range f.statuses {
		kind, err := apiutil.GVKForObject(obj, s.scheme)
		if err != nil {
			return nil, fmt.Errorf("status subresource of %T: %w", obj, err)
		}
		s.statuses[kind] = true
	}
	for _, obj := range f.objects {
		if err := s.add(obj); err != nil {
			return nil, fmt.Errorf("add an object to the fake client: %w", err)
		}
	}
	return s, nil
}

func (f *ClientBuilder) schemeOrDefault() *runtime.Scheme {
	if f.scheme == nil {
		return clientscheme.Scheme
	}
	return f.scheme
}

// convertersOrDefault returns the converters, or the default ones. Client-go's converter supports only client-go's
// kinds.
func (f *ClientBuilder) convertersOrDefault() converters {
	if len(f.converters) > 0 {
		return f.converters
	}
	builtin := runtime.NewScheme()
	if err := clientscheme.AddToScheme(builtin); err != nil {
		panic(err)
	}
	return converters{applyconfigurations.NewTypeConverter(builtin), managedfields.NewDeducedTypeConverter()}
}

// converters is a list of converters. The first one that supports an object converts it.
type converters []managedfields.TypeConverter

// ObjectToTyped implements managedfields.TypeConverter.
func (c converters) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return first(c, func(one managedfields.TypeConverter) (*typed.TypedValue, error) {
		return one.ObjectToTyped(obj, opts...)
	})
}

// TypedToObject implements managedfields.TypeConverter.
func (c converters) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return first(c, func(one managedfields.TypeConverter) (runtime.Object, error) { return one.TypedToObject(value) })
}

func first[T any](c converters, convert func(managedfields.TypeConverter) (T, error)) (T, error) {
	var errs []error
	for _, one := range c {
		converted, err := convert(one)
		if err == nil {
			return converted, nil
		}
		errs = append(errs, err)
	}
	var none T
	return none, fmt.Errorf("no type converter knows the object: %w", errors.Join(errs...))
}

// indexes are the field indexes by kind and field.
type indexes map[schema.GroupVersionKind]map[string]client.IndexerFunc

func (i indexes) add(scheme *runtime.Scheme, obj runtime.Object, field string, values client.IndexerFunc) error {
	kind, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return err
	}
	if i[kind][field] != nil {
		return fmt.Errorf("there is an index of field %q of %s", field, kind)
	}
	if i[kind] == nil {
		i[kind] = map[string]client.IndexerFunc{}
	}
	i[kind][field] = values
	return nil
}

// AddIndex adds a field index to a client of this package, or to a wrapper of one. It panics for other clients.
func AddIndex(c client.Client, obj runtime.Object, field string, extractValue client.IndexerFunc) error {
	for {
		switch found := c.(type) {
		case *fakeClient:
			found.mu.Lock()
			defer found.mu.Unlock()
			return found.indexes.add(found.scheme, obj, field, extractValue)
		case interface{ Unwrap() client.WithWatch }:
			c = found.Unwrap()
		default:
			panic(fmt.Sprintf("fake.AddIndex: %T is not a fake client", c))
		}
	}
}
