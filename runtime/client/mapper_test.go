package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

var gadgetKind = schema.GroupKind{Group: "example.com", Kind: "Gadget"}

const gadgetsPath = "GET /apis/example.com/v1"

func mapperOf(t *testing.T, s *server) *client.Mapper {
	t.Helper()
	m, err := client.NewMapper(&rest.Config{Host: "http://server"}, &http.Client{Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// expectDiscovery fails the test unless exactly these documents were requested since the last call.
func expectDiscovery(t *testing.T, s *server, want ...string) {
	t.Helper()
	if got := s.discovered(); !slices.Equal(got, want) {
		t.Errorf("discovery of %v, want %v", got, want)
	}
}

// M01
func TestKindWithAVersionCostsOneDocumentOnce(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond(getA, foundA)
	for range 3 {
		if err := c.Get(t.Context(), keyA, configMap("")); err != nil {
			t.Fatal(err)
		}
	}
	s.respond("GET /api/v1/pods", `{"kind":"PodList","apiVersion":"v1"}`)
	if err := c.List(t.Context(), &corev1.PodList{}); err != nil {
		t.Error(err)
	}
	expectDiscovery(t, s, "/api/v1")
}

// M01
func TestMissingKindIsAskedForAtGrowingIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		m := mapperOf(t, s)
		var pauses []time.Duration
		last := time.Now()
		for start := last; time.Since(start) < time.Minute; time.Sleep(50 * time.Millisecond) {
			if _, err := m.RESTMapping(gadgetKind, "v1"); !meta.IsNoMatchError(err) || !strings.Contains(err.Error(), "Gadget") {
				t.Fatalf("got %v", err)
			}
			if len(s.discovered()) > 0 {
				pauses = append(pauses, time.Since(last))
				last = time.Now()
			}
		}
		want := []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
			2 * time.Second, 2 * time.Second}
		if !slices.Equal(pauses[:min(len(want), len(pauses))], want) {
			t.Errorf("got %v", pauses)
		}
	})
}

func TestKindsOfNoGroupAreForgottenBeforeTheyAreManyAndOthersAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		m := mapperOf(t, s)
		ask := func(group, kind string) (requests int) {
			t.Helper()
			if _, err := m.RESTMapping(schema.GroupKind{Group: group, Kind: kind}, "v1"); err != nil &&
				!meta.IsNoMatchError(err) {
				t.Fatal(err)
			}
			return len(s.discovered())
		}
		ask("", "ConfigMap")
		ask("first.example.com", "Gadget")
		if ask("first.example.com", "Gadget") > 0 {
			t.Error("the server is asked again at once")
		}
		for n := range 1000 {
			ask(fmt.Sprintf("g%d.example.com", n), "Gadget")
		}
		if ask("first.example.com", "Gadget") == 0 {
			t.Error("the mapper remembers each name that it was ever asked for")
		}
		if ask("", "ConfigMap") > 0 {
			t.Error("it has forgotten what the server has")
		}
	})
}

// M01
func TestKindThatAppearsLaterIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		m := mapperOf(t, s)
		for _, versions := range [][]string{{"v1"}, nil, {"v2", "v1"}} {
			if _, err := m.RESTMapping(gadgetKind, versions...); !meta.IsNoMatchError(err) {
				t.Fatalf("got %v", err)
			}
		}
		s.respond("GET /apis/example.com",
			`{"kind":"APIGroup","name":"example.com","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}`)
		s.respond(gadgetsPath, resources("example.com/v1", "Gadget/gadgets/gadget"))
		time.Sleep(time.Second)
		for _, versions := range [][]string{{"v1"}, nil, {"v2", "v1"}} {
			mapping, err := m.RESTMapping(gadgetKind, versions...)
			if err != nil || mapping.Resource != gadgets.WithResource("gadgets") ||
				mapping.GroupVersionKind != gadgets.WithKind("Gadget") || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
				t.Errorf("%v: got %v, %v", versions, mapping, err)
			}
		}
	})
}

// M01
func TestFirstMissInALoadedDocumentReloadsIt(t *testing.T) {
	s := newServer()
	m := mapperOf(t, s)
	s.respond(gadgetsPath, resources("example.com/v1", "Widget/widgets/widget/cluster"))
	widget, err := m.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Widget"}, "v1")
	if err != nil || widget.Scope.Name() != meta.RESTScopeNameRoot {
		t.Fatalf("got %v, %v", widget, err)
	}
	s.respond(gadgetsPath, resources("example.com/v1", "Widget/widgets/widget/cluster", "Gadget/gadgets/gadget"))
	if _, err := m.RESTMapping(gadgetKind, "v1"); err != nil {
		t.Error(err)
	}
	expectDiscovery(t, s, "/apis/example.com/v1", "/apis/example.com/v1")
}

func TestVersionThatIsAddedToAGroupIsFound(t *testing.T) {
	s := newServer()
	m := mapperOf(t, s)
	s.respond("GET /apis/example.com", `{"versions":[{"version":"v1"}]}`)
	s.respond(gadgetsPath, resources("example.com/v1", "Widget/widgets/widget"))
	if _, err := m.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Widget"}); err != nil {
		t.Fatal(err)
	}
	s.respond("GET /apis/example.com", `{"versions":[{"version":"v1"},{"version":"v2"}]}`)
	s.respond("GET /apis/example.com/v2", resources("example.com/v2", "Gadget/gadgets/gadget"))
	mapping, err := m.RESTMapping(gadgetKind)
	if err != nil || mapping.GroupVersionKind.Version != "v2" {
		t.Errorf("got %v, %v", mapping, err)
	}
}

func TestKindWithoutAVersionIsThatOfThePreferredVersion(t *testing.T) {
	s := newServer()
	m := mapperOf(t, s)
	s.respond("GET /apis/example.com",
		`{"versions":[{"version":"v2alpha1"},{"version":"v1"},{"version":"v1beta1"}],"preferredVersion":{"version":"v1"}}`)
	s.respond("GET /apis/example.com/v2alpha1", resources("example.com/v2alpha1", "Gadget/gadgets/gadget",
		"Gizmo/gizmos/gizmo"))
	s.respond(gadgetsPath, resources("example.com/v1", "Gadget/gadgets/gadget"))
	s.respond("GET /apis/example.com/v1beta1", resources("example.com/v1beta1", "Gadget/gadgets/gadget"))
	mapping, err := m.RESTMapping(gadgetKind)
	if err != nil || mapping.GroupVersionKind.Version != "v1" {
		t.Errorf("got %v, %v", mapping, err)
	}
	expectDiscovery(t, s, "/apis/example.com", "/apis/example.com/v1")
	mapping, err = m.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Gizmo"}, "", "__internal")
	if err != nil || mapping.GroupVersionKind.Version != "v2alpha1" {
		t.Errorf("got %v, %v", mapping, err)
	}
	all, err := m.RESTMappings(gadgetKind)
	var versions []string
	for _, mapping := range all {
		versions = append(versions, mapping.GroupVersionKind.Version)
	}
	if !slices.Equal(versions, []string{"v1", "v2alpha1", "v1beta1"}) || err != nil {
		t.Errorf("got %v, %v", versions, err)
	}
}

func TestKindWhoseCRDIsDeletedIsForgotten(t *testing.T) {
	s := newServer()
	c := connect(t, s, serveGadgets(t, s))
	const what = "GET /apis/example.com/v1/namespaces/default/gadgets/a"
	s.respond(what, `{"kind":"Gadget","apiVersion":"example.com/v1"}`)
	if err := c.Get(t.Context(), keyA, &gadget{}); err != nil {
		t.Fatal(err)
	}
	s.fails(what, 404, status(404, "NotFound", `gadgets "a" not found`))
	for range 2 {
		if err := c.Get(t.Context(), keyA, &gadget{}); !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	expectDiscovery(t, s, "/apis/example.com/v1")
	s.on(what, nil)
	s.on(gadgetsPath, nil)
	if err := c.Get(t.Context(), keyA, &gadget{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), keyA, &gadget{}); !meta.IsNoMatchError(err) {
		t.Errorf("got %v", err)
	}
}

func TestLookupsShareOneLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		m := mapperOf(t, s)
		s.on(gadgetsPath, func(int) answer {
			time.Sleep(time.Second)
			return answer{body: resources("example.com/v1", "Gadget/gadgets/gadget")}
		})
		var waiting sync.WaitGroup
		for range 20 {
			waiting.Go(func() {
				if _, err := m.RESTMapping(gadgetKind, "v1"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := m.RESTMappingWithContext(ctx, gadgetKind, "v1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a waiter whose context ended got %v", err)
		}
		waiting.Wait()
		expectDiscovery(t, s, "/apis/example.com/v1")
	})
}

func TestFailedDiscoveryIsNoMissingKindAndIsTriedAgain(t *testing.T) {
	for name, failure := range map[string]answer{
		"status":  {code: 403, body: status(403, "Forbidden", "forbidden")},
		"network": {err: errors.New("forbidden")},
		"garbage": {body: `forbidden`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			m := mapperOf(t, s)
			s.on(gadgetsPath, func(n int) answer {
				if n == 0 {
					return failure
				}
				return answer{body: resources("example.com/v1", "Gadget/gadgets/gadget")}
			})
			_, err := m.RESTMapping(gadgetKind, "v1")
			if err == nil || meta.IsNoMatchError(err) || !strings.Contains(err.Error(), "discover /apis/example.com/v1: ") {
				t.Errorf("got %v", err)
			}
			if name == "status" && !apierrors.IsForbidden(err) {
				t.Errorf("got %v", err)
			}
			if _, err := m.RESTMapping(gadgetKind, "v1"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestResetForgetsAll(t *testing.T) {
	s := newServer()
	m := mapperOf(t, s)
	ask := func() {
		if _, err := m.ResourceFor(schema.GroupVersionResource{Resource: "deployments"}); err != nil {
			t.Error(err)
		}
	}
	ask()
	first := s.discovered()
	ask()
	s.discovered()
	m.Reset()
	ask()
	expectDiscovery(t, s, first...)
}

// newMetricsServer returns a server with pods in two groups, widgets in two groups but not in the core group, and a
// group whose requests fail.
func newMetricsServer() *server {
	s := newServer()
	s.respond("GET /apis", `{"groups":[{"name":"apps"},{"name":"broken"},{"name":"metrics"},{"name":"example.com"}]}`)
	s.fails("GET /apis/broken", 503, status(503, "ServiceUnavailable", "the backend is down"))
	s.fails("GET /apis/broken/v1", 503, status(503, "ServiceUnavailable", "the backend is down"))
	s.respond("GET /apis/metrics", `{"versions":[{"version":"v1"},{"version":"v1beta1"}]}`)
	s.respond("GET /apis/metrics/v1", resources("metrics/v1", "PodMetrics/pods/", "Widget/widgets/widget"))
	s.respond("GET /apis/metrics/v1beta1", resources("metrics/v1beta1", "PodMetrics/pods/"))
	s.respond("GET /apis/example.com", `{"versions":[{"version":"v1"}]}`)
	s.respond("GET /apis/example.com/v1", resources("example.com/v1", "Widget/widgets/widget", "Gadget/gadgets/gadget",
		"GadgetView/gadgetviews/gadget"))
	return s
}

func TestPartialResourcesAreCompleted(t *testing.T) {
	m := mapperOf(t, newMetricsServer())
	for partial, want := range map[schema.GroupVersionResource]string{
		{Resource: "pods"}:                      "/v1, Resource=pods /v1, Kind=Pod",
		{Resource: "pod"}:                       "/v1, Resource=pods /v1, Kind=Pod",
		{Resource: "namespaces", Version: "v1"}: "/v1, Resource=namespaces /v1, Kind=Namespace",
		{Resource: "deployment"}:                "apps/v1, Resource=deployments apps/v1, Kind=Deployment",
		{Resource: "gadget"}: "example.com/v1, Resource=gadgets example.com/v1, " +
			"Kind=Gadget",
		{Resource: "gadgetviews"}: "example.com/v1, Resource=gadgetviews example.com/v1, " +
			"Kind=GadgetView",
		{Resource: "widgets", Group: "metrics"}:    "metrics/v1, Resource=widgets metrics/v1, Kind=Widget",
		{Resource: "podmetrics", Group: "metrics"}: "metrics/v1, Resource=pods metrics/v1, Kind=PodMetrics",
		{Resource: "pods", Group: "metrics", Version: "v1beta1"}: "metrics/v1beta1, Resource=pods metrics/v1beta1, " +
			"Kind=PodMetrics",
	} {
		resource, err := m.ResourceFor(partial)
		if err != nil {
			t.Errorf("%v: %v", partial, err)
			continue
		}
		kind, err := m.KindFor(partial)
		if got := resource.String() + " " + kind.String(); got != want || err != nil {
			t.Errorf("%v: got %s, %v", partial, got, err)
		}
	}
}

func TestAmbiguousResourceNamesAllItMayBe(t *testing.T) {
	m := mapperOf(t, newMetricsServer())
	for what, ask := range map[string]func(schema.GroupVersionResource) error{
		"resource": func(r schema.GroupVersionResource) error { _, err := m.ResourceFor(r); return err },
		"kind":     func(r schema.GroupVersionResource) error { _, err := m.KindFor(r); return err },
	} {
		err := ask(schema.GroupVersionResource{Resource: "widgets"})
		ambiguous, ok := errors.AsType[*meta.AmbiguousResourceError](err)
		if !ok || len(ambiguous.MatchingResources) != 2 || len(ambiguous.MatchingKinds) != 2 {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// M01
func TestGroupThatCannotBeAskedHidesNoOther(t *testing.T) {
	m := mapperOf(t, newMetricsServer())
	resources, err := m.ResourcesFor(schema.GroupVersionResource{Resource: "pods"})
	var got []string
	for _, r := range resources {
		got = append(got, r.GroupVersion().String())
	}
	if want := []string{"v1", "metrics/v1", "metrics/v1beta1"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	kinds, err := m.KindsFor(schema.GroupVersionResource{Resource: "pods", Group: "metrics"})
	if len(kinds) != 2 || kinds[0].Kind != "PodMetrics" || err != nil {
		t.Errorf("got %v, %v", kinds, err)
	}
	if _, err := m.RESTMapping(gadgetKind, "v1"); err != nil {
		t.Error(err)
	}
	// A resource is not reported as missing if it may belong to the group that does not answer.
	_, err = m.ResourceFor(schema.GroupVersionResource{Resource: "unknown"})
	if err == nil || meta.IsNoMatchError(err) || !strings.Contains(err.Error(), "the backend is down") {
		t.Errorf("got %v", err)
	}
	for _, versions := range [][]string{nil, {"v1"}} {
		if _, err := m.RESTMapping(schema.GroupKind{Group: "broken", Kind: "X"},
			versions...); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("%v: got %v", versions, err)
		}
	}
}

func TestResourceOfNoGroupIsFoundWhenItsGroupAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		m := mapperOf(t, s)
		unknown := schema.GroupVersionResource{Resource: "gadgets"}
		for _, ask := range []func() error{
			func() error { _, err := m.ResourceFor(unknown); return err },
			func() error { _, err := m.KindFor(unknown); return err },
			func() error { _, err := m.KindsFor(unknown); return err },
			func() error { _, err := m.ResourcesFor(unknown); return err },
			func() error { _, err := m.ResourceSingularizer("gadgets"); return err },
			func() error { _, err := m.RESTMappings(gadgetKind); return err },
		} {
			if err := ask(); !meta.IsNoMatchError(err) {
				t.Errorf("got %v", err)
			}
		}
		s.respond("GET /apis", `{"groups":[{"name":"apps"},{"name":"example.com"}]}`)
		s.respond("GET /apis/example.com", `{"versions":[{"version":"v1"}]}`)
		s.respond(gadgetsPath, resources("example.com/v1", "Gadget/gadgets/gadget"))
		time.Sleep(10 * time.Second)
		if got, err := m.ResourceFor(unknown); got != gadgets.WithResource("gadgets") {
			t.Errorf("got %v, %v", got, err)
		}
		if got, err := m.ResourceSingularizer("gadgets"); got != "gadget" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestMapperIsThatOfTheOptions(t *testing.T) {
	s := newServer()
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(gadgets.WithKind("Gadget"), meta.RESTScopeRoot)
	c := connect(t, s, client.Options{Mapper: m})
	u := untyped("example.com/v1", "Gadget", "", "a")
	if err := c.Delete(t.Context(), u); !apierrors.IsNotFound(err) || c.RESTMapper() != meta.RESTMapper(m) {
		t.Errorf("got %v", err)
	}
	if got := s.last(t).what; got != "DELETE /apis/example.com/v1/gadgets/a" {
		t.Errorf("got %s", got)
	}
	expectDiscovery(t, s)
}

// TestAnotherAnswerIsNoDiscovery checks answers that proxies send instead of the server. Such an answer does not prove
// that a kind does not exist.
func TestAnotherAnswerIsNoDiscovery(t *testing.T) {
	for what, answered := range map[string]answer{
		"an empty object":   {body: `{}`},
		"null":              {body: `null`},
		"a list":            {body: `[]`},
		"nothing":           {body: ``},
		"a page":            {header: map[string]string{"Content-Type": "text/html"}, body: `<html>log in</html>`},
		"another kind":      {body: `{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`},
		"another document":  {body: `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`},
		"a success":         {body: `{"kind":"Status","apiVersion":"v1","status":"Success"}`},
		"a failure":         {body: status(403, metav1.StatusReasonForbidden, "not for you")},
		"half of it":        {body: `{"kind":"APIResourceList","resources":[{"name":"configmaps"`},
		"a login elsewhere": {code: 401, header: map[string]string{"Content-Type": "text/html"}, body: `<html>log in</html>`},
	} {
		for _, path := range []string{"/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1"} {
			s := newServer()
			s.on("GET "+path, func(int) answer { return answered })
			m := connect(t, s, client.Options{}).RESTMapper()
			var err error
			switch path {
			case "/api":
				_, err = m.RESTMapping(schema.GroupKind{Kind: "ConfigMap"})
			case "/api/v1":
				_, err = m.RESTMapping(schema.GroupKind{Kind: "ConfigMap"}, "v1")
			case "/apis":
				_, err = m.KindFor(schema.GroupVersionResource{Resource: "deployments"})
			case "/apis/apps":
				_, err = m.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
			case "/apis/apps/v1":
				_, err = m.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "v1")
			}
			if err == nil || meta.IsNoMatchError(err) || !strings.Contains(err.Error(), "discover "+path) {
				t.Errorf("%s at %s: got %v", what, path, err)
			}
		}
	}
}
