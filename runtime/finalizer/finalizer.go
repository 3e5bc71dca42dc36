// Package finalizer keeps the finalizers of a controller in one place: what is to be done before an object may go away is registered by the
// name of its finalizer, once, and each reconcile calls Finalize with the object that it has read:
//
//	result, err := r.finalizers.Finalize(ctx, guestbook)
//	if result.Updated {
//		err = errors.Join(err, r.Update(ctx, guestbook))
//	}
//
// For one finalizer, AddFinalizer and RemoveFinalizer of the package controllerutil are enough.
package finalizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Finalizer does what is to be done before obj may go away, which it may modify. It is called until it has returned no error, and so must
// be able to begin again.
type Finalizer interface {
	Finalize(ctx context.Context, obj object.Object) (Result, error)
}

// Registerer is told of finalizers by their names, such as "example.com/storage". A name that is taken is an error.
type Registerer interface {
	Register(name string, f Finalizer) error
}

// Finalizers are the finalizers of one kind of objects. Finalize adds to obj those that it has not; of one that is being deleted it calls
// those that it has, in the order in which they were registered, and removes each that has returned no error. It writes nothing: the Result
// says whether the caller has to. The error joins those of all finalizers, each of which is called whatever the others return.
type Finalizers interface {
	Registerer
	Finalizer
}

// Result says what has changed in an object that is to be written.
type Result struct {
	// Updated says that something other than the status has changed, such as the finalizers.
	Updated bool
	// StatusUpdated says that the status has changed.
	StatusUpdated bool
}

// NewFinalizers returns an empty list of finalizers. Register is called before the first Finalize, which several goroutines may call.
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
			return fmt.Errorf("finalizer %q is registered already", name)
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
