package client_test

import (
	"reflect"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestMergePatchOmitsNullsThatTheBaseLacks(t *testing.T) {
	read := &unstructured.Unstructured{Object: map[string]any{"kind": "Widget", "apiVersion": "example.com/v1", "a": "1"}}
	modified := &unstructured.Unstructured{Object: map[string]any{"kind": "Widget", "apiVersion": "example.com/v1",
		"a": nil, "b": nil}}
	got, err := client.MergeFrom(read).Data(modified)
	if err != nil || string(got) != `{"a":null}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestMergePatchNamesOnlyWhatDiffers(t *testing.T) {
	read := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", ResourceVersion: "7",
			Labels: map[string]string{"a": "1", "b": "2"}},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c"}, {Name: "d"}}},
	}
	for name, test := range map[string]struct {
		change func(p *corev1.Pod)
		want   string
	}{
		"nothing":         {func(*corev1.Pod) {}, `{}`},
		"a field":         {func(p *corev1.Pod) { p.Spec.NodeName = "m" }, `{"spec":{"nodeName":"m"}}`},
		"a field removed": {func(p *corev1.Pod) { p.Spec.NodeName = "" }, `{"spec":{"nodeName":null}}`},
		"a map entry": {func(p *corev1.Pod) { p.Labels["a"] = "3"; delete(p.Labels, "b") },
			`{"metadata":{"labels":{"a":"3","b":null}}}`},
		"a map removed": {func(p *corev1.Pod) { p.Labels = nil }, `{"metadata":{"labels":null}}`},
		"a map added": {func(p *corev1.Pod) { p.Annotations = map[string]string{"x": ""} },
			`{"metadata":{"annotations":{"x":""}}}`},
		"a list is sent whole": {func(p *corev1.Pod) { p.Spec.Containers[1].Image = "i" },
			`{"spec":{"containers":[{"name":"c","resources":{}},{"name":"d","image":"i","resources":{}}]}}`},
		"version and kind": {func(p *corev1.Pod) {
			p.ResourceVersion = "9"
			p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
		}, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			modified := read.DeepCopy()
			test.change(modified)
			data, err := client.MergeFrom(read).Data(modified)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, string(data), test.want)
			locked, err := client.MergeFromWithOptimisticLock(read).Data(modified)
			if err != nil || !strings.Contains(string(locked), `"resourceVersion":"7"`) {
				t.Errorf("with lock: got %s, %v", locked, err)
			}
		})
	}
}

// Mock clients match patches by the names of their types, for example AnythingOfType("*client.mergeFromPatch").
func TestPatchesHaveTheNamesThatMocksAskFor(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}
	for _, merge := range []client.Patch{
		client.MergeFrom(pod), client.MergeFromWithOptimisticLock(pod), client.StrategicMergeFrom(pod),
		client.StrategicMergeFromWithOptimisticLock(pod),
	} {
		if name := reflect.TypeOf(merge).String(); name != "*client.mergeFromPatch" {
			t.Errorf("a patch of %s is a %s", merge.Type(), name)
		}
	}
	if name := reflect.TypeOf(client.RawPatch(types.JSONPatchType, nil)).String(); name != "*client.patch" {
		t.Errorf("a raw patch is a %s", name)
	}
	if !reflect.DeepEqual(client.MergeFrom(pod), client.MergeFrom(pod.DeepCopy())) ||
		reflect.DeepEqual(client.MergeFrom(pod), client.StrategicMergeFrom(pod)) {
		t.Error("patches are not equal by what they patch")
	}
}

func TestPatchOfAnObjectHasItsUID(t *testing.T) {
	read := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: "7"}}
	for name, test := range map[string]struct {
		change       func(p *corev1.Pod)
		want, locked string
	}{
		"nothing": {func(*corev1.Pod) {}, `{}`, `{"metadata":{"resourceVersion":"7","uid":"u"}}`},
		"a field": {func(p *corev1.Pod) { p.Spec.NodeName = "m" }, `{"metadata":{"uid":"u"},"spec":{"nodeName":"m"}}`,
			`{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"nodeName":"m"}}`},
		"metadata": {func(p *corev1.Pod) { p.GenerateName = "g" }, `{"metadata":{"generateName":"g","uid":"u"}}`,
			`{"metadata":{"generateName":"g","resourceVersion":"7","uid":"u"}}`},
		"its UID": {func(p *corev1.Pod) { p.UID = "v" }, `{}`, `{"metadata":{"resourceVersion":"7","uid":"u"}}`},
		"no UID": {func(p *corev1.Pod) { p.UID, p.ResourceVersion, p.Spec.NodeName = "", "", "m" },
			`{"metadata":{"uid":"u"},"spec":{"nodeName":"m"}}`,
			`{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"nodeName":"m"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			modified := read.DeepCopy()
			test.change(modified)
			for want, patches := range map[string][]client.Patch{
				test.want:   {client.MergeFrom(read), client.StrategicMergeFrom(read)},
				test.locked: {client.MergeFromWithOptimisticLock(read), client.StrategicMergeFromWithOptimisticLock(read)},
			} {
				for _, patch := range patches {
					data, err := patch.Data(modified)
					if err != nil {
						t.Fatal(err)
					}
					sameJSON(t, string(data), want)
				}
			}
		})
	}
}

func TestMergePatchOfUnstructuredObjects(t *testing.T) {
	base := untyped("v1", "ConfigMap", "default", "a")
	base.Object["data"] = map[string]any{"kept": "1", "map": map[string]any{}, "was": "text", "null": nil}
	modified := base.DeepCopy()
	modified.Object["data"] = map[string]any{"kept": "1", "map": map[string]any{}, "was": map[string]any{"now": "a map"},
		"null": nil, "big": int64(1) << 60}
	delete(modified.Object, "metadata")
	data, err := client.MergeFrom(base).Data(modified)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"data":{"big":1152921504606846976,"was":{"now":"a map"}},"metadata":null}`; string(data) != want {
		t.Errorf("got %s", data)
	}
}

func TestMergePatchErrors(t *testing.T) {
	_, err := client.MergeFrom(configMap("a")).Data(&corev1.Pod{})
	if err == nil || !strings.Contains(err.Error(), "merge patch from *v1.ConfigMap to *v1.Pod: the types differ") {
		t.Errorf("got %v", err)
	}
	_, err = client.MergeFromWithOptimisticLock(configMap("a")).Data(configMap("a"))
	if err == nil || !strings.Contains(err.Error(), "the base has no resourceVersion") {
		t.Errorf("got %v", err)
	}
}

func TestPatchSendsTypeAndData(t *testing.T) {
	const answer = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"8"}}`
	changed := configMap("a")
	changed.Data = map[string]string{"x": "y"}
	for name, test := range map[string]struct {
		patch       client.Patch
		media, body string
	}{
		"merge": {client.MergeFrom(configMap("a")), "application/merge-patch+json", `{"data":{"x":"y"}}`},
		"whole": {client.Merge, "application/merge-patch+json",
			`{"data":{"x":"y"},"metadata":{"name":"a","namespace":"default"}}`},
		"json": {client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/data"}]`)),
			"application/json-patch+json", `[{"op":"remove","path":"/data"}]`},
		"strategic": {client.RawPatch(types.StrategicMergePatchType, []byte(`{"$patch":"replace"}`)),
			"application/strategic-merge-patch+json", `{"$patch":"replace"}`},
		"apply": {client.RawPatch(types.ApplyYAMLPatchType, []byte(`{}`)), "application/apply-patch+yaml", `{}`},
	} {
		for sub, patch := range map[string]func(*client.REST) func(obj object.Object) error{
			"": func(c *client.REST) func(object.Object) error {
				return func(obj object.Object) error { return c.Patch(t.Context(), obj, test.patch) }
			},
			"/status": func(c *client.REST) func(object.Object) error {
				return func(obj object.Object) error { return c.Status().Patch(t.Context(), obj, test.patch) }
			},
		} {
			t.Run(name+sub, func(t *testing.T) {
				s := newServer()
				c := connect(t, s, client.Options{})
				what := "PATCH /api/v1/namespaces/default/configmaps/a" + sub
				s.respond(what, answer)
				obj := changed.DeepCopy()
				if err := patch(c)(obj); err != nil {
					t.Fatal(err)
				}
				got := s.last(t)
				if got.what != what || got.header.Get("Content-Type") != test.media || got.body != test.body {
					t.Errorf("got %s %s %s", got.what, got.header.Get("Content-Type"), got.body)
				}
				if obj.ResourceVersion != "8" || obj.Data != nil {
					t.Errorf("the object is not what the server answered: %v", obj)
				}
			})
		}
	}
}

func TestPatchOfASubresourceBodyComparesBodies(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond("PATCH /apis/apps/v1/namespaces/default/deployments/web/scale",
		`{"kind":"Scale","apiVersion":"autoscaling/v1"}`)
	base := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	scale := base.DeepCopy()
	scale.Spec.Replicas = 3
	d := deployment()
	if err := c.SubResource("scale").Patch(t.Context(), d, client.MergeFrom(base),
		client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, s.last(t).body, `{"spec":{"replicas":3}}`)
	if d.Status.Replicas != 3 {
		t.Error("the object was changed instead of the body")
	}
}

func TestPatchThatCannotBeMadeIsNotSent(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	err := c.Patch(t.Context(), configMap("a"), client.MergeFrom(&corev1.Pod{}))
	if err == nil || !strings.Contains(err.Error(), "patch configmaps default/a: merge patch") {
		t.Errorf("got %v", err)
	}
	err = c.SubResource("scale").Patch(t.Context(), deployment(), client.MergeFrom(&corev1.Pod{}),
		client.WithSubResourceBody(&gadget{}))
	if err == nil || !strings.Contains(err.Error(), "patch deployments/scale default/web: no kind") {
		t.Errorf("got %v", err)
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
}
