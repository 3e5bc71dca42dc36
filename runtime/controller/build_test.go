package controller_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// TestSourceThatCannotRunAddsNoController builds a controller that watches a kind outside its scheme. The build must
// fail without adding a controller or taking its name.
func TestSourceThatCannotRunAddsNoController(t *testing.T) {
	for name, wrap := range map[string]func(source.Source[reconcile.Request]) source.Source[reconcile.Request]{
		"required": func(s source.Source[reconcile.Request]) source.Source[reconcile.Request] { return s },
		"optional": source.Optional[reconcile.Request],
	} {
		m := newStub(t)
		broken := wrap(source.Kind(m.cache, &rbacv1.Role{}, handler.ForObject[*rbacv1.Role]()))
		err := controller.For[*corev1.ConfigMap](m).WatchesSource(broken).Complete(nothing)
		if err == nil || !strings.HasPrefix(err.Error(), "controller configmap: ") || !strings.Contains(err.Error(), "Role") {
			t.Errorf("%s: got %v", name, err)
		}
		if len(m.added) > 0 {
			t.Errorf("%s: the manager runs %s", name, m.added[0].Name())
		}
		if err := controller.For[*corev1.ConfigMap](m).Complete(nothing); err != nil {
			t.Errorf("%s: the name is taken: %v", name, err)
		}
	}
}

// runner is a manager that runs added runnables at once.
type runner struct {
	*stub
	ctx   context.Context
	ended chan error
}

func (r runner) Add(added controller.Runnable) error {
	if err := r.stub.Add(added); err != nil {
		return err
	}
	go func() { r.ended <- added.Run(r.ctx) }()
	synctest.Wait()
	return nil
}

// TestControllerWhoseWarmUpCannotBeAddedDoesNotRun adds a controller to a manager that already runs, and to one that
// has not started.
func TestControllerWhoseWarmUpCannotBeAddedDoesNotRun(t *testing.T) {
	for _, runs := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			m := runner{newStub(t), ctx, make(chan error, 1)}
			m.added = append(m.added, controller.New("x sources", nothing, controller.Options{}))
			var asked []reconcile.Request
			r := reconcile.Func[reconcile.Request](func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
				asked = append(asked, request)
				return reconcile.Result{}, nil
			})
			queue := make(chan handler.Queue[reconcile.Request], 1)
			unsynced := source.Func("unsynced", func(ctx context.Context, q handler.Queue[reconcile.Request], _ func()) error {
				queue <- q
				<-ctx.Done()
				return nil
			})
			var manager controller.Manager = m.stub
			if runs {
				manager = m
			}
			b := controller.ForRequests[reconcile.Request](manager,
				"x").WithOptions(controller.Options{WarmUp: true}).WatchesSource(unsynced)
			if err := b.Complete(r); err == nil || !strings.Contains(err.Error(), "taken") {
				t.Fatalf("got %v", err)
			}
			added := m.added[1].(*controller.Controller[reconcile.Request])
			if !runs {
				go func() { m.ended <- added.Run(ctx) }()
			}
			if err := <-m.ended; err != nil || ctx.Err() != nil {
				t.Errorf("it ended with %v, and its context with %v", err, ctx.Err())
			}
			if err := added.Ready(); err != nil {
				t.Errorf("it keeps the manager from being ready: %v", err)
			}
			if len(asked) > 0 || !runs && len(queue) > 0 {
				t.Errorf("its sources began %d times, and it reconciled %v", len(queue), asked)
			}
		})
	}
}
