// Package ratelimiter has the signatures of controller-runtime's.
package ratelimiter

import "time"

type RateLimiter interface {
	When(item interface{}) time.Duration
	Forget(item interface{})
	NumRequeues(item interface{}) int
}
