package komega_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/compat/fake"
	"github.com/kctrl-dev/kctrl/runtime/compat/komega"
)

func TestFunctionsActWhenTheyAreCalled(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	k := komega.New(c).WithContext(t.Context())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "pod"}}
	get := k.Object(pod)
	if _, err := get(); !apierrors.IsNotFound(err) {
		t.Errorf("before it is made: %v", err)
	}
	if err := c.Create(t.Context(), pod.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := k.Update(pod, func() { pod.Labels = map[string]string{"a": "b"} })(); err != nil {
		t.Error(err)
	}
	if err := k.UpdateStatus(pod, func() { pod.Status.Phase = corev1.PodRunning })(); err != nil {
		t.Error(err)
	}
	if got, err := get(); err != nil || got.GetLabels()["a"] != "b" || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("%v %v", got, err)
	}
	if list, err := k.ObjectList(&corev1.PodList{})(); err != nil || len(list.(*corev1.PodList).Items) != 1 {
		t.Errorf("%v %v", list, err)
	}
}

func TestASuiteSaysItsClientOnce(t *testing.T) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a suite without a client can read")
			}
		}()
		komega.Get(&corev1.Pod{})
	}()
	c := fake.NewClientBuilder().Build()
	komega.SetContext(t.Context())
	komega.SetClient(c)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "pod"}}
	if err := c.Create(t.Context(), pod.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	for name, act := range map[string]func() error{
		"get": komega.Get(pod.DeepCopy()), "list": komega.List(&corev1.PodList{}),
		"update status": komega.UpdateStatus(pod.DeepCopy(), func() {}),
	} {
		if err := act(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := komega.Update(pod, func() { pod.Labels = map[string]string{"a": "b"} })(); err != nil {
		t.Error(err)
	}
	if got, err := komega.Object(pod)(); err != nil || got.GetLabels()["a"] != "b" {
		t.Errorf("%v %v", got, err)
	}
	if list, err := komega.ObjectList(&corev1.PodList{})(); err != nil || len(list.(*corev1.PodList).Items) != 1 {
		t.Errorf("%v %v", list, err)
	}
}
