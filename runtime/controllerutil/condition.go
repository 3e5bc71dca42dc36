package controllerutil

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCondition sets a condition in conditions, which belong to the status of o. The observed generation becomes that of
// o. The time of the last transition changes only with the status, so setting an equal condition changes nothing.
// SetCondition reports whether it changed conditions.
//
//	controllerutil.SetCondition(g, &g.Status.Conditions, metav1.Condition{
//		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Deployed",
//	})
func SetCondition(o metav1.Object, conditions *[]metav1.Condition, condition metav1.Condition) (changed bool) {
	condition.ObservedGeneration = o.GetGeneration()
	return meta.SetStatusCondition(conditions, condition)
}
