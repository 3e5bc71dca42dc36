package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// app is a custom kind whose fields the simulation changes.
type app struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   map[string]string `json:"spec,omitempty"`
	Status appStatus         `json:"status,omitempty"`
}

type appStatus struct {
	Phase string `json:"phase,omitempty"`
}

type appList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []app `json:"items"`
}

func (a *app) DeepCopyObject() runtime.Object { return copyOf(a) }

func (l *appList) DeepCopyObject() runtime.Object { return copyOf(l) }

func copyOf[T any](from *T) *T {
	to := new(T)
	data, err := json.Marshal(from)
	if err := errors.Join(err, json.Unmarshal(data, to)); err != nil {
		panic(err)
	}
	return to
}

const appDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: App, listKind: AppList, plural: apps, singular: app}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {image: {type: string}, mode: {type: string}}}
          status: {type: object, properties: {phase: {type: string}}}
`

const appSample = `
apiVersion: example.com/v1
kind: App
metadata: {name: a, namespace: default}
spec: {image: nginx, mode: fast}
`

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// appOperator returns an operator for app's sample.
func appOperator(
	t *testing.T, do func(ctx context.Context, c client.Client, a *app) (reconcile.Result, error),
) *Operator {
	return &Operator{
		Setup: func(_ context.Context, m controller.Manager) error {
			version := schema.GroupVersion{Group: "example.com", Version: "v1"}
			m.Scheme().AddKnownTypeWithName(version.WithKind("App"), &app{})
			m.Scheme().AddKnownTypeWithName(version.WithKind("AppList"), &appList{})
			metav1.AddToGroupVersion(m.Scheme(), version)
			if err := corev1.AddToScheme(m.Scheme()); err != nil {
				return err
			}
			return controller.For[*app](m).Owns(&corev1.ConfigMap{}).Named("app").Complete(
				reconcile.Func[reconcile.Request](func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
					a := &app{}
					if err := m.Client().Get(ctx, req.NamespacedName, a); err != nil || !a.DeletionTimestamp.IsZero() {
						return reconcile.Result{}, client.IgnoreNotFound(err)
					}
					return do(ctx, m.Client(), a)
				}))
		},
		Objects: []*unstructured.Unstructured{parsed(t, appDefinition)},
		Samples: []*unstructured.Unstructured{parsed(t, appSample)},
	}
}

// configure writes the spec of an app into a ConfigMap, and sets the phase. variant selects a bug.
func configure(variant string) func(ctx context.Context, c client.Client, a *app) (reconcile.Result, error) {
	return func(ctx context.Context, c client.Client, a *app) (reconcile.Result, error) {
		result, phase := reconcile.Result{}, "Configured"
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name}}
		switch variant {
		case "reconciles all the time":
			result.RequeueAfter = 100 * time.Millisecond
		case "modifies the cache":
			shared := &app{}
			if err := c.Get(ctx, object.KeyOf(a), shared, client.UnsafeDisableDeepCopy); err != nil {
				return result, client.IgnoreNotFound(err)
			}
			shared.Spec["log"] = "info"
		case "ignores a field":
			delete(a.Spec, "mode")
		case "keeps a failure":
			if a.Status.Phase == "Failed" {
				return result, nil
			}
			if a.Spec["mode"] != "fast" {
				phase = "Failed"
			}
		}
		_, err := controllerutil.CreateOrUpdate(ctx, c, config, func() error {
			changes := config.ResourceVersion != "" && !maps.Equal(config.Data, a.Spec)
			config.Data = maps.Clone(a.Spec)
			if variant == "forgets the owner" && (changes || len(config.OwnerReferences) == 0 && config.UID != "") {
				config.OwnerReferences = nil
				return nil
			}
			return controllerutil.SetControllerReference(a, config, c.Scheme())
		})
		if err != nil && variant != "hides errors" {
			phase = "Waiting"
		}
		if a.Status.Phase == phase {
			return result, err
		}
		a.Status.Phase = phase
		return result, errors.Join(err, c.Status().Update(ctx, a))
	}
}

// TestInvariantsOfChanges checks that each bug violates its rule in a run without faults, or with one rejected request.
func TestInvariantsOfChanges(t *testing.T) {
	variants := map[string]string{
		"":                        "",
		"reconciles all the time": "busy",
		"forgets the owner":       "path",
		"keeps a failure":         "rollback",
		"ignores a field":         "unused",
		"hides errors":            "silent",
	}
	maps.Copy(variants, cacheBug)
	for variant, want := range variants {
		t.Run(variant, func(t *testing.T) {
			operator := appOperator(t, configure(variant))
			operator.Options.Cache.Unpacked = variant == "modifies the cache"
			reference, err := Learn(t, operator, 1)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, result := range append([]*Result{reference.First, reference.Deleted}, reference.Others...) {
				for _, v := range Check(operator, reference, result, nil) {
					found[v.Invariant] = true
					t.Log(result.Plan.describe(), ": ", v.Message)
				}
			}
			rejected := Plan{Seed: 1, Faults: []Fault{{Kind: Reject, At: "create configmaps default/a", Number: 1}}}
			failure, err := Try(t, operator, reference, rejected, nil)
			if err != nil {
				t.Fatal(err)
			}
			if failure != nil {
				found[failure.Violations[0].Invariant] = true
				t.Log(failure.Violations[0].Message)
			}
			if want == "" && len(found) > 0 || want != "" && !found[want] {
				t.Errorf("violated %v, want %q", slices.Sorted(maps.Keys(found)), want)
			}
		})
	}
}

// TestBlindUpdates checks that an update without a resourceVersion reverts a change of another reconcile that the cache
// has not received yet.
func TestBlindUpdates(t *testing.T) {
	for _, blind := range []bool{false, true} {
		operator := operatorThat(func(ctx context.Context, d *doer, c *corev1.ConfigMap) error {
			directory := &corev1.ConfigMap{}
			err := d.Get(ctx, object.Key{Namespace: "default", Name: "directory"}, directory)
			if err != nil || directory.Data[c.Name] != "" {
				return err
			}
			directory = directory.DeepCopy()
			if directory.Data == nil {
				directory.Data = map[string]string{}
			}
			if directory.Data[c.Name] = "seen"; blind {
				directory.ResourceVersion = ""
			}
			return d.Update(ctx, directory)
		})
		operator.Options.Cache.DisableConsistency = true
		second := operator.Samples[0].DeepCopy()
		second.SetName("b")
		operator.Samples = append(operator.Samples, second)
		operator.Objects = []*unstructured.Unstructured{parsed(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: directory, namespace: default}
data: {z: there}
`)}
		plan := Plan{Seed: 1, Faults: []Fault{{
			Kind: Lag, At: "event configmaps MODIFIED default/directory", Number: 1,
			For: metav1.Duration{Duration: time.Minute},
		}}}
		result, err := runIn(t, operator, plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		var messages []string
		for _, v := range checkBlind(&comparison{result: result}) {
			messages = append(messages, v.Message)
		}
		if len(result.Fired) != 1 || len(messages) > 0 != blind ||
			blind && !strings.Contains(messages[0], "has no resourceVersion, and reverts .data.") {
			t.Errorf("blind %t: %q, %v\n%s", blind, messages, result.Fired, transcript(result))
		}
	}
}

// TestUnsetIsAnEmptyObject checks that a client may write an unset object as an empty object, but not as one with
// fields.
func TestUnsetIsAnEmptyObject(t *testing.T) {
	unset, empty := map[string]any{}, map[string]any{"override": map[string]any{}}
	if d := diff("", ".spec", unset, empty, nil); d != nil {
		t.Error(d)
	}
	if d := diff("", ".spec", empty, unset, nil); d != nil {
		t.Error(d)
	}
	if diff("", ".spec", unset, map[string]any{"override": map[string]any{"a": "b"}}, nil) == nil {
		t.Error("a new field is no difference")
	}
}

// TestOnlyWritesOfTheSpecViolateSpec checks writes of an operator after a write of the user whose response was recorded
// later.
func TestOnlyWritesOfTheSpecViolateSpec(t *testing.T) {
	at := resource{group: "example.com", version: "v1", name: "apps", namespace: "default", object: "a"}
	status := at
	status.subresource = "status"
	for _, test := range []struct {
		resource resource
		version  string // on which the update is based
		want     int
	}{{at, "1", 1}, {at, "2", 0}, {status, "1", 0}} {
		call := &Call{
			operator: true, Changed: true, verb: "update", resource: test.resource,
			before: map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "spec": map[string]any{"size": "a"}},
			object: map[string]any{"spec": map[string]any{"size": "b"}},
			sent: []byte(`{"apiVersion": "example.com/v1", "kind": "App", "metadata": {"resourceVersion": "` + test.version +
				`"}}`),
		}
		result := &Result{Calls: []*Call{call}, samples: map[string]bool{at.String(): true}}
		if got := checkSpec(&comparison{result: result}); len(got) != test.want {
			t.Errorf("%s of version %s: %v, want %d violations", test.resource, test.version, got, test.want)
		}
	}
}

func TestQuantitiesAreComparedByValue(t *testing.T) {
	for _, test := range []struct {
		a, b any
		want bool
	}{
		{"2000m", "2", true}, {int64(2), "2", true}, {"1Gi", "1024Mi", true}, {"1Gi", "1G", false}, {"2", "3", false},
		{"1.0", "1", false}, {"a", "b", false}, {int64(1), true, false},
	} {
		if got := diff("", "", test.a, test.b, nil) == nil; got != test.want {
			t.Errorf("%v and %v are equal: %t, want %t", test.a, test.b, got, test.want)
		}
	}
}
