package simulator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/webhook"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
)

// doer reconciles ConfigMaps that have the label source=true by calling a function.
type doer struct {
	client.Client
	do func(ctx context.Context, d *doer, c *corev1.ConfigMap) error

	first time.Time // first reconcile of the process
}

func (d *doer) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &corev1.ConfigMap{}
	if err := d.Get(ctx, req.NamespacedName, c); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if c.Labels["source"] != "true" {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, d.do(ctx, d, c.DeepCopy())
}

// operatorThat returns an operator with the copier's sample that calls do.
func operatorThat(do func(ctx context.Context, d *doer, c *corev1.ConfigMap) error) *Operator {
	operator := copies("")
	operator.Setup = func(_ context.Context, m controller.Manager) error {
		if err := corev1.AddToScheme(m.Scheme()); err != nil {
			return err
		}
		return controller.For[*corev1.ConfigMap](m).Named("doer").Complete(&doer{Client: m.Client(), do: do})
	}
	return operator
}

// mark sets an annotation.
func (d *doer) mark(ctx context.Context, c *corev1.ConfigMap, key, value string) error {
	if c.Annotations[key] == value {
		return nil
	}
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[key] = value
	return d.Update(ctx, c)
}

// farewell writes a Secret and deletes it before it removes the finalizer of a deleted object. If tolerant is true, it
// accepts that the namespace is deleted too.
func farewell(tolerant bool) func(ctx context.Context, d *doer, c *corev1.ConfigMap) error {
	return func(ctx context.Context, d *doer, c *corev1.ConfigMap) error {
		if c.DeletionTimestamp.IsZero() {
			if !controllerutil.AddFinalizer(c, "example.com/farewell") {
				return nil
			}
			return d.Update(ctx, c)
		}
		if !controllerutil.ContainsFinalizer(c, "example.com/farewell") {
			return nil
		}
		lock := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name + "-lock"}}
		err := client.IgnoreAlreadyExists(d.Create(ctx, lock))
		if err != nil && !(tolerant && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)) {
			return err
		}
		if err := client.IgnoreNotFound(d.Delete(ctx, lock)); err != nil {
			return err
		}
		controllerutil.RemoveFinalizer(c, "example.com/farewell")
		return d.Update(ctx, c)
	}
}

// deadline marks an object that was not copied within half an hour as failed. The mark is permanent if lasting is true,
// and otherwise lasts until the next reconcile.
func deadline(lasting bool) func(ctx context.Context, d *doer, c *corev1.ConfigMap) error {
	return func(ctx context.Context, d *doer, c *corev1.ConfigMap) error {
		if c.Annotations["state"] == "failed" && lasting || !c.DeletionTimestamp.IsZero() {
			return nil
		}
		if c.Annotations["state"] == "" {
			if err := d.mark(ctx, c, "state", "copies"); err != nil {
				return err
			}
		}
		if time.Since(c.CreationTimestamp.Time) > 30*time.Minute && c.Annotations["state"] == "copies" && lasting {
			return d.mark(ctx, c, "state", "failed")
		}
		return d.mark(ctx, c, "state", "copied")
	}
}

// uptime marks an object with the time since the first reconcile of the process if that is more than a minute.
func uptime(ctx context.Context, d *doer, c *corev1.ConfigMap) error {
	if d.first.IsZero() {
		d.first = time.Now()
	}
	if since := time.Since(d.first); since > time.Minute && c.DeletionTimestamp.IsZero() {
		return d.mark(ctx, c, "uptime", since.String())
	}
	return nil
}

// TestFaultsFindBugs checks bugs that only one kind of plan finds.
func TestFaultsFindBugs(t *testing.T) {
	once := func(ctx context.Context, d *doer, c *corev1.ConfigMap) error { return d.mark(ctx, c, "seen", "once") }
	for _, test := range []struct {
		name       string
		bug, fixed func(ctx context.Context, d *doer, c *corev1.ConfigMap) error
		found      func(f Failure) bool
		rule       string
		only       []string
	}{
		{
			name: "terminate", bug: farewell(false), fixed: farewell(true), rule: "namespace", only: []string{"user", "crash"},
			found: func(f Failure) bool { return f.Plan.Then == Terminate },
		},
		{
			name: "jump", bug: deadline(true), fixed: deadline(false), rule: "state",
			found: func(f Failure) bool { return f.Plan.has(Jump) },
		},
		{
			name: "resync", bug: uptime, fixed: once, rule: "resync",
			found: func(f Failure) bool { return f.Plan.Resync },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, fixed := range []bool{false, true} {
				do := test.bug
				if fixed {
					do = test.fixed
				}
				report, err := Explore(t, operatorThat(do), Options{Seed: 1, Only: test.only})
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range report.Failures {
					var story strings.Builder
					f.WriteStory(&story, "1")
					t.Log(story.String())
					if !test.found(f) || f.Violations[0].Invariant != test.rule {
						t.Errorf("fixed %t: %s violates %s", fixed, f.Plan.describe(), f.Violations[0].Invariant)
					}
				}
				if len(report.Failures) > 0 == fixed {
					t.Errorf("fixed %t: %d failures", fixed, len(report.Failures))
				}
			}
		})
	}
}

// TestClassesOfOneCause checks that a failure keeps one plan for each class of faults that have the same cause.
func TestClassesOfOneCause(t *testing.T) {
	failure := func(kinds ...Kind) Failure {
		f := Failure{Violations: []Violation{{Invariant: "state", Message: "m"}}}
		for _, kind := range kinds {
			f.Plan.Faults = append(f.Plan.Faults, Fault{Kind: kind, At: "x", Number: 1})
		}
		return f
	}
	all := distinct([]Failure{
		failure(CrashAfter), failure(CrashBefore), failure(Lag), failure(Rewind), failure(CrashAfter, Lag),
	})
	var classes []string
	for _, plan := range all[0].Also {
		classes = append(classes, plan.class())
	}
	if len(all) != 1 || all[0].Similar != 4 || !slices.Equal(classes, []string{"stale", "crash and stale"}) {
		t.Errorf("got %d failures, %d similar ones, the classes %q", len(all), all[0].Similar, classes)
	}
	var story strings.Builder
	all[0].Result = &Result{}
	all[0].WriteStory(&story, "1")
	if !strings.Contains(story.String(), "    also with stale: the event arrives late: x\n") {
		t.Errorf("the story is %s", &story)
	}
}

// accepting is a validator that accepts all Secrets.
type accepting struct{}

func (accepting) ValidateCreate(context.Context, *corev1.Secret) (admission.Warnings, error) {
	return nil, nil
}

func (accepting) ValidateUpdate(_ context.Context, _, _ *corev1.Secret) (admission.Warnings, error) {
	return nil, nil
}

func (accepting) ValidateDelete(context.Context, *corev1.Secret) (admission.Warnings, error) {
	return nil, nil
}

// reviewing is a configuration that makes the server call the operator's webhook for each new Secret.
const reviewing = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: review}
webhooks:
- name: review.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {service: {name: review, namespace: system, path: /validate--v1-secret}}
  rules:
  - {apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE]}
`

// tries returns a reconcile function that makes up to three attempts to create a Secret. If all of them fail
// and patience is true, the function returns the error, and the queue retries the request. If patience is
// false, the function gives up if the error is from a webhook.
func tries(patience bool) func(ctx context.Context, d *doer, c *corev1.ConfigMap) error {
	return func(ctx context.Context, d *doer, c *corev1.ConfigMap) error {
		if c.Annotations["state"] != "" || !c.DeletionTimestamp.IsZero() {
			return nil
		}
		token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
		if err := controllerutil.SetControllerReference(c, token, d.Scheme()); err != nil {
			return err
		}
		var err error
		for range 3 {
			err = d.Create(ctx, token)
			if apierrors.IsAlreadyExists(err) {
				is := &corev1.Secret{}
				if getErr := d.Get(ctx, object.KeyOf(token), is); getErr != nil || metav1.IsControlledBy(is, c) {
					err = getErr
				}
			}
			if err == nil {
				return d.mark(ctx, c, "state", "created")
			}
			time.Sleep(time.Second)
		}
		if patience || ctx.Err() != nil || !strings.Contains(err.Error(), "webhook") {
			return err
		}
		return d.mark(ctx, c, "state", "failed")
	}
}

// TestWebhooksThatFailFindBugs makes an operator's webhooks fail for a while.
func TestWebhooksThatFailFindBugs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "webhook.yaml")
	if err := os.WriteFile(file, []byte(reviewing), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, fixed := range []bool{false, true} {
		operator := operatorThat(tries(fixed))
		setup := operator.Setup
		operator.Webhooks = []string{file}
		operator.Setup = func(ctx context.Context, m controller.Manager) error {
			return errors.Join(setup(ctx, m), webhook.For[*corev1.Secret](m).WithValidator(accepting{}).Complete())
		}
		report, err := Explore(t, operator, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Failures {
			var story strings.Builder
			f.WriteStory(&story, "1")
			t.Log(story.String())
			if !f.Plan.has(WebhookDown) || len(f.Also) > 0 {
				t.Errorf("fixed %t: %s fails", fixed, f.Plan.describe())
			}
		}
		if len(report.Failures) > 0 == fixed {
			t.Errorf("fixed %t: %d failures of %d plans", fixed, len(report.Failures), report.Run)
		}
	}
}
