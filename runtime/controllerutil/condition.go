package controllerutil

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCondition adds condition to conditions, or replaces the condition of the same type. conditions belong to the
// status of o. SetCondition sets the observed generation to the generation of o. It changes the time of the last
// transition only if the status of the condition changes, so setting an equal condition changes nothing. It reports
// whether it changed conditions.
//
//	controllerutil.SetCondition(g, &g.Status.Conditions, metav1.Condition{
//		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Deployed",
//	})
func SetCondition(o metav1.Object, conditions *[]metav1.Condition, condition metav1.Condition) (changed bool) {
	condition.ObservedGeneration = o.GetGeneration()
	return meta.SetStatusCondition(conditions, condition)
}
