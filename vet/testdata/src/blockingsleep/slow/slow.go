// Package slow sleeps.
package slow

import (
	"time"

	_ "k8s.io/api/core/v1"
)

// Settle waits.
func Settle() { time.Sleep(time.Second) }
