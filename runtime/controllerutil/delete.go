package controllerutil

import (
	"context"
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// DeleteWithUID deletes o and no other object that has taken its name: one that was read from a cache may have been
// deleted and made again since. It fails with a conflict (apierrors.IsConflict) when there is such an object, and when o
// has no UID. That o is gone is no error.
func DeleteWithUID(ctx context.Context, c client.Writer, o object.Object, opts ...client.DeleteOption) error {
	uid := o.GetUID()
	if uid == "" {
		return fmt.Errorf("delete %s: the object has no UID", object.KeyOf(o))
	}
	opts = append([]client.DeleteOption{client.Preconditions{UID: &uid}}, opts...)
	return client.IgnoreNotFound(c.Delete(ctx, o, opts...))
}
