// Package side contains the code that the measured operators share: the logic of their reconcilers, and the commands
// that control them.
package side

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kctrl-dev/kctrl/bench/internal/widgets/v1"
)

// ReadEnv is the environment variable that selects how objects are read from the cache. ReadView reads without a copy;
// all other values use Get.
const (
	ReadEnv  = "BENCH_READ"
	ReadView = "view"
)

// Observed reports whether the status matches the spec, so that a reconcile has nothing to do.
func Observed(widget *v1.Widget) bool { return widget.Status.ObservedGeneration == widget.Generation }

// Observe sets the status of the current spec.
func Observe(widget *v1.Widget) {
	widget.Status.ObservedGeneration = widget.Generation
	meta.SetStatusCondition(&widget.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Reconciled", Message: "the widget is ready",
		ObservedGeneration: widget.Generation,
	})
}
