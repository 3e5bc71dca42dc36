/*
Copyright 2026.
*/

package webhook

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/webhook"

	appsv1 "k8s.io/api/apps/v1"
)

// DeploymentDefaulter sets defaults in Deployment objects.
type DeploymentDefaulter struct{}

// +kubebuilder:webhook:path=/mutate-apps-v1-deployment,mutating=true,failurePolicy=ignore,sideEffects=None,groups="apps",resources=deployments,verbs=create;update,versions=v1,name=default.deployment.v1.apps,admissionReviewVersions=v1,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system","system"]}]},"objectSelector":{"matchExpressions":[{"key":"app.kubernetes.io/part-of","operator":"Exists"}]}}`

// Default is called for every Deployment of the cluster that the marker selects, before it is validated and stored.
// Replace the example, which sets a label without a value, with your own defaults.
func (d *DeploymentDefaulter) Default(_ context.Context, deploymentObject *appsv1.Deployment) error {
	const partOf = "app.kubernetes.io/part-of"
	if value, labelled := deploymentObject.Labels[partOf]; labelled && value == "" {
		metav1.SetMetaDataLabel(&deploymentObject.ObjectMeta, partOf, "fleet-operator")
	}
	return nil
}

// SetupWithManager registers the defaulter as a webhook.
func (d *DeploymentDefaulter) SetupWithManager(m controller.Manager) error {
	return webhook.For[*appsv1.Deployment](m).WithDefaulter(d).Complete()
}
