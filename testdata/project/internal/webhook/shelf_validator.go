/*
Copyright 2026 The Guestbook Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"

	webappv1 "example.com/guestbook/api/v1"
)

// ShelfValidator rejects Shelf objects that the schema of the CRD cannot reject.
type ShelfValidator struct{}

// +kubebuilder:webhook:path=/validate-webapp-example-com-v1-shelf,mutating=false,failurePolicy=fail,sideEffects=None,groups="webapp.example.com",resources=shelves,verbs=create;update,versions=v1,name=validate.shelf.v1.webapp.example.com,admissionReviewVersions=v1

// ValidateCreate is called for every Shelf that is created. Replace the rule with your own.
func (v *ShelfValidator) ValidateCreate(_ context.Context, shelf *webappv1.Shelf) (admission.Warnings, error) {
	var errs field.ErrorList
	const longest = 63 // of a label value: owned objects may have the name as a label
	if len(shelf.Name) > longest {
		errs = append(errs, field.TooLong(field.NewPath("metadata", "name"), shelf.Name, longest))
	}
	return nil, errs.ToAggregate()
}

// ValidateUpdate is called for every Shelf that is changed. Accept objects that were stored before a rule existed:
// otherwise their finalizers cannot be removed.
func (v *ShelfValidator) ValidateUpdate(_ context.Context, _, _ *webappv1.Shelf) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete is called for every Shelf that is deleted, once delete is among the verbs of the marker.
func (v *ShelfValidator) ValidateDelete(_ context.Context, _ *webappv1.Shelf) (admission.Warnings, error) {
	return nil, nil
}

// SetupWithManager registers the validator as a webhook.
func (v *ShelfValidator) SetupWithManager(m controller.Manager) error {
	return webhook.For[*webappv1.Shelf](m).WithValidator(v).Complete()
}
