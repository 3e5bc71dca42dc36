// Package interceptor wraps clients for tests, in which functions replace individual calls.
package interceptor

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Funcs replace calls of a client. A call whose function is nil goes to the client.
type Funcs struct {
	Get func(
		ctx context.Context, client client.WithWatch,
		key client.ObjectKey, obj client.Object, opts ...client.GetOption,
	) error
	List func(
		ctx context.Context, client client.WithWatch, list client.ObjectList, opts ...client.ListOption,
	) error
	Create func(
		ctx context.Context, client client.WithWatch, obj client.Object, opts ...client.CreateOption,
	) error
	Delete func(
		ctx context.Context, client client.WithWatch, obj client.Object, opts ...client.DeleteOption,
	) error
	DeleteAllOf func(
		ctx context.Context, client client.WithWatch, obj client.Object, opts ...client.DeleteAllOfOption,
	) error
	Update func(
		ctx context.Context, client client.WithWatch, obj client.Object, opts ...client.UpdateOption,
	) error
	Patch func(
		ctx context.Context, client client.WithWatch,
		obj client.Object, patch client.Patch, opts ...client.PatchOption,
	) error
	Apply func(
		ctx context.Context, client client.WithWatch,
		obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
	) error
	Watch func(
		ctx context.Context, client client.WithWatch, obj client.ObjectList, opts ...client.ListOption,
	) (watch.Interface, error)
	SubResource    func(client client.WithWatch, subResource string) client.SubResourceClient
	SubResourceGet func(
		ctx context.Context, client client.Client,
		subResourceName string, obj client.Object, subResource client.Object, opts ...client.SubResourceGetOption,
	) error
	SubResourceCreate func(
		ctx context.Context, client client.Client,
		subResourceName string, obj client.Object, subResource client.Object, opts ...client.SubResourceCreateOption,
	) error
	SubResourceUpdate func(
		ctx context.Context, client client.Client,
		subResourceName string, obj client.Object, opts ...client.SubResourceUpdateOption,
	) error
	SubResourcePatch func(
		ctx context.Context, client client.Client,
		subResourceName string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
	) error
	SubResourceApply func(
		ctx context.Context, client client.Client,
		subResourceName string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption,
	) error
}

// NewClient returns a client that calls funcs before interceptedClient.
func NewClient(interceptedClient client.WithWatch, funcs Funcs) client.WithWatch {
	return intercepted{interceptedClient, funcs}
}

type intercepted struct {
	client.WithWatch
	funcs Funcs
}

// Unwrap returns the intercepted client.
func (c intercepted) Unwrap() client.WithWatch { return c.WithWatch }

func (c intercepted) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if f := c.funcs.Get; f != nil {
		return f(ctx, c.WithWatch, key, obj, opts...)
	}
	return c.WithWatch.Get(ctx, key, obj, opts...)
}

func (c intercepted) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if f := c.funcs.List; f != nil {
		return f(ctx, c.WithWatch, list, opts...)
	}
	return c.WithWatch.List(ctx, list, opts...)
}

func (c intercepted) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if f := c.funcs.Create; f != nil {
		return f(ctx, c.WithWatch, obj, opts...)
	}
	return c.WithWatch.Create(ctx, obj, opts...)
}

func (c intercepted) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if f := c.funcs.Delete; f != nil {
		return f(ctx, c.WithWatch, obj, opts...)
	}
	return c.WithWatch.Delete(ctx, obj, opts...)
}

func (c intercepted) DeleteAllOf(ctx context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	if f := c.funcs.DeleteAllOf; f != nil {
		return f(ctx, c.WithWatch, obj, opts...)
	}
	return c.WithWatch.DeleteAllOf(ctx, obj, opts...)
}

func (c intercepted) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	if f := c.funcs.Update; f != nil {
		return f(ctx, c.WithWatch, obj, opts...)
	}
	return c.WithWatch.Update(ctx, obj, opts...)
}

func (c intercepted) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	if f := c.funcs.Patch; f != nil {
		return f(ctx, c.WithWatch, obj, patch, opts...)
	}
	return c.WithWatch.Patch(ctx, obj, patch, opts...)
}

func (c intercepted) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if f := c.funcs.Apply; f != nil {
		return f(ctx, c.WithWatch, obj, opts...)
	}
	return c.WithWatch.Apply(ctx, obj, opts...)
}

func (c intercepted) Watch(
	ctx context.Context, list client.ObjectList, opts ...client.ListOption,
) (watch.Interface, error) {
	if f := c.funcs.Watch; f != nil {
		return f(ctx, c.WithWatch, list, opts...)
	}
	return c.WithWatch.Watch(ctx, list, opts...)
}

func (c intercepted) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c intercepted) SubResource(name string) client.SubResourceClient {
	if f := c.funcs.SubResource; f != nil {
		return f(c.WithWatch, name)
	}
	return interceptedSubResource{name, c.WithWatch, c.funcs}
}

type interceptedSubResource struct {
	name   string
	client client.Client
	funcs  Funcs
}

func (s interceptedSubResource) Get(
	ctx context.Context, obj, sub client.Object, opts ...client.SubResourceGetOption,
) error {
	if f := s.funcs.SubResourceGet; f != nil {
		return f(ctx, s.client, s.name, obj, sub, opts...)
	}
	return s.client.SubResource(s.name).Get(ctx, obj, sub, opts...)
}

func (s interceptedSubResource) Create(
	ctx context.Context, obj, sub client.Object, opts ...client.SubResourceCreateOption,
) error {
	if f := s.funcs.SubResourceCreate; f != nil {
		return f(ctx, s.client, s.name, obj, sub, opts...)
	}
	return s.client.SubResource(s.name).Create(ctx, obj, sub, opts...)
}

func (s interceptedSubResource) Update(
	ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption,
) error {
	if f := s.funcs.SubResourceUpdate; f != nil {
		return f(ctx, s.client, s.name, obj, opts...)
	}
	return s.client.SubResource(s.name).Update(ctx, obj, opts...)
}

func (s interceptedSubResource) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
) error {
	if f := s.funcs.SubResourcePatch; f != nil {
		return f(ctx, s.client, s.name, obj, patch, opts...)
	}
	return s.client.SubResource(s.name).Patch(ctx, obj, patch, opts...)
}

func (s interceptedSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption,
) error {
	if f := s.funcs.SubResourceApply; f != nil {
		return f(ctx, s.client, s.name, obj, opts...)
	}
	return s.client.SubResource(s.name).Apply(ctx, obj, opts...)
}
