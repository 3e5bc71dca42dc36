package fake

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// fakeClient is a client with a store instead of a server.
type fakeClient struct {
	*store
	mapper        meta.RESTMapper
	indexes       indexes // guarded by store.mu
	managedFields bool    // keep managedFields in results
}

func (c *fakeClient) Scheme() *runtime.Scheme { return c.scheme }

func (c *fakeClient) RESTMapper() meta.RESTMapper { return c.mapper }

func (c *fakeClient) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, c.scheme)
}

func (c *fakeClient) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.scheme, c.mapper)
}

func (c *fakeClient) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.placeLocked(obj)
	if err != nil {
		return err
	}
	p.namespace, p.name = key.Namespace, key.Name
	return c.readLocked(p, obj)
}

// readLocked sets obj to a stored object.
func (c *fakeClient) readLocked(p place, obj client.Object) error {
	current, err := c.currentLocked(p)
	if err != nil {
		return err
	}
	return c.answer(p.kind, current, obj)
}

// answer sets obj to the result of a call.
func (c *fakeClient) answer(kind schema.GroupVersionKind, stored, obj client.Object) error {
	stored.GetObjectKind().SetGroupVersionKind(kind) // unstructured objects need their kind for decoding
	zero(obj)
	if err := convert(stored, obj); err != nil {
		return err
	}
	c.finish(kind, obj)
	return nil
}

// finish removes managed fields, and the kind of typed objects.
func (c *fakeClient) finish(kind schema.GroupVersionKind, obj runtime.Object) {
	if o, ok := obj.(metav1.Object); ok && !c.managedFields {
		o.SetManagedFields(nil)
	}
	if hasType(obj) {
		kind = schema.GroupVersionKind{}
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
}

func (c *fakeClient) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := new(client.ListOptions).ApplyOptions(opts)
	kind, all, err := c.listAs(list, o.Namespace)
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(all)
	if err != nil {
		return err
	}
	for _, item := range items {
		c.finish(kind, item)
	}
	if items, err = c.selected(kind, items, o.LabelSelector, o.FieldSelector); err != nil {
		return err
	}
	given := list.GetObjectKind().GroupVersionKind() // the name of an untyped list may lack the suffix
	zero(list)
	c.finish(given, list)
	return meta.SetList(list, items)
}

// listAs returns the objects of the kind of a list, as a list of the same type.
func (c *fakeClient) listAs(list client.ObjectList, namespace string) (
	kind schema.GroupVersionKind, all client.ObjectList, err error,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind, err = c.kindLocked(list); err != nil {
		return kind, nil, err
	}
	stored, err := c.storedLocked(kind, namespace)
	if err != nil {
		return kind, nil, err
	}
	all = reflect.New(reflect.TypeOf(list).Elem()).Interface().(client.ObjectList)
	return kind, all, convert(stored, all)
}

// storedLocked returns a list of stored objects.
func (c *fakeClient) storedLocked(kind schema.GroupVersionKind, namespace string) (runtime.Object, error) {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	stored, err := c.objects.List(resource, kind, namespace)
	if err != nil {
		return nil, err
	}
	list := kind.GroupVersion().WithKind(kind.Kind + listSuffix)
	stored.GetObjectKind().SetGroupVersionKind(list)
	return stored, meta.EachListItem(stored, func(item runtime.Object) error {
		item.GetObjectKind().SetGroupVersionKind(kind)
		return nil
	})
}

// selected returns the items that match both selectors. Each field of a selector needs an index.
func (c *fakeClient) selected(
	kind schema.GroupVersionKind, items []runtime.Object, byLabels labels.Selector, byFields fields.Selector,
) ([]runtime.Object, error) {
	var required fields.Requirements
	if byFields != nil {
		required = byFields.Requirements()
	}
	values := map[string]client.IndexerFunc{}
	c.mu.Lock()
	for _, r := range required {
		values[r.Field] = c.indexes[kind][r.Field]
	}
	c.mu.Unlock()
	for _, r := range required {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return nil, fmt.Errorf("field selector %q is not supported: use field=value", byFields)
		}
		if values[r.Field] == nil {
			return nil, fmt.Errorf("list %s by field %s: no index with name %s has been registered",
				kind, r.Field, r.Field)
		}
	}
	return slices.DeleteFunc(items, func(item runtime.Object) bool {
		obj := item.(client.Object)
		if byLabels != nil && !byLabels.Matches(labels.Set(obj.GetLabels())) {
			return true
		}
		return slices.ContainsFunc(required, func(r fields.Requirement) bool {
			return !slices.Contains(values[r.Field](obj), r.Value)
		})
	}), nil
}

func (c *fakeClient) Watch(
	_ context.Context, list client.ObjectList, opts ...client.ListOption,
) (watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind, err := c.kindLocked(list)
	if err != nil {
		return nil, err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return c.objects.Watch(resource, new(client.ListOptions).ApplyOptions(opts).Namespace)
}

// The maximum length of generated names, and the maximum number of attempts.
const (
	maxPrefix  = 58
	suffixSize = 5
	maxNames   = 7
)

func (c *fakeClient) Create(_ context.Context, obj client.Object, opts ...client.CreateOption) error {
	o := new(client.CreateOptions).ApplyOptions(opts)
	if dry(o.DryRun) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.placeLocked(obj)
	if err != nil {
		return err
	}
	obj.SetDeletionTimestamp(nil)
	create := func() error {
		return c.createLocked(p, obj, func(stored runtime.Object) error {
			return c.objects.Create(p.resource, stored, p.namespace, *o.AsCreateOptions())
		})
	}
	prefix := obj.GetGenerateName()
	if obj.GetName() != "" || prefix == "" {
		err = create()
	} else {
		prefix = prefix[:min(len(prefix), maxPrefix)]
		for range maxNames {
			obj.SetName(prefix + rand.String(suffixSize))
			if err = create(); !apierrors.IsAlreadyExists(err) {
				break
			}
		}
	}
	c.finish(p.kind, obj) // a tracker always sets the kind
	return err
}

func (c *fakeClient) Update(_ context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return c.update(obj, false, new(client.UpdateOptions).ApplyOptions(opts))
}

// update replaces an object, or only its status.
func (c *fakeClient) update(obj client.Object, status bool, o *client.UpdateOptions) error {
	if dry(o.DryRun) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.placeLocked(obj)
	if err != nil {
		return err
	}
	current, err := c.currentLocked(p)
	missing := apierrors.IsNotFound(err)
	if err == nil && (status || obj.GetManagedFields() == nil) {
		obj.SetManagedFields(current.GetManagedFields()) // an empty list would remove them
	}
	next := obj.DeepCopyObject().(client.Object)
	if missing && updateCreates(p.kind) && !status {
		err = c.createLocked(p, next, func(stored runtime.Object) error {
			return c.objects.Create(p.resource, stored, p.namespace, metav1.CreateOptions{FieldManager: o.FieldManager})
		})
	} else {
		err = c.replaceLocked(change{place: p, status: status}, next, func(stored runtime.Object) error {
			return c.objects.Update(p.resource, stored, p.namespace, *o.AsUpdateOptions())
		})
	}
	if err != nil {
		return err
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(next).Elem())
	c.finish(p.kind, obj)
	return nil
}

func (c *fakeClient) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	o := new(client.DeleteOptions).ApplyOptions(opts)
	if dry(o.DryRun) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.placeLocked(obj)
	if err != nil {
		return err
	}
	if o.Preconditions != nil && o.Preconditions.ResourceVersion != nil {
		current, err := c.currentLocked(p)
		if err != nil {
			return err
		}
		if have, want := current.GetResourceVersion(), *o.Preconditions.ResourceVersion; have != want {
			return apierrors.NewConflict(p.resource.GroupResource(), p.name,
				fmt.Errorf("resourceVersion is %s and not %s as the precondition requires", have, want))
		}
	}
	return c.removeLocked(p)
}

func (c *fakeClient) DeleteAllOf(_ context.Context, obj client.Object, opts ...client.DeleteAllOfOption) error {
	o := new(client.DeleteAllOfOptions).ApplyOptions(opts)
	if dry(o.DryRun) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.placeLocked(obj)
	if err != nil {
		return err
	}
	stored, err := c.storedLocked(p.kind, o.Namespace)
	if err != nil {
		return err
	}
	return meta.EachListItem(stored, func(item runtime.Object) error {
		found, ok := item.(client.Object)
		if !ok || o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(found.GetLabels())) {
			return nil
		}
		p.namespace, p.name = found.GetNamespace(), found.GetName()
		return c.removeLocked(p)
	})
}

func (c *fakeClient) Patch(
	_ context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	return c.patch(obj, patch, false, new(client.PatchOptions).ApplyOptions(opts))
}

// patch patches an object, or only its status, and sets obj to the result.
func (c *fakeClient) patch(obj client.Object, patch client.Patch, status bool, o *client.PatchOptions) error {
	if errs := validation.ValidatePatchOptions(o.AsPatchOptions(), patch.Type()); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", errs)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.placeLocked(obj)
	if err != nil || dry(o.DryRun) {
		return err
	}
	if patch.Type() == types.ApplyPatchType {
		return c.applyLocked(change{place: p, status: status, unchecked: true}, obj, patch, o)
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	current, err := c.currentLocked(p)
	if err != nil {
		return err
	}
	next, err := patched(current, patch.Type(), data)
	if err != nil {
		return err
	}
	if !sameDeletion(current, next) {
		return fmt.Errorf("cannot patch %s: metadata.deletionTimestamp is immutable", p.name)
	}
	of := change{place: p, status: status, unchecked: true}
	if err := c.replaceLocked(of, next, func(stored runtime.Object) error {
		return c.objects.Patch(p.resource, stored, p.namespace, *o.AsPatchOptions())
	}); err != nil {
		return err
	}
	return c.answer(p.kind, next, obj)
}

// patched returns current with a patch applied.
func patched(current client.Object, kind types.PatchType, patch []byte) (client.Object, error) {
	before, err := json.Marshal(current)
	if err != nil {
		return nil, err
	}
	next := reflect.New(reflect.TypeOf(current).Elem()).Interface().(client.Object)
	var after []byte
	switch kind {
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(patch); err == nil {
			after, err = operations.Apply(before)
		}
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, patch)
	case types.StrategicMergePatchType:
		after, err = strategicpatch.StrategicMergePatch(before, patch, next)
	default:
		err = fmt.Errorf("the fake client does not support patches of type %s", kind)
	}
	if err != nil {
		return nil, err
	}
	return next, json.Unmarshal(after, next)
}

// applyLocked applies the fields of a patch and sets obj to the result.
func (c *fakeClient) applyLocked(ch change, obj client.Object, patch client.Patch, o *client.PatchOptions) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	applied := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &applied.Object); err != nil {
		return fmt.Errorf("decode the applied fields: %w", err)
	}
	if applied.GetKind() == "" {
		return runtime.NewMissingKindErr(string(data))
	}
	save := func(stored runtime.Object) error {
		stored.GetObjectKind().SetGroupVersionKind(ch.kind)
		return c.objects.Apply(ch.resource, stored, ch.namespace, *o.AsPatchOptions())
	}
	current, err := c.currentLocked(ch.place)
	switch {
	case apierrors.IsNotFound(err):
		err = c.applyNewLocked(ch, applied, save)
	case err == nil:
		applied.SetDeletionTimestamp(current.GetDeletionTimestamp())
		err = c.replaceLocked(ch, applied, save)
	}
	if err != nil {
		return err
	}
	if applied.GetDeletionTimestamp() != nil && len(applied.GetFinalizers()) == 0 {
		return nil // the object was deleted
	}
	return c.readLocked(ch.place, obj)
}

// applyNewLocked creates an object with an apply.
func (c *fakeClient) applyNewLocked(
	ch change, applied *unstructured.Unstructured, save func(runtime.Object) error,
) error {
	if ch.name == "" {
		return nameless(ch.kind)
	}
	if uid := applied.GetUID(); uid != "" {
		return apierrors.NewConflict(ch.resource.GroupResource(), ch.name,
			fmt.Errorf("uid mismatch: the object has uid %s, and there is no object of this name", uid))
	}
	if c.statuses[ch.kind] {
		delete(applied.Object, "status")
	}
	applied.SetResourceVersion("1")
	if c.global {
		applied.SetResourceVersion(c.nextLocked())
	}
	if _, err := c.typed(applied); err != nil {
		return err
	}
	return save(applied) // a typed object would also own its zero values
}

func (c *fakeClient) Apply(_ context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return c.apply(obj, false, new(client.ApplyOptions).ApplyOptions(opts))
}

// apply applies body, or only its status, and sets body to the result.
func (c *fakeClient) apply(body runtime.ApplyConfiguration, status bool, o *client.ApplyOptions) error {
	if body == nil {
		return errors.New("apply: the configuration is nil")
	}
	u := &unstructured.Unstructured{}
	if err := convert(body, u); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if err := c.patch(u, asIs{}, status, &client.PatchOptions{
		DryRun: o.DryRun, Force: o.Force, FieldManager: o.FieldManager,
	}); err != nil {
		return err
	}
	return setConfiguration(body, u)
}

// asIs is an apply patch that consists of the object itself.
type asIs struct{}

func (asIs) Type() types.PatchType { return types.ApplyPatchType }

func (asIs) Data(obj client.Object) ([]byte, error) { return json.Marshal(obj) }

// setConfiguration sets an apply configuration to the fields of u. An unstructured configuration then points to u.
func setConfiguration(obj runtime.ApplyConfiguration, u *unstructured.Unstructured) error {
	if to, ok := obj.(interface{ SetUnstructuredContent(map[string]any) }); ok {
		to.SetUnstructuredContent(u.Object)
		return nil
	}
	zero(obj)
	return convert(u, obj)
}

// dry reports whether a call is a dry run, which has no effect.
func dry(stages []string) bool { return slices.Contains(stages, metav1.DryRunAll) }
