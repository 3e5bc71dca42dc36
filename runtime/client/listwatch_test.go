package client_test

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// listWatcher returns a ListWatcher of s.
func listWatcher[T object.Object](t testing.TB, s *server, prototype T, scope client.Scope) *client.ListWatcher[T] {
	t.Helper()
	lw, err := client.NewListWatcher(connect(t, s, client.Options{}), prototype, scope)
	if err != nil {
		t.Fatal(err)
	}
	return lw
}

func TestScopeAndOptionsSelectTogether(t *testing.T) {
	selector := func(text string) labels.Selector {
		parsed, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for name, test := range map[string]struct {
		scope client.Scope
		opts  metav1.ListOptions
		want  string
	}{
		"all": {client.Scope{}, metav1.ListOptions{}, "/api/v1/configmaps"},
		"scope": {client.Scope{Namespace: "n", Labels: selector("a=b"), Fields: fields.OneTermEqualSelector("x",
			"y")}, metav1.ListOptions{}, "/api/v1/namespaces/n/configmaps?fieldSelector=x%3Dy&labelSelector=a%3Db"},
		"options": {client.Scope{}, metav1.ListOptions{LabelSelector: "a=b", FieldSelector: "x=y"},
			"/api/v1/configmaps?fieldSelector=x%3Dy&labelSelector=a%3Db"},
		"both": {client.Scope{Labels: selector("a"), Fields: fields.OneTermEqualSelector("x", "y")},
			metav1.ListOptions{LabelSelector: "c!=d", FieldSelector: "z=1"},
			"/api/v1/configmaps?fieldSelector=x%3Dy%2Cz%3D1&labelSelector=a%2Cc%21%3Dd"},
		"page of a list": {client.Scope{}, metav1.ListOptions{Limit: 500, Continue: "token", ResourceVersion: "0"},
			"/api/v1/configmaps?continue=token&limit=500&resourceVersion=0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			path, _, _ := strings.Cut(test.want, "?")
			s.respond("GET "+path, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{}}`)
			lw := listWatcher(t, s, configMap(""), test.scope)
			if _, err := lw.List(t.Context(), test.opts); err != nil {
				t.Fatal(err)
			}
			if got := s.last(t).what; got != "GET "+test.want {
				t.Errorf("got %s", got)
			}
			events, err := lw.Watch(t.Context(), test.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.last(t).what; !strings.Contains(got, "watch=true") || !strings.HasPrefix(got, "GET "+path) {
				t.Errorf("got %s", got)
			}
			if err := events.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStreamingListAsksForTheBookmarkThatEndsIt(t *testing.T) {
	s := newServer()
	s.respond("GET /api/v1/configmaps", "")
	lw := listWatcher(t, s, configMap(""), client.Scope{})
	opts := metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		TimeoutSeconds: new(int64(300))}
	events, err := lw.Watch(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.Next(); err != io.EOF {
		t.Error(err)
	}
	if got := s.last(t).what; got != "GET /api/v1/configmaps?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=300&watch=true" {
		t.Errorf("got %s", got)
	}
	if opts.Watch || opts.AllowWatchBookmarks {
		t.Error("the options of the caller were changed")
	}
}

// The transport of net/http requests compressed responses unless a request has the header Accept-Encoding.
func TestOnlyListsMayBeCompressed(t *testing.T) {
	s := newServer()
	s.respond("GET /api/v1/configmaps", `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{}}`)
	lw := listWatcher(t, s, configMap(""), client.Scope{})
	if _, err := lw.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := s.last(t).header.Get("Accept-Encoding"); got != "" {
		t.Errorf("a list has the header Accept-Encoding: %s", got)
	}
	events, err := lw.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	if got := s.last(t).header.Get("Accept-Encoding"); got != "identity" {
		t.Errorf("a watch has the header Accept-Encoding: %q", got)
	}
}

func TestPagesOfAListInEachForm(t *testing.T) {
	const items = `"metadata":{"resourceVersion":"9","continue":"more"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`
	page := func(t *testing.T, s *server, names []string, kind, version, next string, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(names, []string{"a", "b"}) || version != "9" || next != "more" {
			t.Errorf("got %v %s %s, %v", names, version, next, err)
		}
		accept := s.last(t).header.Get("Accept")
		if want := strings.Contains(kind, "Partial"); strings.Contains(accept, "as=PartialObjectMetadataList") != want {
			t.Errorf("the client accepts %s", accept)
		}
	}
	s := newServer()
	serve := func(kind string) { s.respond("GET /api/v1/configmaps", `{"kind":"`+kind+`","apiVersion":"v1",`+items) }

	serve("ConfigMapList")
	typed, err := listWatcher(t, s, configMap(""), client.Scope{}).List(t.Context(), metav1.ListOptions{})
	page(t, s, names(typed), "ConfigMapList", typed.ResourceVersion, typed.Continue, err)

	plain, err := listWatcher(t, s, untyped("v1", "ConfigMap", "", ""), client.Scope{}).List(t.Context(),
		metav1.ListOptions{})
	page(t, s, names(plain), "ConfigMapList", plain.ResourceVersion, plain.Continue, err)
	if plain.Items[0].GetKind() != "ConfigMap" || plain.Items[0].GetAPIVersion() != "v1" {
		t.Errorf("got %v", plain.Items[0])
	}

	s.respond("GET /api/v1/configmaps", `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",`+items)
	partial, err := listWatcher[object.Object](t, s, metadataOf(""), client.Scope{}).List(t.Context(),
		metav1.ListOptions{})
	page(t, s, names(partial), "PartialObjectMetadataList", partial.ResourceVersion, partial.Continue, err)
	if partial.Items[0].GetObjectKind().GroupVersionKind().Kind != "ConfigMap" {
		t.Errorf("got %v", partial.Items[0])
	}
}

func names[T object.Object](p *client.Page[T]) []string {
	if p == nil {
		return nil
	}
	var names []string
	for _, item := range p.Items {
		names = append(names, item.GetName())
	}
	return names
}

func TestPageThatCannotBeReadIsADecodeError(t *testing.T) {
	for name, body := range map[string]string{
		"garbage":      `garbage`,
		"status":       `{"kind":"Status","apiVersion":"v1","status":"Success"}`,
		"no kind":      `{"items":[]}`,
		"no object":    `{"kind":"ConfigMapList","apiVersion":"v1","items":[7]}`,
		"foreign item": `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"kind":"Secret","apiVersion":"v1"}]}`,
		"no list":      `{"kind":"ConfigMapList","apiVersion":"v1","items":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			s.respond("GET /api/v1/configmaps", body)
			_, typed := listWatcher(t, s, configMap(""), client.Scope{}).List(t.Context(), metav1.ListOptions{})
			_, plain := listWatcher(t, s, untyped("v1", "ConfigMap", "", ""), client.Scope{}).List(t.Context(),
				metav1.ListOptions{})
			for _, err := range []error{typed, plain} {
				if decode, ok := errors.AsType[*client.DecodeError](err); !ok || decode.What != "list configmaps" {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestNullInAListIsNoObject(t *testing.T) {
	s := newServer()
	s.respond("GET /api/v1/configmaps", `{"kind":"ConfigMapList","apiVersion":"v1","items":[null]}`)
	_, err := listWatcher(t, s, configMap(""), client.Scope{}).List(t.Context(), metav1.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), "item 0 is null") {
		t.Errorf("got %v", err)
	}
}

func TestFailuresToListAndWatchAreTyped(t *testing.T) {
	s := newServer()
	lw := listWatcher(t, s, configMap(""), client.Scope{})
	s.fails("GET /api/v1/configmaps", 410, status(410, metav1.StatusReasonExpired,
		"the provided continue parameter is too old"))
	_, listed := lw.List(t.Context(), metav1.ListOptions{Continue: "old"})
	_, watched := lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if !apierrors.IsResourceExpired(listed) || !apierrors.IsResourceExpired(watched) {
		t.Errorf("got %v and %v", listed, watched)
	}
	unknown := listWatcher(t, s, untyped("example.com/v1", "Gadget", "", ""), client.Scope{})
	if _, err := unknown.List(t.Context(), metav1.ListOptions{}); !meta.IsNoMatchError(err) ||
		!strings.HasPrefix(err.Error(), "list Gadget: ") {
		t.Errorf("got %v", err)
	}
	if _, err := unknown.Watch(t.Context(), metav1.ListOptions{}); !meta.IsNoMatchError(err) ||
		!strings.HasPrefix(err.Error(), "watch Gadget: ") {
		t.Errorf("got %v", err)
	}
}

func TestRequestsThatCannotBeMadeAreErrors(t *testing.T) {
	s := newServer()
	some := client.Scope{Labels: labels.SelectorFromSet(labels.Set{"a": "b"}), Fields: fields.OneTermEqualSelector("a",
		"b")}
	for want, test := range map[string]struct {
		prototype object.Object
		scope     client.Scope
		opts      metav1.ListOptions
	}{
		"list ConfigMap: unable to parse":  {configMap(""), some, metav1.ListOptions{LabelSelector: "a in ("}},
		"list ConfigMap: invalid selector": {configMap(""), some, metav1.ListOptions{FieldSelector: "nonsense"}},
		"the field selector matches no":    {configMap(""), client.Scope{Fields: fields.Nothing()}, metav1.ListOptions{}},
		"the label selector matches no":    {configMap(""), client.Scope{Labels: labels.Nothing()}, metav1.ListOptions{}},
		"Namespace is cluster-scoped":      {&corev1.Namespace{}, client.Scope{Namespace: "n"}, metav1.ListOptions{}},
	} {
		lw := listWatcher(t, s, test.prototype, test.scope)
		if _, err := lw.List(t.Context(), test.opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
}

func TestPrototypeMustHaveAKind(t *testing.T) {
	c := connect(t, newServer(), client.Options{})
	for name, prototype := range map[string]object.Object{
		"nothing":      nil,
		"nil":          (*corev1.Pod)(nil),
		"nil, untyped": (*unstructured.Unstructured)(nil),
		"no kind":      &unstructured.Unstructured{},
		"unknown":      &gadget{},
	} {
		if lw, err := client.NewListWatcher(c, prototype, client.Scope{}); err == nil ||
			!strings.HasPrefix(err.Error(), "list and watch: ") {
			t.Errorf("%s: got %v, %v", name, lw, err)
		}
	}
}

// FuzzWatch checks that a watch of any input ends with an error, that further calls return the same error, and that
// every event except a bookmark has an object.
func FuzzWatch(f *testing.F) {
	for _, stream := range []string{
		"", "{", "null", bookmark12, initialEnd,
		configMapEvent("ADDED", "a", "1") + configMapEvent("DELETED", "a", "2"),
		`{"type":"ADDED","object":` + metadataOfA + `}`,
		`{"type":"ERROR","object":` + status(410, metav1.StatusReasonExpired, "old") + `}`,
		`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"managedFields":[{"fieldsV1":{"f:a":{}}}]},"binaryData":{"a":"AA=="}}}`,
		`{"type":"ADDED","object":null}`,
		`{"type":"MODIFIED","object":{"kind":"ConfigMapList","apiVersion":"v1","items":[7]}}`,
	} {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		drain(t, watchOf(t, t.Context(), configMap(""), text(stream)))
		drain(t, watchOf(t, t.Context(), untyped("v1", "ConfigMap", "", ""), text(stream)))
		drain(t, watchOf(t, t.Context(), metadataOf(""), text(stream)))
	})
}

func drain[T object.Object](t *testing.T, events client.Stream[T]) {
	t.Helper()
	for {
		event, err := events.Next()
		if err != nil {
			if _, again := events.Next(); again != err {
				t.Fatalf("got %v after %v", again, err)
			}
			return
		}
		if held := !reflect.ValueOf(&event.Object).Elem().IsZero(); held == (event.Type == "BOOKMARK") {
			t.Fatalf("got %v", event)
		}
	}
}

// TestAggregatedAPIThatHasNoVersionsIsListed lists a server such as metrics.k8s.io, which has no resource versions, no
// UIDs and no watches, and serves only JSON.
func TestAggregatedAPIThatHasNoVersionsIsListed(t *testing.T) {
	const item = `{"metadata":{"name":"web","namespace":"default","creationTimestamp":"2026-01-02T03:04:05Z"},"timestamp":"2026-01-02T03:04:05Z","window":"10s","containers":[{"name":"c","usage":{"cpu":"1m"}}]}`
	const list = `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[` + item + `]}`
	kind := schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "PodMetrics"}
	forms := func() map[string][2]runtime.Object {
		u, m := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
		us, ms := &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}
		for _, one := range []runtime.Object{u, m} {
			one.GetObjectKind().SetGroupVersionKind(kind)
		}
		for _, many := range []runtime.Object{us, ms} {
			many.GetObjectKind().SetGroupVersionKind(kind.GroupVersion().WithKind("PodMetricsList"))
		}
		return map[string][2]runtime.Object{"untyped": {u, us}, "metadata": {m, ms}}
	}
	for name, watched := range map[string]answer{
		"refuses": {code: http.StatusMethodNotAllowed, body: status(http.StatusMethodNotAllowed,
			metav1.StatusReasonMethodNotAllowed, "no watch here")},
		"refuses without words": {code: http.StatusMethodNotAllowed, header: map[string]string{"Content-Type": "text/plain"},
			body: "Method Not Allowed"},
		"lists":             {body: list},
		"lists and ends it": {body: list + "\n"},
		"lists nothing":     {body: `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[]}`},
	} {
		for form, of := range forms() {
			s := newServer()
			s.respond("GET /apis/metrics.k8s.io/v1beta1", resources("metrics.k8s.io/v1beta1", "NodeMetrics/nodes//cluster",
				"PodMetrics/pods/"))
			s.on("GET /apis/metrics.k8s.io/v1beta1/pods", func(int) answer {
				if s.isWatch() {
					return watched
				}
				return answer{body: list}
			})
			s.respond("GET /apis/metrics.k8s.io/v1beta1/namespaces/default/pods/web",
				strings.Replace(item, "{", `{"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1",`, 1))
			c := connect(t, s, client.Options{})
			one, many := of[0].(object.Object), of[1].(object.List)
			if err := c.Get(t.Context(), object.Key{Namespace: "default", Name: "web"}, one); err != nil ||
				one.GetName() != "web" {
				t.Errorf("%s, %s: get: %v, %v", name, form, one, err)
			}
			if err := c.List(t.Context(), many); err != nil || meta.LenList(many) != 1 || many.GetResourceVersion() != "" {
				t.Errorf("%s, %s: list: %v, %v", name, form, many, err)
			}
			lw, err := client.NewListWatcher(c, one, client.Scope{})
			ok(t, err)
			page, err := lw.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
			if err != nil || len(page.Items) != 1 || page.ResourceVersion != "" ||
				page.Items[0].GetObjectKind().GroupVersionKind() != kind {
				t.Errorf("%s, %s: page: %+v, %v", name, form, page, err)
			}
			stream, err := lw.Watch(t.Context(), metav1.ListOptions{})
			if err == nil {
				_, err = stream.Next()
			}
			_, malformed := errors.AsType[*client.DecodeError](err)
			if refuses := strings.HasPrefix(name, "refuses"); apierrors.IsMethodNotSupported(err) != refuses ||
				malformed == refuses {
				t.Errorf("%s, %s: watch: %v", name, form, err)
			}
		}
	}
}

// TestTableIsNoAnswer checks that a Table is rejected. Servers send Tables to kubectl, and some proxies request them.
func TestTableIsNoAnswer(t *testing.T) {
	const table = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"columnDefinitions":[{"name":"Name"}],"rows":[{"cells":["a"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"default"}}}]}`
	for _, contentType := range []string{"application/json", "application/json;as=Table;v=v1;g=meta.k8s.io",
		"application/json; charset=utf-8"} {
		s := newServer()
		for _, what := range []string{"GET /api/v1/configmaps", "GET /api/v1/namespaces/default/configmaps/a",
			"PUT /api/v1/namespaces/default/configmaps/a"} {
			s.on(what, func(int) answer {
				body := table
				if s.isWatch() {
					body = `{"type":"ADDED","object":` + table + "}\n"
				}
				return answer{header: map[string]string{"Content-Type": contentType}, body: body}
			})
		}
		c := connect(t, s, client.Options{})
		for form, list := range map[string]object.List{
			"typed": &corev1.ConfigMapList{}, "untyped": listOf(untyped("v1", "ConfigMapList", "", "")),
			"metadata": &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}},
		} {
			check := func(call string, err error) {
				t.Helper()
				if _, ok := errors.AsType[*client.DecodeError](err); !ok || !strings.Contains(err.Error(), "Kind=Table") {
					t.Errorf("%s, %s, %s: got %v", contentType, form, call, err)
				}
			}
			check("list", c.List(t.Context(), list))
			stream, err := c.Watch(t.Context(), list)
			ok(t, err)
			_, err = stream.Next()
			check("watch", err)
		}
		for form, obj := range map[string]object.Object{"typed": configMap("a"),
			"untyped": untyped("v1", "ConfigMap", "default", "a")} {
			for call, err := range map[string]error{"get": c.Get(t.Context(), keyA, obj), "update": c.Update(t.Context(), obj)} {
				if _, ok := errors.AsType[*client.DecodeError](err); !ok || !strings.Contains(err.Error(), "Kind=Table") {
					t.Errorf("%s, %s, %s: got %v", contentType, form, call, err)
				}
			}
		}
	}
}
