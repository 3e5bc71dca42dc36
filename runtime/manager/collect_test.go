package manager_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

func TestCollectTakesWhatASetupAddsAndLeavesOutWhatIsNotEnabled(t *testing.T) {
	m, _ := newManager(t, newAPIServer(), manager.Options{Webhook: manager.WebhookOptions{BindAddress: manager.Off}})
	whole := m
	ok(t, corev1.AddToScheme(m.Scheme()))
	var asked []string
	enabled := func(name string) bool {
		asked = append(asked, name)
		return name != "secret"
	}
	idle := reconcile.Func[reconcile.Request](func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	})
	collected, err := m.Collect(manager.Collection{Enabled: enabled}, func(m controller.Manager) error {
		if m.(interface{ Run(context.Context) error }).Run(t.Context()) == nil {
			t.Error("setup ran the manager")
		}
		m.EventRecorder("a")
		own, err := m.Webhooks()
		if whole, wholeErr := whole.Webhooks(); err != nil || wholeErr != nil || own != whole {
			t.Errorf("the webhooks are not those of the manager: %v, %v", err, wholeErr)
		}
		return errors.Join(
			controller.For[*corev1.ConfigMap](m).WithOptions(controller.Options{WarmUp: true}).Complete(idle),
			controller.For[*corev1.Secret](m).Complete(idle),
			m.Add(worker{name: "w"}),
		)
	})
	ok(t, err)
	var names []string
	for _, r := range collected {
		names = append(names, r.(interface{ Name() string }).Name())
	}
	if want := []string{"configmap", "configmap sources", "w"}; !slices.Equal(names, want) ||
		!slices.Equal(asked, []string{"configmap", "secret"}) {
		t.Errorf("got %q of %q", names, asked)
	}
	ok(t,
		m.Add(worker{name: "configmap",
			runFunc: func(context.Context) error { return nil }})) // the name is free, because nothing was added
}
