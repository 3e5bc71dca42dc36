package controller_test

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// A request may be any comparable type. Here all events of a tenant's ConfigMaps lead to one request.
func ExampleForRequests() {
	server := exampleServer{tenantConfig("settings", "blue"), tenantConfig("quota", "blue"), tenantConfig("readme", "")}
	m, err := manager.New(server.config(), manager.Options{Scheme: exampleScheme(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	type tenant string
	byTenant := func(_ context.Context, o *corev1.ConfigMap) []tenant {
		if name := o.Labels["tenant"]; name != "" {
			return []tenant{tenant(name)}
		}
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err = controller.ForRequests[tenant](m, "tenants").
		Watches(handler.For(byTenant)).
		Complete(reconcile.Func[tenant](func(_ context.Context, t tenant) (reconcile.Result, error) {
			fmt.Println("reconcile tenant", t)
			stop()
			return reconcile.Result{}, nil
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: reconcile tenant blue
}

// Sources can be added to a controller while it runs, and removed again.
func ExampleController_Subscribe() {
	reconciled := make(chan string)
	c := controller.New("files", reconcile.Func[string](func(_ context.Context, path string) (reconcile.Result, error) {
		reconciled <- path
		return reconcile.Result{}, nil
	}), controller.Options{Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()

	subscription, err := c.Subscribe(source.Func("dir", func(ctx context.Context, queue handler.Queue[string],
		synced func()) error {
		queue.Add("dir/a.txt")
		synced()
		<-ctx.Done()
		return nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("reconcile", <-reconciled)
	subscription.Close() // it sends no further requests

	stop()
	fmt.Println(<-ended)
	// Output:
	// reconcile dir/a.txt
	// <nil>
}
