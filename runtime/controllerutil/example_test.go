package controllerutil_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
)

func ExampleSetCondition() {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Generation: 2}}
	var conditions []metav1.Condition
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Deployed"}
	fmt.Println(controllerutil.SetCondition(o, &conditions, ready), conditions[0].ObservedGeneration)
	fmt.Println(controllerutil.SetCondition(o, &conditions, ready))
	// Output:
	// true 2
	// false
}

func ExampleAddFinalizer() {
	o := &corev1.ConfigMap{}
	fmt.Println(controllerutil.AddFinalizer(o, "example.com/cleanup"), o.Finalizers)
	fmt.Println(controllerutil.AddFinalizer(o, "example.com/cleanup"))
	// Output:
	// true [example.com/cleanup]
	// false
}
