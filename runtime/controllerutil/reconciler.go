package controllerutil

import (
	"context"
	"fmt"
	"reflect"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// ObjectReconciler reconciles objects that its caller has read, see [AsReconciler].
type ObjectReconciler[T object.Object] interface {
	// Reconcile moves the state of the cluster toward obj. It may modify obj.
	Reconcile(ctx context.Context, obj T) (reconcile.Result, error)
}

// AsReconciler returns a reconciler that reads the object of each request with c and passes it to r. It does not call r
// for objects that no longer exist. T must be a pointer to a struct; AsReconciler panics otherwise. The reconciler
// calls r concurrently, and returns its errors.
func AsReconciler[T object.Object](c client.Reader, r ObjectReconciler[T]) reconcile.Reconciler[reconcile.Request] {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("objects are read into what a pointer points to, and %v is none", t))
	}
	return reconcile.Func[reconcile.Request](func(ctx context.Context,
		request reconcile.Request) (reconcile.Result, error) {
		obj := reflect.New(t.Elem()).Interface().(T)
		if err := c.Get(ctx, request.NamespacedName, obj); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		return r.Reconcile(ctx, obj)
	})
}
