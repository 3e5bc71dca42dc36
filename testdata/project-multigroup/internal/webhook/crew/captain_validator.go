/*
Copyright 2026.
*/

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"

	crewv1 "example.org/fleet/api/crew/v1"
)

// CaptainValidator rejects Captain objects that the schema of the CRD cannot reject.
type CaptainValidator struct{}

// +kubebuilder:webhook:path=/validate-crew-example-org-v1-captain,mutating=false,failurePolicy=fail,sideEffects=None,groups="crew.example.org",resources=captains,verbs=create;update,versions=v1,name=validate.captain.v1.crew.example.org,admissionReviewVersions=v1

// ValidateCreate is called for every Captain that is created. Replace the rule with your own.
func (v *CaptainValidator) ValidateCreate(_ context.Context, captain *crewv1.Captain) (admission.Warnings, error) {
	var errs field.ErrorList
	const longest = 63 // of a label value: owned objects may have the name as a label
	if len(captain.Name) > longest {
		errs = append(errs, field.TooLong(field.NewPath("metadata", "name"), captain.Name, longest))
	}
	return nil, errs.ToAggregate()
}

// ValidateUpdate is called for every Captain that is changed. Accept objects that were stored before a rule existed:
// otherwise their finalizers cannot be removed.
func (v *CaptainValidator) ValidateUpdate(_ context.Context, _, _ *crewv1.Captain) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete is called for every Captain that is deleted, once delete is among the verbs of the marker.
func (v *CaptainValidator) ValidateDelete(_ context.Context, _ *crewv1.Captain) (admission.Warnings, error) {
	return nil, nil
}

// SetupWithManager registers the validator as a webhook.
func (v *CaptainValidator) SetupWithManager(m controller.Manager) error {
	return webhook.For[*crewv1.Captain](m).WithValidator(v).Complete()
}
