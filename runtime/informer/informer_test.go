package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

type options = informer.Options[listwatch.Object]

// observer receives the changes of a store.
type observer func(version string, events []informer.Event[listwatch.Object])

func (o observer) Applied(version string, events []informer.Event[listwatch.Object]) {
	o(version, events)
}

func (o observer) Listed(version string, objects iter.Seq[listwatch.Object]) {
	for obj := range objects {
		o("", []informer.Event[listwatch.Object]{{Type: informer.Added, Object: obj}})
	}
	o(version, nil)
}

// start returns an informer of s that runs until the test ends, and waits until it has settled.
func start(t *testing.T, s reflector.ListerWatcher[listwatch.Object],
	opts options) *informer.Informer[listwatch.Object] {
	inf := build(s, opts)
	run(t, inf)
	return inf
}

func build(s reflector.ListerWatcher[listwatch.Object], opts options) *informer.Informer[listwatch.Object] {
	opts.Name, opts.Logger = "things", slog.New(slog.DiscardHandler)
	return informer.New(s, opts)
}

func run(t *testing.T, inf *informer.Informer[listwatch.Object]) {
	go func() {
		if err := inf.Run(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
}

// log is a handler that records its events: "+a@11!" is an initial Added of a at version 11, "~a@11>12" an Updated,
// "-a@13" a Deleted, and "-a@13?" a Deleted whose final state is unknown.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) handle(e informer.Event[listwatch.Object]) {
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

func describe(e informer.Event[listwatch.Object]) string {
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

// pass advances the virtual time by d and waits until everything that is then due has run.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// C01
func TestHandlerReceivesEveryChangeInOrder(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a", "b"), &log{}
		inf := build(s, in(options{}))
		inf.AddHandler(l.handle)
		run(t, inf)
		s.Update("a")
		s.Create("c")
		s.Delete("b")
		s.Update("c")
		synctest.Wait()
		expect(t, "events", l.got(), "+a@11!", "+b@12!", "~a@11>13", "+c@14", "-b@15", "~c@14>16")
	})
}

// C02
//
// Stronger: an object that was deleted and recreated always causes Deleted and then Added, because its UID shows it. So
// a handler that does not compare UIDs is correct too.
func TestRecreationMissedByTheWatchIsTwoEvents(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a", "b"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		synctest.Wait()
		l.got()
		s.Cut(apierrors.NewResourceExpired("gone"))
		s.Delete("b")
		s.Delete("a")
		s.Create("a")
		s.Forget()
		pass(2 * time.Second)
		expect(t, "events", l.got(), "-a@11?", "-b@12?", "+a@15")
	})
}

// C02
func TestRecreationWithoutADeletionIsTwoEvents(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		s.Create("a")
		synctest.Wait()
		expect(t, "events", l.got(), "+a@11!", "-a@11?", "+a@12")
	})
}

// C01
func TestKnownStateIsNotDeliveredAgain(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Modified, Object: s.Objects[listwatch.KeyOf("a")].DeepCopy(),
			ResourceVersion: "11"})
		synctest.Wait()
		expect(t, "events", l.got(), "+a@11!")
	})
}

// C03, P01
//
// Stronger: an object that a list returns in an unchanged state causes no event.
func TestStoreIsReplacedBeforeHandlersAreCalled(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New("a", "b", "c")
		inf := start(t, s, in(options{}))
		var seen []string
		inf.AddHandler(func(e informer.Event[listwatch.Object]) {
			if e.Initial {
				return
			}
			line := describe(e)
			for _, name := range []string{"a", "b", "c", "d"} {
				if o, ok := inf.Store().Get(listwatch.KeyOf(name)); ok {
					line += " " + o.Name + o.ResourceVersion
				}
			}
			seen = append(seen, line)
		})
		s.Cut(apierrors.NewResourceExpired("gone"))
		s.Delete("a")
		s.Update("c")
		s.Create("d")
		pass(2 * time.Second)
		want := " b12 c15 d16"
		expect(t, "events and store", seen, "-a@11?"+want, "~c@13>15"+want, "+d@16"+want)
	})
}

// Stronger: client-go also delivers the new states, because it decodes and replaces all objects. This
// informer decodes only changed objects, and must not mistake an object with the same version but different content
// for an unchanged one.
func TestDuplicateVersionsAreReadAgain(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		for _, listed := range []bool{true, false} {
			s, l := listwatch.New("a", "b"), &log{}
			for range 5 {
				s.Update("b")
			}
			inf := start(t, s, in(options{DisableWatchList: listed}))
			inf.AddHandler(l.handle)
			synctest.Wait()
			l.got()
			s.Cut(apierrors.NewInternalError(errors.New("the storage is another one")))
			s.SetBack(12, "later")
			s.Delete("b")
			pass(10 * time.Second)
			expect(t, "events", l.got(), "-b@17?", "~a@11>11")
			if a, _ := inf.Store().Get(listwatch.KeyOf("a")); a.Labels["of"] != "later" {
				t.Errorf("listed %v: the store has %v", listed, a)
			}
			s.Cut(apierrors.NewInternalError(errors.New("a relist")))
			pass(10 * time.Second)
			expect(t, "events of a relist", l.got())
		}
	})
}

// changingTwice is a source whose lists contain each object twice, the second time in a later state.
type changingTwice struct{ *listwatch.Source }

func (c changingTwice) List(ctx context.Context, options metav1.ListOptions) (*client.Page[listwatch.Object], error) {
	page, err := c.Source.List(ctx, options)
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
		inf := build(changingTwice{listwatch.New("a", "b")}, in(options{DisableWatchList: true}))
		inf.AddHandler(l.handle)
		run(t, inf)
		expect(t, "events", l.got(), "+a@115!", "+b@125!")
		if a, _ := inf.Store().Get(listwatch.KeyOf("a")); a.ResourceVersion != "115" {
			t.Errorf("got %v", a)
		}
	})
}

// doubling is a source whose lists contain each object twice.
type doubling struct{ *listwatch.Source }

func (d doubling) List(ctx context.Context, options metav1.ListOptions) (*client.Page[listwatch.Object], error) {
	page, err := d.Source.List(ctx, options)
	page.Items = append(page.Items, page.Items...)
	return page, err
}

// P01
func TestObjectListedTwiceIsDeliveredOnce(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		l := &log{}
		inf := build(doubling{listwatch.New("a", "b")}, in(options{DisableWatchList: true}))
		inf.AddHandler(l.handle)
		run(t, inf)
		expect(t, "events", l.got(), "+a@11!", "+b@12!")
	})
}

// C03
func TestRelistWithoutChangesDeliversNothing(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		synctest.Wait()
		l.got()
		s.Cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "events", l.got())
	})
}

// R12
func TestObjectRemovedWithoutAnEventIsFoundByTheRelist(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a", "broken"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		synctest.Wait()
		l.got()
		s.Mu.Lock()
		delete(s.Objects, listwatch.KeyOf("broken"))
		s.Mu.Unlock()
		s.Cut(apierrors.NewInternalError(errors.New("data from the storage is not decodable")))
		pass(2 * time.Second)
		expect(t, "events", l.got(), "-broken@12?")
		if inf.Store().Len() != 1 {
			t.Errorf("%d objects in the store", inf.Store().Len())
		}
	})
}

// F07
func TestDeletionOfAnUnknownObjectIsDelivered(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("hidden"), &log{}
		hidden := s.Objects[listwatch.KeyOf("hidden")].DeepCopy()
		delete(s.Objects, listwatch.KeyOf("hidden"))
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		s.Mu.Lock()
		s.RecordLocked("DELETED", hidden)
		s.Mu.Unlock()
		synctest.Wait()
		expect(t, "events", l.got(), "-hidden@12")
	})
}

// S03
func TestStoreKnowsHowFarItHasCome(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New("a")
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
		s.Update("a")
		at("12")
		s.Delete("a")
		at("13")
		s.Send(listwatch.Bookmark("20"))
		at("20")
		s.Cut(io.EOF)
		at("20")
	})
}

func TestMetricsCountListsWatchesAndFailures(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, registry := listwatch.New("a", "b"), metrics.NewRegistry()
		s.OnWatch = listwatch.Once(listwatch.Forbidden("watch"))
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
// Stronger: everything that must be set before the start is in Options, so it cannot be set too late. A second Run
// returns an error instead of logging a warning.
func TestInformerRunsOnce(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a"), &log{}
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
		inf := build(listwatch.New("a"), in(options{}))
		release := make(chan struct{})
		inf.AddHandler(func(informer.Event[listwatch.Object]) { <-release })
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
		s := listwatch.New("a")
		release := make(chan struct{})
		s.OnWatch = func(metav1.ListOptions) error { <-release; return io.EOF }
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
// Stronger: an informer has one resync period without rounding, and a resync cannot fail. Only a resync delivers an
// unchanged state; a relist never does.
func TestResyncDeliversTheStoreWithoutRequests(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a"), &log{}
		inf := build(s, in(options{Resync: time.Minute}))
		inf.AddHandler(l.handle)
		run(t, inf)
		pass(time.Minute)
		s.Update("a")
		pass(time.Minute)
		expect(t, "events", l.got(), "+a@11!", "~a@11>11", "~a@11>12", "~a@12>12")
		expect(t, "requests", s.Took(), `watch! ""`)
	})
}

// C09
func TestResyncIsAtMostEverySecond(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		l := &log{}
		inf := build(listwatch.New("a"), in(options{Resync: time.Millisecond}))
		inf.AddHandler(l.handle)
		run(t, inf)
		pass(3 * time.Second)
		expect(t, "events", l.got(), "+a@11!", "~a@11>11", "~a@11>11", "~a@11>11")
	})
}

// C12
func TestInformerIsSyncedWithTheFirstCompleteState(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New("a", "b", "c")
		s.Paging = true
		s.OnList = listwatch.Once(nil, listwatch.Forbidden("list"))
		inf := start(t, s, in(options{DisableWatchList: true, PageSize: 2}))
		if isClosed(inf.Synced()) || inf.Store().Len() != 0 {
			t.Errorf("synced after half a list, with %d objects", inf.Store().Len())
		}
		failure, ok := errors.AsType[*reflector.SyncError](inf.Err())
		if !ok || failure.Verb != "list" || failure.Resource != "things" || !apierrors.IsForbidden(inf.Err()) {
			t.Errorf("got %v, want a forbidden list", inf.Err())
		}
		if want := "list things: things is forbidden: not permitted to list"; !strings.HasPrefix(inf.Err().Error(), want) {
			t.Errorf("got %q", inf.Err())
		}
		pass(2 * time.Second)
		if !isClosed(inf.Synced()) || inf.Store().Len() != 3 || inf.Err() != nil {
			t.Errorf("synced %v, %d objects, error %v", isClosed(inf.Synced()), inf.Store().Len(), inf.Err())
		}
	})
}

// marking returns a transform that marks each object it sees, and fails for the objects and versions named in broken.
func marking(broken map[string]bool) func(listwatch.Object) (listwatch.Object, error) {
	return func(o listwatch.Object) (listwatch.Object, error) {
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
func TestEachObjectIsTransformedOnceBeforeHandlers(t *testing.T) {
	for _, listed := range []bool{false, true} {
		inBothForms(t, func(t *testing.T, in form) {
			s := listwatch.New("a", "b")
			inf := build(s, in(options{Transform: marking(nil), DisableWatchList: listed, Resync: time.Minute}))
			events := 0
			inf.AddHandler(func(e informer.Event[listwatch.Object]) {
				events++
				if e.Object.Labels["transformed"] != "yes" || e.Type == informer.Updated && e.Old.Labels["transformed"] != "yes" {
					t.Errorf("%s is not transformed", describe(e))
				}
			})
			run(t, inf)
			s.Update("a")
			s.Delete("b")
			s.Cut(apierrors.NewResourceExpired("gone"))
			s.Create("c")
			pass(time.Minute)
			if events != 7 {
				t.Errorf("%d events", events)
			}
		})
	}
}

// C10
//
// Stronger: an object that cannot be transformed keeps its last good state in the store, and a relist does not treat it
// as deleted.
func TestObjectThatCannotBeTransformedStaysAsItWas(t *testing.T) {
	for _, listed := range []bool{false, true} {
		inBothForms(t, func(t *testing.T, in form) {
			s, l := listwatch.New("a", "broken", "c"), &log{}
			broken := map[string]bool{"broken": true, "a@14": true, "a@15": true, "c@16": true}
			inf := build(s, in(options{Transform: marking(broken), DisableWatchList: listed}))
			inf.AddHandler(l.handle)
			run(t, inf)
			s.Update("a")
			synctest.Wait()
			expect(t, "events", l.got(), "+a@11!", "+c@13!")
			if got := inf.Store().ResourceVersion(); got != "14" {
				t.Errorf("store at %s", got)
			}
			s.Cut(apierrors.NewResourceExpired("gone"))
			s.Update("a")
			pass(2 * time.Second)
			expect(t, "events after a relist", l.got())
			s.Delete("c")
			s.Update("a")
			synctest.Wait()
			expect(t, "events after a deletion", l.got(), "-c@13?", "~a@11>17")
			s.Delete("broken")
			synctest.Wait()
			expect(t, "events of an object never seen", l.got())
		})
	}
}

// C11
//
// Stronger: handlers need no case for a tombstone type. Object has all known data of a deleted object, so it always has
// a key, a name and a UID.
func TestDeletedObjectIsAlwaysThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("watched", "missed", "unreadable", "recreated")
		inf := start(t, s, options{Transform: marking(map[string]bool{"unreadable@16": true})})
		gone := make(map[string]bool)
		inf.AddHandler(func(e informer.Event[listwatch.Object]) {
			if e.Key() != listwatch.KeyOf(e.Object.GetName()) || e.Object.UID == "" || e.Object.ResourceVersion == "" {
				t.Errorf("%s has the key %s and the UID %q", describe(e), e.Key(), e.Object.UID)
			}
			if e.Type == informer.Deleted {
				gone[e.Key().Name] = e.FinalStateUnknown
			}
		})
		s.Delete("watched")
		s.Delete("unreadable")
		synctest.Wait()
		s.Create("recreated")
		synctest.Wait()
		s.Cut(apierrors.NewResourceExpired("gone"))
		s.Delete("missed")
		s.Forget()
		pass(2 * time.Second)
		if want := "map[missed:true recreated:true unreadable:true watched:false]"; fmt.Sprint(gone) != want {
			t.Errorf("got %v, want %s", gone, want)
		}
	})
}

// C12
//
// Stronger: a wait for an event that can no longer occur returns an error, whether Run, the handler, the namespace or
// the context has ended.
func TestEveryWaitEnds(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c := newCluster("x/a", "y/b")
		for _, s := range c {
			s.OnWatch, s.OnList = listwatch.Always(listwatch.Forbidden("watch")), listwatch.Always(listwatch.Forbidden("list"))
		}
		one := build(c["x"], in(options{}))
		several := scoped(t, c, in(options{}), "x", "y")
		f := informer.NewFactory(informer.FactoryOptions{Namespaces: []string{"x"}})
		share(t, f, c, "pods")
		removed := one.AddHandler(func(informer.Event[listwatch.Object]) {})
		removedFromAll := several.AddHandler(func(informer.Event[listwatch.Object]) {})
		waits := map[string]struct {
			wait func(context.Context) error
			want error
		}{
			"informer":              {one.Wait, informer.ErrEnded},
			"handler":               {one.AddHandler(func(informer.Event[listwatch.Object]) {}).Wait, informer.ErrEnded},
			"removed handler":       {removed.Wait, informer.ErrRemoved},
			"scoped":                {several.Wait, informer.ErrEnded},
			"scoped handler":        {several.AddHandler(func(informer.Event[listwatch.Object]) {}).Wait, informer.ErrEnded},
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

// F08, C09: if a bookmark follows a resync in the queue, the waiting resync takes over its version.
func TestVersionOfABookmarkBehindAResyncReachesTheStore(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := listwatch.New("a")
		hold, held := make(chan struct{}), false
		inf := build(s, in(options{Resync: time.Minute, Observer: observer(func(_ string,
			events []informer.Event[listwatch.Object]) {
			if len(events) > 0 && events[0].Type == informer.Updated && !held {
				held = true
				<-hold
			}
		})}))
		run(t, inf)
		synctest.Wait()
		s.Update("a") // applying this update blocks, so a resync and then a bookmark wait behind it
		time.Sleep(time.Minute)
		s.Send(listwatch.Bookmark("99"))
		synctest.Wait()
		close(hold)
		synctest.Wait()
		if version := inf.Store().ResourceVersion(); version != "99" {
			t.Errorf("the store is at %s", version)
		}
	})
}
