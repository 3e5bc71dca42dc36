package informer_test

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func forbidden(verb string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no right to "+verb))
}

func tooMany(seconds int) error { return apierrors.NewTooManyRequests("busy", seconds) }

func invalid() error { return apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil) }

func tooLarge() error {
	err := apierrors.NewTimeoutError("Too large resource version: 99, current: 12", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	return err
}

// once returns a hook that fails with errs, one call after the other, and then no more.
func once(errs ...error) func(metav1.ListOptions) error {
	return func(metav1.ListOptions) error {
		if len(errs) == 0 {
			return nil
		}
		err := errs[0]
		errs = errs[1:]
		return err
	}
}

// always returns a hook that fails with err.
func always(err error) func(metav1.ListOptions) error {
	return func(metav1.ListOptions) error { return err }
}
