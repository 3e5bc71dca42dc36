package metrics

import (
	"context"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientmetrics "k8s.io/client-go/tools/metrics"
)

// RESTClientMetric is a metric of requests to the API server that is registered only on demand.
type RESTClientMetric int

const (
	// MetricRequestLatency is rest_client_request_duration_seconds.
	MetricRequestLatency = iota + 1
	// MetricDNSResolutionLatency is rest_client_dns_resolution_duration_seconds.
	MetricDNSResolutionLatency
	// MetricRequestSize is rest_client_request_size_bytes.
	MetricRequestSize
	// MetricResponseSize is rest_client_response_size_bytes.
	MetricResponseSize
	// MetricRateLimiterLatency is rest_client_rate_limiter_duration_seconds.
	MetricRateLimiterLatency
	// MetricRequestRetry is rest_client_request_retries_total.
	MetricRequestRetry
)

// RESTClientMetricsOptions are the options of [RegisterRESTClientMetricsWithOptions].
type RESTClientMetricsOptions struct {
	// DurationBuckets are the buckets of durations.
	DurationBuckets []float64
}

// RegisterRESTClientMetrics registers metrics of requests to the API server.
func RegisterRESTClientMetrics(metrics ...RESTClientMetric) {
	RegisterRESTClientMetricsWithOptions(RESTClientMetricsOptions{}, metrics...)
}

// RegisterRESTClientMetricsWithOptions is like [RegisterRESTClientMetrics], with options. The first registration
// determines the options of a metric.
func RegisterRESTClientMetricsWithOptions(opts RESTClientMetricsOptions, metrics ...RESTClientMetric) {
	durations := opts.DurationBuckets
	if len(durations) == 0 {
		durations = []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	}
	sizes := []float64{64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216}
	for _, metric := range metrics {
		switch metric {
		case MetricRequestLatency:
			requestLatency.register("rest_client_request_duration_seconds",
				"Request latency in seconds. Broken down by verb and host.", durations, "verb", "host")
		case MetricDNSResolutionLatency:
			resolverLatency.register("rest_client_dns_resolution_duration_seconds",
				"DNS resolver latency in seconds. Broken down by host.", durations, "host")
		case MetricRequestSize:
			requestSize.register("rest_client_request_size_bytes",
				"Request size in bytes. Broken down by verb and host.", sizes, "verb", "host")
		case MetricResponseSize:
			responseSize.register("rest_client_response_size_bytes",
				"Response size in bytes. Broken down by verb and host.", sizes, "verb", "host")
		case MetricRateLimiterLatency:
			limiterLatency.register("rest_client_rate_limiter_duration_seconds",
				"Client side rate limiter latency in seconds. Broken down by verb, and host.", durations, "verb", "host")
		case MetricRequestRetry:
			retries.register()
		}
	}
}

var (
	requestLatency, resolverLatency, requestSize, responseSize, limiterLatency histogram

	retries  retryCounter
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total",
		Help: "Number of HTTP requests, partitioned by status code, method, and host.",
	}, []string{"code", "method", "host"})
)

func init() {
	Registry.MustRegister(requests)
	clientmetrics.Register(clientmetrics.RegisterOpts{
		RequestResult:      requestCounter{},
		RequestLatency:     byVerb{&requestLatency},
		ResolverLatency:    byHost{&resolverLatency},
		RequestSize:        bySize{&requestSize},
		ResponseSize:       bySize{&responseSize},
		RateLimiterLatency: byVerb{&limiterLatency},
		RequestRetry:       &retries,
	})
}

// requestCounter counts requests.
type requestCounter struct{}

// Increment implements clientmetrics.ResultMetric.
func (requestCounter) Increment(_ context.Context, code, method, host string) {
	requests.WithLabelValues(code, method, host).Inc()
}

// histogram is a histogram that drops values until it is registered.
type histogram struct {
	registered atomic.Pointer[prometheus.HistogramVec]
}

func (h *histogram) register(name, help string, buckets []float64, labels ...string) {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}, labels)
	if h.registered.CompareAndSwap(nil, vec) {
		Registry.MustRegister(vec)
	}
}

func (h *histogram) observe(value float64, labels ...string) {
	if vec := h.registered.Load(); vec != nil {
		vec.WithLabelValues(labels...).Observe(value)
	}
}

type byVerb struct{ *histogram }

// Observe implements clientmetrics.LatencyMetric.
func (m byVerb) Observe(_ context.Context, verb string, u url.URL, latency time.Duration) {
	m.observe(latency.Seconds(), verb, u.Host)
}

type byHost struct{ *histogram }

// Observe implements clientmetrics.ResolverLatencyMetric.
func (m byHost) Observe(_ context.Context, host string, latency time.Duration) {
	m.observe(latency.Seconds(), host)
}

type bySize struct{ *histogram }

// Observe implements clientmetrics.SizeMetric.
func (m bySize) Observe(_ context.Context, verb, host string, size float64) {
	m.observe(size, verb, host)
}

// retryCounter is a counter that drops values until it is registered.
type retryCounter struct {
	registered atomic.Pointer[prometheus.CounterVec]
}

func (c *retryCounter) register() {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_request_retries_total",
		Help: "Number of request retries, partitioned by status code, verb, and host.",
	}, []string{"code", "verb", "host"})
	if c.registered.CompareAndSwap(nil, vec) {
		Registry.MustRegister(vec)
	}
}

// IncrementRetry implements clientmetrics.RetryMetric.
func (c *retryCounter) IncrementRetry(_ context.Context, code, verb, host string) {
	if vec := c.registered.Load(); vec != nil {
		vec.WithLabelValues(code, verb, host).Inc()
	}
}
