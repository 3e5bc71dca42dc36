package client_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// busy returns an answer that asks the client to retry after a delay.
func busy(code int, after string) answer {
	return answer{code: code, header: map[string]string{"Retry-After": after},
		body: status(code, metav1.StatusReasonTooManyRequests, "busy")}
}

const (
	putA   = "PUT /api/v1/namespaces/default/configmaps/a"
	foundA = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default"}}`
)

func TestRefusedRequestIsSentAgainAfterTheTimeTheServerAsksFor(t *testing.T) {
	for name, test := range map[string]struct {
		code   int
		after  string
		get    bool // whether a read is retried
		update bool // whether a write is retried
	}{
		"too many requests":     {429, "3", true, true},
		"at once":               {429, "0", true, true},
		"longest wait":          {429, "30", true, true},
		"longer wait":           {429, "31", false, false},
		"no time":               {429, "", false, false},
		"a date that is past":   {429, "Fri, 31 Dec 1999 23:59:59 GMT", true, true},
		"a date too far away":   {429, "Sat, 01 Jan 2000 00:00:31 GMT", false, false},
		"no date":               {429, "tomorrow", false, false},
		"more than a duration":  {429, "9223372037", false, false},
		"more than 64 bits":     {429, "18446744073709551616", false, false},
		"a fraction":            {429, "1.5", false, false},
		"negative":              {429, "-1", false, false},
		"unavailable":           {503, "3", true, false},
		"gateway timeout":       {504, "3", true, false},
		"internal error":        {500, "3", true, false},
		"unavailable, no time":  {503, "", false, false},
		"not found with a time": {404, "3", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				c := connect(t, s, client.Options{})
				route := func(n int) answer {
					if n == 0 {
						return busy(test.code, test.after)
					}
					return answer{body: foundA}
				}
				s.on(getA, route)
				s.on(putA, route)
				wait, _ := time.ParseDuration(test.after + "s")
				check := func(what string, err error, again bool, took time.Duration) {
					if (err == nil) != again || again && took != wait || !again && took != 0 {
						t.Errorf("%s: %v after %s", what, err, took)
					}
				}
				start := time.Now()
				err := c.Get(t.Context(), keyA, configMap(""))
				check("get", err, test.get, time.Since(start))
				cm := configMap("a")
				cm.Data = map[string]string{"x": "y"}
				start = time.Now()
				err = c.Update(t.Context(), cm)
				check("update", err, test.update, time.Since(start))
				for _, r := range s.take() {
					if strings.HasPrefix(r.what, "PUT") && !strings.Contains(r.body, `"x":"y"`) {
						t.Errorf("the body is %q", r.body)
					}
				}
			})
		})
	}
}

// The server's clock, which the Date header shows, may differ from the client's clock. The latter starts at the
// beginning of 2000 here.
func TestRetryAfterMayBeADateOfTheServersClock(t *testing.T) {
	for _, test := range []struct {
		date, after string
		want        time.Duration
	}{
		{"", "Sat, 01 Jan 2000 00:00:07 GMT", 7 * time.Second},
		{"Mon, 27 Jul 2026 10:00:00 GMT", "Mon, 27 Jul 2026 10:00:05 GMT", 5 * time.Second},
		{"Mon, 27 Jul 2026 10:00:00 GMT", "Monday, 27-Jul-26 10:00:03 GMT", 3 * time.Second},
		{"no date", "Sat, 01 Jan 2000 00:00:02 GMT", 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			c := connect(t, s, client.Options{})
			s.on(getA, func(n int) answer {
				if n > 0 {
					return answer{body: foundA}
				}
				refusal := busy(429, test.after)
				refusal.header["Date"] = test.date
				return refusal
			})
			start := time.Now()
			err := c.Get(t.Context(), keyA, configMap(""))
			if took := time.Since(start); err != nil || took != test.want {
				t.Errorf("%q at %q: %v after %s, want %s", test.after, test.date, err, took, test.want)
			}
		})
	}
}

func TestRequestIsSentTenTimesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c := connect(t, s, client.Options{})
		s.on(getA, func(int) answer { return busy(429, "1") })
		start := time.Now()
		err := c.Get(t.Context(), keyA, configMap(""))
		if !apierrors.IsTooManyRequests(err) || len(s.take()) != 10 || time.Since(start) != 9*time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

func TestEndOfTheContextEndsTheWaitForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		c := connect(t, s, client.Options{})
		s.on(getA, func(int) answer { return busy(429, "20") })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		err := c.Get(ctx, keyA, configMap(""))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the last answer was: busy") ||
			time.Since(start) != 5*time.Second {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
	})
}

func TestWarningsAreLoggedOnce(t *testing.T) {
	logger, out := logs()
	s := newServer()
	c := connect(t, s, client.Options{Logger: logger})
	s.on(getA, func(n int) answer {
		return answer{body: foundA, header: map[string]string{"Warning": []string{`299 - "v1 is old", 299 - "field x"`,
			`199 - "chatter"`, `nonsense`}[n%3]}}
	})
	for range 6 {
		if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(out.String(), "v1 is old") != 1 || strings.Count(out.String(), "field x") != 1 ||
		strings.Contains(out.String(), "chatter") {
		t.Errorf("got %s", out)
	}
}

func TestWarningsThatAreForgottenAreLoggedAgain(t *testing.T) {
	logger, out := logs()
	s := newServer()
	c := connect(t, s, client.Options{Logger: logger})
	s.on(getA, func(n int) answer {
		return answer{body: foundA, header: map[string]string{"Warning": `299 - "number ` + strings.Repeat("i", n%300) + `"`}}
	})
	for range 600 {
		if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(out.String(), "number"); got != 600 {
		t.Errorf("got %d lines", got)
	}
}

// handler records the calls of a rest.WarningHandler.
type handler struct{ received []string }

func (h *handler) HandleWarningHeader(_ int, _, text string) { h.received = append(h.received, text) }

func (h *handler) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	h.HandleWarningHeader(code, agent, "with context: "+text)
}

func TestWarningsGoToTheHandlerOfTheConfigEachTime(t *testing.T) {
	s := newServer()
	s.on(getA, func(int) answer {
		return answer{code: 403, body: status(403, metav1.StatusReasonForbidden, "no"),
			header: map[string]string{"Warning": `299 - "old"`}}
	})
	var plain, contextual handler
	for _, config := range []*rest.Config{
		{Host: "http://server", WarningHandler: &plain},
		{Host: "http://server", WarningHandler: &plain, WarningHandlerWithContext: &contextual},
	} {
		c, err := client.New(config, client.Options{Scheme: newScheme(t), HTTPClient: &http.Client{Transport: s}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := c.Get(t.Context(), keyA, configMap("")); !apierrors.IsForbidden(err) {
				t.Fatal(err)
			}
		}
	}
	if len(plain.received) != 2 || plain.received[0] != "old" || len(contextual.received) != 2 ||
		contextual.received[0] != "with context: old" {
		t.Errorf("got %q and %q", plain.received, contextual.received)
	}
}

func TestNamesThatWouldAddressAnotherThingAreRefused(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	patch := client.RawPatch(types.MergePatchType, nil)
	for _, hostile := range []string{"..", ".", "a/b", "../../secrets/x", "a%2fb", "/"} {
		ctx, named, placed := t.Context(), configMap(hostile), configMap("a")
		placed.Namespace = hostile
		for what, err := range map[string]error{
			"get":              c.Get(ctx, object.KeyOf(named), configMap("")),
			"get in":           c.Get(ctx, object.KeyOf(placed), configMap("")),
			"create in":        c.Create(ctx, placed),
			"update":           c.Update(ctx, named),
			"patch":            c.Patch(ctx, named, patch),
			"apply":            c.Apply(ctx, placed),
			"delete":           c.Delete(ctx, named),
			"delete all in":    c.DeleteAllOf(ctx, named, client.InNamespace(hostile)),
			"list in":          c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(hostile)),
			"subresource":      c.SubResource(hostile).Update(ctx, configMap("a")),
			"subresource get":  c.SubResource(hostile).Get(ctx, configMap("a"), configMap("")),
			"subresource of":   c.Status().Update(ctx, named),
			"patched resource": c.SubResource(hostile).Patch(ctx, configMap("a"), patch),
			"applied resource": c.SubResource(hostile).Apply(ctx, configMap("a")),
			"posted resource":  c.SubResource(hostile).Create(ctx, configMap("a"), configMap("")),
		} {
			if err == nil || !strings.Contains(err.Error(), "invalid name") {
				t.Errorf("%s %q: got %v", what, hostile, err)
			}
		}
		lw, err := client.NewListWatcher(c, configMap(""), client.Scope{Namespace: hostile})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lw.List(t.Context(), metav1.ListOptions{}); err == nil ||
			!strings.Contains(err.Error(), "invalid name") {
			t.Errorf("list in %q: got %v", hostile, err)
		}
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
}

func TestUnusualNamesAreEscaped(t *testing.T) {
	for name, want := range map[string]string{
		"system:node:a": "/system:node:a",
		"what?x=y":      "/what%3Fx=y",
		"a#b":           "/a%23b",
		"a b":           "/a%20b",
		"ä":             "/%C3%A4",
		"...":           "/...",
	} {
		s := newServer()
		c := connect(t, s, client.Options{})
		if err := c.Get(t.Context(), object.Key{Namespace: "default", Name: name},
			configMap("")); !apierrors.IsNotFound(err) {
			t.Errorf("%q: got %v", name, err)
		}
		if got := s.last(t).what; got != "GET /api/v1/namespaces/default/configmaps"+want {
			t.Errorf("%q: got %s", name, got)
		}
	}
}

func TestKeyMustFitTheScopeOfTheKind(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	ctx := t.Context()
	nowhere := configMap("a")
	nowhere.Namespace = ""
	for want, err := range map[string]error{
		"get ConfigMap a: ConfigMap is namespaced: the namespace is missing":      c.Get(ctx, object.Key{Name: "a"}, nowhere),
		"create ConfigMap a: ConfigMap is namespaced: the namespace is missing":   c.Create(ctx, nowhere),
		"apply ConfigMap a: ConfigMap is namespaced: the namespace is missing":    c.Apply(ctx, nowhere),
		"delete all ConfigMap: ConfigMap is namespaced: the namespace is missing": c.DeleteAllOf(ctx, nowhere),
		"get ConfigMap default: the name of the ConfigMap is missing": c.Get(ctx,
			object.Key{Namespace: "default"}, nowhere),
		"the name of the subresource is missing": c.SubResource("").Update(ctx, configMap("a")),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
}

func TestServerMayBeBelowAPath(t *testing.T) {
	s := newServer()
	s.respond("GET /clusters/one/api/v1", resources("v1", "ConfigMap/configmaps/configmap"))
	s.respond("GET /clusters/one/api/v1/namespaces/default/configmaps/a", foundA)
	c, err := client.New(&rest.Config{Host: "https://server/clusters/one/", UserAgent: "tester"},
		client.Options{Scheme: newScheme(t), HTTPClient: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.take() {
		if r.header.Get("User-Agent") != "tester" || r.header.Get("Accept") != "application/json" {
			t.Errorf("%s has the header %v", r.what, r.header)
		}
	}
}

func TestDefaultUserAgentNamesTheProgram(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond(getA, foundA)
	if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
		t.Fatal(err)
	}
	if got := s.last(t).header.Get("User-Agent"); got != rest.DefaultKubernetesUserAgent() {
		t.Errorf("got %q", got)
	}
}

// TestWriteThatIsRedirectedIsNoRead checks that no redirect turns a write into a GET, whose answer would look like a
// successful write.
func TestWriteThatIsRedirectedIsNoRead(t *testing.T) {
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := newServer()
		const there = "/there/api/v1/namespaces/default/configmaps/a"
		moved := func(int) answer { return answer{code: code, header: map[string]string{"Location": there}} }
		for _, what := range []string{"GET", "PUT", "PATCH", "DELETE"} {
			s.on(what+" /api/v1/namespaces/default/configmaps/a", moved)
			s.respond(what+" "+there,
				`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"1"}}`)
		}
		c := connect(t, s, client.Options{})
		if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
			t.Errorf("%d: get: %v", code, err)
		}
		repeated := code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect
		for what, err := range map[string]error{
			"update": c.Update(t.Context(), configMap("a")),
			"patch":  c.Patch(t.Context(), configMap("a"), client.RawPatch("application/merge-patch+json", []byte("{}"))),
			"delete": c.Delete(t.Context(), configMap("a")),
		} {
			if (err == nil) != repeated || err != nil && !strings.Contains(err.Error(),
				what+" configmaps default/a: the server redirects to http://server/there/") {
				t.Errorf("%d: %s: got %v", code, what, err)
			}
		}
	}
}
