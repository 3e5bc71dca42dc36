package source_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// late is a mapper of a kind that is missing at first.
type late struct {
	meta.RESTMapper

	mu      sync.Mutex
	appears bool
}

func (l *late) appear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appears = true
}

func (l *late) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.appears {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	return &meta.RESTMapping{Scope: meta.RESTScopeNamespace}, nil
}

// TestErrNamesTheOwnerKindThatAHandlerWaitsFor uses an object with an owner whose kind appears late.
func TestErrNamesTheOwnerKindThatAHandlerWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, m := newAPI(), &late{}
		c := newCache(t, a)
		kind := schema.GroupKind{Group: "library.example.com", Kind: "Shelf"}
		owned := configMap("a", "1")
		owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "library.example.com/v1", Kind: "Shelf", Name: "one",
			UID: "1"}}
		a.send("ADDED", owned)
		a.sync()
		s := source.Optional(source.Kind(c, &corev1.ConfigMap{}, handler.ForOwner[*corev1.ConfigMap](kind, m, false)))
		ctx, cancel := context.WithCancel(log.IntoContext(t.Context(), slog.New(slog.DiscardHandler)))
		ended := make(chan error, 2)
		go func() { ended <- c.Run(ctx) }()
		q := workqueue.New[reconcile.Request](workqueue.Options{})
		synced := false
		go func() { ended <- s.Run(ctx, q, func() { synced = true }) }()
		synctest.Wait()
		if err := s.Err(); !meta.IsNoMatchError(err) || !strings.Contains(err.Error(), "Shelf.library.example.com") ||
			synced {
			t.Errorf("synced: %v, and Err is %v", synced, err)
		}
		m.appear()
		<-time.After(2 * time.Second)
		synctest.Wait()
		if err := s.Err(); err != nil || !synced {
			t.Errorf("synced: %v, and Err is %v", synced, err)
		}
		if request, _ := q.Get(ctx); request.String() != "ns/one" {
			t.Errorf("requested %q", request)
		}
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
