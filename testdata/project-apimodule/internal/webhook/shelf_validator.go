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

	booksv2 "example.com/library/api/v2"
)

// ShelfValidator refuses a Shelf that the schema of the CRD cannot.
type ShelfValidator struct{}

// +kubebuilder:webhook:path=/validate-books-example-com-v2-shelf,mutating=false,failurePolicy=fail,sideEffects=None,groups="books.example.com",resources=shelves,verbs=create;update,versions=v2,name=validate.shelf.v2.books.example.com,admissionReviewVersions=v1

// ValidateCreate is called for every Shelf that is created. Replace the rule with your own.
func (v *ShelfValidator) ValidateCreate(_ context.Context, shelf *booksv2.Shelf) (admission.Warnings, error) {
	var errs field.ErrorList
	const longest = 63 // that of the value of a label, which the name may become on what the Shelf owns
	if len(shelf.Name) > longest {
		errs = append(errs, field.TooLong(field.NewPath("metadata", "name"), shelf.Name, longest))
	}
	return nil, errs.ToAggregate()
}

// ValidateUpdate is called for every Shelf that is changed. Let pass what was stored before a rule came: finalizers must be able
// to go from it.
func (v *ShelfValidator) ValidateUpdate(_ context.Context, _, _ *booksv2.Shelf) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete is called for every Shelf that is deleted, once delete is among the verbs of the marker.
func (v *ShelfValidator) ValidateDelete(_ context.Context, _ *booksv2.Shelf) (admission.Warnings, error) {
	return nil, nil
}

// SetupWithManager has the API server ask the validator.
func (v *ShelfValidator) SetupWithManager(m controller.Manager) error {
	return webhook.For[*booksv2.Shelf](m).WithValidator(v).Complete()
}
