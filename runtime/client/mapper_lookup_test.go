package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// newMetricsServer has pods in two groups, widgets in two groups but not in the core, and a group that does not answer.
func newMetricsServer() *server {
	s := newServer()
	s.says("GET /apis", `{"groups":[{"name":"apps"},{"name":"broken"},{"name":"metrics"},{"name":"example.com"}]}`)
	s.fails("GET /apis/broken", 503, status(503, "ServiceUnavailable", "the backend is down"))
	s.fails("GET /apis/broken/v1", 503, status(503, "ServiceUnavailable", "the backend is down"))
	s.says("GET /apis/metrics", `{"versions":[{"version":"v1"},{"version":"v1beta1"}]}`)
	s.says("GET /apis/metrics/v1", resources("metrics/v1", "PodMetrics/pods/", "Widget/widgets/widget"))
	s.says("GET /apis/metrics/v1beta1", resources("metrics/v1beta1", "PodMetrics/pods/"))
	s.says("GET /apis/example.com", `{"versions":[{"version":"v1"}]}`)
	s.says("GET /apis/example.com/v1", resources("example.com/v1", "Widget/widgets/widget", "Gadget/gadgets/gadget", "GadgetView/gadgetviews/gadget"))
	return s
}

func TestPartialResourcesAreCompleted(t *testing.T) {
	m := mapperOf(t, newMetricsServer())
	for partial, want := range map[schema.GroupVersionResource]string{
		{Resource: "pods"}:                                       "/v1, Resource=pods /v1, Kind=Pod",
		{Resource: "pod"}:                                        "/v1, Resource=pods /v1, Kind=Pod",
		{Resource: "namespaces", Version: "v1"}:                  "/v1, Resource=namespaces /v1, Kind=Namespace",
		{Resource: "deployment"}:                                 "apps/v1, Resource=deployments apps/v1, Kind=Deployment",
		{Resource: "gadget"}:                                     "example.com/v1, Resource=gadgets example.com/v1, Kind=Gadget",
		{Resource: "gadgetviews"}:                                "example.com/v1, Resource=gadgetviews example.com/v1, Kind=GadgetView",
		{Resource: "widgets", Group: "metrics"}:                  "metrics/v1, Resource=widgets metrics/v1, Kind=Widget",
		{Resource: "podmetrics", Group: "metrics"}:               "metrics/v1, Resource=pods metrics/v1, Kind=PodMetrics",
		{Resource: "pods", Group: "metrics", Version: "v1beta1"}: "metrics/v1beta1, Resource=pods metrics/v1beta1, Kind=PodMetrics",
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
	// What may be in the group that does not answer is not known to be missing.
	_, err = m.ResourceFor(schema.GroupVersionResource{Resource: "unknown"})
	if err == nil || meta.IsNoMatchError(err) || !strings.Contains(err.Error(), "the backend is down") {
		t.Errorf("got %v", err)
	}
	for _, versions := range [][]string{nil, {"v1"}} {
		if _, err := m.RESTMapping(schema.GroupKind{Group: "broken", Kind: "X"}, versions...); !apierrors.IsServiceUnavailable(err) {
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
		s.says("GET /apis", `{"groups":[{"name":"apps"},{"name":"example.com"}]}`)
		s.says("GET /apis/example.com", `{"versions":[{"version":"v1"}]}`)
		s.says(gadgetsPath, resources("example.com/v1", "Gadget/gadgets/gadget"))
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
