/*
Copyright 2026.
*/

package controller

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"

	webv1 "example.com/website/api/v1"
)

// SiteReconciler runs a Deployment for each Site, with a Service in front of it.
type SiteReconciler struct {
	client.Client
	// Events records events about changes. It may be nil.
	Events *events.Recorder
}

// +kubebuilder:rbac:groups=web.example.com,resources=sites,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=web.example.com,resources=sites/status,verbs=patch
// +kubebuilder:rbac:groups=web.example.com,resources=sites/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// siteLabel identifies the Pods of one Site. The selector of a Deployment is immutable, so it depends only
	// on the object's name.
	siteLabel = "web.example.com/site"
	// siteOwner is the field manager of this controller's server-side applies.
	siteOwner client.FieldOwner = "site-controller"
	// sitePort is the port of the containers and of the Service.
	sitePort = 8080
	// siteFinalizer keeps a deleted Site until it is cleaned up.
	siteFinalizer = "web.example.com/site"
)

// Reconcile is called after every change of the Site and of the objects that it owns. It must be safe to call
// again at any time.
func (r *SiteReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	site := &webv1.Site{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		if apierrors.IsNotFound(err) {
			log.FromContext(ctx).Info("Site is gone")
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get Site: %w", err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.finalize(ctx, site)
	}
	if err := r.keep(ctx, site); err != nil {
		return reconcile.Result{}, err
	}
	deployment, err := r.deploy(ctx, site)
	return reconcile.Result{}, errors.Join(err, r.writeStatus(ctx, site, deployment, err))
}

// keep adds the finalizer.
func (r *SiteReconciler) keep(ctx context.Context, site *webv1.Site) error {
	before := site.DeepCopy()
	if !controllerutil.AddFinalizer(site, siteFinalizer) {
		return nil
	}
	if err := r.Patch(ctx, site, client.MergeFromWithOptimisticLock(before)); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	return nil
}

// finalize cleans up external resources, and removes the finalizer. Kubernetes deletes the owned objects.
func (r *SiteReconciler) finalize(ctx context.Context, site *webv1.Site) error {
	// Clean up external resources here. This may run again, after an error or a restart.

	before := site.DeepCopy()
	if !controllerutil.RemoveFinalizer(site, siteFinalizer) {
		return nil
	}
	if err := r.Patch(ctx, site, client.MergeFromWithOptimisticLock(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	r.Events.Eventf(site, nil, events.Normal, "Deleted", "Delete", "Everything is cleaned up")
	return nil
}

// deploy applies the objects of a Site, and returns the Deployment as it is stored.
func (r *SiteReconciler) deploy(ctx context.Context, site *webv1.Site) (*appsv1.Deployment, error) {
	deployment := siteDeployment(site)
	if err := r.apply(ctx, site, deployment); err != nil {
		return nil, fmt.Errorf("apply the Deployment: %w", err)
	}
	if err := r.apply(ctx, site, siteService(site)); err != nil {
		return nil, fmt.Errorf("apply the Service: %w", err)
	}
	return deployment, nil
}

// apply creates or updates an object by server-side apply. Fields of other owners, such as annotations, stay. An existing
// object that this Site does not own is an error.
func (r *SiteReconciler) apply(ctx context.Context, owner *webv1.Site, desired object.Object) error {
	live := desired.DeepCopyObject().(object.Object)
	err := r.Get(ctx, object.KeyOf(desired), live)
	if err == nil && !metav1.IsControlledBy(live, owner) {
		return fmt.Errorf("%s exists, and does not belong to this Site", desired.GetName())
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return err
	}
	if err := controllerutil.SetControllerReference(owner, desired, r.Scheme()); err != nil {
		return err
	}
	result, err := controllerutil.ApplyIfDifferent(ctx, r.Client, desired, siteOwner, client.ForceOwnership)
	if err == nil && result != controllerutil.OperationResultNone {
		r.Events.Eventf(owner, desired, events.Normal, "Applied", "Apply", "%T %s is %s", desired, desired.GetName(), result)
	}
	return err
}

// writeStatus applies the status: the state of the Deployment, or the error of applying it.
func (r *SiteReconciler) writeStatus(ctx context.Context, site *webv1.Site, deployment *appsv1.Deployment, failure error) error {
	status := webv1.SiteStatus{
		ObservedGeneration: site.Generation,
		Conditions:         slices.Clone(site.Status.Conditions),
		Replicas:           site.Status.Replicas,
		ReadyReplicas:      site.Status.ReadyReplicas,
		Selector:           new(metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: siteSelector(site)})),
	}
	if deployment != nil {
		status.Replicas, status.ReadyReplicas = new(deployment.Status.Replicas), new(deployment.Status.ReadyReplicas)
	}
	ours := siteConditions(deployment, failure)
	for _, condition := range ours {
		controllerutil.SetCondition(site, &status.Conditions, condition)
	}
	// Apply only the conditions of this controller: others keep their owners.
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c metav1.Condition) bool {
		return meta.FindStatusCondition(ours, c.Type) == nil
	})
	desired := &webv1.Site{
		ObjectMeta: metav1.ObjectMeta{Name: site.Name, Namespace: site.Namespace},
		Status:     status,
	}
	_, err := controllerutil.ApplyStatusIfDifferent(ctx, r.Client, desired, siteOwner, client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("apply the status: %w", err)
	}
	return nil
}

// siteConditions returns the conditions for a Deployment: whether it is available, rolling out, or failing. If it
// was not applied, only Degraded is known.
func siteConditions(deployment *appsv1.Deployment, failure error) []metav1.Condition {
	if failure != nil {
		return []metav1.Condition{
			{Type: "Available", Status: metav1.ConditionUnknown, Reason: "NotApplied", Message: "The spec is not applied"},
			{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "NotApplied", Message: "The spec is not applied"},
			{Type: "Degraded", Status: metav1.ConditionTrue, Reason: "NotApplied", Message: failure.Error()},
		}
	}
	available := metav1.Condition{Type: "Available", Status: metav1.ConditionFalse, Reason: "TooFewReplicas", Message: "Too few replicas are available"}
	degraded := metav1.Condition{Type: "Degraded", Status: metav1.ConditionFalse, Reason: "AsExpected", Message: "The Deployment has no error"}
	for _, c := range deployment.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue:
			available.Status, available.Reason, available.Message = metav1.ConditionTrue, "EnoughReplicas", "Enough replicas are available"
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse,
			c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, c.Reason, c.Message
		}
	}
	progressing := metav1.Condition{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "RolledOut", Message: "All replicas are up to date"}
	wanted, status := int32(1), deployment.Status
	if deployment.Spec.Replicas != nil {
		wanted = *deployment.Spec.Replicas
	}
	if status.ObservedGeneration < deployment.Generation || status.UpdatedReplicas != wanted || status.Replicas != wanted || status.AvailableReplicas != wanted {
		progressing.Status, progressing.Reason = metav1.ConditionTrue, "RollingOut"
		progressing.Message = fmt.Sprintf("%d of %d replicas are up to date, and %d are available", status.UpdatedReplicas, wanted, status.AvailableReplicas)
	}
	return []metav1.Condition{available, progressing, degraded}
}

// siteDeployment returns the Deployment of an object.
func siteDeployment(site *webv1.Site) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: siteMeta(site),
		Spec: appsv1.DeploymentSpec{
			Replicas: site.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: siteSelector(site)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: siteMeta(site).Labels},
				Spec: corev1.PodSpec{
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot:   new(true),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name:  "site",
						Image: site.Spec.Image,
						Ports: []corev1.ContainerPort{{Name: "main", ContainerPort: sitePort, Protocol: corev1.ProtocolTCP}},
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: new(false),
							Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
					}},
				},
			},
		},
	}
}

// siteService returns the Service in front of the Deployment.
func siteService(site *webv1.Site) *corev1.Service {
	about := siteMeta(site)
	about.Name = strings.ReplaceAll(about.Labels[siteLabel], ".", "-") // Service names are DNS labels
	return &corev1.Service{
		ObjectMeta: about,
		Spec: corev1.ServiceSpec{
			Selector: siteSelector(site),
			Ports: []corev1.ServicePort{{
				Name: "main", Port: sitePort, TargetPort: intstr.FromString("main"), Protocol: corev1.ProtocolTCP,
			}},
		},
	}
}

// siteMeta returns the name and the labels of the objects that belong to a Site.
func siteMeta(site *webv1.Site) metav1.ObjectMeta {
	labels := siteSelector(site)
	labels["app.kubernetes.io/name"] = "site"
	labels["app.kubernetes.io/instance"] = labels[siteLabel]
	labels["app.kubernetes.io/managed-by"] = "website"
	return metav1.ObjectMeta{Name: site.Name, Namespace: site.Namespace, Labels: labels}
}

// siteSelector returns the labels that only the Pods of this object have. Label values have a lower length limit
// than names.
func siteSelector(site *webv1.Site) map[string]string {
	value := site.Name
	if len(value) > 63 {
		value = fmt.Sprintf("%s-%x", value[:52], sha256.Sum256([]byte(value)))[:63]
	}
	return map[string]string{siteLabel: value}
}

// SetupWithManager takes the client from m, and registers the reconciler for Site objects and the objects they own.
func (r *SiteReconciler) SetupWithManager(m controller.Manager) error {
	if err := errors.Join(appsv1.AddToScheme(m.Scheme()), corev1.AddToScheme(m.Scheme())); err != nil {
		return err
	}
	r.Client = m.Client()
	r.Events = m.EventRecorder("site")
	return controller.For[*webv1.Site](m).
		Named("site").
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Complete(r)
}
