package controllerutil

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCondition sets a condition among conditions, which belong to the status of o, and says that it was found of the
// generation that o has. The time of its last transition changes only when its status does, so that setting what is there
// changes nothing. It reports whether conditions were changed.
//
//	controllerutil.SetCondition(g, &g.Status.Conditions, metav1.Condition{
//		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Deployed",
//	})
func SetCondition(o metav1.Object, conditions *[]metav1.Condition, condition metav1.Condition) (changed bool) {
	condition.ObservedGeneration = o.GetGeneration()
	return meta.SetStatusCondition(conditions, condition)
}
