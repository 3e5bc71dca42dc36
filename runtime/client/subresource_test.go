package client_test

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const scaleOfWeb = "/apis/apps/v1/namespaces/default/deployments/web/scale"

func TestSubresourceIsReadIntoItsOwnKind(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond("GET "+scaleOfWeb, `{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"replicas":3}}`)
	scale := &autoscalingv1.Scale{}
	if err := c.SubResource("scale").Get(t.Context(), deployment(), scale, client.NotOlderThan("5")); err != nil {
		t.Fatal(err)
	}
	if got := s.last(t).what; got != "GET "+scaleOfWeb+"?resourceVersion=5" || scale.Spec.Replicas != 3 {
		t.Errorf("got %s, %v", got, scale)
	}
}

func TestSubresourceIsUpdatedByItsBody(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond("PUT "+scaleOfWeb,
		`{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"resourceVersion":"9"},"spec":{"replicas":3}}`)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	d := deployment()
	if err := c.SubResource("scale").Update(t.Context(), d, client.WithSubResourceBody(scale),
		client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	got := s.last(t)
	if got.what != "PUT "+scaleOfWeb+"?dryRun=All" || !strings.Contains(got.body, `"kind":"Scale"`) {
		t.Errorf("got %v", got)
	}
	if scale.ResourceVersion != "9" || d.ResourceVersion != "7" {
		t.Errorf("the answer is in the wrong object: %v", d)
	}
}

func TestPatchOfAScaleNeedsNoBody(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond("PATCH "+scaleOfWeb,
		`{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"resourceVersion":"9"},"spec":{"replicas":3}}`)
	d := deployment()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`))
	if err := c.SubResource("scale").Patch(t.Context(), d, patch); err != nil {
		t.Fatal(err)
	}
	if d.ResourceVersion != "7" || *d.Spec.Replicas != 0 {
		t.Errorf("the answer is in the object, which has replicas %d", *d.Spec.Replicas)
	}
	other := client.WithSubResourceBody(&policyv1.Eviction{})
	if err := c.SubResource("scale").Patch(t.Context(), d, patch, other); err == nil {
		t.Error("an eviction has the kind of a scale")
	}
	s.respond("PATCH "+strings.TrimSuffix(scaleOfWeb, "scale")+"status",
		`{"kind":"Scale","apiVersion":"autoscaling/v1"}`)
	if err := c.Status().Patch(t.Context(), d, patch); err == nil {
		t.Error("a status has the kind of a scale")
	}
}

func TestEvictionIsAnsweredByAStatus(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	const what = "POST /api/v1/namespaces/default/pods/p/eviction"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	s.respond(what, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}`)
	if err := c.SubResource("eviction").Create(t.Context(), pod, eviction); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, s.last(t).body,
		`{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"name":"p","namespace":"default"}}`)
	if eviction.Name != "p" || pod.Name != "p" {
		t.Error("an object was touched")
	}
	s.fails(what, 429, status(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget."))
	if err := c.SubResource("eviction").Create(t.Context(), pod, eviction); !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v", err)
	}
}

// cached is a Reader that counts its calls.
type cached struct{ gets, lists int }

func (c *cached) Get(context.Context, object.Key, object.Object, ...client.GetOption) error {
	c.gets++
	return nil
}

func (c *cached) List(context.Context, object.List, ...client.ListOption) error {
	c.lists++
	return nil
}

func TestJoinedClientReadsFromTheReaderUnlessAskedForAVersion(t *testing.T) {
	s := newServer()
	live := connect(t, s, client.Options{})
	reader := &cached{}
	c := client.NewClient(reader, live)
	ctx := t.Context()
	if c.Get(ctx, keyA, configMap("")) != nil || c.List(ctx, &corev1.ConfigMapList{}) != nil || reader.gets != 1 ||
		reader.lists != 1 {
		t.Errorf("the reader was asked %+v times", *reader)
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
	for what, err := range map[string]error{
		"get":    c.Get(ctx, keyA, configMap(""), client.NotOlderThan("5")),
		"list":   c.List(ctx, &corev1.ConfigMapList{}, client.NotOlderThan("5")),
		"delete": c.Delete(ctx, configMap("a")),
		"status": c.Status().Update(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
			Name: "web"}}),
	} {
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := c.Get(ctx, keyA, configMap(""), client.NotOlderThan("1"), client.NotOlderThan("2")); err == nil {
		t.Error("contradicting options are accepted")
	}
	if err := c.List(ctx, &corev1.ConfigMapList{}, client.Limit(1), client.Limit(2)); err == nil {
		t.Error("contradicting options are accepted")
	}
	if reader.gets != 1 || reader.lists != 1 || c.Scheme() != live.Scheme() {
		t.Errorf("the reader was asked %+v times", *reader)
	}
}
