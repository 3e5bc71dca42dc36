package reconcile

import "fmt"

// PanicError is the error of a reconcile that panicked.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // where
}

// Error returns the value of the panic in one line.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
