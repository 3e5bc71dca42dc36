package simulator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// copier keeps a copy of each ConfigMap that has the label source=true. variant selects a bug.
type copier struct {
	client.Client
	variant string
}

func (c *copier) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	from := &corev1.ConfigMap{}
	if err := c.Get(ctx, req.NamespacedName, from); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if from.Labels["source"] != "true" || !from.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	if c.variant == "notes before it copies" && from.Annotations["copy"] == "" {
		// A crash after this write leaves the object without a copy, because the note claims that a copy exists.
		if err := c.note(ctx, from); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, c.copy(ctx, from)
	}
	if c.variant == "notes before it copies" {
		return reconcile.Result{}, nil
	}
	if err := c.copy(ctx, from); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, c.note(ctx, from)
}

func (c *copier) copy(ctx context.Context, from *corev1.ConfigMap) error {
	to := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name + "-copy"},
		Data:       from.Data,
	}
	switch c.variant {
	case "generates names":
		to.Name, to.GenerateName = "", from.Name+"-"
		if from.Annotations["copy"] != "" {
			return nil
		}
	case "writes the time":
		to.Data = map[string]string{"at": time.Now().String()}
	case "has no owner":
		if err := c.Create(ctx, to); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil
	}
	if err := controllerutil.SetControllerReference(from, to, c.Scheme()); err != nil {
		return err
	}
	err := c.Create(ctx, to)
	if c.variant == "writes the time" && apierrors.IsAlreadyExists(err) {
		return c.Update(ctx, to)
	}
	if apierrors.IsAlreadyExists(err) {
		is := &corev1.ConfigMap{}
		if getErr := c.Get(ctx, object.KeyOf(to), is); getErr != nil || metav1.IsControlledBy(is, from) {
			return getErr
		}
	}
	return err
}

func (c *copier) note(ctx context.Context, from *corev1.ConfigMap) error {
	if from.Annotations["copy"] != "" {
		return nil
	}
	from = from.DeepCopy()
	from.Annotations = map[string]string{"copy": "done"}
	return c.Update(ctx, from)
}

func copies(variant string) *Operator {
	return &Operator{
		Setup: func(_ context.Context, m controller.Manager) error {
			if err := corev1.AddToScheme(m.Scheme()); err != nil {
				return err
			}
			return controller.For[*corev1.ConfigMap](m).Owns(&corev1.ConfigMap{}).Named("copier").
				Complete(&copier{m.Client(), variant})
		},
		Samples: []*unstructured.Unstructured{{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "a", "namespace": "default", "labels": map[string]any{"source": "true"}},
			"data":     map[string]any{"k": "v"},
		}}},
	}
}

// TestBugsAreFound checks that each bug violates an invariant, and that the operator without bugs violates none.
func TestBugsAreFound(t *testing.T) {
	for variant, want := range map[string]string{
		"":                       "",
		"notes before it copies": "state",
		"generates names":        "creations",
		"has no owner":           "leak",
		"writes the time":        "restart",
	} {
		t.Run(variant, func(t *testing.T) {
			report, err := Explore(t, copies(variant), Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if report.Run != report.Planned || report.Planned < 30 {
				t.Errorf("ran %d of %d plans", report.Run, report.Planned)
			}
			got := map[string]bool{}
			for _, f := range report.Failures {
				for _, v := range f.Violations {
					got[v.Invariant] = true
				}
				var story strings.Builder
				f.WriteStory(&story, "1")
				t.Log(story.String())
			}
			if want == "" && len(got) > 0 || want != "" && !got[want] {
				t.Errorf("violated invariants %v, want %q", got, want)
			}
		})
	}
}

// TestPlanDeterminesRun checks that runs of the same plan have the same requests, events and objects.
func TestPlanDeterminesRun(t *testing.T) {
	plan := Plan{Seed: 7, Faults: []Fault{{Kind: CrashAfter, At: "create configmaps default/a-copy", Number: 1}}}
	var runs []*Result
	for range 3 {
		result, err := runIn(t, copies(""), plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, result)
	}
	if len(runs[0].Fired) != 1 {
		t.Fatal("the fault was not injected")
	}
	for _, other := range runs[1:] {
		same := slices.EqualFunc(runs[0].Calls, other.Calls, func(a, b *Call) bool {
			return a.Target == b.Target && a.Time == b.Time && diff("", "", a.object, b.object, nil) == nil
		})
		if !same || !slices.EqualFunc(runs[0].Events, other.Events, func(a, b *Event) bool { return *a == *b }) {
			t.Errorf("the same plan gives different runs\n%s\n%s", transcript(runs[0]), transcript(other))
		}
	}
}

// transcript returns the calls and events of a run as text.
func transcript(r *Result) string {
	var text strings.Builder
	for _, c := range r.Calls {
		fmt.Fprintf(&text, "%s %s %s %s\n", c.Time, c.Process, c.Target, inJSON(c.object))
	}
	for _, e := range r.Events {
		fmt.Fprintf(&text, "%+v\n", *e)
	}
	return text.String()
}

func TestPlanFiles(t *testing.T) {
	plan := Plan{
		Seed:     3,
		Replicas: 2,
		Faults: []Fault{
			{Kind: Lag, At: "event configmaps ADDED default/a", Number: 2, For: metav1.Duration{Duration: time.Second}},
		},
	}
	got, err := ParsePlan(plan.Bytes())
	if err != nil || got.Faults[0] != plan.Faults[0] || got.Seed != 3 || got.Replicas != 2 {
		t.Errorf("plan is %+v, %v; want %+v", got, err, plan)
	}
	for text, want := range map[string]string{
		"faults: [{fault: explode, at: x, number: 1}]": `fault 1: unknown kind "explode"`,
		"faults: [{fault: lag, number: 1}]":            "fault 1 (lag): at and number are required",
		"speed: 1":                                     "unknown field",
	} {
		if _, err := ParsePlan([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePlan(%q) = %v, want %q", text, err, want)
		}
	}
}

// TestStuckGoroutine checks that the error about a goroutine that blocks outside the bubble contains its source line.
func TestStuckGoroutine(t *testing.T) {
	stacks := "goroutine 1 [running]:\nmain.main()\n\t/a/main.go:3 +0x1\n\n" +
		"goroutine 7 [select (durable), synctest bubble 2]:\nx.Wait()\n\texample.com/shop/w.go:9 +0x1\n\n" +
		"goroutine 8 [IO wait, synctest bubble 2]:\nnet.Read()\n\tnet/net.go:5 +0x1\n" +
		"shop.Dial()\n\texample.com/shop/dial.go:12 +0x2\n"
	want := `a goroutine is in the state "IO wait" at dial.go:12, and virtual time cannot pass`
	if got := blocked([]byte(stacks), "example.com/shop/").Error(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFailuresAreMinimal checks that failures with the same cause are reported once, with the smallest plan.
func TestFailuresAreMinimal(t *testing.T) {
	operator := copies("notes before it copies")
	reference, err := Learn(t, operator, 1)
	if err != nil {
		t.Fatal(err)
	}
	needed := Fault{Kind: CrashAfter, At: "update configmaps default/a", Number: 1}
	other := Fault{Kind: Cut, At: "event configmaps ADDED default/a", Number: 1}
	failure, err := Try(t, operator, reference, Plan{Seed: 1, Faults: []Fault{other, needed}}, nil)
	if err != nil || failure == nil {
		t.Fatal("the plan does not fail", err)
	}
	all := distinct([]Failure{*failure, *failure})
	if len(all) != 1 || all[0].Similar != 1 {
		t.Fatalf("got %d failures", len(all))
	}
	err = minimize(t, operator, reference, &all[0], nil)
	if err != nil || !slices.Equal(all[0].Plan.Faults, []Fault{needed}) {
		t.Errorf("the plan has the faults %v, %v", all[0].Plan.Faults, err)
	}
}
