// Package finalizer provides kctrl's registry of finalizers.
package finalizer

import kfinalizer "github.com/kctrl-dev/kctrl/runtime/finalizer"

// Registerer registers finalizers.
type Registerer = kfinalizer.Registerer

// Finalizer does the work that must be done before an object is deleted.
type Finalizer = kfinalizer.Finalizer

// Finalizers is a registry of finalizers.
type Finalizers = kfinalizer.Finalizers

// Result reports the changes of a finalizer.
type Result = kfinalizer.Result

// NewFinalizers returns an empty registry.
func NewFinalizers() Finalizers { return kfinalizer.NewFinalizers() }
