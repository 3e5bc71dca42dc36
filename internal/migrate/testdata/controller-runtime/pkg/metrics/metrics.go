package metrics

import "github.com/prometheus/client_golang/prometheus"

type RegistererGatherer interface {
	prometheus.Registerer
	prometheus.Gatherer
}

var Registry RegistererGatherer = prometheus.NewRegistry()
