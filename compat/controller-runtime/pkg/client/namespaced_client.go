package client

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// NewNamespacedClient returns a client like c that reads and writes namespaced kinds in one namespace.
func NewNamespacedClient(c Client, ns string) Client { return &namespaced{Client: c, namespace: ns} }

// namespaced sets the namespace of objects of namespaced kinds and rejects other namespaces.
type namespaced struct {
	Client
	namespace string
}

// otherNamespace returns the error for an object whose namespace is not the client's.
func (n *namespaced) otherNamespace(namespace, name string) error {
	return fmt.Errorf("namespace %s of the object %s does not match the namespace %s on the client",
		namespace, name, n.namespace)
}

func (n *namespaced) isNamespaced(obj runtime.Object) (bool, error) {
	scoped, err := n.IsObjectNamespaced(obj)
	if err != nil {
		return false, fmt.Errorf("error finding the scope of the object: %w", err)
	}
	return scoped, nil
}

// set sets the namespace of obj.
func (n *namespaced) set(obj Object) error {
	scoped, err := n.isNamespaced(obj)
	if err != nil {
		return err
	}
	switch namespace := obj.GetNamespace(); {
	case namespace != "" && namespace != n.namespace:
		return n.otherNamespace(namespace, obj.GetName())
	case scoped && namespace == "":
		obj.SetNamespace(n.namespace)
	}
	return nil
}

// setConfiguration sets the namespace of an apply configuration of a namespaced kind.
func (n *namespaced) setConfiguration(obj runtime.ApplyConfiguration) error {
	fields, err := asUnstructured(obj)
	if err != nil {
		return err
	}
	gvk := schema.FromAPIVersionAndKind(fields.GetAPIVersion(), fields.GetKind())
	scoped, err := apiutil.IsGVKNamespaced(gvk, n.RESTMapper())
	if err != nil {
		return fmt.Errorf("error finding the scope of the object: %w", err)
	}
	if !scoped {
		return nil
	}
	if namespace := fields.GetNamespace(); namespace != "" && namespace != n.namespace {
		return fmt.Errorf("namespace %s provided for the object %s does not match the namespace %s on the client",
			namespace, fields.GetName(), n.namespace)
	}
	if u, ok := obj.(*unstructuredConfiguration); ok {
		u.SetNamespace(n.namespace)
		return nil
	}
	set := reflect.ValueOf(obj).MethodByName("WithNamespace")
	if !set.IsValid() || set.Type().NumIn() != 1 || set.Type().In(0).Kind() != reflect.String {
		return fmt.Errorf("ApplyConfiguration %T does not have a WithNamespace method with a single string argument", obj)
	}
	set.Call([]reflect.Value{reflect.ValueOf(n.namespace)})
	return nil
}

// Create implements [Writer].
func (n *namespaced) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	if err := n.set(obj); err != nil {
		return err
	}
	return n.Client.Create(ctx, obj, opts...)
}

// Update implements [Writer].
func (n *namespaced) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	if err := n.set(obj); err != nil {
		return err
	}
	return n.Client.Update(ctx, obj, opts...)
}

// Patch implements [Writer].
func (n *namespaced) Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error {
	if err := n.set(obj); err != nil {
		return err
	}
	return n.Client.Patch(ctx, obj, patch, opts...)
}

// Apply implements [Writer].
func (n *namespaced) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error {
	if err := n.setConfiguration(obj); err != nil {
		return err
	}
	return n.Client.Apply(ctx, obj, opts...)
}

// Delete implements [Writer].
func (n *namespaced) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	if err := n.set(obj); err != nil {
		return err
	}
	return n.Client.Delete(ctx, obj, opts...)
}

// DeleteAllOf implements [Writer].
func (n *namespaced) DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error {
	scoped, err := n.isNamespaced(obj)
	if err != nil {
		return err
	}
	if scoped {
		opts = append(opts[:len(opts):len(opts)], InNamespace(n.namespace))
	}
	return n.Client.DeleteAllOf(ctx, obj, opts...)
}

// Get implements [Reader].
func (n *namespaced) Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error {
	scoped, err := n.isNamespaced(obj)
	if err != nil {
		return err
	}
	if scoped {
		if key.Namespace != "" && key.Namespace != n.namespace {
			return fmt.Errorf("namespace %s provided for the object %s does not match the namespace %s on the client",
				key.Namespace, key.Name, n.namespace)
		}
		key.Namespace = n.namespace
	}
	return n.Client.Get(ctx, key, obj, opts...)
}

// List implements [Reader].
func (n *namespaced) List(ctx context.Context, list ObjectList, opts ...ListOption) error {
	scoped, err := n.isNamespaced(list)
	if err != nil {
		return err
	}
	if scoped && n.namespace != "" {
		opts = append(opts[:len(opts):len(opts)], InNamespace(n.namespace))
	}
	return n.Client.List(ctx, list, opts...)
}

// Status implements [StatusClient].
func (n *namespaced) Status() SubResourceWriter { return n.SubResource("status") }

// SubResource implements [SubResourceClientConstructor].
func (n *namespaced) SubResource(name string) SubResourceClient {
	return &namespacedSubResource{n.Client.SubResource(name), n}
}

type namespacedSubResource struct {
	SubResourceClient
	of *namespaced
}

// Get implements [SubResourceReader].
func (s *namespacedSubResource) Get(ctx context.Context, obj, sub Object, opts ...SubResourceGetOption) error {
	if err := s.of.set(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Get(ctx, obj, sub, opts...)
}

// Create implements [SubResourceWriter].
func (s *namespacedSubResource) Create(ctx context.Context, obj, sub Object, opts ...SubResourceCreateOption) error {
	if err := s.of.set(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Create(ctx, obj, sub, opts...)
}

// Update implements [SubResourceWriter].
func (s *namespacedSubResource) Update(ctx context.Context, obj Object, opts ...SubResourceUpdateOption) error {
	if err := s.of.set(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Update(ctx, obj, opts...)
}

// Patch implements [SubResourceWriter].
func (s *namespacedSubResource) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption,
) error {
	if err := s.of.set(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Patch(ctx, obj, patch, opts...)
}

// Apply implements [SubResourceWriter].
func (s *namespacedSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption,
) error {
	if err := s.of.setConfiguration(obj); err != nil {
		return err
	}
	return s.SubResourceClient.Apply(ctx, obj, opts...)
}
