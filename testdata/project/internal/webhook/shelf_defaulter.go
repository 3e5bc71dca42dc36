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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/webhook"

	webappv1 "example.com/guestbook/api/v1"
)

// ShelfDefaulter sets defaults in Shelf objects.
type ShelfDefaulter struct{}

// +kubebuilder:webhook:path=/mutate-webapp-example-com-v1-shelf,mutating=true,failurePolicy=fail,sideEffects=None,groups="webapp.example.com",resources=shelves,verbs=create;update,versions=v1,name=default.shelf.v1.webapp.example.com,admissionReviewVersions=v1

// Default is called for every Shelf that is created or updated, before it is validated and stored. Replace the label
// with your own defaults. A default that depends on no other field can also be a +default marker of the type.
func (d *ShelfDefaulter) Default(_ context.Context, shelf *webappv1.Shelf) error {
	const partOf = "app.kubernetes.io/part-of"
	if shelf.Labels[partOf] == "" {
		metav1.SetMetaDataLabel(&shelf.ObjectMeta, partOf, "guestbook")
	}
	return nil
}

// SetupWithManager registers the defaulter as a webhook.
func (d *ShelfDefaulter) SetupWithManager(m controller.Manager) error {
	return webhook.For[*webappv1.Shelf](m).WithDefaulter(d).Complete()
}
