package handler_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// flaky is a mapper whose first calls fail.
type flaky struct {
	meta.RESTMapper
	failures int

	mu    sync.Mutex
	asked int
}

func (f *flaky) ask() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return f.asked
}

func (f *flaky) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if f.ask() <= f.failures {
		return nil, errors.New("no route")
	}
	return f.RESTMapper.RESTMapping(gk, versions...)
}

func TestForOwnerRetriesUntilTheMapperAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &flaky{RESTMapper: mapper(), failures: 3}
		h := handler.ForOwner[obj](shelf, m, true)
		e := event{Type: informer.Added, Object: object("a", controlling(libraryV1, "Shelf", "one"))}
		start := time.Now()
		for range 2 {
			q := &queue{}
			h(t.Context(), e, q)
			q.expect(t, "an event", "ns/one")
		}
		if waited := time.Since(start); waited != 3*time.Second || m.asked != 4 {
			t.Errorf("asked %d times in %v", m.asked, waited)
		}
	})
}

func TestForOwnerDoesNotAskForObjectsWithoutOwner(t *testing.T) {
	m := &flaky{RESTMapper: mapper()}
	handler.ForOwner[obj](shelf, m, true)(t.Context(), event{Type: informer.Added, Object: object("a")}, &queue{})
	if m.asked != 0 {
		t.Errorf("asked %d times", m.asked)
	}
}

func TestForOwnerGivesUpWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		q, m := &queue{}, &flaky{RESTMapper: mapper(), failures: 1000}
		start := time.Now()
		handler.ForOwner[obj](shelf, m, true)(ctx, event{Type: informer.Added,
			Object: object("a", controlling(libraryV1, "Shelf", "one"))}, q)
		q.expect(t, "after the end")
		if waited := time.Since(start); waited != 90*time.Second {
			t.Errorf("returned after %v", waited)
		}
	})
}

// slow is a mapper that blocks until its context ends.
type slow struct{}

func (slow) RESTMappingWithContext(ctx context.Context, _ schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// both is a mapper with and without a context parameter, like the client's mapper.
type both struct {
	meta.RESTMapper
	slow
}

func (b both) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return b.RESTMapper.RESTMapping(gk, versions...)
}

func TestForOwnerAsksWithTheContextOfTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		q, start := &queue{}, time.Now()
		m := both{RESTMapper: mapper(), slow: slow{}}
		handler.ForOwner[obj](shelf, m, true)(ctx, event{Type: informer.Added,
			Object: object("a", controlling(libraryV1, "Shelf", "one"))}, q)
		q.expect(t, "after the end")
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("returned after %v", waited)
		}
	})
}
