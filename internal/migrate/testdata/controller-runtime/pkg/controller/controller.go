package controller

type Options struct {
	MaxConcurrentReconciles int
	RecoverPanic            *bool
	RateLimiter             any
}
