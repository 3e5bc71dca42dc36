package fake

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// firstVersion is the resourceVersion of initial objects. Writes never produce it.
const firstVersion = "999"

// store keeps objects in a tracker of client-go and adds the rules of API servers that trackers lack: versions,
// finalizers and status subresources.
type store struct {
	mu       sync.Mutex // serializes calls: writes depend on earlier reads, and calls register kinds in the scheme
	objects  testing.ObjectTracker
	scheme   *runtime.Scheme
	statuses map[schema.GroupVersionKind]bool // kinds with a status subresource
	managed  bool                             // objects records managed fields
	global   bool                             // one counter serves all objects
	version  uint64                           // version of the last write, if global
}

// place identifies a stored object.
type place struct {
	kind            schema.GroupVersionKind
	resource        schema.GroupVersionResource
	namespace, name string
}

// placeLocked returns the place of obj. It registers the kind of an object without a Go type.
func (s *store) placeLocked(obj client.Object) (place, error) {
	kind, err := s.kindLocked(obj)
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return place{kind, resource, obj.GetNamespace(), obj.GetName()}, err
}

// kindLocked returns the kind of obj, without the suffix List. It registers the kinds of untyped objects.
func (s *store) kindLocked(obj runtime.Object) (schema.GroupVersionKind, error) {
	kind, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		return kind, err
	}
	if meta.IsListType(obj) {
		kind.Kind = trimList(kind.Kind)
		if list := kind.GroupVersion().WithKind(kind.Kind + listSuffix); !hasType(obj) && !s.scheme.Recognizes(list) {
			s.scheme.AddKnownTypeWithName(list, obj)
		}
	} else if !hasType(obj) && !s.scheme.Recognizes(kind) {
		s.scheme.AddKnownTypeWithName(kind, obj)
	}
	return kind, nil
}

// add stores the initial objects. Like the original, it sets their resourceVersion.
func (s *store) add(obj runtime.Object) error {
	if meta.IsListType(obj) {
		items, err := meta.ExtractList(obj)
		for _, item := range items {
			err = errors.Join(err, s.add(item))
		}
		return err
	}
	o, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("add %T: %w", obj, err)
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		return fmt.Errorf("refusing to create obj %s with metadata.deletionTimestamp but no finalizers", o.GetName())
	}
	if s.managed { // the tracker drops invalid managed fields
		if err := managedfields.ValidateManagedFields(o.GetManagedFields()); err != nil {
			return fmt.Errorf("invalid managedFields of %T %q: %w", obj, o.GetName(), err)
		}
	}
	if o.GetResourceVersion() == "" {
		o.SetResourceVersion(firstVersion)
		if s.global {
			o.SetResourceVersion(s.nextLocked())
		}
	}
	if _, ok := obj.(*metav1.PartialObjectMetadata); ok {
		if _, err := s.kindLocked(obj); err != nil {
			return err
		}
	}
	stored, err := s.typed(obj)
	if err != nil {
		return err
	}
	return s.objects.Add(stored)
}

// createLocked stores obj as a new object and sets its resourceVersion.
func (s *store) createLocked(p place, obj client.Object, save func(runtime.Object) error) error {
	if obj.GetName() == "" {
		return nameless(p.kind)
	}
	if obj.GetResourceVersion() != "" {
		return apierrors.NewBadRequest("resourceVersion can not be set for Create requests")
	}
	obj.SetResourceVersion("1")
	if s.global {
		obj.SetResourceVersion(s.nextLocked())
	}
	stored, err := s.typed(obj)
	if err == nil {
		err = save(stored)
	}
	if err != nil {
		obj.SetResourceVersion("")
	}
	return err
}

// change describes a write to a stored object.
type change struct {
	place
	status    bool // only the status changes
	unchecked bool // without a resourceVersion, it replaces any version
	deletes   bool // sets deletionTimestamp
}

// replaceLocked stores next with save. It sets the resourceVersion of next, and restores the fields that the write does
// not affect: the status, or all fields except the status. It removes an object that is being deleted and has no
// finalizers.
func (s *store) replaceLocked(c change, next client.Object, save func(runtime.Object) error) error {
	if next.GetName() == "" {
		return nameless(c.kind)
	}
	current, err := s.currentLocked(c.place)
	if err != nil {
		return err
	}
	switch {
	case s.statuses[c.kind]:
		err = merge(current, next, c.status)
	case c.status:
		err = apierrors.NewNotFound(c.resource.GroupResource(), c.name)
	}
	if err != nil {
		return err
	}
	if next.GetResourceVersion() == "" && (c.unchecked || unchecked(c.kind)) {
		next.SetResourceVersion(current.GetResourceVersion())
	}
	if next.GetResourceVersion() != current.GetResourceVersion() {
		return apierrors.NewConflict(c.resource.GroupResource(), c.name, errors.New("object was modified"))
	}
	if !c.deletes && !sameDeletion(current, next) {
		return fmt.Errorf("cannot update %s: metadata.deletionTimestamp is immutable", c.name)
	}
	version, err := s.afterLocked(current.GetResourceVersion())
	if err != nil {
		return err
	}
	next.SetResourceVersion(version)
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 {
		return s.objects.Delete(c.resource, c.namespace, c.name)
	}
	stored, err := s.typed(next)
	if err != nil {
		return err
	}
	if u, ok := stored.(*unstructured.Unstructured); ok {
		u.SetGroupVersionKind(c.kind)
	}
	return save(stored)
}

// removeLocked deletes an object, or sets its deletionTimestamp if it has finalizers.
func (s *store) removeLocked(p place) error {
	current, err := s.currentLocked(p)
	if err != nil || len(current.GetFinalizers()) == 0 {
		return s.objects.Delete(p.resource, p.namespace, p.name)
	}
	now := metav1.Now()
	current.SetDeletionTimestamp(&now)
	return s.replaceLocked(change{place: p, unchecked: true, deletes: true}, current, func(obj runtime.Object) error {
		return s.objects.Update(p.resource, obj, p.namespace, metav1.UpdateOptions{})
	})
}

// currentLocked returns a copy of a stored object.
func (s *store) currentLocked(p place) (client.Object, error) {
	stored, err := s.objects.Get(p.resource, p.namespace, p.name)
	if err != nil {
		return nil, err
	}
	current, ok := stored.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", stored)
	}
	return current, nil
}

func (s *store) nextLocked() string {
	s.version++
	return strconv.FormatUint(s.version, 10)
}

// afterLocked returns the resourceVersion that follows the given one.
func (s *store) afterLocked(version string) (string, error) {
	if s.global {
		return s.nextLocked(), nil
	}
	if version == "" {
		return "1", nil
	}
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return "", fmt.Errorf("resourceVersion %q is not a number: %w", version, err)
	}
	return strconv.FormatUint(n+1, 10), nil
}

// typed returns obj in the Go type that the scheme has for its kind, because a tracker lists the objects of a kind in
// one type.
func (s *store) typed(obj runtime.Object) (runtime.Object, error) {
	if hasType(obj) {
		return obj, nil
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	if !s.scheme.Recognizes(kind) {
		return obj, nil
	}
	stored, err := s.scheme.New(kind)
	if err != nil || !hasType(stored) {
		return obj, err
	}
	return stored, convert(obj, stored)
}

// merge copies the status of current to next. If status is set, it copies all fields except the status instead. It
// keeps the version and the managed fields of next.
func merge(current, next client.Object, status bool) error {
	kept, err := fieldsOf(current)
	if err != nil {
		return err
	}
	changed, err := fieldsOf(next)
	if err != nil {
		return err
	}
	version, managed, kind := next.GetResourceVersion(), next.GetManagedFields(), next.GetObjectKind().GroupVersionKind()
	if status {
		kept, changed = changed, kept
	}
	delete(changed, "status")
	if value, ok := kept["status"]; ok {
		changed["status"] = value
	}
	zero(next)
	if u, ok := next.(*unstructured.Unstructured); ok {
		u.Object = changed
	} else if err := convert(changed, next); err != nil {
		return err
	}
	next.GetObjectKind().SetGroupVersionKind(kind)
	next.SetResourceVersion(version)
	next.SetManagedFields(managed)
	return nil
}

// sameDeletion reports whether two deletion timestamps are in the same second, because patches truncate times.
func sameDeletion(a, b client.Object) bool {
	at, bt := a.GetDeletionTimestamp(), b.GetDeletionTimestamp()
	if at == nil || bt == nil {
		return at == bt
	}
	return at.Sub(bt.Time).Abs() < time.Second
}

func nameless(kind schema.GroupVersionKind) error {
	return apierrors.NewInvalid(kind.GroupKind(), "",
		field.ErrorList{field.Required(field.NewPath("metadata.name"), "name is required")})
}

// hasType reports whether obj has the Go type of its kind.
func hasType(obj runtime.Object) bool {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return false
	}
	return true
}

func fieldsOf(obj runtime.Object) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy().Object, nil
	}
	fields := map[string]any{}
	return fields, convert(obj, &fields)
}

// convert sets a value from the JSON of another value.
func convert(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encode %T: %w", from, err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("decode %T: %w", to, err)
	}
	return nil
}

// zero sets the value behind a pointer to zero.
func zero(pointer any) { reflect.ValueOf(pointer).Elem().SetZero() }
