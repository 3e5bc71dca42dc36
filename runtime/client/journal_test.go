package client_test

import (
	"context"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// journal keeps what it is told.
type journal struct {
	mu     sync.Mutex
	writes []client.Write
}

func subscribe(j *client.Journal) *journal {
	kept := &journal{}
	j.Subscribe(func(_ context.Context, w client.Write) {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		kept.writes = append(kept.writes, w)
	})
	return kept
}

// took returns the writes since the last call.
func (j *journal) took() []client.Write {
	j.mu.Lock()
	defer j.mu.Unlock()
	writes := j.writes
	j.writes = nil
	return writes
}

// took1 returns the only write since the last call.
func (j *journal) took1(t *testing.T, what string) client.Write {
	t.Helper()
	writes := j.took()
	if len(writes) != 1 {
		t.Fatalf("%s: told of %d writes: %+v", what, len(writes), writes)
	}
	return writes[0]
}

// testJournal compares what the journal is told with what a watch tells of the same writes.
func testJournal(t *testing.T, c live) {
	kept := subscribe(c.Journal())
	lw, err := client.NewListWatcher(c.REST, &corev1.Pod{}, client.Scope{Namespace: c.namespace})
	ok(t, err)
	page, err := lw.List(t.Context(), metav1.ListOptions{})
	ok(t, err)
	stream, err := lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: page.ResourceVersion})
	ok(t, err)
	defer stream.Close()

	pod := func() *corev1.Pod {
		return &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "a"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
		}
	}
	created := pod()
	for _, step := range []struct {
		name string
		do   func() error
		gone bool
	}{
		{"create", func() error { created.Finalizers = []string{"example.com/hold"}; return c.Create(t.Context(), created) }, false},
		{"update", func() error { created.Labels = map[string]string{"a": "b"}; return c.Update(t.Context(), created) }, false},
		{"patch", func() error {
			return c.Patch(t.Context(), pod(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"c"}}}`)))
		}, false},
		{"apply", func() error {
			p := pod()
			p.Labels = map[string]string{"applied": "x"}
			return c.Apply(t.Context(), p, client.FieldOwner("test"))
		}, false},
		{"status", func() error {
			p := pod()
			p.Status.Phase = corev1.PodRunning
			return c.Status().Patch(t.Context(), p, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"message":"x"}}`)))
		}, false},
		{"delete with a finalizer", func() error { return c.Delete(t.Context(), pod(), client.GracePeriodSeconds(0)) }, false},
		{"remove the finalizer", func() error {
			return c.Patch(t.Context(), pod(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		}, true},
	} {
		ok(t, step.do())
		w := kept.took1(t, step.name)
		event, err := stream.Next()
		ok(t, err)
		if w.ResourceVersion != event.ResourceVersion && !step.gone || w.UID != created.UID || w.Key != object.KeyOf(created) || w.GVK.Kind != "Pod" {
			t.Errorf("%s: told of %s %s %s, the event has version %s", step.name, w.Key, w.UID, w.ResourceVersion, event.ResourceVersion)
		}
		if w.Gone != step.gone || w.Gone != (event.Type == watch.Deleted) {
			t.Errorf("%s: gone is %v, the event is %s", step.name, w.Gone, event.Type)
		}
	}
}

func testJournalOfDeletions(t *testing.T, c live) {
	objects := c.create(t, "a", "b", "c")
	kept := subscribe(c.Journal())
	ok(t, c.Delete(t.Context(), c.configMap("a"), client.DryRunAll))
	ok(t, c.Patch(t.Context(), c.configMap("a"), client.RawPatch("application/merge-patch+json", []byte(`{}`)), client.DryRunAll))
	if writes := kept.took(); len(writes) > 0 {
		t.Errorf("told of dry runs: %+v", writes)
	}
	ok(t, c.Delete(t.Context(), c.configMap("a")))
	if w := kept.took1(t, "delete"); w.UID != objects[0].UID || !w.Gone || w.Key != object.KeyOf(objects[0]) {
		t.Errorf("told of %+v", w)
	}
	ok(t, c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(c.namespace), client.MatchingLabels{"name": "b"}))
	if w := kept.took1(t, "delete all"); w.UID != objects[1].UID || !w.Ending || w.Key != object.KeyOf(objects[1]) {
		t.Errorf("told of %+v", w)
	}
}

func testJournalIsShared(t *testing.T, c live) {
	shared := &client.Journal{}
	kept := subscribe(shared)
	for range 2 {
		another, err := client.New(c.config, client.Options{Scheme: newScheme(t), Journal: shared})
		ok(t, err)
		o := c.configMap("")
		o.GenerateName = "generated-"
		ok(t, another.Create(t.Context(), o))
		if w := kept.took1(t, "create"); w.Key != object.KeyOf(o) || w.Key.Name == "" || w.Object != object.Object(o) {
			t.Errorf("told of %+v, created %s", w, object.KeyOf(o))
		}
	}
	if err := c.Create(t.Context(), c.configMap("Invalid Name")); err == nil {
		t.Error("created")
	}
	if writes := kept.took(); len(writes) > 0 {
		t.Errorf("told of %+v", writes)
	}
}

// testJournalOfDeletedKinds deletes objects of kinds that end in their own ways, and compares with what a watch tells.
func testJournalOfDeletedKinds(t *testing.T, c live) {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
	}
	meta := metav1.ObjectMeta{Namespace: c.namespace, Name: c.namespace + "-ends"}
	held := meta
	held.Finalizers = []string{"example.com/hold"}
	deployment := appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template}
	for what, step := range map[string]struct {
		obj  object.Object
		opts []client.DeleteOption
	}{
		"a namespace, which its content holds":                  {obj: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: meta.Name}}},
		"a namespace that a finalizer holds too":                {obj: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: meta.Name + "-2", Finalizers: held.Finalizers}}},
		"an object":                                             {obj: &corev1.Secret{ObjectMeta: meta}},
		"an object with a finalizer":                            {obj: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "held", Finalizers: held.Finalizers}}},
		"an object with a period of grace that it does not use": {obj: &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, opts: []client.DeleteOption{client.GracePeriodSeconds(30)}},
		"a pod that runs nowhere":                               {obj: &corev1.Pod{ObjectMeta: meta, Spec: template.Spec}, opts: []client.DeleteOption{client.GracePeriodSeconds(30)}},
		"dependents first":                                      {obj: &appsv1.Deployment{ObjectMeta: meta, Spec: deployment}, opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)}},
		"dependents stay":                                       {obj: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "orphan"}, Spec: deployment}, opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationOrphan)}},
		"dependents later":                                      {obj: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "back"}, Spec: deployment}, opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}},
	} {
		ok(t, c.Create(t.Context(), step.obj))
		kept := subscribe(c.Journal())
		compare := func(call string, write func() error) {
			t.Helper()
			ok(t, write())
			w := kept.took1(t, what)
			err := c.Get(t.Context(), object.KeyOf(step.obj), step.obj.DeepCopyObject().(object.Object))
			if gone := apierrors.IsNotFound(err); w.Gone != gone && !w.Ending || w.UID != step.obj.GetUID() {
				t.Errorf("%s: %s is told as %+v, the server says %v", what, call, w, err)
			}
		}
		compare("the deletion", func() error { return c.Delete(t.Context(), step.obj, step.opts...) })
		if c.Get(t.Context(), object.KeyOf(step.obj), step.obj) != nil {
			continue
		}
		compare("an update", func() error {
			step.obj.SetAnnotations(map[string]string{"a": "b"})
			return c.Update(t.Context(), step.obj)
		})
		compare("the end of the finalizers", func() error {
			return c.Patch(t.Context(), step.obj, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		})
	}
}
