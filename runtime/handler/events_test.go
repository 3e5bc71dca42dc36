package handler_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	kctrl "github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

func TestOfCallsTheMethodOfTheEvent(t *testing.T) {
	var called string
	notes := func(name string) func(context.Context, informer.Event[kctrl.Object], handler.Queue[reconcile.Request]) {
		return func(context.Context, informer.Event[kctrl.Object], handler.Queue[reconcile.Request]) { called += name }
	}
	h := handler.Of(handler.Funcs{CreateFunc: notes("c"), UpdateFunc: notes("u"), DeleteFunc: notes("d"), GenericFunc: notes("g")})
	none := handler.Of(handler.Funcs{})
	for _, of := range []informer.EventType{informer.Added, informer.Updated, informer.Deleted, informer.Sync} {
		h(t.Context(), informer.Event[kctrl.Object]{Type: of}, nil)
		none(t.Context(), informer.Event[kctrl.Object]{Type: of}, nil)
	}
	if called != "cudg" {
		t.Errorf("called %q", called)
	}
}

func TestForOwnerOfWantsAKindOfTheScheme(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a kind that the scheme does not have is taken")
		}
	}()
	handler.ForOwnerOf[kctrl.Object](&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, runtime.NewScheme(), nil, true)
}
