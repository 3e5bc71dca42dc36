package controller

import (
	"log/slog"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Manager is what a controller needs of the manager that runs it. *manager.Manager is one.
type Manager interface {
	// Add makes the manager run r. It fails when it has a controller of the same name.
	Add(r Runnable) error
	Cache() *cache.Cache
	Scheme() *runtime.Scheme
	RESTMapper() meta.RESTMapper
	Logger() *slog.Logger
	Metrics() *metrics.Registry
	// MaxConcurrentReconciles is the number of workers of controllers that say none.
	MaxConcurrentReconciles() int
}
