package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
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

// observer is told of the changes of a store.
type observer func(version string, events []informer.Event[obj])

func (o observer) Applied(version string, events []informer.Event[obj]) { o(version, events) }

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

// setBack makes the source one that was set back to an earlier version, as from a backup, and has changed since: label is what
// all of its objects have under the versions that they had before.
func (s *source) setBack(version int, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.history, s.forgot = version, nil, 0
	for _, o := range s.objects {
		o.Labels = map[string]string{"of": label}
	}
	s.onList, s.onWatch = refusesLater(s), refusesLater(s)
}

// refusesLater refuses what asks for a version that the source has not come to.
func refusesLater(s *source) func(metav1.ListOptions) error {
	return func(options metav1.ListOptions) error {
		if version, _ := strconv.Atoi(options.ResourceVersion); version > s.version {
			return tooLarge()
		}
		return nil
	}
}

// Stronger: client-go would take the new states too, as it has all decoded and replaced; what is known here by its version must not
// be taken for what it was.
func TestVersionsThatTheServerHasGivenTwiceAreReadAnew(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		for _, listed := range []bool{true, false} {
			s, l := newSource("a", "b"), &log{}
			for range 5 {
				s.update("b")
			}
			inf := start(t, s, in(options{DisableWatchList: listed}))
			inf.AddHandler(l.handle)
			synctest.Wait()
			l.got()
			s.cut(apierrors.NewInternalError(errors.New("the storage is another one")))
			s.setBack(12, "later")
			s.delete("b")
			pass(10 * time.Second)
			expect(t, "events", l.got(), "-b@17?", "~a@11>11")
			if a, _ := inf.Store().Get(keyOf("a")); a.Labels["of"] != "later" {
				t.Errorf("listed %v: the store has %v", listed, a)
			}
			s.cut(apierrors.NewInternalError(errors.New("a relist")))
			pass(10 * time.Second)
			expect(t, "events of a relist", l.got())
		}
	})
}

// changingTwice is a source whose lists have each object twice, the second time in a later state.
type changingTwice struct{ *source }

func (c changingTwice) List(ctx context.Context, options metav1.ListOptions) (*client.Page[obj], error) {
	page, err := c.source.List(ctx, options)
	for _, o := range page.Items {
		later := o.DeepCopy()
		later.ResourceVersion += "5"
		page.Items = append(page.Items, later)
	}
	return page, err
}

// P01
func TestObjectListedInTwoStatesIsInTheLast(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		l := &log{}
		inf := build(changingTwice{newSource("a", "b")}, in(options{DisableWatchList: true}))
		inf.AddHandler(l.handle)
		run(t, inf)
		expect(t, "events", l.got(), "+a@115!", "+b@125!")
		if a, _ := inf.Store().Get(keyOf("a")); a.ResourceVersion != "115" {
			t.Errorf("got %v", a)
		}
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

// C07
//
// Stronger: what must be set before the start is in Options and cannot be set too late, and a second Run is an error
// and not a warning.
func TestInformerRunsOnce(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a"), &log{}
		inf := build(s, in(options{}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- inf.Run(ctx) }()
		synctest.Wait()
		if err := inf.Run(ctx); !errors.Is(err, informer.ErrAlreadyRun) {
			t.Errorf("second Run: %v", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := inf.Run(t.Context()); !errors.Is(err, informer.ErrAlreadyRun) {
			t.Errorf("Run after the end: %v", err)
		}
		reg := inf.AddHandler(l.handle)
		synctest.Wait()
		reg.Remove()
		expect(t, "events after the end", l.got())
		if isClosed(reg.Synced()) || inf.Store().Len() != 1 {
			t.Errorf("synced %v, %d objects", isClosed(reg.Synced()), inf.Store().Len())
		}
	})
}

// C07
func TestRunWaitsForHandlers(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		inf := build(newSource("a"), in(options{}))
		release := make(chan struct{})
		inf.AddHandler(func(informer.Event[obj]) { <-release })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = inf.Run(ctx); close(done) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if isClosed(done) {
			t.Error("Run has returned while a handler runs")
		}
		close(release)
		<-done
	})
}

// C07
func TestRunWaitsForTheReflector(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a")
		release := make(chan struct{})
		s.onWatch = func(metav1.ListOptions) error { <-release; return io.EOF }
		inf := build(s, in(options{Resync: time.Minute}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = inf.Run(ctx); close(done) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if isClosed(done) {
			t.Error("Run has returned while a watch is being opened")
		}
		close(release)
		<-done
	})
}

// C09, R11
//
// Stronger: there is one period for an informer and no rounding; a resync cannot fail, and a state that did not change
// is told by a resync alone, never by a relist.
func TestResyncTellsWhatTheStoreHasWithoutAskingTheServer(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a"), &log{}
		inf := build(s, in(options{Resync: time.Minute}))
		inf.AddHandler(l.handle)
		run(t, inf)
		pass(time.Minute)
		s.update("a")
		pass(time.Minute)
		expect(t, "events", l.got(), "+a@11!", "~a@11>11", "~a@11>12", "~a@12>12")
		expect(t, "requests", s.took(), `watch! ""`)
	})
}

// C09
func TestResyncIsAtMostEverySecond(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		l := &log{}
		inf := build(newSource("a"), in(options{Resync: time.Millisecond}))
		inf.AddHandler(l.handle)
		run(t, inf)
		pass(3 * time.Second)
		expect(t, "events", l.got(), "+a@11!", "~a@11>11", "~a@11>11", "~a@11>11")
	})
}

// C12
func TestInformerIsSyncedWithTheFirstCompleteState(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a", "b", "c")
		s.paging = true
		s.onList = once(nil, forbidden("list"))
		inf := start(t, s, in(options{DisableWatchList: true, PageSize: 2}))
		if isClosed(inf.Synced()) || inf.Store().Len() != 0 {
			t.Errorf("synced after half a list, with %d objects", inf.Store().Len())
		}
		failure, ok := errors.AsType[*informer.SyncError](inf.Err())
		if !ok || failure.Verb != "list" || failure.Resource != "things" || !apierrors.IsForbidden(inf.Err()) {
			t.Errorf("got %v, want a forbidden list", inf.Err())
		}
		if want := "list things: things is forbidden: no right to list"; !strings.HasPrefix(inf.Err().Error(), want) {
			t.Errorf("got %q", inf.Err())
		}
		pass(2 * time.Second)
		if !isClosed(inf.Synced()) || inf.Store().Len() != 3 || inf.Err() != nil {
			t.Errorf("synced %v, %d objects, error %v", isClosed(inf.Synced()), inf.Store().Len(), inf.Err())
		}
	})
}

// marking is a transform that marks each object it sees, and fails for objects and versions named in broken.
func marking(broken map[string]bool) func(obj) (obj, error) {
	return func(o obj) (obj, error) {
		if o.Labels["transformed"] != "" {
			return o, errors.New("transformed twice")
		}
		if broken[o.Name] || broken[o.Name+"@"+o.ResourceVersion] {
			return o, errors.New("broken")
		}
		o.Labels = map[string]string{"transformed": "yes"}
		return o, nil
	}
}

// C10
func TestEachObjectIsTransformedOnceBeforeAnybodySeesIt(t *testing.T) {
	for _, listed := range []bool{false, true} {
		inBothForms(t, func(t *testing.T, in form) {
			s := newSource("a", "b")
			inf := build(s, in(options{Transform: marking(nil), DisableWatchList: listed, Resync: time.Minute}))
			events := 0
			inf.AddHandler(func(e informer.Event[obj]) {
				events++
				if e.Object.Labels["transformed"] != "yes" || e.Type == informer.Updated && e.Old.Labels["transformed"] != "yes" {
					t.Errorf("%s is not transformed", describe(e))
				}
			})
			run(t, inf)
			s.update("a")
			s.delete("b")
			s.cut(apierrors.NewResourceExpired("gone"))
			s.create("c")
			pass(time.Minute)
			if events != 7 {
				t.Errorf("%d events", events)
			}
		})
	}
}

// C10
//
// Stronger: an object that cannot be transformed keeps its last good state in the store, and a relist does not take it
// for deleted.
func TestObjectThatCannotBeTransformedStaysAsItWas(t *testing.T) {
	for _, listed := range []bool{false, true} {
		inBothForms(t, func(t *testing.T, in form) {
			s, l := newSource("a", "broken", "c"), &log{}
			broken := map[string]bool{"broken": true, "a@14": true, "a@15": true, "c@16": true}
			inf := build(s, in(options{Transform: marking(broken), DisableWatchList: listed}))
			inf.AddHandler(l.handle)
			run(t, inf)
			s.update("a")
			synctest.Wait()
			expect(t, "events", l.got(), "+a@11!", "+c@13!")
			if got := inf.Store().ResourceVersion(); got != "14" {
				t.Errorf("store at %s", got)
			}
			s.cut(apierrors.NewResourceExpired("gone"))
			s.update("a")
			pass(2 * time.Second)
			expect(t, "events after a relist", l.got())
			s.delete("c")
			s.update("a")
			synctest.Wait()
			expect(t, "events after a deletion", l.got(), "-c@13?", "~a@11>17")
			s.delete("broken")
			synctest.Wait()
			expect(t, "events of an object never seen", l.got())
		})
	}
}

// C11
//
// Stronger: there is no tombstone type that a handler could forget. Whatever is known of an object that is gone is in
// Object, so its key, name and UID can always be taken from there.
func TestDeletedObjectIsAlwaysThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("watched", "missed", "unreadable", "recreated")
		inf := start(t, s, options{Transform: marking(map[string]bool{"unreadable@16": true})})
		gone := make(map[string]bool)
		inf.AddHandler(func(e informer.Event[obj]) {
			if e.Key() != keyOf(e.Object.GetName()) || e.Object.UID == "" || e.Object.ResourceVersion == "" {
				t.Errorf("%s has the key %s and the UID %q", describe(e), e.Key(), e.Object.UID)
			}
			if e.Type == informer.Deleted {
				gone[e.Key().Name] = e.FinalStateUnknown
			}
		})
		s.delete("watched")
		s.delete("unreadable")
		synctest.Wait()
		s.create("recreated")
		synctest.Wait()
		s.cut(apierrors.NewResourceExpired("gone"))
		s.delete("missed")
		s.forget()
		pass(2 * time.Second)
		if want := "map[missed:true recreated:true unreadable:true watched:false]"; fmt.Sprint(gone) != want {
			t.Errorf("got %v, want %s", gone, want)
		}
	})
}

// C12
//
// Stronger: what is waited for and cannot come any more is an error, however it ended: by the end of Run, of the handler, of
// the namespace, or of the context.
func TestEveryWaitEnds(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c := newCluster("x/a", "y/b")
		for _, s := range c {
			s.onWatch, s.onList = always(forbidden("watch")), always(forbidden("list"))
		}
		one := build(c["x"], in(options{}))
		several := scoped(t, c, in(options{}), "x", "y")
		f := informer.NewFactory(informer.FactoryOptions{Namespaces: []string{"x"}})
		share(t, f, c, "pods")
		removed := one.AddHandler(func(informer.Event[obj]) {})
		removedFromAll := several.AddHandler(func(informer.Event[obj]) {})
		waits := map[string]struct {
			wait func(context.Context) error
			want error
		}{
			"informer":              {one.Wait, informer.ErrEnded},
			"handler":               {one.AddHandler(func(informer.Event[obj]) {}).Wait, informer.ErrEnded},
			"removed handler":       {removed.Wait, informer.ErrRemoved},
			"scoped":                {several.Wait, informer.ErrEnded},
			"scoped handler":        {several.AddHandler(func(informer.Event[obj]) {}).Wait, informer.ErrEnded},
			"removed of the scoped": {removedFromAll.Wait, informer.ErrRemoved},
			"factory":               {f.Wait, informer.ErrEnded},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running []chan error
		for _, run := range []func(context.Context) error{one.Run, several.Run, f.Run} {
			ended := make(chan error, 1)
			running = append(running, ended)
			go func() { ended <- run(ctx) }()
		}
		synctest.Wait()
		why := errors.New("no patience")
		for name, w := range waits {
			impatient, give := context.WithCancelCause(t.Context())
			give(why)
			if err := w.wait(impatient); !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
		outcomes := map[string]chan error{}
		for name, w := range waits {
			outcome := make(chan error, 1)
			outcomes[name] = outcome
			go func() { outcome <- w.wait(t.Context()) }()
		}
		synctest.Wait()
		removed.Remove()
		removedFromAll.Remove()
		cancel()
		for _, ended := range running {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		for name, w := range waits {
			if err := <-outcomes[name]; !errors.Is(err, w.want) {
				t.Errorf("%s: got %v, want %v", name, err, w.want)
			}
			if err := w.wait(t.Context()); !errors.Is(err, w.want) {
				t.Errorf("%s, after the end: got %v, want %v", name, err, w.want)
			}
		}
		if err := several.Wait(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("the error does not say why: %v", err)
		}
	})
}
