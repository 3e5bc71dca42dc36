package finalizer_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/finalizer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// cleanup records that it was called.
type cleanup struct {
	name   string
	calls  *[]string
	result finalizer.Result
	err    error
}

func (c cleanup) Finalize(context.Context, object.Object) (finalizer.Result, error) {
	*c.calls = append(*c.calls, c.name)
	return c.result, c.err
}

func register(t *testing.T, all ...cleanup) finalizer.Finalizers {
	t.Helper()
	f := finalizer.NewFinalizers()
	for _, c := range all {
		if err := f.Register(c.name, c); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestAnObjectGetsItsFinalizersOnce(t *testing.T) {
	var calls []string
	f := register(t, cleanup{name: "example.com/b", calls: &calls}, cleanup{name: "example.com/a", calls: &calls})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"example.com/other"}}}
	for i, want := range []finalizer.Result{{Updated: true}, {}} {
		if got, err := f.Finalize(t.Context(), pod); err != nil || got != want {
			t.Errorf("call %d: %+v and %v, want %+v", i, got, err, want)
		}
	}
	if want := []string{"example.com/other", "example.com/b", "example.com/a"}; !slices.Equal(pod.Finalizers, want) ||
		len(calls) > 0 {
		t.Errorf("the finalizers are %q and %q were called, want %q and none", pod.Finalizers, calls, want)
	}
}

func TestOneThatFailsIsKept(t *testing.T) {
	var calls []string
	failure := errors.New("no way")
	f := register(t,
		cleanup{name: "example.com/fails", calls: &calls, result: finalizer.Result{StatusUpdated: true}, err: failure},
		cleanup{name: "example.com/absent", calls: &calls},
		cleanup{name: "example.com/done", calls: &calls})
	now := metav1.Now()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{"example.com/done",
		"example.com/fails"}}}
	got, err := f.Finalize(t.Context(), pod)
	if want := (finalizer.Result{Updated: true, StatusUpdated: true}); got != want || !errors.Is(err, failure) {
		t.Errorf("%+v and %v, want %+v and the failure", got, err, want)
	}
	if err == nil || err.Error() != `finalizer "example.com/fails": no way` {
		t.Errorf("the error is %v, want one with the name", err)
	}
	if !slices.Equal(calls, []string{"example.com/fails", "example.com/done"}) ||
		!slices.Equal(pod.Finalizers, []string{"example.com/fails"}) {
		t.Errorf("%q were called, and %q are left", calls, pod.Finalizers)
	}
	got, err = f.Finalize(t.Context(), pod)
	if want := (finalizer.Result{StatusUpdated: true}); got != want || !errors.Is(err, failure) {
		t.Errorf("again: %+v and %v, want %+v and the failure: nothing but the status has changed", got, err, want)
	}
}

func TestANameIsTakenOnce(t *testing.T) {
	f := register(t, cleanup{name: "example.com/a"})
	if err := f.Register("example.com/a", cleanup{}); err == nil {
		t.Error("a name was registered twice")
	}
}
