package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// recorder keeps the writes that a journal records. It fails if a recorded write is not in flight, or if a write is
// still in flight at the end of the test.
type recorder struct {
	log    *writes.Log
	begins uint64 // value of log.Begun before the test

	mu     sync.Mutex
	writes []writes.Write
}

func subscribe(t *testing.T, j *client.Journal) *recorder {
	log := writes.LogOf(j)
	kept := &recorder{log: log, begins: log.Begun()}
	key := object.Key{Namespace: "default", Name: "a"}
	recorded := map[string]object.Key{"Deployment.apps": key, "Pod": key, "ServiceAccount": key}
	log.Subscribe(func(_ context.Context, w writes.Write) {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		kept.writes = append(kept.writes, w)
		recorded[w.GVK.GroupKind().String()] = w.Key
		if !isInFlight(log, w.GVK.GroupKind().String(), w.Key) {
			t.Errorf("recorded %+v, which has not begun", w)
		}
	})
	t.Cleanup(func() {
		for kind, key := range recorded {
			if isInFlight(log, kind, key) {
				t.Errorf("a write of %s %s has not ended", kind, key)
			}
		}
	})
	return kept
}

func isInFlight(log *writes.Log, kind string, key object.Key) bool {
	return log.WhenRecorded(nil, kind, key, log.Begun(), func() {})
}

// begun returns the number of writes that have begun in the test.
func (j *recorder) begun() uint64 { return j.log.Begun() - j.begins }

// take returns the writes since the last call.
func (j *recorder) take() []writes.Write {
	j.mu.Lock()
	defer j.mu.Unlock()
	recorded := j.writes
	j.writes = nil
	return recorded
}

// only returns the only write since the last call.
func (j *recorder) only(t *testing.T, what string) writes.Write {
	t.Helper()
	recorded := j.take()
	if len(recorded) != 1 {
		t.Fatalf("%s: recorded %d writes: %+v", what, len(recorded), recorded)
	}
	return recorded[0]
}

// testJournal compares the journal's records with the watch events that the same writes cause.
func testJournal(t *testing.T, c live) {
	kept := subscribe(t, c.Journal())
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
		{"create", func() error { created.Finalizers = []string{"example.com/hold"}; return c.Create(t.Context(), created) },
			false},
		{"update", func() error { created.Labels = map[string]string{"a": "b"}; return c.Update(t.Context(), created) },
			false},
		{"patch", func() error {
			return c.Patch(t.Context(), pod(), client.RawPatch("application/merge-patch+json",
				[]byte(`{"metadata":{"labels":{"a":"c"}}}`)))
		}, false},
		{"apply", func() error {
			p := pod()
			p.Labels = map[string]string{"applied": "x"}
			return c.Apply(t.Context(), p, client.FieldOwner("test"))
		}, false},
		{"status", func() error {
			p := pod()
			p.Status.Phase = corev1.PodRunning
			return c.Status().Patch(t.Context(), p, client.RawPatch("application/merge-patch+json",
				[]byte(`{"status":{"message":"x"}}`)))
		}, false},
		{"delete with a finalizer", func() error { return c.Delete(t.Context(), pod(), client.GracePeriodSeconds(0)) },
			false},
		{"remove the finalizer", func() error {
			return c.Patch(t.Context(), pod(), client.RawPatch("application/merge-patch+json",
				[]byte(`{"metadata":{"finalizers":null}}`)))
		}, true},
	} {
		ok(t, step.do())
		w := kept.only(t, step.name)
		event, err := stream.Next()
		ok(t, err)
		if w.ResourceVersion != event.ResourceVersion && !step.gone || w.UID != created.UID ||
			w.Key != object.KeyOf(created) || w.GVK.Kind != "Pod" {
			t.Errorf("%s: recorded %s %s %s, the event has version %s", step.name, w.Key, w.UID, w.ResourceVersion,
				event.ResourceVersion)
		}
		if w.Gone != step.gone || w.Gone != (event.Type == watch.Deleted) {
			t.Errorf("%s: gone is %v, the event is %s", step.name, w.Gone, event.Type)
		}
	}
}

func testJournalOfDeletions(t *testing.T, c live) {
	objects := c.create(t, "a", "b", "c")
	kept := subscribe(t, c.Journal())
	ok(t, c.Delete(t.Context(), c.configMap("a"), client.DryRunAll))
	ok(t, c.Patch(t.Context(), c.configMap("a"), client.RawPatch("application/merge-patch+json", []byte(`{}`)),
		client.DryRunAll))
	ok(t, c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(c.namespace), client.DryRunAll))
	if writes := kept.take(); len(writes) > 0 || kept.begun() > 0 {
		t.Errorf("recorded dry runs: %+v, of which %d have begun", writes, kept.begun())
	}
	ok(t, c.Delete(t.Context(), c.configMap("a")))
	if w := kept.only(t, "delete"); w.UID != objects[0].UID || !w.Gone || w.Key != object.KeyOf(objects[0]) {
		t.Errorf("recorded %+v", w)
	}
	ok(t, c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(c.namespace),
		client.MatchingLabels{"name": "b"}))
	if w := kept.only(t, "delete all"); w.UID != objects[1].UID || !w.Ending || w.Key != object.KeyOf(objects[1]) {
		t.Errorf("recorded %+v", w)
	}
}

func testJournalIsShared(t *testing.T, c live) {
	shared := &client.Journal{}
	kept := subscribe(t, shared)
	for range 2 {
		another, err := client.New(c.config, client.Options{Scheme: newScheme(t), Journal: shared})
		ok(t, err)
		o := c.configMap("")
		o.GenerateName = "generated-"
		ok(t, another.Create(t.Context(), o))
		if w := kept.only(t, "create"); w.Key != object.KeyOf(o) || w.Key.Name == "" || w.Object != object.Object(o) {
			t.Errorf("recorded %+v, created %s", w, object.KeyOf(o))
		}
	}
	if err := c.Create(t.Context(), c.configMap("Invalid Name")); err == nil {
		t.Error("created")
	}
	if writes := kept.take(); len(writes) > 0 {
		t.Errorf("recorded %+v", writes)
	}
}

// testJournalOfDeletedKinds deletes objects of kinds that are deleted in different ways, and compares the journal with
// a watch.
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
		"a namespace, which its content holds": {obj: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: meta.Name}}},
		"a namespace that a finalizer holds too": {obj: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: meta.Name +
			"-2", Finalizers: held.Finalizers}}},
		"an object": {obj: &corev1.Secret{ObjectMeta: meta}},
		"an object with a finalizer": {obj: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "held",
			Finalizers: held.Finalizers}}},
		"an object with a period of grace that it does not use": {obj: &corev1.Service{ObjectMeta: meta,
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
			opts: []client.DeleteOption{client.GracePeriodSeconds(30)}},
		"a pod that runs nowhere": {obj: &corev1.Pod{ObjectMeta: meta, Spec: template.Spec},
			opts: []client.DeleteOption{client.GracePeriodSeconds(30)}},
		"dependents first": {obj: &appsv1.Deployment{ObjectMeta: meta, Spec: deployment},
			opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)}},
		"dependents stay": {obj: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "orphan"},
			Spec: deployment}, opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationOrphan)}},
		"dependents later": {obj: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "back"},
			Spec: deployment}, opts: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}},
	} {
		ok(t, c.Create(t.Context(), step.obj))
		kept := subscribe(t, c.Journal())
		compare := func(call string, write func() error) {
			t.Helper()
			ok(t, write())
			w := kept.only(t, what)
			err := c.Get(t.Context(), object.KeyOf(step.obj), step.obj.DeepCopyObject().(object.Object))
			if gone := apierrors.IsNotFound(err); w.Gone != gone && !w.Ending || w.UID != step.obj.GetUID() {
				t.Errorf("%s: %s is recorded as %+v, the server says %v", what, call, w, err)
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
			return c.Patch(t.Context(), step.obj, client.RawPatch("application/merge-patch+json",
				[]byte(`{"metadata":{"finalizers":null}}`)))
		})
	}
}

// written is a write and its expected record. The record contains the object of the answer unless order is set.
type written struct {
	call   func(ctx context.Context, c *client.REST) error
	answer string     // the server's answer
	key    object.Key // the object's key in the record; may be empty
	kind   string     // the object's kind in the record
	order  bool       // the answer does not contain the resulting object
	silent bool       // nothing is recorded if the key is unknown, as no object could be read again
}

// allWrites returns calls of each verb, in each form and for each sort of subresource.
func allWrites() map[string]written {
	const (
		deployment = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"default","name":"a","uid":"u","resourceVersion":"7"}}`
		pod        = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"default","name":"a","uid":"u","resourceVersion":"7"}}`
		scale      = `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"namespace":"default","name":"a","uid":"u","resourceVersion":"7"},"spec":{"replicas":3}}`
		success    = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`
		deleted    = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","kind":"deployments","uid":"u"}}`
		all        = `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"9"},"items":[` +
			deployment + `]}`
		eviction = `{"kind":"Eviction","apiVersion":"policy/v1","metadata":{"namespace":"default","name":"a"}}`
		binding  = `{"kind":"Binding","apiVersion":"v1","metadata":{"namespace":"default","name":"a"},"target":{"name":""}}`
		token    = `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","metadata":{"namespace":"default","name":"a"},"spec":{"audiences":null,"expirationSeconds":null,"boundObjectRef":null},"status":{"token":"secret","expirationTimestamp":null}}`
	)
	key := object.Key{Namespace: "default", Name: "a"}
	meta := metav1.ObjectMeta{Namespace: "default", Name: "a"}
	merge := client.RawPatch("application/merge-patch+json", []byte(`{"a":"b"}`))
	deploymentA := func() *appsv1.Deployment { return &appsv1.Deployment{ObjectMeta: meta} }
	podA := func() *corev1.Pod { return &corev1.Pod{ObjectMeta: meta} }
	return map[string]written{
		"create": {func(ctx context.Context, c *client.REST) error { return c.Create(ctx, deploymentA()) }, deployment, key,
			"Deployment", false, false},
		"create of an unstructured object": {func(ctx context.Context, c *client.REST) error {
			return c.Create(ctx, untyped("apps/v1", "Deployment", "default", "a"))
		}, deployment, key, "Deployment", false, false},
		"create with a generated name": {func(ctx context.Context, c *client.REST) error {
			return c.Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "a-"}})
		}, deployment, key, "Deployment", false, true},
		"update": {func(ctx context.Context, c *client.REST) error { return c.Update(ctx, deploymentA()) }, deployment, key,
			"Deployment", false, false},
		"patch": {func(ctx context.Context, c *client.REST) error { return c.Patch(ctx, deploymentA(), merge) }, deployment,
			key, "Deployment", false, false},
		"patch of metadata": {func(ctx context.Context, c *client.REST) error {
			return c.Patch(ctx, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1",
				Kind: "Deployment"}, ObjectMeta: meta}, merge)
		}, deployment, key, "Deployment", false, false},
		"apply": {func(ctx context.Context, c *client.REST) error {
			return c.Apply(ctx, deploymentA(), client.FieldOwner("x"))
		}, deployment, key, "Deployment", false, false},
		"update status": {func(ctx context.Context, c *client.REST) error { return c.Status().Update(ctx, deploymentA()) },
			deployment, key, "Deployment", false, false},
		"patch status": {func(ctx context.Context, c *client.REST) error {
			return c.Status().Patch(ctx, deploymentA(),
				merge)
		}, deployment, key, "Deployment", false, false},
		"apply status": {func(ctx context.Context, c *client.REST) error {
			return c.Status().Apply(ctx, deploymentA(), client.FieldOwner("x"))
		}, deployment, key, "Deployment", false, false},
		"update scale": {func(ctx context.Context, c *client.REST) error {
			return c.SubResource("scale").Update(ctx, deploymentA(), client.WithSubResourceBody(&autoscalingv1.Scale{}))
		}, scale, key, "Deployment", false, false},
		"patch scale": {func(ctx context.Context, c *client.REST) error {
			return c.SubResource("scale").Patch(ctx, deploymentA(), merge, client.WithSubResourceBody(&autoscalingv1.Scale{}))
		}, scale, key, "Deployment", false, false},
		"delete": {func(ctx context.Context, c *client.REST) error {
			return c.Delete(ctx,
				deploymentA())
		}, deleted, key, "Deployment", false, false},
		"delete, the object comes": {func(ctx context.Context, c *client.REST) error {
			return c.Delete(ctx,
				deploymentA())
		}, deployment, key, "Deployment", false, false},
		"delete, nobody says of what": {func(ctx context.Context, c *client.REST) error {
			return c.Delete(ctx,
				deploymentA())
		}, success, key, "Deployment", true, false},
		"delete all": {func(ctx context.Context, c *client.REST) error {
			return c.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace("default"))
		}, all, key, "Deployment", false, true},
		"eviction": {func(ctx context.Context, c *client.REST) error {
			return c.SubResource("eviction").Create(ctx, podA(), &policyv1.Eviction{})
		}, success, key, "Pod", true, false},
		"eviction, the eviction comes": {func(ctx context.Context, c *client.REST) error {
			return c.SubResource("eviction").Create(ctx, podA(), &policyv1.Eviction{})
		}, eviction, key, "Pod", true, false},
		"binding": {func(ctx context.Context, c *client.REST) error {
			return c.SubResource("binding").Create(ctx, podA(), &corev1.Binding{})
		}, success, key, "Pod", true, false},
		"binding, the binding comes": {func(ctx context.Context, c *client.REST) error {
			return c.SubResource("binding").Create(ctx, podA(), &corev1.Binding{})
		}, binding, key, "Pod", true, false},
		"binding as an object of its own": {func(ctx context.Context, c *client.REST) error {
			return c.Create(ctx, &corev1.Binding{ObjectMeta: meta})
		}, success, key, "Pod", true, false},
		"ephemeral containers": {func(ctx context.Context, c *client.REST) error {
			return c.SubResource("ephemeralcontainers").Update(ctx, podA())
		}, pod, key, "Pod", false, false},
		"a token changes nothing": {func(ctx context.Context, c *client.REST) error {
			return c.SubResource("token").Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, &authenticationv1.TokenRequest{})
		}, token, object.Key{}, "", false, true},
	}
}

// schemeOfWrites contains the kinds of all writes. All calls of writeTo share it, because building it takes longer than
// a write.
var schemeOfWrites = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), autoscalingv1.AddToScheme(scheme),
		policyv1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme))
})

// writeTo returns the journal's records of a write if the server gives the answer answered to every request.
func writeTo(t *testing.T, w written, answered answer) ([]writes.Write, error) {
	s := newServer()
	s.respond("GET /api/v1", resources("v1", "Pod/pods/pod", "Binding/bindings/binding",
		"ServiceAccount/serviceaccounts/serviceaccount"))
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for _, path := range []string{
			"/apis/apps/v1/namespaces/default/deployments", "/apis/apps/v1/namespaces/default/deployments/a",
			"/apis/apps/v1/namespaces/default/deployments/a/status", "/apis/apps/v1/namespaces/default/deployments/a/scale",
			"/api/v1/namespaces/default/pods/a/eviction", "/api/v1/namespaces/default/pods/a/binding",
			"/api/v1/namespaces/default/bindings",
			"/api/v1/namespaces/default/pods/a/ephemeralcontainers", "/api/v1/namespaces/default/serviceaccounts/a/token",
		} {
			s.on(method+" "+path, func(int) answer { return answered })
		}
	}
	scheme, err := schemeOfWrites()
	ok(t, err)
	c := connect(t, s, client.Options{Scheme: scheme})
	kept := subscribe(t, c.Journal())
	err = w.call(t.Context(), c)
	return kept.take(), err
}

func TestJournalRecordsEachWrite(t *testing.T) {
	for what, w := range allWrites() {
		recorded, err := writeTo(t, w, answer{body: w.answer})
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if w.kind == "" {
			if len(recorded) > 0 {
				t.Errorf("%s: recorded %+v", what, recorded)
			}
			continue
		}
		if len(recorded) != 1 || recorded[0].Key != w.key || recorded[0].GVK.Kind != w.kind ||
			recorded[0].Unknown != w.order ||
			recorded[0].UID != "u" && !w.order {
			t.Errorf("%s: recorded %+v", what, recorded)
		}
	}
}

// TestWriteIsCertainIfTheServerCheckedItsVersion compares writes that may have changed nothing with writes that
// certainly created the version in the answer, which is 7.
func TestWriteIsCertainIfTheServerCheckedItsVersion(t *testing.T) {
	const deployment = `{"kind":"Deployment","apiVersion":"apps/v1",` +
		`"metadata":{"namespace":"default","name":"a","uid":"u","resourceVersion":"7"}}`
	at := func(version string) *appsv1.Deployment {
		meta := metav1.ObjectMeta{Namespace: "default", Name: "a", ResourceVersion: version}
		return &appsv1.Deployment{ObjectMeta: meta}
	}
	update := func(version string) func(context.Context, *client.REST) error {
		return func(ctx context.Context, c *client.REST) error { return c.Update(ctx, at(version)) }
	}
	create := func(ctx context.Context, c *client.REST) error { return c.Create(ctx, at("")) }
	updateStatus := func(ctx context.Context, c *client.REST) error { return c.Status().Update(ctx, at("6")) }
	apply := func(version string) func(context.Context, *client.REST) error {
		return func(ctx context.Context, c *client.REST) error {
			return c.Apply(ctx, at(version), client.FieldOwner("x"))
		}
	}
	patch := func(p client.Patch) func(context.Context, *client.REST) error {
		return func(ctx context.Context, c *client.REST) error {
			changed := at("6")
			changed.Labels = map[string]string{"a": "b"}
			return c.Patch(ctx, changed, p)
		}
	}
	for name, c := range map[string]struct {
		call func(ctx context.Context, c *client.REST) error
		want bool
	}{
		"create":                  {create, true},
		"update":                  {update("6"), true},
		"update of nothing":       {update("7"), false},
		"update of any version":   {update(""), false},
		"update of the status":    {updateStatus, true},
		"apply":                   {apply(""), false},
		"apply of what was read":  {apply("6"), false},
		"patch of what was read":  {patch(client.MergeFrom(at("6"))), false},
		"patch of one version":    {patch(client.MergeFromWithOptimisticLock(at("6"))), true},
		"patch that is no object": {patch(client.RawPatch(types.JSONPatchType, []byte(`[]`))), false},
	} {
		recorded, err := writeTo(t, written{call: c.call}, answer{body: deployment})
		if err != nil || len(recorded) != 1 || recorded[0].Changed != c.want {
			t.Errorf("%s: recorded %+v, %v; want Changed %v", name, recorded, err, c.want)
		}
	}
}

// cutBody returns data and then fails with err, as a broken connection does.
type cutBody struct {
	data io.Reader
	err  error
}

func (c cutBody) Read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	if err == io.EOF {
		err = c.err
	}
	return n, err
}

func (c cutBody) Close() error { return nil }

// TestJournalRecordsWritesWithLostAnswers cuts the connection before the answer and at each byte of it. The cut causes
// a read error or not, because the end of an answer without a length looks like a cut. In other cases a proxy answers
// instead.
func TestJournalRecordsWritesWithLostAnswers(t *testing.T) {
	for what, w := range allWrites() {
		lost := map[string]answer{
			"reset":       {err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}},
			"closed":      {err: io.EOF},
			"no success":  {code: 500, body: status(500, "InternalError", "etcd has timed out")},
			"a gateway":   {code: 502, header: map[string]string{"Content-Type": "text/html"}, body: "<html>bad gateway</html>"},
			"a timeout":   {code: 504, body: status(504, "Timeout", "the request has not been completed")},
			"another one": {body: `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"7"}}`},
			"a failure":   {body: `{"kind":"Status","apiVersion":"v1","status":"Failure"}`},
			"a page":      {header: map[string]string{"Content-Type": "text/html"}, body: "<html>log in</html>"},
			"null":        {body: `null`},
			"an object":   {body: `{}`},
			"a list":      {body: `[]`},
			"a text":      {body: `"a"`},
			"two":         {body: w.answer + w.answer},
		}
		for n := range w.answer {
			lost[fmt.Sprintf("cut at %d", n)] = answer{stream: cutBody{strings.NewReader(w.answer[:n]), io.ErrUnexpectedEOF}}
			lost[fmt.Sprintf("ends at %d", n)] = answer{body: w.answer[:n]}
		}
		for how, answered := range lost {
			recorded, err := writeTo(t, w, answered)
			if err == nil && !strings.HasPrefix(what, "delete") {
				t.Errorf("%s, %s: no error", what, how)
			}
			switch {
			case w.silent && len(recorded) > 0:
				t.Errorf("%s, %s: recorded %+v", what, how, recorded)
			case w.silent:
			case len(recorded) != 1 || recorded[0].Key != w.key || recorded[0].GVK.Kind != w.kind || !recorded[0].Unknown:
				t.Errorf("%s, %s: recorded %+v", what, how, recorded)
			}
		}
	}
}

// TestJournalDoesNotRecordRejectedWrites checks writes that did not reach the server's storage.
func TestJournalDoesNotRecordRejectedWrites(t *testing.T) {
	for what, w := range allWrites() {
		for how, answered := range map[string]answer{
			"a conflict":  {code: 409, body: status(409, "Conflict", "no")},
			"forbidden":   {code: 403, body: status(403, "Forbidden", "no")},
			"in a body":   {body: status(422, "Invalid", "no")},
			"not sent":    {err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}},
			"not allowed": {code: 405, header: map[string]string{"Content-Type": "text/plain"}, body: "no"},
		} {
			if recorded, err := writeTo(t, w, answered); err == nil || len(recorded) > 0 {
				t.Errorf("%s, %s: recorded %+v, got %v", what, how, recorded, err)
			}
		}
	}
}
