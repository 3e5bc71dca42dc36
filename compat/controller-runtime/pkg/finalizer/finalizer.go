// Package finalizer keeps a registry of finalizers. It is that of kctrl.
package finalizer

import kfinalizer "github.com/kctrl-dev/kctrl/runtime/finalizer"

// Registerer takes finalizers.
type Registerer = kfinalizer.Registerer

// Finalizer does what must be done before an object of the finalizer may go.
type Finalizer = kfinalizer.Finalizer

// Finalizers is a registry of finalizers.
type Finalizers = kfinalizer.Finalizers

// Result reports what a finalizer has changed.
type Result = kfinalizer.Result

// NewFinalizers returns an empty registry.
func NewFinalizers() Finalizers { return kfinalizer.NewFinalizers() }
