// Package metrics provides the registry of a program's metrics and of the metrics of kctrl's packages.
package metrics

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"
	kmetrics "github.com/kctrl-dev/kctrl/runtime/metrics"
)

// RegistererGatherer registers and gathers metrics.
type RegistererGatherer interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// Registry is the registry that the metrics server exposes.
var Registry RegistererGatherer = newRegistry()

// The names of work queue metrics.
const (
	WorkQueueSubsystem         = "workqueue"
	DepthKey                   = "depth"
	AddsKey                    = "adds_total"
	QueueLatencyKey            = "queue_duration_seconds"
	WorkDurationKey            = "work_duration_seconds"
	UnfinishedWorkKey          = "unfinished_work_seconds"
	LongestRunningProcessorKey = "longest_running_processor_seconds"
	RetriesKey                 = "retries_total"
)

// internal has the metrics of kctrl's packages.
var internal = kmetrics.NewRegistry()

// Kctrl returns the registry for kctrl's packages. [Registry] also gathers its metrics.
func Kctrl() *kmetrics.Registry { return internal }

// registry is a registry of client_golang that also gathers the metrics of kctrl's packages.
type registry struct{ *prometheus.Registry }

func newRegistry() registry {
	r := registry{prometheus.NewRegistry()}
	r.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)),
	)
	return r
}

// Register implements prometheus.Registerer. Each simulated process registers the same metrics again.
func (r registry) Register(c prometheus.Collector) error {
	err := r.Registry.Register(c)
	if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); again && simulated.Current() != nil {
		return nil
	}
	return err
}

// MustRegister implements prometheus.Registerer.
func (r registry) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

// Gather implements prometheus.Gatherer. A metric of the program hides a metric of kctrl with the same name.
func (r registry) Gather() ([]*dto.MetricFamily, error) {
	own, err := r.Registry.Gather()
	var text bytes.Buffer
	if _, writeErr := internal.WriteTo(&text); writeErr != nil {
		return own, writeErr
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	others, parseErr := parser.TextToMetricFamilies(&text)
	if parseErr != nil {
		return own, parseErr
	}
	for _, family := range own {
		delete(others, family.GetName())
	}
	for _, family := range others {
		own = append(own, family)
	}
	slices.SortFunc(own, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return own, err
}
