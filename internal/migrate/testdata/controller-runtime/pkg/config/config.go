package config

import "time"

type Controller struct {
	MaxConcurrentReconciles int
	CacheSyncTimeout        time.Duration
	SkipNameValidation      *bool
	GroupKindConcurrency    map[string]int
}
