// Package side is what the operators of both sides have in common: what they do with an object, and how they are told
// from outside to work and to say what that took.
package side

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

// ReadEnv is the environment variable that says how objects are read from the cache. ReadView is without a copy; anything
// else is Get.
const (
	ReadEnv  = "BENCH_READ"
	ReadView = "view"
)

// Observed reports whether the status of the object is that of its spec, so that there is nothing to do.
func Observed(widget *v1.Widget) bool { return widget.Status.ObservedGeneration == widget.Generation }

// Observe makes the status that of the spec.
func Observe(widget *v1.Widget) {
	widget.Status.ObservedGeneration = widget.Generation
	meta.SetStatusCondition(&widget.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Reconciled", Message: "the widget is ready",
		ObservedGeneration: widget.Generation,
	})
}
