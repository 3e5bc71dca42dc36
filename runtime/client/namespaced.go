package client

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// NewNamespacedClient returns c for the objects of one namespace: an object or a key without a namespace is one of it,
// and another namespace is an error before any request. A List or DeleteAllOf is one in the namespace. Cluster-scoped
// kinds are left alone. It is a [WithWatch] if c is.
func NewNamespacedClient(c Client, namespace string) Client {
	n := namespaced{client: c, namespace: namespace}
	return Intercept(c, Interceptor{
		Get: func(ctx context.Context, c Client, key object.Key, obj object.Object, opts ...GetOption) error {
			if err := n.settle(obj, &key.Namespace); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c Client, list object.List, opts ...ListOption) error {
			in, err := n.within(list)
			if err != nil {
				return err
			}
			return c.List(ctx, list, append(opts[:len(opts):len(opts)], in)...)
		},
		Watch: func(ctx context.Context, c WithWatch, list object.List, opts ...ListOption) (Stream[object.Object], error) {
			in, err := n.within(list)
			if err != nil {
				return nil, err
			}
			return c.Watch(ctx, list, append(opts[:len(opts):len(opts)], in)...)
		},
		DeleteAllOf: func(ctx context.Context, c Client, obj object.Object, opts ...DeleteAllOfOption) error {
			in, err := n.within(obj)
			if err != nil {
				return err
			}
			return c.DeleteAllOf(ctx, obj, append(opts[:len(opts):len(opts)], in)...)
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
		SubResourceCreate: func(ctx context.Context, c Client, name string, obj, sub object.Object, opts ...CreateOption) error {
			return n.do(obj, func() error { return c.SubResource(name).Create(ctx, obj, sub, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c Client, name string, obj object.Object, opts ...UpdateOption) error {
			return n.do(obj, func() error { return c.SubResource(name).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c Client, name string, obj object.Object, patch Patch, opts ...PatchOption) error {
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

// settle makes namespace that of the client if the kind of obj has namespaces.
func (n namespaced) settle(obj runtime.Object, namespace *string) error {
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

// within returns the option that keeps a List in the namespace.
func (n namespaced) within(obj runtime.Object) (in InNamespace, err error) {
	namespace := ""
	err = n.settle(obj, &namespace)
	return InNamespace(namespace), err
}

// do calls call while obj is in the namespace. When call fails, obj is as it was.
func (n namespaced) do(obj object.Object, call func() error) error {
	before := obj.GetNamespace()
	namespace := before
	if err := n.settle(obj, &namespace); err != nil {
		return err
	}
	obj.SetNamespace(namespace)
	err := call()
	if err != nil {
		obj.SetNamespace(before)
	}
	return err
}
