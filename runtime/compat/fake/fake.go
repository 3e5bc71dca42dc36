// Package fake builds clients with the behavior of controller-runtime's fake client, for tests that were written for
// that client.
//
// Each client has its own API server in memory, in the process of [testenv.Start]. The server does not validate or
// default objects, does not set UIDs or creation times, and accepts objects without a namespace. Objects read into a Go
// type have no apiVersion, kind and managedFields. Each object has its own sequence of resource versions: a created
// object starts at 1, an initial object at 999 or its own version, and each change adds one. New tests should use
// [testenv.NewClientBuilder], whose server is as strict as a real one.
package fake

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/testclient"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ClientBuilder builds clients. Call [NewClientBuilder] for one. A server stops after its client has become
// unreachable, at the latest with the test binary.
//
// A kind without a definition is served with a schema that accepts any fields. It is namespaced unless
// [ClientBuilder.WithRESTMapper] differs. A builder is not safe for concurrent use. Its methods return the builder
// itself, which can build several clients.
type ClientBuilder struct {
	builder
	managedFields bool
}

type builder = testclient.Builder[*ClientBuilder]

// NewClientBuilder returns a builder of clients with client-go's scheme, which also replaces a nil scheme. Build sets
// the resource versions of the objects.
func NewClientBuilder() *ClientBuilder {
	b := &ClientBuilder{}
	b.builder = testclient.NewBuilder(b, testclient.Options{Unchecked: true}, b.connect)
	return b
}

// NewFakeClient returns a client with client-go's scheme and objects.
func NewFakeClient(objects ...runtime.Object) client.WithWatch {
	return NewClientBuilder().WithRuntimeObjects(objects...).Build()
}

// NewFakeClientWithScheme returns a client with a scheme and objects.
func NewFakeClientWithScheme(scheme *runtime.Scheme, objects ...runtime.Object) client.WithWatch {
	return NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(objects...).Build()
}

// WithRuntimeObjects adds objects, and the items of lists, as WithObjects does.
func (b *ClientBuilder) WithRuntimeObjects(objects ...runtime.Object) *ClientBuilder {
	for _, one := range objects {
		switch one := one.(type) {
		case object.List:
			b.WithLists(one)
		case object.Object:
			b.WithObjects(one)
		default:
			panic(fmt.Errorf("build a client: %T is neither an object nor a list", one))
		}
	}
	return b
}

// WithReturnManagedFields keeps managedFields in returned objects.
func (b *ClientBuilder) WithReturnManagedFields() *ClientBuilder {
	b.managedFields = true
	return b
}

func (b *ClientBuilder) connect(opts testclient.Options, objects []runtime.Object) (client.WithWatch, error) {
	opts.Scheme = cmp.Or(opts.Scheme, scheme.Scheme)
	built, err := testclient.New(opts)
	if err != nil {
		return nil, err
	}
	c := &fakeClient{Client: built, managedFields: b.managedFields}
	for _, obj := range objects {
		if err := c.put(context.Background(), obj); err != nil {
			return nil, err
		}
	}
	return c, nil
}
