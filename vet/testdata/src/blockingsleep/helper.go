package blockingsleep

import (
	"context"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// A file that mentions testing.T is part of tests.
func fake(t *testing.T) func(context.Context, ctrl.Request) (ctrl.Result, error) {
	return func(context.Context, ctrl.Request) (ctrl.Result, error) {
		time.Sleep(time.Second)
		return ctrl.Result{}, nil
	}
}
