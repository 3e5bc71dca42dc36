// Package finalizer provides a registry of the finalizers of a controller. The controller registers each cleanup once,
// under the name of its finalizer. Each reconcile then calls Finalize with the object that it has read:
//
//	result, err := r.finalizers.Finalize(ctx, guestbook)
//	if result.Updated {
//		err = errors.Join(err, r.Update(ctx, guestbook))
//	}
//
// For a single finalizer, AddFinalizer and RemoveFinalizer of package controllerutil are sufficient.
package finalizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Finalizer cleans up before obj is deleted, and may modify obj. It is called until it returns no error, so it must be
// idempotent.
type Finalizer interface {
	Finalize(ctx context.Context, obj object.Object) (Result, error)
}

// Registerer registers finalizers under names such as "example.com/storage". Registering a name twice is an error.
type Registerer interface {
	Register(name string, f Finalizer) error
}

// Finalizers are the finalizers of one kind. Finalize adds missing finalizers to obj. If obj is being deleted, it
// instead calls the finalizers that obj has, in the order of registration, and removes each finalizer that returns no
// error. It calls all of them, and returns their joined errors. Finalize does not write obj: the Result reports whether
// the caller must write it.
type Finalizers interface {
	Registerer
	Finalizer
}

// Result reports changes of an object that the caller must write.
type Result struct {
	// Updated reports a change outside the status, such as an added or removed finalizer.
	Updated bool
	// StatusUpdated reports a change of the status.
	StatusUpdated bool
}

// NewFinalizers returns an empty registry. Register all finalizers before the first call of Finalize. Finalize may be
// called concurrently.
func NewFinalizers() Finalizers { return &registered{} }

type registered struct{ all []named }

type named struct {
	name string
	Finalizer
}

// Register implements Registerer.
func (r *registered) Register(name string, f Finalizer) error {
	for _, other := range r.all {
		if other.name == name {
			return fmt.Errorf("finalizer %q is already registered", name)
		}
	}
	r.all = append(r.all, named{name, f})
	return nil
}

// Finalize implements Finalizer.
func (r *registered) Finalize(ctx context.Context, obj object.Object) (result Result, err error) {
	var errs []error
	for _, f := range r.all {
		if obj.GetDeletionTimestamp().IsZero() {
			result.Updated = controllerutil.AddFinalizer(obj, f.name) || result.Updated
			continue
		}
		if !controllerutil.ContainsFinalizer(obj, f.name) {
			continue
		}
		one, err := f.Finalize(ctx, obj)
		if err != nil {
			errs = append(errs, fmt.Errorf("finalizer %q: %w", f.name, err))
		} else {
			one.Updated = controllerutil.RemoveFinalizer(obj, f.name) || one.Updated
		}
		result.Updated = result.Updated || one.Updated
		result.StatusUpdated = result.StatusUpdated || one.StatusUpdated
	}
	return result, errors.Join(errs...)
}
