// Package komega has functions for gomega assertions on objects, in the form of controller-runtime's package of that
// name:
//
//	k := komega.New(c)
//	Eventually(k.Object(pod)).Should(HaveField("Status.Phase", Equal(corev1.PodRunning)))
//
// It does not import gomega. After a call of [SetClient], the functions of the package work without k.
package komega

import (
	"context"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Komega returns functions that read and write objects when they are called. It is as safe for concurrent use as its
// client. A returned function changes its object and is not safe for concurrent use.
type Komega struct {
	client client.Client
	ctx    context.Context
}

// New returns a Komega for a client. Its calls have no deadline.
func New(c client.Client) Komega { return Komega{c, context.Background()} }

// WithContext returns a Komega whose calls end with ctx.
func (k Komega) WithContext(ctx context.Context) Komega { return Komega{k.client, ctx} }

// Get returns a function that reads obj.
func (k Komega) Get(obj object.Object) func() error {
	return func() error { return k.client.Get(k.ctx, object.KeyOf(obj), obj) }
}

// List returns a function that reads list.
func (k Komega) List(list object.List, opts ...client.ListOption) func() error {
	return func() error { return k.client.List(k.ctx, list, opts...) }
}

// Update returns a function that reads obj, calls change to modify it, and writes it.
func (k Komega) Update(obj object.Object, change func(), opts ...client.UpdateOption) func() error {
	return k.change(obj, change, func() error { return k.client.Update(k.ctx, obj, opts...) })
}

// UpdateStatus is Update of the status.
func (k Komega) UpdateStatus(obj object.Object, change func(), opts ...client.UpdateOption) func() error {
	return k.change(obj, change, func() error { return k.client.Status().Update(k.ctx, obj, opts...) })
}

func (k Komega) change(obj object.Object, change func(), write func() error) func() error {
	return func() error {
		if err := k.Get(obj)(); err != nil {
			return err
		}
		change()
		return write()
	}
}

// Object returns a function that reads obj and returns it.
func (k Komega) Object(obj object.Object) func() (object.Object, error) {
	return func() (object.Object, error) { return obj, k.Get(obj)() }
}

// ObjectList returns a function that reads list and returns it.
func (k Komega) ObjectList(list object.List, opts ...client.ListOption) func() (object.List, error) {
	return func() (object.List, error) { return list, k.List(list, opts...)() }
}

// suite is the state of the package's functions.
var suite struct {
	mu sync.Mutex
	k  *Komega
}

// SetClient sets the client of the package's functions, for example in a BeforeSuite.
func SetClient(c client.Client) { change(func(k *Komega) { k.client = c }) }

// SetContext sets the context of the package's functions. Without it they have no deadline.
func SetContext(ctx context.Context) { change(func(k *Komega) { k.ctx = ctx }) }

func change(set func(*Komega)) {
	suite.mu.Lock()
	defer suite.mu.Unlock()
	k := Komega{ctx: context.Background()}
	if suite.k != nil {
		k = *suite.k
	}
	set(&k)
	suite.k = &k
}

// ofSuite returns the Komega of the package's functions. It panics before SetClient.
func ofSuite() Komega {
	suite.mu.Lock()
	defer suite.mu.Unlock()
	if suite.k == nil || suite.k.client == nil {
		panic("komega has no client: call komega.SetClient first")
	}
	return *suite.k
}

// Get is [Komega.Get] with the client of [SetClient].
func Get(obj object.Object) func() error { return ofSuite().Get(obj) }

// List is [Komega.List] with the client of [SetClient].
func List(list object.List, opts ...client.ListOption) func() error {
	return ofSuite().List(list, opts...)
}

// Update is [Komega.Update] with the client of [SetClient].
func Update(obj object.Object, change func(), opts ...client.UpdateOption) func() error {
	return ofSuite().Update(obj, change, opts...)
}

// UpdateStatus is [Komega.UpdateStatus] with the client of [SetClient].
func UpdateStatus(obj object.Object, change func(), opts ...client.UpdateOption) func() error {
	return ofSuite().UpdateStatus(obj, change, opts...)
}

// Object is [Komega.Object] with the client of [SetClient].
func Object(obj object.Object) func() (object.Object, error) { return ofSuite().Object(obj) }

// ObjectList is [Komega.ObjectList] with the client of [SetClient].
func ObjectList(list object.List, opts ...client.ListOption) func() (object.List, error) {
	return ofSuite().ObjectList(list, opts...)
}
