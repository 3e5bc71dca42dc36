package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	clientmetrics "k8s.io/client-go/tools/metrics"
)

// CountRequests returns a client like c that reports requests to the metrics of client-go. Only packages of this module
// use it.
func CountRequests(c *http.Client) *http.Client {
	counted := *c
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	counted.Transport = countingTransport{next}
	return &counted
}

// countingTransport reports requests to the metrics of client-go.
type countingTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := t.next.RoundTrip(r)
	ctx := context.WithoutCancel(r.Context())
	clientmetrics.RequestLatency.Observe(ctx, r.Method, *r.URL, time.Since(start))
	if r.ContentLength > 0 {
		clientmetrics.RequestSize.Observe(ctx, r.Method, r.URL.Host, float64(r.ContentLength))
	}
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(resp.StatusCode)
		if resp.ContentLength > 0 {
			clientmetrics.ResponseSize.Observe(ctx, r.Method, r.URL.Host, float64(resp.ContentLength))
		}
	}
	clientmetrics.RequestResult.Increment(ctx, code, r.Method, r.URL.Host)
	return resp, err
}

// WrappedRoundTripper returns the next transport.
func (t countingTransport) WrappedRoundTripper() http.RoundTripper { return t.next }
