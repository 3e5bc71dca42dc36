package reconcile

import "fmt"

// PanicError is the error of a reconcile that panicked.
type PanicError struct {
	Value any    // argument of the panic
	Stack []byte // stack trace of the goroutine
}

// Error returns the value of the panic in one line.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
