/*
Copyright 2026.
*/

package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	webv1 "example.com/website/api/v1"
	"example.com/website/internal/controller"
)

// startSiteController runs the manager against an API server in memory, or a real one with KCTRL_TEST_SERVER=real. No
// controller runs Deployments there: tests write their status.
func startSiteController(ctx context.Context, t *testing.T) *client.REST {
	t.Helper()
	env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(webv1.AddToScheme(m.Scheme()), new(controller.SiteReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("the manager ended with an error: %v", err)
		}
	})
	return m.Live()
}

func newSite(name string) *webv1.Site {
	return &webv1.Site{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       webv1.SiteSpec{},
	}
}

// TestSiteRunsItsImage follows an object from its creation to a Deployment that serves, and to another image.
func TestSiteRunsItsImage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	live := startSiteController(ctx, t)
	site := newSite("sample")
	if err := live.Create(ctx, site); err != nil {
		t.Fatal(err)
	}
	deployment := testenv.Await(ctx, t, live, &appsv1.Deployment{ObjectMeta: site.ObjectMeta}, runsSite(site))
	if !metav1.IsControlledBy(deployment, site) {
		t.Errorf("the Deployment has the owners %v", deployment.OwnerReferences)
	}
	service := testenv.Await(ctx, t, live, &corev1.Service{ObjectMeta: site.ObjectMeta}, func(*corev1.Service) bool { return true })
	if !equality.Semantic.DeepEqual(service.Spec.Selector, deployment.Spec.Selector.MatchLabels) || service.Spec.Ports[0].Port != 8080 {
		t.Errorf("the Service is %+v", service.Spec)
	}
	testenv.Await(ctx, t, live, site, isSite(metav1.ConditionFalse, metav1.ConditionTrue, metav1.ConditionFalse))

	// The object is available once the status of its Deployment is.
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"}},
	}
	if err := live.Status().Update(ctx, deployment); err != nil {
		t.Fatal(err)
	}
	site = testenv.Await(ctx, t, live, site, isSite(metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionFalse))

	// An image may have no tag, and a registry with a port. The immutable selector does not depend on the image.
	site.Spec.Image = "registry.example.com:5000/other"
	if err := live.Update(ctx, site); err != nil {
		t.Fatal(err)
	}
	changed := testenv.Await(ctx, t, live, deployment, runsSite(site))
	if !equality.Semantic.DeepEqual(changed.Spec.Selector, deployment.Spec.Selector) {
		t.Errorf("the selector was %v and is %v", deployment.Spec.Selector, changed.Spec.Selector)
	}
	testenv.Await(ctx, t, live, site, isSite(metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionFalse))

	// The controller creates a deleted Deployment again.
	if err := live.Delete(ctx, changed); err != nil {
		t.Fatal(err)
	}
	testenv.Await(ctx, t, live, deployment, func(d *appsv1.Deployment) bool { return d.UID != changed.UID })

	// An error of the Deployment appears in the status of the object.
	failed := testenv.Await(ctx, t, live, deployment, runsSite(site))
	failed.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
	if err := live.Status().Update(ctx, failed); err != nil {
		t.Fatal(err)
	}
	testenv.Await(ctx, t, live, site, isSite(metav1.ConditionFalse, metav1.ConditionTrue, metav1.ConditionTrue))
	if err := live.Delete(ctx, site); err != nil {
		t.Fatal(err)
	}
	testenv.AwaitGone(ctx, t, live, site)
}

// TestSiteObjectsKeepApart checks that objects share no Pods, and do not change objects of other owners.
func TestSiteObjectsKeepApart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	live := startSiteController(ctx, t)

	selectors := map[string]string{}
	for _, name := range []string{"one", "two", strings.Repeat("n", 63) + ".one", strings.Repeat("n", 63) + ".two"} {
		site := newSite(name)
		if err := live.Create(ctx, site); err != nil {
			t.Fatal(err)
		}
		deployment := testenv.Await(ctx, t, live, &appsv1.Deployment{ObjectMeta: site.ObjectMeta}, runsSite(site))
		selector := metav1.FormatLabelSelector(deployment.Spec.Selector)
		if other, taken := selectors[selector]; taken {
			t.Errorf("%s and %s select the same Pods: %s", name, other, selector)
		}
		selectors[selector] = name
	}

	labels := map[string]string{"web.example.com/site": "taken"}
	theirs := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "taken", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs"}}},
			},
		},
	}
	site := newSite("taken")
	if err := errors.Join(live.Create(ctx, theirs), live.Create(ctx, site)); err != nil {
		t.Fatal(err)
	}
	testenv.Await(ctx, t, live, site, isSite(metav1.ConditionUnknown, metav1.ConditionFalse, metav1.ConditionTrue))
	testenv.Await(ctx, t, live, theirs, func(d *appsv1.Deployment) bool {
		return len(d.OwnerReferences) == 0 && d.Spec.Template.Spec.Containers[0].Image == "theirs"
	})
}

// runsSite returns a function that reports whether a Deployment has the object's image.
func runsSite(site *webv1.Site) func(*appsv1.Deployment) bool {
	return func(d *appsv1.Deployment) bool { return d.Spec.Template.Spec.Containers[0].Image == site.Spec.Image }
}

// isSite returns a function that reports whether the current generation has these conditions.
func isSite(available, progressing, degraded metav1.ConditionStatus) func(*webv1.Site) bool {
	return func(site *webv1.Site) bool {
		for name, want := range map[string]metav1.ConditionStatus{"Available": available, "Progressing": progressing, "Degraded": degraded} {
			c := meta.FindStatusCondition(site.Status.Conditions, name)
			if c == nil || c.Status != want || c.ObservedGeneration != site.Generation {
				return false
			}
		}
		return site.Status.ObservedGeneration == site.Generation
	}
}
