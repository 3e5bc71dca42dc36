package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

type options = informer.Options[obj]

// start returns an informer of s that runs until the test ends, and waits until it has settled.
func start(t *testing.T, s informer.ListerWatcher[obj], opts options) *informer.Informer[obj] {
	inf := build(s, opts)
	run(t, inf)
	return inf
}

func build(s informer.ListerWatcher[obj], opts options) *informer.Informer[obj] {
	opts.Name, opts.Logger = "things", slog.New(slog.DiscardHandler)
	return informer.New(s, opts)
}

func run(t *testing.T, inf *informer.Informer[obj]) {
	go func() {
		if err := inf.Run(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
}

// log is a handler that writes down what it is told: "+a@11!" is an initial Added of a in version 11, "~a@11>12" an
// Updated, "-a@13" a Deleted and "-a@13?" one of which the final state is unknown.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) handle(e informer.Event[obj]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, describe(e))
}

func (l *log) got() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { l.lines = nil }()
	return l.lines
}

func describe(e informer.Event[obj]) string {
	line := fmt.Sprintf("%s@%s", e.Object.Name, e.Object.ResourceVersion)
	switch e.Type {
	case informer.Added:
		line = "+" + line
	case informer.Updated:
		line = fmt.Sprintf("~%s@%s>%s", e.Object.Name, e.Old.ResourceVersion, e.Object.ResourceVersion)
	case informer.Deleted:
		line = "-" + line
	}
	if e.Initial {
		line += "!"
	}
	if e.FinalStateUnknown {
		line += "?"
	}
	return line
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// C01
func TestHandlerIsToldEveryChangeInOrder(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a", "b"), &log{}
		inf := build(s, in(options{}))
		inf.AddHandler(l.handle)
		run(t, inf)
		s.update("a")
		s.create("c")
		s.delete("b")
		s.update("c")
		synctest.Wait()
		expect(t, "events", l.got(), "+a@11!", "+b@12!", "~a@11>13", "+c@14", "-b@15", "~c@14>16")
	})
}

// C02
//
// Stronger: an object that was deleted and created again is always told as Deleted and then Added, by its UID, so a
// handler that forgets to compare UIDs is right too.
func TestRecreationMissedByTheWatchIsTwoEvents(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a", "b"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		synctest.Wait()
		l.got()
		s.cut(apierrors.NewResourceExpired("gone"))
		s.delete("b")
		s.delete("a")
		s.create("a")
		s.forget()
		pass(2 * time.Second)
		expect(t, "events", l.got(), "-a@11?", "-b@12?", "+a@15")
	})
}

// C02
func TestRecreationWithoutADeletionIsTwoEvents(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		s.create("a")
		synctest.Wait()
		expect(t, "events", l.got(), "+a@11!", "-a@11?", "+a@12")
	})
}

// C01
func TestStateThatTheStoreHasIsNotToldAgain(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		s.send(client.WatchEvent[obj]{Type: watch.Modified, Object: s.objects[keyOf("a")].DeepCopy(), ResourceVersion: "11"})
		synctest.Wait()
		expect(t, "events", l.got(), "+a@11!")
	})
}

// C03, P01
//
// Stronger: what is in the same state as before the list is not told at all.
func TestStoreIsReplacedBeforeAnyHandlerIsTold(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a", "b", "c")
		inf := start(t, s, in(options{}))
		var seen []string
		inf.AddHandler(func(e informer.Event[obj]) {
			if e.Initial {
				return
			}
			line := describe(e)
			for _, name := range []string{"a", "b", "c", "d"} {
				if o, ok := inf.Store().Get(keyOf(name)); ok {
					line += " " + o.Name + o.ResourceVersion
				}
			}
			seen = append(seen, line)
		})
		s.cut(apierrors.NewResourceExpired("gone"))
		s.delete("a")
		s.update("c")
		s.create("d")
		pass(2 * time.Second)
		want := " b12 c15 d16"
		expect(t, "events and store", seen, "-a@11?"+want, "~c@13>15"+want, "+d@16"+want)
	})
}

// doubling is a source whose lists have everything twice.
type doubling struct{ *source }

func (d doubling) List(ctx context.Context, options metav1.ListOptions) (*client.Page[obj], error) {
	page, err := d.source.List(ctx, options)
	page.Items = append(page.Items, page.Items...)
	return page, err
}

// P01
func TestObjectListedTwiceIsToldOnce(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		l := &log{}
		inf := build(doubling{newSource("a", "b")}, in(options{DisableWatchList: true}))
		inf.AddHandler(l.handle)
		run(t, inf)
		expect(t, "events", l.got(), "+a@11!", "+b@12!")
	})
}

// C03
func TestRelistWithoutChangesTellsNothing(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		synctest.Wait()
		l.got()
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "events", l.got())
	})
}

// R12
func TestObjectRemovedWithoutAnEventIsFoundByTheRelist(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a", "broken"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		synctest.Wait()
		l.got()
		s.mu.Lock()
		delete(s.objects, keyOf("broken"))
		s.mu.Unlock()
		s.cut(apierrors.NewInternalError(errors.New("data from the storage is not decodable")))
		pass(2 * time.Second)
		expect(t, "events", l.got(), "-broken@12?")
		if inf.Store().Len() != 1 {
			t.Errorf("%d objects in the store", inf.Store().Len())
		}
	})
}

// F07
func TestDeletionOfAnUnknownObjectIsTold(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("hidden"), &log{}
		hidden := s.objects[keyOf("hidden")].DeepCopy()
		delete(s.objects, keyOf("hidden"))
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		s.mu.Lock()
		s.recordLocked("DELETED", hidden)
		s.mu.Unlock()
		synctest.Wait()
		expect(t, "events", l.got(), "-hidden@12")
	})
}

// S03
func TestStoreKnowsHowFarItHasCome(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a")
		inf := build(s, in(options{}))
		at := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := inf.Store().ResourceVersion(); got != want {
				t.Errorf("store at %q, want %q", got, want)
			}
		}
		at("")
		run(t, inf)
		at("11")
		s.update("a")
		at("12")
		s.delete("a")
		at("13")
		s.send(bookmark("20"))
		at("20")
		s.cut(io.EOF)
		at("20")
	})
}

func TestMetricsTellOfListsWatchesAndFailures(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, registry := newSource("a", "b"), metrics.NewRegistry()
		s.onWatch = once(forbidden("watch"))
		start(t, s, in(options{Metrics: registry}))
		pass(2 * time.Second)
		var text strings.Builder
		_, _ = registry.WriteTo(&text)
		for _, want := range []string{
			`informer_lists_total{informer="things"} 1`, `informer_watches_total{informer="things"} 1`,
			`informer_failures_total{informer="things",verb="watch"} 1`, `informer_objects{informer="things"} 2`,
		} {
			if !strings.Contains(text.String(), want+"\n") {
				t.Errorf("no %s in\n%s", want, text.String())
			}
		}
	})
}
