// Package informertest provides a cache of fake informers.
package informertest

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
)

// FakeInformers is a cache whose informers deliver the events of a test. Its reads do nothing.
type FakeInformers struct {
	// InformersByGVK are the informers by kind.
	InformersByGVK map[schema.GroupVersionKind]toolscache.SharedIndexInformer
	// Scheme has the kinds. Nil means the scheme of client-go.
	Scheme *runtime.Scheme
	// Error is returned by Start and by calls that return informers.
	Error error
	// Synced reports whether the cache has synced. Nil means true.
	Synced *bool
}

var _ cache.Cache = &FakeInformers{}

func (c *FakeInformers) schemeOf() *runtime.Scheme {
	if c.Scheme == nil {
		c.Scheme = scheme.Scheme
	}
	return c.Scheme
}

func (c *FakeInformers) informerFor(gvk schema.GroupVersionKind) (toolscache.SharedIndexInformer, error) {
	if c.Error != nil {
		return nil, c.Error
	}
	if c.InformersByGVK == nil {
		c.InformersByGVK = map[schema.GroupVersionKind]toolscache.SharedIndexInformer{}
	}
	if c.InformersByGVK[gvk] == nil {
		c.InformersByGVK[gvk] = controllertest.NewFakeInformer(controllertest.Synced)
	}
	return c.InformersByGVK[gvk], nil
}

func (c *FakeInformers) kindOf(obj client.Object) (schema.GroupVersionKind, error) {
	kinds, _, err := c.schemeOf().ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return kinds[0], nil
}

// GetInformerForKind implements cache.Informers.
func (c *FakeInformers) GetInformerForKind(
	_ context.Context, gvk schema.GroupVersionKind, _ ...cache.InformerGetOption,
) (cache.Informer, error) {
	if _, err := c.schemeOf().New(gvk); err != nil {
		return nil, err
	}
	return c.informerFor(gvk)
}

// FakeInformerForKind returns the fake informer of a kind.
func (c *FakeInformers) FakeInformerForKind(
	ctx context.Context, gvk schema.GroupVersionKind,
) (*controllertest.FakeInformer, error) {
	i, err := c.GetInformerForKind(ctx, gvk)
	if err != nil {
		return nil, err
	}
	return i.(*controllertest.FakeInformer), nil
}

// GetInformer implements cache.Informers.
func (c *FakeInformers) GetInformer(
	_ context.Context, obj client.Object, _ ...cache.InformerGetOption,
) (cache.Informer, error) {
	gvk, err := c.kindOf(obj)
	if err != nil {
		return nil, err
	}
	return c.informerFor(gvk)
}

// FakeInformerFor returns the fake informer of the kind of an object.
func (c *FakeInformers) FakeInformerFor(
	ctx context.Context, obj client.Object,
) (*controllertest.FakeInformer, error) {
	i, err := c.GetInformer(ctx, obj)
	if err != nil {
		return nil, err
	}
	return i.(*controllertest.FakeInformer), nil
}

// RemoveInformer implements cache.Informers.
func (c *FakeInformers) RemoveInformer(_ context.Context, obj client.Object) error {
	gvk, err := c.kindOf(obj)
	delete(c.InformersByGVK, gvk)
	return err
}

// WaitForCacheSync implements cache.Informers.
func (c *FakeInformers) WaitForCacheSync(context.Context) bool { return c.Synced == nil || *c.Synced }

// Start implements cache.Informers.
func (c *FakeInformers) Start(context.Context) error { return c.Error }

// IndexField implements client.FieldIndexer.
func (c *FakeInformers) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

// Get implements client.Reader.
func (c *FakeInformers) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

// List implements client.Reader.
func (c *FakeInformers) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return nil
}
