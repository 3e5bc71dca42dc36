package client

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Interceptor has a function for each call of a client that it wants to see. A function gets the client below it, which
// it may call with what it likes, or not at all; a nil one leaves the call alone. Status() goes to the SubResource
// functions, with the name "status".
type Interceptor struct {
	Get         func(ctx context.Context, c Client, key object.Key, obj object.Object, opts ...GetOption) error
	List        func(ctx context.Context, c Client, list object.List, opts ...ListOption) error
	Create      func(ctx context.Context, c Client, obj object.Object, opts ...CreateOption) error
	Update      func(ctx context.Context, c Client, obj object.Object, opts ...UpdateOption) error
	Patch       func(ctx context.Context, c Client, obj object.Object, patch Patch, opts ...PatchOption) error
	Apply       func(ctx context.Context, c Client, obj object.Object, opts ...ApplyOption) error
	Delete      func(ctx context.Context, c Client, obj object.Object, opts ...DeleteOption) error
	DeleteAllOf func(ctx context.Context, c Client, obj object.Object, opts ...DeleteAllOfOption) error
	Watch       func(ctx context.Context, c WithWatch, list object.List, opts ...ListOption) (Stream[object.Object], error)

	SubResourceGet    func(ctx context.Context, c Client, subResource string, obj, sub object.Object, opts ...GetOption) error
	SubResourceCreate func(ctx context.Context, c Client, subResource string, obj, sub object.Object, opts ...CreateOption) error
	SubResourceUpdate func(ctx context.Context, c Client, subResource string, obj object.Object, opts ...UpdateOption) error
	SubResourcePatch  func(ctx context.Context, c Client, subResource string, obj object.Object, patch Patch, opts ...PatchOption) error
	SubResourceApply  func(ctx context.Context, c Client, subResource string, obj object.Object, opts ...ApplyOption) error
}

// Intercept returns c with the functions of i in front of it. It is a [WithWatch] if c is.
func Intercept(c Client, i Interceptor) Client {
	intercepted := &interceptor{Client: c, with: i}
	if watching, ok := c.(WithWatch); ok {
		return &watchInterceptor{interceptor: intercepted, below: watching}
	}
	return intercepted
}

type interceptor struct {
	Client
	with Interceptor
}

// watchInterceptor is an interceptor in front of a client that watches.
type watchInterceptor struct {
	*interceptor
	below WithWatch
}

func (w *watchInterceptor) Watch(ctx context.Context, list object.List, opts ...ListOption) (Stream[object.Object], error) {
	if w.with.Watch == nil {
		return w.below.Watch(ctx, list, opts...)
	}
	return w.with.Watch(ctx, w.below, list, opts...)
}

func (i *interceptor) Get(ctx context.Context, key object.Key, obj object.Object, opts ...GetOption) error {
	if i.with.Get == nil {
		return i.Client.Get(ctx, key, obj, opts...)
	}
	return i.with.Get(ctx, i.Client, key, obj, opts...)
}

func (i *interceptor) List(ctx context.Context, list object.List, opts ...ListOption) error {
	if i.with.List == nil {
		return i.Client.List(ctx, list, opts...)
	}
	return i.with.List(ctx, i.Client, list, opts...)
}

func (i *interceptor) Create(ctx context.Context, obj object.Object, opts ...CreateOption) error {
	if i.with.Create == nil {
		return i.Client.Create(ctx, obj, opts...)
	}
	return i.with.Create(ctx, i.Client, obj, opts...)
}

func (i *interceptor) Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error {
	if i.with.Update == nil {
		return i.Client.Update(ctx, obj, opts...)
	}
	return i.with.Update(ctx, i.Client, obj, opts...)
}

func (i *interceptor) Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error {
	if i.with.Patch == nil {
		return i.Client.Patch(ctx, obj, patch, opts...)
	}
	return i.with.Patch(ctx, i.Client, obj, patch, opts...)
}

func (i *interceptor) Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error {
	if i.with.Apply == nil {
		return i.Client.Apply(ctx, obj, opts...)
	}
	return i.with.Apply(ctx, i.Client, obj, opts...)
}

func (i *interceptor) Delete(ctx context.Context, obj object.Object, opts ...DeleteOption) error {
	if i.with.Delete == nil {
		return i.Client.Delete(ctx, obj, opts...)
	}
	return i.with.Delete(ctx, i.Client, obj, opts...)
}

func (i *interceptor) DeleteAllOf(ctx context.Context, obj object.Object, opts ...DeleteAllOfOption) error {
	if i.with.DeleteAllOf == nil {
		return i.Client.DeleteAllOf(ctx, obj, opts...)
	}
	return i.with.DeleteAllOf(ctx, i.Client, obj, opts...)
}

func (i *interceptor) Status() SubResourceWriter { return i.SubResource(statusSubresource) }

func (i *interceptor) SubResource(name string) SubResourceClient {
	return &subresourceInterceptor{SubResourceClient: i.Client.SubResource(name), below: i.Client, with: i.with, name: name}
}

// subresourceInterceptor is the embedded client with the functions of an Interceptor in front of it.
type subresourceInterceptor struct {
	SubResourceClient
	below Client
	with  Interceptor
	name  string
}

func (s *subresourceInterceptor) Get(ctx context.Context, obj, sub object.Object, opts ...GetOption) error {
	if s.with.SubResourceGet == nil {
		return s.SubResourceClient.Get(ctx, obj, sub, opts...)
	}
	return s.with.SubResourceGet(ctx, s.below, s.name, obj, sub, opts...)
}

func (s *subresourceInterceptor) Create(ctx context.Context, obj, sub object.Object, opts ...CreateOption) error {
	if s.with.SubResourceCreate == nil {
		return s.SubResourceClient.Create(ctx, obj, sub, opts...)
	}
	return s.with.SubResourceCreate(ctx, s.below, s.name, obj, sub, opts...)
}

func (s *subresourceInterceptor) Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error {
	if s.with.SubResourceUpdate == nil {
		return s.SubResourceClient.Update(ctx, obj, opts...)
	}
	return s.with.SubResourceUpdate(ctx, s.below, s.name, obj, opts...)
}

func (s *subresourceInterceptor) Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error {
	if s.with.SubResourcePatch == nil {
		return s.SubResourceClient.Patch(ctx, obj, patch, opts...)
	}
	return s.with.SubResourcePatch(ctx, s.below, s.name, obj, patch, opts...)
}

func (s *subresourceInterceptor) Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error {
	if s.with.SubResourceApply == nil {
		return s.SubResourceClient.Apply(ctx, obj, opts...)
	}
	return s.with.SubResourceApply(ctx, s.below, s.name, obj, opts...)
}
