package observedgeneration

import (
	v1 "example.com/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func literal(site *v1.Site) {
	meta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}) // want `observedgeneration: the condition has no ObservedGeneration`
}

func variable(site *v1.Site) {
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}
	ready.Reason = "Done"
	meta.SetStatusCondition(&site.Status.Conditions, ready) // want `the condition has no ObservedGeneration`
}

func lines(tenant *v1.Tenant) {
	meta.SetStatusCondition(&tenant.Status.Conditions, metav1.Condition{ // want `the condition has no ObservedGeneration`
		Type:   "Ready",
		Status: metav1.ConditionTrue,
	})
}

func complete(site *v1.Site) {
	meta.SetStatusCondition(&site.Status.Conditions, metav1.Condition{Type: "Ready", ObservedGeneration: site.Generation})
	ready := metav1.Condition{Type: "Ready"}
	ready.ObservedGeneration = site.Generation
	meta.SetStatusCondition(&site.Status.Conditions, ready)
}

func fromElsewhere(site *v1.Site, condition metav1.Condition, conditions []metav1.Condition) {
	meta.SetStatusCondition(&site.Status.Conditions, condition)
	meta.SetStatusCondition(&conditions, metav1.Condition{Type: "Ready"})
}
