package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Interceptor has functions that replace methods of a client. A function receives the underlying client, which it may
// call in any way or not at all. A method whose function is nil is not intercepted. Calls on the result of Status() are
// passed to the SubResource functions, with the name "status".
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

	SubResourceGet func(ctx context.Context, c Client, subResource string, obj, sub object.Object,
		opts ...GetOption) error
	SubResourceCreate func(ctx context.Context, c Client, subResource string, obj, sub object.Object,
		opts ...CreateOption) error
	SubResourceUpdate func(ctx context.Context, c Client, subResource string, obj object.Object,
		opts ...UpdateOption) error
	SubResourcePatch func(ctx context.Context, c Client, subResource string, obj object.Object, patch Patch,
		opts ...PatchOption) error
	SubResourceApply func(ctx context.Context, c Client, subResource string, obj object.Object, opts ...ApplyOption) error
}

// Intercept returns a client that calls the functions of i in place of the methods of c. The result implements
// [WithWatch] if c does.
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

// watchInterceptor is an interceptor in front of a WithWatch.
type watchInterceptor struct {
	*interceptor
	below WithWatch
}

func (w *watchInterceptor) Watch(ctx context.Context, list object.List,
	opts ...ListOption) (Stream[object.Object], error) {
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
	return &subresourceInterceptor{i.Client.SubResource(name), i.Client, i.with, name}
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

// NewDryRunClient returns c with [DryRunAll] on every write.
func NewDryRunClient(c Client) Client { return withDefaults(c, defaults{dryRun: true}) }

// WithFieldOwner returns c with owner as the default field owner of writes.
func WithFieldOwner(c Client, owner string) Client { return withDefaults(c, defaults{owner: owner}) }

// WithFieldValidation returns c with validation as the default field validation of writes, see [FieldValidation].
func WithFieldValidation(c Client, validation FieldValidation) Client {
	return withDefaults(c, defaults{validation: string(validation)})
}

// defaults are default options of writes. As an option, they must come last, because they set only unset options.
type defaults struct {
	dryRun            bool
	owner, validation string
}

func (d defaults) ApplyToCreate(o *WriteOptions) { d.fill(o) }
func (d defaults) ApplyToUpdate(o *WriteOptions) { d.fill(o) }
func (d defaults) ApplyToPatch(o *WriteOptions)  { d.fill(o) }
func (d defaults) ApplyToApply(o *WriteOptions)  { d.fill(o) }

func (d defaults) fill(o *WriteOptions) {
	o.DryRun = o.DryRun || d.dryRun
	o.FieldOwner = cmp.Or(o.FieldOwner, d.owner)
	o.FieldValidation = cmp.Or(o.FieldValidation, d.validation)
}

// withDefaults returns c with default options for its writes. The result implements [WithWatch] if c does.
func withDefaults(c Client, d defaults) Client {
	return Intercept(c, Interceptor{
		Create: func(ctx context.Context, c Client, obj object.Object, opts ...CreateOption) error {
			return c.Create(ctx, obj, append(slices.Clip(opts), d)...)
		},
		Update: func(ctx context.Context, c Client, obj object.Object, opts ...UpdateOption) error {
			return c.Update(ctx, obj, append(slices.Clip(opts), d)...)
		},
		Patch: func(ctx context.Context, c Client, obj object.Object, patch Patch, opts ...PatchOption) error {
			return c.Patch(ctx, obj, patch, append(slices.Clip(opts), d)...)
		},
		Apply: func(ctx context.Context, c Client, obj object.Object, opts ...ApplyOption) error {
			return c.Apply(ctx, obj, append(slices.Clip(opts), d)...)
		},
		Delete: func(ctx context.Context, c Client, obj object.Object, opts ...DeleteOption) error {
			return c.Delete(ctx, obj, append(slices.Clip(opts), DryRun(d.dryRun))...)
		},
		DeleteAllOf: func(ctx context.Context, c Client, obj object.Object, opts ...DeleteAllOfOption) error {
			return c.DeleteAllOf(ctx, obj, append(slices.Clip(opts), DryRun(d.dryRun))...)
		},
		SubResourceCreate: func(ctx context.Context, c Client, name string, obj, sub object.Object,
			opts ...CreateOption) error {
			return c.SubResource(name).Create(ctx, obj, sub, append(slices.Clip(opts), d)...)
		},
		SubResourceUpdate: func(ctx context.Context, c Client, name string, obj object.Object, opts ...UpdateOption) error {
			return c.SubResource(name).Update(ctx, obj, append(slices.Clip(opts), d)...)
		},
		SubResourcePatch: func(ctx context.Context, c Client, name string, obj object.Object, patch Patch,
			opts ...PatchOption) error {
			return c.SubResource(name).Patch(ctx, obj, patch, append(slices.Clip(opts), d)...)
		},
		SubResourceApply: func(ctx context.Context, c Client, name string, obj object.Object, opts ...ApplyOption) error {
			return c.SubResource(name).Apply(ctx, obj, append(slices.Clip(opts), d)...)
		},
	})
}

// NewNamespacedClient returns c restricted to one namespace. The client sets this namespace in objects and keys that
// have none, and fails for any other namespace before it sends a request. It restricts List, Watch and DeleteAllOf to
// the namespace. Cluster-scoped kinds are not affected. The result implements [WithWatch] if c does.
func NewNamespacedClient(c Client, namespace string) Client {
	n := namespaced{client: c, namespace: namespace}
	return Intercept(c, Interceptor{
		Get: func(ctx context.Context, c Client, key object.Key, obj object.Object, opts ...GetOption) error {
			if err := n.fillNamespace(obj, &key.Namespace); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c Client, list object.List, opts ...ListOption) error {
			in, err := n.within(list)
			if err != nil {
				return err
			}
			return c.List(ctx, list, append(slices.Clip(opts), in)...)
		},
		Watch: func(ctx context.Context, c WithWatch, list object.List, opts ...ListOption) (Stream[object.Object], error) {
			in, err := n.within(list)
			if err != nil {
				return nil, err
			}
			return c.Watch(ctx, list, append(slices.Clip(opts), in)...)
		},
		DeleteAllOf: func(ctx context.Context, c Client, obj object.Object, opts ...DeleteAllOfOption) error {
			in, err := n.within(obj)
			if err != nil {
				return err
			}
			return c.DeleteAllOf(ctx, obj, append(slices.Clip(opts), in)...)
		},
		Create: func(ctx context.Context, c Client, obj object.Object, opts ...CreateOption) error {
			return n.do(obj, func() error { return c.Create(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, c Client, obj object.Object, opts ...UpdateOption) error {
			return n.do(obj, func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c Client, obj object.Object, patch Patch, opts ...PatchOption) error {
			return n.do(obj, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c Client, obj object.Object, opts ...ApplyOption) error {
			return n.do(obj, func() error { return c.Apply(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c Client, obj object.Object, opts ...DeleteOption) error {
			return n.do(obj, func() error { return c.Delete(ctx, obj, opts...) })
		},
		SubResourceGet: func(ctx context.Context, c Client, name string, obj, sub object.Object, opts ...GetOption) error {
			return n.do(obj, func() error { return c.SubResource(name).Get(ctx, obj, sub, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c Client, name string, obj, sub object.Object,
			opts ...CreateOption) error {
			return n.do(obj, func() error { return c.SubResource(name).Create(ctx, obj, sub, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c Client, name string, obj object.Object, opts ...UpdateOption) error {
			return n.do(obj, func() error { return c.SubResource(name).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c Client, name string, obj object.Object, patch Patch,
			opts ...PatchOption) error {
			return n.do(obj, func() error { return c.SubResource(name).Patch(ctx, obj, patch, opts...) })
		},
		SubResourceApply: func(ctx context.Context, c Client, name string, obj object.Object, opts ...ApplyOption) error {
			return n.do(obj, func() error { return c.SubResource(name).Apply(ctx, obj, opts...) })
		},
	})
}

type namespaced struct {
	client    Client
	namespace string
}

// fillNamespace sets an empty namespace to the client's namespace if the kind of obj is namespaced, and fails for any
// other namespace.
func (n namespaced) fillNamespace(obj runtime.Object, namespace *string) error {
	has, err := n.client.IsObjectNamespaced(obj)
	switch {
	case err != nil:
		return fmt.Errorf("namespace of %T: %w", obj, err)
	case !has:
	case *namespace == "":
		*namespace = n.namespace
	case *namespace != n.namespace:
		return fmt.Errorf("%T in namespace %q: the client is for namespace %q", obj, *namespace, n.namespace)
	}
	return nil
}

// within returns the option that restricts a List to the namespace.
func (n namespaced) within(obj runtime.Object) (in InNamespace, err error) {
	namespace := ""
	err = n.fillNamespace(obj, &namespace)
	return InNamespace(namespace), err
}

// do sets the namespace of obj and calls call. If call fails, do restores obj.
func (n namespaced) do(obj object.Object, call func() error) error {
	before := obj.GetNamespace()
	namespace := before
	if err := n.fillNamespace(obj, &namespace); err != nil {
		return err
	}
	obj.SetNamespace(namespace)
	err := call()
	if err != nil {
		obj.SetNamespace(before)
	}
	return err
}
