// Package komega returns functions that read and write objects, for the assertions of Gomega.
package komega

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Komega returns functions that read and write objects when they are called.
type Komega interface {
	// Get returns a function that reads an object.
	Get(client.Object) func() error
	// List returns a function that reads a list.
	List(client.ObjectList, ...client.ListOption) func() error
	// Update returns a function that reads an object, calls the given function to change it, and writes it.
	Update(client.Object, func(), ...client.UpdateOption) func() error
	// UpdateStatus is like Update, for the status.
	UpdateStatus(client.Object, func(), ...client.SubResourceUpdateOption) func() error
	// Object returns a function that reads an object and returns it.
	Object(client.Object) func() (client.Object, error)
	// ObjectList returns a function that reads a list and returns it.
	ObjectList(client.ObjectList, ...client.ListOption) func() (client.ObjectList, error)
	// WithContext returns a Komega that uses a context.
	WithContext(context.Context) Komega
}

// New returns a Komega for a client.
func New(c client.Client) Komega { return &komega{client: c, ctx: context.Background()} }

type komega struct {
	client client.Client
	ctx    context.Context
}

func (k komega) WithContext(ctx context.Context) Komega {
	k.ctx = ctx
	return &k
}

func (k *komega) Get(obj client.Object) func() error {
	return func() error { return k.client.Get(k.ctx, client.ObjectKeyFromObject(obj), obj) }
}

func (k *komega) List(list client.ObjectList, opts ...client.ListOption) func() error {
	return func() error { return k.client.List(k.ctx, list, opts...) }
}

func (k *komega) Update(obj client.Object, change func(), opts ...client.UpdateOption) func() error {
	return k.change(obj, change, func() error { return k.client.Update(k.ctx, obj, opts...) })
}

func (k *komega) UpdateStatus(obj client.Object, change func(), opts ...client.SubResourceUpdateOption) func() error {
	return k.change(obj, change, func() error { return k.client.Status().Update(k.ctx, obj, opts...) })
}

func (k *komega) change(obj client.Object, change func(), write func() error) func() error {
	return func() error {
		if err := k.Get(obj)(); err != nil {
			return err
		}
		change()
		return write()
	}
}

func (k *komega) Object(obj client.Object) func() (client.Object, error) {
	return func() (client.Object, error) { return obj, k.Get(obj)() }
}

func (k *komega) ObjectList(
	list client.ObjectList, opts ...client.ListOption,
) func() (client.ObjectList, error) {
	return func() (client.ObjectList, error) { return list, k.List(list, opts...)() }
}

// suite is the Komega of the package's functions.
var suite = &komega{ctx: context.Background()}

// SetClient sets the client of the package's functions.
func SetClient(c client.Client) { suite.client = c }

// SetContext sets the context of the package's functions.
func SetContext(c context.Context) { suite.ctx = c }

func ofSuite() *komega {
	if suite.client == nil {
		panic("Default Komega's client is not set. Use SetClient to set it.")
	}
	return suite
}

// Get is like [Komega.Get], with the client of [SetClient].
func Get(obj client.Object) func() error { return ofSuite().Get(obj) }

// List is like [Komega.List], with the client of [SetClient].
func List(list client.ObjectList, opts ...client.ListOption) func() error {
	return ofSuite().List(list, opts...)
}

// Update is like [Komega.Update], with the client of [SetClient].
func Update(obj client.Object, f func(), opts ...client.UpdateOption) func() error {
	return ofSuite().Update(obj, f, opts...)
}

// UpdateStatus is like [Komega.UpdateStatus], with the client of [SetClient].
func UpdateStatus(obj client.Object, f func(), opts ...client.SubResourceUpdateOption) func() error {
	return ofSuite().UpdateStatus(obj, f, opts...)
}

// Object is like [Komega.Object], with the client of [SetClient].
func Object(obj client.Object) func() (client.Object, error) { return ofSuite().Object(obj) }

// ObjectList is like [Komega.ObjectList], with the client of [SetClient].
func ObjectList(list client.ObjectList, opts ...client.ListOption) func() (client.ObjectList, error) {
	return ofSuite().ObjectList(list, opts...)
}
