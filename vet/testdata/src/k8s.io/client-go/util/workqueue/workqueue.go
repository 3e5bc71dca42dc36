// Package workqueue is a stub.
package workqueue

import "time"

type TypedRateLimitingInterface[T comparable] interface {
	Get() (item T, shutdown bool)
	Add(item T)
	AddAfter(item T, duration time.Duration)
	AddRateLimited(item T)
	Forget(item T)
	Done(item T)
}
