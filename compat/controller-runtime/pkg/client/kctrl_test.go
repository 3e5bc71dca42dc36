package client_test

import (
	"context"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	klog "github.com/kctrl-dev/kctrl/runtime/log"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{"name": name},
	}}
}

// TestToKctrlPassesCallsOn checks that reads and writes with kctrl's options have the same effect.
func TestToKctrlPassesCallsOn(t *testing.T) {
	ctx := t.Context()
	objects := []client.Object{configMap("a", "x"), configMap("a", "y"), configMap("b", "x")}
	c := client.ToKctrl(fake.NewClientBuilder().WithObjects(objects...).Build())
	var list corev1.ConfigMapList
	if err := c.List(ctx, &list, kclient.InNamespace("a"), kclient.MatchingLabels{"name": "x"}); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Namespace != "a" || list.Items[0].Name != "x" {
		t.Errorf("listed %v", list.Items)
	}
	if err := c.Create(ctx, configMap("a", "z"), kclient.DryRunAll); err != nil {
		t.Fatal(err)
	}
	var read corev1.ConfigMap
	if err := c.Get(ctx, client.ObjectKey{Namespace: "a", Name: "z"}, &read); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run: %v", err)
	}
	version := "0"
	stale := kclient.Preconditions{ResourceVersion: &version}
	if err := c.Delete(ctx, configMap("a", "x"), stale); !apierrors.IsConflict(err) {
		t.Errorf("delete of another version: %v", err)
	}
	if err := c.DeleteAllOf(ctx, &corev1.ConfigMap{}, kclient.InNamespace("a")); err != nil {
		t.Fatal(err)
	}
	if err := c.List(ctx, &list); err != nil || len(list.Items) != 1 {
		t.Errorf("left %v, %v", list.Items, err)
	}
	if err := c.Apply(ctx, configMap("a", "x"), kclient.FieldOwner("me")); err == nil {
		t.Error("apply with a client that is not of this package: no error")
	}
}

// TestToKctrlPassesOptionsOfWrites covers the options that the fake client does not store.
func TestToKctrlPassesOptionsOfWrites(t *testing.T) {
	var got client.PatchOptions
	c := client.ToKctrl(interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Patch: func(
			_ context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, opts ...client.PatchOption,
		) error {
			got.ApplyOptions(opts)
			return nil
		},
	}))
	err := c.Patch(t.Context(), configMap("a", "x"), client.Merge, kclient.FieldOwner("me"), kclient.ForceOwnership)
	if err != nil || got.FieldManager != "me" || got.Force == nil || !*got.Force || got.DryRun != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestFromKctrlReturnsTheOriginal checks that converting a client to kctrl's API and back returns the same client.
func TestFromKctrlReturnsTheOriginal(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	if got := client.FromKctrl(client.ToKctrl(c)); got != c {
		t.Errorf("got %T", got)
	}
}

// TestIntoContextIsForBothLoggers checks that code on kctrl's API logs to the logger of controller-runtime.
func TestIntoContextIsForBothLoggers(t *testing.T) {
	var lines []string
	logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	ctx := log.IntoContext(t.Context(), logger.WithValues("a", 1))
	klog.FromContext(ctx).Info("hello", "b", 2)
	if want := `"level"=0 "msg"="hello" "a"=1 "b"=2`; len(lines) != 1 || lines[0] != want {
		t.Errorf("got %q, want %s", lines, want)
	}
}
