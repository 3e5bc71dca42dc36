package main

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
)

// earlyRelease registers each App in another namespace. With the bug, it removes the finalizer before it deletes the
// registration. After a crash between the two writes, nothing deletes the registration.
func earlyRelease(ctx context.Context, k kit, a *App) error {
	if a.DeletionTimestamp.IsZero() {
		if controllerutil.AddFinalizer(a, cleanup) {
			return k.Update(ctx, a)
		}
		_, err := controllerutil.ApplyIfDifferent(ctx, k.Client, entryOf(a), client.FieldOwner("zoo"))
		return err
	}
	if current, err := k.isCurrent(ctx, a); !current {
		return err
	}
	if k.fixed {
		if err := k.Delete(ctx, entryOf(a)); client.IgnoreNotFound(err) != nil {
			return err
		}
		return k.releaseApp(ctx, a)
	}
	if err := k.releaseApp(ctx, a); err != nil {
		return err
	}
	return client.IgnoreNotFound(k.Delete(ctx, entryOf(a)))
}
