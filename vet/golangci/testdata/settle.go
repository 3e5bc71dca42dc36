// Package settle has a fault.
package settle

import (
	"context"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

//kctrl:ignore nothing: no rule has this name

func settle(context.Context) (reconcile.Result, error) {
	time.Sleep(time.Second)
	return reconcile.Result{}, nil
}
