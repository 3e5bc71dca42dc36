package client

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// GroupVersionKindFor returns the kind of obj, see [object.GVK].
func (c *REST) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return object.GVK(obj, c.scheme)
}

// IsObjectNamespaced reports whether the objects of the kind of obj, which may be a list, are in namespaces. It asks the
// server when that is not known yet.
func (c *REST) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	gvk, err := object.GVK(obj, c.scheme)
	if err != nil {
		return false, err
	}
	if meta.IsListType(obj) {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// Watch opens a watch at the API server, see [WithWatch].
func (c *REST) Watch(ctx context.Context, list object.List, opts ...ListOption) (Stream[object.Object], error) {
	o, err := ListOptionsOf(opts...)
	if err != nil {
		return nil, err
	}
	if o.Limit != 0 || o.Continue != "" {
		return nil, fmt.Errorf("watch %T: a watch has no pages", list)
	}
	prototype, err := itemOf(list, c.scheme)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	gvk, err := object.GVK(prototype, c.scheme)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	res, err := c.resourceOfKind(ctx, gvk)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", gvk.Kind, err)
	}
	watcher, err := NewListWatcher(c, prototype, Scope{
		Namespace: res.within(o.Namespace), Labels: o.LabelSelector, Fields: o.FieldSelector, KeepManagedFields: true,
	})
	if err != nil {
		return nil, err
	}
	version := list.GetResourceVersion()
	if version == "" {
		version = o.NotOlderThan
	}
	return watcher.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
}

// itemOf returns an empty object of the kind of the items of list.
func itemOf(list object.List, scheme *runtime.Scheme) (object.Object, error) {
	gvk, err := object.GVK(list, scheme)
	if err != nil {
		return nil, err
	}
	kind, ok := strings.CutSuffix(gvk.Kind, "List")
	if !ok || kind == "" {
		return nil, fmt.Errorf("%s is no list kind", gvk.Kind)
	}
	gvk.Kind = kind
	switch list.(type) {
	case runtime.Unstructured:
		item := &unstructured.Unstructured{}
		item.SetGroupVersionKind(gvk)
		return item, nil
	case *metav1.PartialObjectMetadataList:
		item := &metav1.PartialObjectMetadata{}
		item.SetGroupVersionKind(gvk)
		return item, nil
	}
	item, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	o, ok := item.(object.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", item)
	}
	return o, nil
}
