// Package metrics has the metrics of certificate watchers.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	// ReadCertificateTotal counts reads of certificates.
	ReadCertificateTotal = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "certwatcher_read_certificate_total", Help: "Total number of certificate reads",
	})
	// ReadCertificateErrors counts failed reads of certificates.
	ReadCertificateErrors = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "certwatcher_read_certificate_errors_total", Help: "Total number of certificate read errors",
	})
)

func init() { metrics.Registry.MustRegister(ReadCertificateTotal, ReadCertificateErrors) }
