// Package retry is a stub.
package retry

var DefaultRetry struct{}

func RetryOnConflict(backoff struct{}, fn func() error) error { return fn() }
