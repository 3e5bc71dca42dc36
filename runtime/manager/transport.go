package manager

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// counted returns config with a counter of sent requests. The counter has the name and labels of client-go's counter.
func counted(config *rest.Config, measures *metrics.Registry) *rest.Config {
	sent := measures.Counter("rest_client_requests_total", "Requests to API servers by status code, method and host.",
		"code", "method", "host")
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return wrapper{next, func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			code := "<error>"
			if err == nil {
				code = strconv.Itoa(resp.StatusCode)
			}
			sent.Inc(code, req.Method, req.URL.Host)
			return resp, err
		}}
	})
	return config
}

// wrapper is a round tripper that sends requests by a function, which calls next.
type wrapper struct {
	next http.RoundTripper
	send func(*http.Request) (*http.Response, error)
}

func (w wrapper) RoundTrip(req *http.Request) (*http.Response, error) { return w.send(req) }
func (w wrapper) WrappedRoundTripper() http.RoundTripper              { return w.next }

// throttle limits the rate and the burst of requests. Requests are sent in the order in which they arrive.
type throttle struct {
	every time.Duration // interval of requests
	saved time.Duration // maximum time that can be saved up

	mu   sync.Mutex
	next time.Time // time of the next request
}

// newThrottle returns nil if there is no limit.
func newThrottle(qps float64, burst int) *throttle {
	if qps <= 0 {
		return nil
	}
	const most = float64(1 << 60) // 36 years; the sum of two does not overflow
	every := min(most, float64(time.Second)/qps)
	return &throttle{every: time.Duration(every), saved: time.Duration(min(most, every*float64(max(1, burst)-1)))}
}

// turn reserves the next request, and returns the time until then.
func (l *throttle) turn() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if earliest := now.Add(-l.saved); l.next.Before(earliest) {
		l.next = earliest
	}
	wait := l.next.Sub(now)
	l.next = l.next.Add(l.every)
	return wait
}

// roundTripper returns a round tripper that sends requests within the limit.
func (l *throttle) roundTripper(next http.RoundTripper) http.RoundTripper {
	return wrapper{next, func(req *http.Request) (*http.Response, error) {
		// Requests for leases do not wait, because a lease that is renewed too late is lost.
		if !strings.Contains(req.URL.Path, "/apis/"+coordinationv1.GroupName+"/") {
			if wait := l.turn(); wait > 0 && life.Sleep(req.Context(), wait) != nil {
				if req.Body != nil {
					req.Body.Close()
				}
				return nil, context.Cause(req.Context())
			}
		}
		return next.RoundTrip(req)
	}}
}
