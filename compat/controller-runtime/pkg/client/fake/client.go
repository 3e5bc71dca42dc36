// Package fake has clients for tests that store objects as controller-runtime's fake client does. Each has an API
// server in memory of its own, which checks nothing.
package fake

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/testing"

	kfake "github.com/kctrl-dev/kctrl/runtime/compat/fake"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// NewFakeClient returns a client with the scheme of client-go and objects.
func NewFakeClient(initObjs ...runtime.Object) client.WithWatch {
	return NewClientBuilder().WithRuntimeObjects(initObjs...).Build()
}

// ClientBuilder builds a client.
type ClientBuilder struct {
	to          *kfake.ClientBuilder
	intercept   *interceptor.Funcs
	unsupported []string
	objs        []runtime.Object
	indexes     map[string]bool
	built       bool
}

// NewClientBuilder returns a builder of a client with the scheme of client-go.
func NewClientBuilder() *ClientBuilder { return &ClientBuilder{to: kfake.NewClientBuilder()} }

// WithScheme sets the scheme.
func (f *ClientBuilder) WithScheme(scheme *runtime.Scheme) *ClientBuilder {
	f.to.WithScheme(scheme)
	return f
}

// WithRESTMapper sets the mapper.
func (f *ClientBuilder) WithRESTMapper(restMapper meta.RESTMapper) *ClientBuilder {
	f.to.WithRESTMapper(restMapper)
	return f
}

// WithObjects adds objects.
func (f *ClientBuilder) WithObjects(initObjs ...client.Object) *ClientBuilder {
	f.to.WithObjects(initObjs...)
	for _, obj := range initObjs {
		f.objs = append(f.objs, obj)
	}
	return f
}

// WithLists adds the items of lists.
func (f *ClientBuilder) WithLists(initLists ...client.ObjectList) *ClientBuilder {
	f.to.WithLists(initLists...)
	for _, list := range initLists {
		f.objs = append(f.objs, list)
	}
	return f
}

// WithRuntimeObjects adds objects, and the items of lists.
func (f *ClientBuilder) WithRuntimeObjects(initRuntimeObjs ...runtime.Object) *ClientBuilder {
	f.to.WithRuntimeObjects(initRuntimeObjs...)
	f.objs = append(f.objs, initRuntimeObjs...)
	return f
}

// WithObjectTracker is not supported: [ClientBuilder.Build] panics.
func (f *ClientBuilder) WithObjectTracker(testing.ObjectTracker) *ClientBuilder {
	f.unsupported = append(f.unsupported, "WithObjectTracker")
	return f
}

// WithGlobalResourceVersionCounter is not supported: [ClientBuilder.Build] panics.
func (f *ClientBuilder) WithGlobalResourceVersionCounter() *ClientBuilder {
	f.unsupported = append(f.unsupported, "WithGlobalResourceVersionCounter")
	return f
}

// WithTypeConverters is not supported: [ClientBuilder.Build] panics.
func (f *ClientBuilder) WithTypeConverters(...managedfields.TypeConverter) *ClientBuilder {
	f.unsupported = append(f.unsupported, "WithTypeConverters")
	return f
}

// WithIndex adds a field index. It panics for an object without metadata and for the second index of a field.
func (f *ClientBuilder) WithIndex(
	obj runtime.Object, field string, extractValue client.IndexerFunc,
) *ClientBuilder {
	prototype, ok := obj.(client.Object)
	if !ok {
		panic(fmt.Errorf("cannot index %T: it has no metadata", obj))
	}
	index := fmt.Sprintf("%T %s", obj, field)
	if !typed(obj) {
		index = fmt.Sprintf("%s %s", obj.GetObjectKind().GroupVersionKind(), field)
	}
	if f.indexes[index] {
		panic(fmt.Errorf("indexer conflict: there is an index of field %q of %T", field, obj))
	}
	if f.indexes == nil {
		f.indexes = map[string]bool{}
	}
	f.indexes[index] = true
	f.to.WithIndex(prototype, field, extractValue)
	return f
}

// WithStatusSubresource gives the kinds of objects a status subresource.
func (f *ClientBuilder) WithStatusSubresource(o ...client.Object) *ClientBuilder {
	f.to.WithStatusSubresource(o...)
	return f
}

// WithInterceptorFuncs replaces calls of the client.
func (f *ClientBuilder) WithInterceptorFuncs(interceptorFuncs interceptor.Funcs) *ClientBuilder {
	f.intercept = &interceptorFuncs
	return f
}

// WithReturnManagedFields leaves managedFields in what is read.
func (f *ClientBuilder) WithReturnManagedFields() *ClientBuilder {
	f.to.WithReturnManagedFields()
	return f
}

// Build returns the client. It panics if it is called twice, for methods without support, and for objects with
// deletionTimestamp and without finalizers.
func (f *ClientBuilder) Build() client.WithWatch {
	if f.built {
		panic("Build() must not be called multiple times when creating a ClientBuilder")
	}
	f.built = true
	if len(f.unsupported) > 0 {
		panic(fmt.Sprintf("fake.ClientBuilder: %v are not supported", f.unsupported))
	}
	deleted(f.objs)
	built := client.WithWatch(checked{WithWatch: client.FromKctrl(f.to.Build())})
	if f.intercept != nil {
		return interceptor.NewClient(built, *f.intercept)
	}
	return built
}

// AddIndex is not supported: [ClientBuilder.WithIndex] adds indexes.
func AddIndex(client.Client, runtime.Object, string, client.IndexerFunc) error {
	return errors.New("fake.AddIndex is not supported: use ClientBuilder.WithIndex")
}
