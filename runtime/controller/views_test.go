package controller_test

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// lists is a server that counts the lists of ConfigMaps.
type lists struct {
	exampleServer
	count atomic.Int32
}

func (l *lists) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/api/v1/configmaps" && req.URL.Query().Get("watch") == "" {
		l.count.Add(1)
	}
	return l.exampleServer.RoundTrip(req)
}

func TestTypedUnstructuredAndMetadataWatchesOfAKindShareAnInformer(t *testing.T) {
	server := &lists{exampleServer: exampleServer{tenantConfig("settings", "blue")}}
	config := server.config()
	config.Transport = server
	m, err := manager.New(config, manager.Options{Scheme: exampleScheme(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	whole := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	same := handler.ForObject[object.Object]()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var typed corev1.ConfigMap
	err = controller.For[*corev1.ConfigMap](m).Watches(whole, same).WatchesMetadata(&corev1.ConfigMap{}, same).
		Complete(reconcile.Func[reconcile.Request](func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			defer stop()
			if err := m.Client().Get(ctx, r.NamespacedName, &typed); err != nil {
				t.Error(err)
			}
			if err := m.Client().Get(ctx, r.NamespacedName, whole); err != nil {
				t.Error(err)
			}
			return reconcile.Result{}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if typed.Name != "settings" || whole.GetName() != "settings" || server.count.Load() != 1 {
		t.Errorf("read %q and %q with %d lists", typed.Name, whole.GetName(), server.count.Load())
	}
}
