/*
Copyright 2026.
*/

package webhook

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/webhook"

	crewv1 "example.org/fleet/api/crew/v1"
)

// CaptainDefaulter sets defaults in Captain objects.
type CaptainDefaulter struct{}

// +kubebuilder:webhook:path=/mutate-crew-example-org-v1-captain,mutating=true,failurePolicy=fail,sideEffects=None,groups="crew.example.org",resources=captains,verbs=create;update,versions=v1,name=default.captain.v1.crew.example.org,admissionReviewVersions=v1

// Default is called for every Captain that is created or updated, before it is validated and stored. Replace the label
// with your own defaults. A default that depends on no other field can also be a +default marker of the type.
func (d *CaptainDefaulter) Default(_ context.Context, captain *crewv1.Captain) error {
	const partOf = "app.kubernetes.io/part-of"
	if captain.Labels[partOf] == "" {
		metav1.SetMetaDataLabel(&captain.ObjectMeta, partOf, "fleet-operator")
	}
	return nil
}

// SetupWithManager registers the defaulter as a webhook.
func (d *CaptainDefaulter) SetupWithManager(m controller.Manager) error {
	return webhook.For[*crewv1.Captain](m).WithDefaulter(d).Complete()
}
