package manager_test

import (
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
)

// double is a manager for tests. It has only the methods that the tested function calls.
type double struct {
	controller.Manager // nil

	scheme *runtime.Scheme
	added  []controller.Runnable
}

func (d *double) Client() client.Client   { return nil }
func (d *double) Scheme() *runtime.Scheme { return d.scheme }
func (d *double) Logger() *slog.Logger    { return slog.New(slog.DiscardHandler) }

func (d *double) Add(r controller.Runnable) error {
	d.added = append(d.added, r)
	return nil
}

func TestASetupFunctionTakesAPlainStructAsManager(t *testing.T) {
	setUp := func(m controller.Manager) error {
		m.Logger().Info("setting up")
		if err := corev1.AddToScheme(m.Scheme()); err != nil {
			return err
		}
		return m.Add(worker{name: "w"})
	}
	d := &double{scheme: runtime.NewScheme()}
	ok(t, setUp(d))
	if len(d.added) != 1 || !d.scheme.Recognizes(corev1.SchemeGroupVersion.WithKind("Pod")) {
		t.Errorf("added %d runnables", len(d.added))
	}
}
