// Package config defines the default options of controllers.
package config

import (
	"time"

	"github.com/go-logr/logr"
)

// Controller has the defaults of the controllers of a manager.
type Controller struct {
	// SkipNameValidation allows several controllers with the same name.
	SkipNameValidation *bool
	// GroupKindConcurrency is the number of workers by kind, such as "ReplicaSet.apps".
	GroupKindConcurrency map[string]int
	// MaxConcurrentReconciles is the number of workers. 0 means 1.
	MaxConcurrentReconciles int
	// CacheSyncTimeout limits the time until the sources are synced. 0 means 2 minutes.
	CacheSyncTimeout time.Duration
	// RecoverPanic turns a panic of a reconciler into an error. Nil means true.
	RecoverPanic *bool
	// NeedLeaderElection runs the controller only in the leader. Nil means true.
	NeedLeaderElection *bool
	// EnableWarmup starts the sources before the process becomes the leader.
	EnableWarmup *bool
	// UsePriorityQueue enables priorities of requests. Nil means true.
	UsePriorityQueue *bool
	// Logger is the logger of the controllers.
	Logger logr.Logger
	// ReconciliationTimeout limits the time of each reconcile. 0 means no limit.
	ReconciliationTimeout time.Duration
}
