package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// scopesHold tests on an API server that caches with selectors contain exactly the selected objects, and that their
// reads wait for exactly the writes that they can see.
func scopesHold(t *testing.T, live *client.REST) {
	const ns = "scopes"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := live.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
		t.Fatal(err)
	}
	c := cache.New(live, cache.Options{ConsistencyTimeout: 30 * time.Second, ByKind: []cache.KindOptions{
		{Object: &corev1.ConfigMap{}, Scope: client.Scope{Namespace: ns,
			Labels: labels.SelectorFromSet(labels.Set{"app": "mine"})}, Transform: func(o object.Object) (object.Object, error) {
			o.(*corev1.ConfigMap).Data["transformed"] = "yes"
			return o, nil
		}},
		{Object: &corev1.Node{}, Scope: client.Scope{Fields: fields.OneTermEqualSelector("spec.unschedulable", "false")}},
		{Object: &corev1.Secret{}, Scope: client.Scope{Fields: fields.OneTermEqualSelector("type", "nobody's")},
			ByNamespace: map[string]client.Scope{
				ns:        {Fields: fields.OneTermEqualSelector("type", "x.io/mine"), Mask: []string{"metadata", "type"}},
				"default": {Fields: fields.OneTermEqualSelector("type", "x.io/theirs")},
			}},
	}})
	stopped := make(chan error, 1)
	c.Begin()
	go func() { stopped <- c.Run(ctx) }()
	for _, prototype := range []object.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Node{}} {
		i, err := c.Informer(prototype)
		if err := errors.Join(err, i.Wait(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	mine, foreign := map[string]string{"app": "mine"}, map[string]string{"app": "other"}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}, Data: map[string]string{"a": "b"}}
	found := func(what string, prototype object.Object, want bool) {
		t.Helper()
		start := time.Now()
		err := c.Get(ctx, object.KeyOf(cm), prototype)
		if want && err != nil || !want && !apierrors.IsNotFound(err) {
			t.Fatalf("%s: %v after %v", what, err, time.Since(start))
		}
	}
	for n := range 20 {
		o := cm.DeepCopy()
		steps := []struct {
			what   string
			labels map[string]string
			want   bool
		}{{"foreign", foreign, false}, {"mine", mine, true}, {"foreign again", foreign, false}, {"mine again", mine, true}}
		for i, step := range steps[n%2:] {
			o.Labels = step.labels
			write := func() error { return live.Update(ctx, o) }
			if i == 0 {
				write = func() error { return live.Create(ctx, o) }
			}
			if err := write(); err != nil {
				t.Fatal(err)
			}
			var got corev1.ConfigMap
			found(step.what, &got, step.want)
			if step.want && (got.ResourceVersion != o.ResourceVersion || got.Data["transformed"] != "yes") {
				t.Errorf("%s: got %v", step.what, got)
			}
		}
		if err := live.Delete(ctx, o); err != nil {
			t.Fatal(err)
		}
		found("deleted", &corev1.ConfigMap{}, false)
	}
	for _, kind := range []corev1.SecretType{"x.io/theirs", "x.io/mine"} {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}, Type: kind,
			Data: map[string][]byte{"a": []byte("b")}}
		if err := live.Create(ctx, s); err != nil {
			t.Fatal(err)
		}
		var got corev1.Secret
		found(string(kind), &got, kind == "x.io/mine")
		if got.Data != nil {
			t.Errorf("the mask has let %v pass", got.Data)
		}
		if err := live.Delete(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		for _, cordoned := range []bool{false, true} {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d-%t", n, cordoned)},
				Spec: corev1.NodeSpec{Unschedulable: cordoned}}
			if err := live.Create(ctx, node); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(ctx, object.KeyOf(node), &corev1.Node{}); cordoned != apierrors.IsNotFound(err) || !cordoned &&
				err != nil {
				t.Fatalf("a node that is cordoned: %t: got %v", cordoned, err)
			}
		}
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestScopeSelectsOrLeavesTheDecisionToTheServer checks that a scope selects objects as servers do. It must be
// uncertain where only the server can decide: some field names are not paths, and a missing field may have a default.
func TestScopeSelectsOrLeavesTheDecisionToTheServer(t *testing.T) {
	claim := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "spec": spec}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "mine"}},
		Spec: corev1.PodSpec{RestartPolicy: "Never"}}
	for _, test := range []struct {
		o                 object.Object
		labels, fields    string
		selected, certain bool
	}{
		{pod, "app=mine", "", true, true},
		{pod, "app=other", "spec.hostNetwork=true", false, true},
		{pod, "app=mine", "spec.restartPolicy=Never", true, true},
		{pod, "", "spec.restartPolicy!=Never", false, true},
		{pod, "", "spec.nodeName=", true, true},
		{pod, "", "spec.nodeName=a", false, true},
		{pod, "", "spec.hostNetwork=false", true, false},
		{pod, "", "spec.hostNetwork=true", true, false},
		{pod, "", "spec.hostNetwork=true,spec.nodeName=a", false, true},
		{&corev1.Pod{Spec: corev1.PodSpec{HostNetwork: true}}, "", "spec.hostNetwork=true", true, true},
		{&corev1.Event{Source: corev1.EventSource{Component: "a"}}, "", "source=a", true, false},
		{&corev1.ConfigMap{}, "", "unknown=1", true, false},
		{&metav1.PartialObjectMetadata{}, "", "spec.nodeName=a", true, false},
		{&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, "", "metadata.name=a,metadata.namespace=",
			true, true},
		{claim(map[string]any{"port": int64(12345678)}), "", "spec.port=12345678", true, true},
		{claim(map[string]any{"port": int64(12345678)}), "", "spec.port=1", false, true},
		{claim(nil), "", "spec.paused=false", true, false},
	} {
		selector, err := labels.Parse(test.labels)
		if err != nil {
			t.Fatal(err)
		}
		scope := client.Scope{Labels: selector, Fields: fields.ParseSelectorOrDie(test.fields)}
		if selected, certain := cache.Selects(scope, test.o); certain != test.certain || certain &&
			selected != test.selected {
			t.Errorf("%T by %q, %q: got %t, %t", test.o, test.labels, test.fields, selected, certain)
		}
	}
}
