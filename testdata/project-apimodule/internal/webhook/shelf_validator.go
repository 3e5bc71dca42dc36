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

// ShelfValidator rejects Shelf objects that the schema of the CRD cannot reject.
type ShelfValidator struct{}

// +kubebuilder:webhook:path=/validate-books-example-com-v2-shelf,mutating=false,failurePolicy=fail,sideEffects=None,groups="books.example.com",resources=shelves,verbs=create;update,versions=v2,name=validate.shelf.v2.books.example.com,admissionReviewVersions=v1

// ValidateCreate is called for every Shelf that is created. Replace the rule with your own.
func (v *ShelfValidator) ValidateCreate(_ context.Context, shelf *booksv2.Shelf) (admission.Warnings, error) {
	var errs field.ErrorList
	const longest = 63 // of a label value: owned objects may have the name as a label
	if len(shelf.Name) > longest {
		errs = append(errs, field.TooLong(field.NewPath("metadata", "name"), shelf.Name, longest))
	}
	return nil, errs.ToAggregate()
}

// ValidateUpdate is called for every Shelf that is changed. Accept objects that were stored before a rule existed:
// otherwise their finalizers cannot be removed.
func (v *ShelfValidator) ValidateUpdate(_ context.Context, _, _ *booksv2.Shelf) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete is called for every Shelf that is deleted, once delete is among the verbs of the marker.
func (v *ShelfValidator) ValidateDelete(_ context.Context, _ *booksv2.Shelf) (admission.Warnings, error) {
	return nil, nil
}

// SetupWithManager registers the validator as a webhook.
func (v *ShelfValidator) SetupWithManager(m controller.Manager) error {
	return webhook.For[*booksv2.Shelf](m).WithValidator(v).Complete()
}
