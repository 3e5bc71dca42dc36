package controllerutil

import (
	"context"
	"fmt"
	"reflect"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// ObjectReconciler reconciles objects that were read for it.
type ObjectReconciler[T object.Object] interface {
	// Reconcile makes the state of the world match obj, which is its own to change.
	Reconcile(ctx context.Context, obj T) (reconcile.Result, error)
}

// AsReconciler returns a reconciler that reads the object of each request by c and gives it to r. An object that is gone is done. T is a
// pointer to a struct, or AsReconciler panics; concurrency and errors are those of r.
func AsReconciler[T object.Object](c client.Reader, r ObjectReconciler[T]) reconcile.Reconciler[reconcile.Request] {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("objects are read into what a pointer points to, and %v is none", t))
	}
	return reconcile.Func[reconcile.Request](func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		obj := reflect.New(t.Elem()).Interface().(T)
		if err := c.Get(ctx, request.NamespacedName, obj); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		return r.Reconcile(ctx, obj)
	})
}
