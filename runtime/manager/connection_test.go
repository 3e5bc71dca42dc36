package manager_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
)

func TestRequestsWaitForTheirTurnAndLeasesDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newAPIServer()
		m, _ := newManager(t, s, manager.Options{QPS: 2, Burst: 3})
		begun := time.Now()
		visit := func(ctx context.Context, path string) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://apiserver"+path, nil)
			ok(t, err)
			resp, err := m.HTTPClient().Do(req)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
		for n, want := range []time.Duration{0, 0, 0, 500 * time.Millisecond, time.Second} {
			ok(t, visit(t.Context(), "/api/v1/pods"))
			if got := time.Since(begun); got != want {
				t.Errorf("request %d was sent after %s, want %s", n, got, want)
			}
		}
		ok(t, visit(t.Context(), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/a"))
		if got := time.Since(begun); got != time.Second {
			t.Errorf("the lease waited until %s", got)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := visit(ended, "/api/v1/pods"); !errors.Is(err, context.Canceled) || time.Since(begun) != time.Second {
			t.Errorf("got %v after %s", err, time.Since(begun))
		}
	})
}

func TestLimitsOfAnySizeAreLimits(t *testing.T) {
	for _, limit := range []manager.Options{{QPS: 1e-300, Burst: 1 << 62}, {QPS: 1e300, Burst: 1 << 62},
		{QPS: 1, Burst: 1 << 62}, {QPS: 1e300}} {
		synctest.Test(t, func(t *testing.T) {
			m, _ := newManager(t, newAPIServer(), limit)
			for range 5 {
				resp, err := m.HTTPClient().Get("http://apiserver/apis/authorization.k8s.io/v1")
				ok(t, err)
				resp.Body.Close()
			}
		})
	}
}

// TestRequestsAndReadsOfCertificatesAreMeasured checks the names and labels that dashboards for controller-runtime
// query.
func TestRequestsAndReadsOfCertificatesAreMeasured(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{})
	shows := func(line string) {
		t.Helper()
		var text strings.Builder
		_, err := m.Metrics().WriteTo(&text)
		ok(t, err)
		if !strings.Contains("\n"+text.String(), "\n"+line+"\n") {
			t.Errorf("no %s in\n%s", line, text.String())
		}
	}
	shows("certwatcher_read_certificate_total 0")
	shows("certwatcher_read_certificate_errors_total 0")
	for range 2 {
		resp, err := m.HTTPClient().Get("http://apiserver/apis/authorization.k8s.io/v1")
		ok(t, err)
		resp.Body.Close()
	}
	shows(`rest_client_requests_total{code="200",method="GET",host="apiserver"} 2`)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ended, http.MethodPost, "http://apiserver/api/v1/pods", nil)
	ok(t, err)
	if _, err := m.HTTPClient().Do(req); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	shows(`rest_client_requests_total{code="<error>",method="POST",host="apiserver"} 1`)
}
