package handler_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/log"
)

// record is a mapper that records its calls.
type record struct {
	meta.RESTMapper
	asked []string
}

func (r *record) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	r.asked = append(r.asked, strings.Join(append([]string{gk.Kind}, versions...), " "))
	return r.RESTMapper.RESTMapping(gk, versions...)
}

func TestForOwnerAsksForTheVersionOfTheReferenceFirst(t *testing.T) {
	for version, want := range map[string][]string{
		libraryV1: {"Shelf v1"},
		libraryV2: {"Shelf v2", "Shelf"}, // this version is no longer served
	} {
		m, q := &record{RESTMapper: mapper()}, &queue{}
		handler.ForOwner[obj](shelf, m, true)(t.Context(), event{Type: informer.Added,
			Object: object("a", controlling(version, "Shelf", "one"))}, q)
		q.expect(t, version, "ns/one")
		if !slices.Equal(m.asked, want) {
			t.Errorf("%s: asked %q, want %q", version, m.asked, want)
		}
	}
}

func TestForOwnerDoesNotAskForObjectsWithoutANamespace(t *testing.T) {
	m, q, o := &record{RESTMapper: mapper()}, &queue{}, object("a", controlling(libraryV1, "Region", "one"))
	o.Namespace = ""
	handler.ForOwner[obj](region, m, true)(t.Context(), event{Type: informer.Added, Object: o}, q)
	q.expect(t, "a cluster-scoped object", "/one")
	if len(m.asked) > 0 {
		t.Errorf("asked %q", m.asked)
	}
}

// logs collects the log lines of several goroutines.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.text.String()), "\n")
}

// TestForOwnerLogsTheKindAndTheCauseWhileItWaits lets a handler wait for a missing kind, and then for an unreachable
// server.
func TestForOwnerLogsTheKindAndTheCauseWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &changing{RESTMapper: mapper()}
		out := &logs{}
		ctx, cancel := context.WithCancel(log.IntoContext(t.Context(), slog.New(slog.NewTextHandler(out, nil))))
		var waiting sync.WaitGroup
		waiting.Go(func() {
			kind := schema.GroupKind{Group: shelf.Group, Kind: "Absent"}
			handler.ForOwner[obj](kind, m, true)(ctx, event{Type: informer.Added,
				Object: object("a", controlling(libraryV1, "Absent", "one"))}, &queue{})
		})
		<-time.After(30 * time.Second)
		m.fail(errors.New("no route"))
		<-time.After(30 * time.Second)
		cancel()
		waiting.Wait()
		lines := out.lines()
		if len(lines) != 2 {
			t.Fatalf("%d lines, want one for each cause:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		for i, cause := range []string{"no matches for", "no route"} {
			if !strings.Contains(lines[i], "Absent.library.example.com") || !strings.Contains(lines[i], cause) {
				t.Errorf("line %d names the kind or the cause not: %s", i, lines[i])
			}
		}
	})
}

func TestForOwnerLogsALongWaitEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &logs{}
		ctx, cancel := context.WithTimeout(log.IntoContext(t.Context(), slog.New(slog.NewTextHandler(out, nil))),
			150*time.Second)
		defer cancel()
		m := &flaky{RESTMapper: mapper(), failures: 1000}
		handler.ForOwner[obj](shelf, m, true)(ctx, event{Type: informer.Added,
			Object: object("a", controlling(libraryV1, "Shelf", "one"))}, &queue{})
		if lines := out.lines(); len(lines) != 3 {
			t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
		}
	})
}

// changing is a mapper that fails with err if that is set.
type changing struct {
	meta.RESTMapper

	mu  sync.Mutex
	err error
}

func (c *changing) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *changing) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	return c.RESTMapper.RESTMapping(gk, versions...)
}

// held is a mapper that blocks until it is released.
type held struct {
	meta.RESTMapper
	asked, release chan struct{}
}

func (h held) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	h.asked <- struct{}{}
	<-h.release
	return h.RESTMapper.RESTMapping(gk, versions...)
}

// TestSlowLookupOfAnOwnerHoldsNoHandlerWhoseControllerStops uses one handler in two informers, such as the informers of
// two namespaces. One call waits for the mapper, and the context of the other call has ended.
func TestSlowLookupOfAnOwnerHoldsNoHandlerWhoseControllerStops(t *testing.T) {
	m := held{mapper(), make(chan struct{}, 10), make(chan struct{})}
	h := handler.ForOwner[obj](shelf, m, true)
	e := event{Type: informer.Added, Object: object("a", controlling(libraryV1, "Shelf", "one"))}
	first, second := &queue{}, &queue{}
	var all sync.WaitGroup
	all.Go(func() { h(t.Context(), e, first) })
	<-m.asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	returned := make(chan struct{})
	all.Go(func() {
		h(ctx, e, second)
		close(returned)
	})
	select {
	case <-returned:
	case <-time.After(10 * time.Second):
		t.Error("a handler whose context has ended waits for the lookup of another one")
	}
	all.Go(func() { h(t.Context(), e, second) })
	close(m.release)
	all.Wait()
	first.expect(t, "the first handler", "ns/one")
	second.expect(t, "the second handler", "ns/one")
	if len(m.asked) > 0 {
		t.Errorf("the mapper was asked %d times more", len(m.asked))
	}
}
