package object_test

import (
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

var leaseKind = coordinationv1.SchemeGroupVersion.WithKind("Lease")

// All three forms in which a program can hold an object implement Object, and their lists implement List.
var (
	_ object.Object = (*coordinationv1.Lease)(nil)
	_ object.Object = (*unstructured.Unstructured)(nil)
	_ object.Object = (*metav1.PartialObjectMetadata)(nil)
	_ object.List   = (*coordinationv1.LeaseList)(nil)
	_ object.List   = (*unstructured.UnstructuredList)(nil)
	_ object.List   = (*metav1.PartialObjectMetadataList)(nil)
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestKindOfATypedObjectComesFromTheScheme(t *testing.T) {
	lease := &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Wrong"}}
	if got, err := object.GVK(lease, newScheme(t)); got != leaseKind || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	list, err := object.GVK(&coordinationv1.LeaseList{}, newScheme(t))
	if list != leaseKind.GroupVersion().WithKind("LeaseList") || err != nil {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestKindOfAnUntypedObjectIsItsOwn(t *testing.T) {
	for _, o := range []runtime.Object{&unstructured.Unstructured{}, &unstructured.UnstructuredList{},
		&metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadataList{}} {
		if got, err := object.GVK(o, runtime.NewScheme()); err == nil {
			t.Errorf("%T without a kind has the kind %v", o, got)
		}
		o.GetObjectKind().SetGroupVersionKind(leaseKind)
		if got, err := object.GVK(o, runtime.NewScheme()); got != leaseKind || err != nil {
			t.Errorf("%T: got %v, %v", o, got, err)
		}
	}
}

func TestKindOfAnUnknownTypeIsAnError(t *testing.T) {
	if _, err := object.GVK(&coordinationv1.Lease{}, runtime.NewScheme()); !runtime.IsNotRegisteredError(err) {
		t.Errorf("got %v", err)
	}
}

func TestKindOfATypeWithTwoKindsIsAnError(t *testing.T) {
	scheme := newScheme(t)
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Lock"},
		&coordinationv1.Lease{})
	if _, err := object.GVK(&coordinationv1.Lease{}, scheme); err == nil ||
		!strings.Contains(err.Error(), "several kinds") {
		t.Errorf("got %v", err)
	}
}

func TestNewReturnsAnEmptyObjectEachTime(t *testing.T) {
	a, b := object.New[*coordinationv1.Lease](), object.New[*coordinationv1.Lease]()
	a.SetName("hello")
	if a == b || b.GetName() != "" {
		t.Error("two calls share an object")
	}
	u := object.New[*unstructured.Unstructured]()
	u.SetName("hello")
	if u.GetName() != "hello" {
		t.Error("an unstructured object cannot be named")
	}
}

func TestNewOfAnInterfaceTypePanics(t *testing.T) {
	defer func() {
		if got, want := fmt.Sprint(recover()), "object.New: object.Object is not a pointer type"; got != want {
			t.Errorf("panicked with %q, want %q", got, want)
		}
	}()
	object.New[object.Object]()
}

func ExampleKeyOf() {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"}}
	fmt.Println(object.KeyOf(lease))
	// Output: default/hello
}
