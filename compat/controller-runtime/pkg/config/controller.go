// Package config has defaults of controllers.
package config

import (
	"time"

	"github.com/go-logr/logr"
)

// Controller has the defaults of the controllers of a manager.
type Controller struct {
	// SkipNameValidation allows several controllers of one name.
	SkipNameValidation *bool
	// GroupKindConcurrency is the number of workers of the controllers for a kind, such as "ReplicaSet.apps".
	GroupKindConcurrency map[string]int
	// MaxConcurrentReconciles is the number of workers; 0 is 1.
	MaxConcurrentReconciles int
	// CacheSyncTimeout is how long the sources may take to sync; 0 is 2 minutes.
	CacheSyncTimeout time.Duration
	// RecoverPanic makes a panic of a reconciler an error. Nil is true.
	RecoverPanic *bool
	// NeedLeaderElection runs the controller only in the leader. Nil is true.
	NeedLeaderElection *bool
	// EnableWarmup starts the sources before the process leads.
	EnableWarmup *bool
	// UsePriorityQueue lets handlers set priorities. Nil is true.
	UsePriorityQueue *bool
	// Logger is the logger of the controllers.
	Logger logr.Logger
	// ReconciliationTimeout bounds each reconcile; 0 is no limit.
	ReconciliationTimeout time.Duration
}
