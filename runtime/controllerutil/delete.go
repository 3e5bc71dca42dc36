package controllerutil

import (
	"context"
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// DeleteWithUID deletes o, but not another object of the same name, which can exist if o is from a cache and has since
// been deleted and created again. It fails with a conflict (apierrors.IsConflict) if another object has the name, or if
// o has no UID. It succeeds if o no longer exists.
func DeleteWithUID(ctx context.Context, c client.Writer, o object.Object, opts ...client.DeleteOption) error {
	uid := o.GetUID()
	if uid == "" {
		return fmt.Errorf("delete %s: the object has no UID", object.KeyOf(o))
	}
	opts = append([]client.DeleteOption{client.Preconditions{UID: &uid}}, opts...)
	return client.IgnoreNotFound(c.Delete(ctx, o, opts...))
}
