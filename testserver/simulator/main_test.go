package simulator

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// asMain returns an operator that has a main function instead of options and a setup function. setup may be nil.
func asMain(o *Operator, setup func(*simulated.Process) error) *Operator {
	inner := o.Setup
	o.Setup = nil
	o.Main = func() {
		p := simulated.Current()
		m, err := manager.New(p.Config, manager.Options{
			Logger: p.Logger, HealthProbeBindAddress: manager.Off, PprofBindAddress: manager.Off,
			Metrics: manager.MetricsOptions{BindAddress: manager.Off}, Webhook: manager.WebhookOptions{BindAddress: manager.Off},
			MinResyncPeriod: p.Resync,
			LeaderElection:  manager.LeaderElectionOptions{Enabled: p.Elects, ID: "copier", Namespace: p.Namespace},
		})
		if err == nil {
			err = inner(p.Context, m)
		}
		if err == nil && setup != nil {
			err = setup(p)
		}
		if err != nil {
			os.Exit(3) // as main functions do; after a crash, endSetup prevents it
		}
		go func() { <-make(chan struct{}) }() // a goroutine that only the end of the process would end
		p.Started(m.Scheme(), m.Metrics())
		p.Ended(m.Run(p.Context))
		goruntime.Goexit()
	}
	return o
}

// TestMainFunctionsAreSimulated checks that bugs are found in an operator that only provides its main function, and
// that the operator without bugs has no failure.
func TestMainFunctionsAreSimulated(t *testing.T) {
	for variant, want := range map[string]string{"": "", "notes before it copies": "state"} {
		t.Run(variant, func(t *testing.T) {
			report, err := Explore(t, asMain(copies(variant), nil), Options{Seed: 1, Plans: 40})
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			for _, f := range report.Failures {
				found += f.Violations[0].Invariant + " "
			}
			if report.Run != 40 || want == "" && found != "" || !strings.Contains(found, want) {
				t.Errorf("%d plans ran and violate %q, want %q", report.Run, found, want)
			}
		})
	}
}

// TestCrashInAMainFunction checks that a process that crashes before its manager starts does not end the test program.
func TestCrashInAMainFunction(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "early", "namespace": "default"},
	}}
	operator := asMain(copies(""), func(p *simulated.Process) error {
		data, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = exchange(p.Config.Transport, "POST", "/api/v1/namespaces/default/configmaps", data)
		if isConflict(err) {
			return nil
		}
		return err
	})
	plan := Plan{Seed: 1, Faults: []Fault{{Kind: CrashBefore, At: "create configmaps default/early", Number: 1}}}
	result, err := runIn(t, operator, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Fired) != 1 || !result.Rest || len(result.Ends) > 0 {
		t.Errorf("fired %v, rest %t, ends %v", result.Fired, result.Rest, result.Ends)
	}
}

// TestMainFunctionWithoutManager checks the message about a main function that does not start a manager.
func TestMainFunctionWithoutManager(t *testing.T) {
	operator := copies("")
	operator.Setup, operator.Main = nil, func() {}
	report, err := Explore(t, operator, Options{Seed: 1, Plans: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Failures) == 0 || !strings.Contains(report.Failures[0].Violations[0].Message, errNoManager.Error()) {
		t.Errorf("failures %+v", report.Failures)
	}
}

// TestPeriodicOperator checks that periodic jobs violate no invariant, and that a bug between two of them is found.
func TestPeriodicOperator(t *testing.T) {
	for variant, want := range map[string]string{"polls": "", "creates jobs": "", "creates jobs and leaks": "leak"} {
		t.Run(variant, func(t *testing.T) {
			operator := copies("")
			operator.Setup = func(_ context.Context, m controller.Manager) error {
				if err := corev1.AddToScheme(m.Scheme()); err != nil {
					return err
				}
				return controller.For[*corev1.ConfigMap](m).Named("periodic").Complete(&periodic{m.Client(), variant})
			}
			report, err := Explore(t, operator, Options{Seed: 1, Plans: 40})
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			for _, f := range report.Failures {
				found += f.Violations[0].Invariant + " "
			}
			if want == "" && found != "" || !strings.Contains(found, want) {
				t.Errorf("violates %q, want %q", found, want)
			}
		})
	}
}

// periodic creates a ConfigMap every minute, or makes an update without a change every ten seconds.
type periodic struct {
	client.Client
	variant string
}

func (p *periodic) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	from := &corev1.ConfigMap{}
	if err := p.Get(ctx, req.NamespacedName, from); err != nil || from.Labels["source"] != "true" {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if p.variant == "polls" {
		return reconcile.Result{RequeueAfter: 10 * time.Second}, p.Update(ctx, from)
	}
	now := time.Now().Truncate(time.Minute)
	job := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: from.Namespace, Name: fmt.Sprintf("%s-%d", from.Name, now.Unix()),
	}}
	if p.variant == "creates jobs" {
		if err := controllerutil.SetControllerReference(from, job, p.Scheme()); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := p.Create(ctx, job); err != nil && !apierrors.IsAlreadyExists(err) {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: time.Until(now.Add(time.Minute))}, nil
}

// TestCascades checks that a run's garbage collector completes deletions that orphan dependents or wait for them.
func TestCascades(t *testing.T) {
	for policy, want := range map[string]string{"Orphan": "configmaps default/a-copy", "Foreground": ""} {
		t.Run(policy, func(t *testing.T) {
			operator := copies("")
			inner := operator.Setup
			operator.Setup = func(ctx context.Context, m controller.Manager) error {
				return errors.Join(inner(ctx, m), controller.For[*corev1.ConfigMap](m).Named("deleter").Complete(
					reconcile.Func[reconcile.Request](func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
						from := &corev1.ConfigMap{}
						if err := m.Client().Get(ctx, req.NamespacedName, from); err != nil || from.Annotations["copy"] == "" {
							return reconcile.Result{}, client.IgnoreNotFound(err)
						}
						propagation := client.PropagationPolicy(policy)
						return reconcile.Result{}, client.IgnoreNotFound(m.Client().Delete(ctx, from, propagation))
					})))
			}
			result, err := runIn(t, operator, Plan{Seed: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for key := range result.state {
				if strings.HasPrefix(key, "configmaps default/a") {
					got += key
				}
			}
			if !result.Rest || got != want {
				t.Errorf("at rest %t with %q, want %q", result.Rest, got, want)
			}
		})
	}
}
