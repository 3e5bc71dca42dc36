package testenv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// answers is an API server that sends its bodies in order. After the last one it cancels the test's context.
type answers struct {
	bodies []string
	asked  []string
	stop   context.CancelCauseFunc
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(a.bodies) == 0 {
		a.stop(errors.New("no more answers"))
		return nil, r.Context().Err()
	}
	body := a.bodies[0]
	a.bodies, a.asked = a.bodies[1:], append(a.asked, r.URL.Query().Get("watch")+r.URL.Query().Get("resourceVersion"))
	code := http.StatusOK
	if strings.HasPrefix(body, `{"kind":"Status"`) {
		_, _ = fmt.Sscanf(body[strings.Index(body, `"code":`):], `"code":%d`, &code)
	}
	return &http.Response{
		StatusCode: code, Request: r, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

func configMap(version, uid, value string) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"one","namespace":"default","uid":%q,"resourceVersion":%q},"data":{"v":%q}}`, uid, version, value)
}

func listOf(version string, items ...string) string {
	return fmt.Sprintf(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":%q},"items":[%s]}`,
		version, strings.Join(items, ","))
}

func event(kind, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object) }

func status(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":%q,"code":%d}`, reason, code)
}

// await runs wait against an API server with these answers, and returns the failures and the requests.
func await(t *testing.T, wait func(ctx context.Context, t testing.TB, live *client.REST),
	bodies ...string) (failures string, asked []string) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	a := &answers{bodies: bodies, stop: stop}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	live, err := client.New(&rest.Config{Host: "http://answers"}, client.Options{
		Scheme: scheme, Mapper: mapper, HTTPClient: &http.Client{Transport: a},
	})
	if err != nil {
		t.Fatal(err)
	}
	failures = record(func(t testing.TB) { wait(ctx, t, live) })
	if failures == "" && len(a.bodies) > 0 {
		t.Errorf("%d answers were not asked for", len(a.bodies))
	}
	return failures, a.asked
}

var one = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default", UID: "u1"}}

// TestAwaitFollowsTheObject checks that a wait survives everything that can end a watch.
func TestAwaitFollowsTheObject(t *testing.T) {
	wanted := configMap("9", "u1", "wanted")
	for name, bodies := range map[string][]string{
		"it is there": {listOf("9", wanted)},
		"it changes": {listOf("1", configMap("1", "u1", "")), event("MODIFIED", configMap("2", "u1", "other")) +
			event("MODIFIED", wanted)},
		"it is made": {listOf("1"), event("ADDED", wanted)},
		"it is made again": {listOf("1", configMap("1", "u1", "")), event("DELETED", configMap("2", "u1", "wanted")) +
			event("ADDED", wanted)},
		"the watch ends": {listOf("1"), "", listOf("9", wanted)},
		"the watch breaks": {listOf("1"), event("ADDED", configMap("2", "u1", "")) + `{"type":"MOD`,
			listOf("9", wanted)},
		"the version is too old": {listOf("1"), event("ERROR", status(410, "Expired")), listOf("9", wanted)},
		"the watch is too old":   {listOf("1"), status(410, "Expired"), listOf("9", wanted)},
		"a bookmark":             {listOf("1"), event("BOOKMARK", configMap("5", "", "")) + event("ADDED", wanted)},
	} {
		t.Run(name, func(t *testing.T) {
			var got *corev1.ConfigMap
			failures, asked := await(t, func(ctx context.Context, t testing.TB, live *client.REST) {
				got = testenv.Await(ctx, t, live, one, func(c *corev1.ConfigMap) bool { return c.Data["v"] == "wanted" })
			}, bodies...)
			if failures != "" || got.Data["v"] != "wanted" || got.ResourceVersion != "9" {
				t.Errorf("got %v, and %s", got, failures)
			}
			if len(asked) > 1 && asked[1] != "true1" {
				t.Errorf("the watch began with %s, want the version of the list", asked[1])
			}
		})
	}
}

func TestAwaitFailsWithWhatItSaw(t *testing.T) {
	never := func(ctx context.Context, t testing.TB, live *client.REST) {
		testenv.Await(ctx, t, live, one, func(*corev1.ConfigMap) bool { return false })
	}
	for _, test := range []struct {
		bodies []string
		want   []string
	}{
		{[]string{listOf("1")}, []string{"await *v1.ConfigMap default/one: there is none", "context canceled"}},
		{[]string{listOf("1"), event("ADDED", configMap("2", "u1", "half"))}, []string{"context canceled, and it is still\n",
			`"v": "half"`}},
		{[]string{status(403, "Forbidden")}, []string{"there is none: ", "no"}},
		{[]string{listOf("1"), status(403, "Forbidden")}, []string{"there is none: ", "no"}},
		{[]string{listOf("1"), event("ERROR", status(500, "InternalError"))}, []string{"there is none: watch: ", "no"}},
		{[]string{listOf("1"), `{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1"}}`},
			[]string{"there is none: watch: "}},
	} {
		failures, _ := await(t, never, test.bodies...)
		contains(t, failures, test.want...)
	}
}

func TestAwaitGone(t *testing.T) {
	gone := func(ctx context.Context, t testing.TB, live *client.REST) { testenv.AwaitGone(ctx, t, live, one) }
	there := configMap("1", "u1", "")
	for name, bodies := range map[string][]string{
		"it was not there":   {listOf("1")},
		"it goes":            {listOf("1", there), event("MODIFIED", there) + event("DELETED", there)},
		"another is there":   {listOf("1", configMap("1", "u2", ""))},
		"it goes unseen":     {listOf("1", there), "", listOf("3")},
		"another came after": {listOf("1", there), "", listOf("3", configMap("3", "u2", ""))},
	} {
		t.Run(name, func(t *testing.T) {
			if failures, _ := await(t, gone, bodies...); failures != "" {
				t.Error(failures)
			}
		})
	}
	kept := strings.Replace(there, `"uid"`, `"finalizers":["example.com/keep"],"uid"`, 1)
	failures, _ := await(t, gone, listOf("1", kept))
	contains(t, failures, "await that *v1.ConfigMap default/one is gone: it still exists",
		`the finalizers ["example.com/keep"]`)
}
