package blockingsleep

import (
	"context"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// A program can ask whether it runs in a test.
func pause(context.Context, ctrl.Request) (ctrl.Result, error) {
	if !testing.Testing() {
		time.Sleep(time.Second) // want `time.Sleep blocks pause`
	}
	return ctrl.Result{}, nil
}
