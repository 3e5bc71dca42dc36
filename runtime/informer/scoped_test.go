package informer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// cluster has one source per namespace.
type cluster map[string]*listwatch.Source

// newCluster returns a cluster with objects such as "ns/a".
func newCluster(keys ...string) cluster {
	c := cluster{}
	for _, key := range keys {
		namespace, name, _ := strings.Cut(key, "/")
		c.in(namespace).Create(name)
	}
	return c
}

func (c cluster) in(namespace string) *listwatch.Source {
	if c[namespace] == nil {
		c[namespace] = listwatch.New()
		c[namespace].Namespace = namespace
	}
	return c[namespace]
}

func (c cluster) open(opts options) (*informer.Informer[listwatch.Object], error) {
	if opts.Namespace == "closed" {
		return nil, errors.New("no way in")
	}
	return informer.New(c.in(opts.Namespace), opts), nil
}

func scoped(t *testing.T, c cluster, opts options, namespaces ...string) *informer.Scoped[listwatch.Object] {
	t.Helper()
	opts.Name, opts.Logger = "things", slog.New(slog.DiscardHandler)
	s, err := informer.NewScoped(c.open, namespaces, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// runScoped runs s until the test ends, and waits until it has settled.
func runScoped(t *testing.T, s interface{ Run(context.Context) error }) {
	go func() {
		if err := s.Run(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
}

// in is a handler that also records the namespace of each event.
func (l *log) in(e informer.Event[listwatch.Object]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, e.Object.Namespace+":"+describe(e))
}

// S08
func TestScopedInformerReadsItsNamespacesAsOne(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c := newCluster("x/a", "y/a", "y/b", "z/a")
		byName := informer.NewIndex(func(o listwatch.Object) []string { return []string{o.Name} })
		s := scoped(t, c, in(options{Indexes: []informer.Indexer[listwatch.Object]{byName}}), "x", "y")
		lister := s.Lister()
		runScoped(t, s)
		if got := names(lister.List(nil)); got != "a a b" {
			t.Errorf("all: %s", got)
		}
		if got := names(lister.Namespace("y").List(nil)); got != "a b" {
			t.Errorf("y: %s", got)
		}
		if got := names(byName.Get(s, "a")); got != "a a" {
			t.Errorf("index: %s", got)
		}
		if _, err := lister.Namespace("z").Get("a"); !apierrors.IsNotFound(err) {
			t.Errorf("out of scope: %v", err)
		}
		if len(s.In("z")) > 0 {
			t.Error("there is an informer out of scope")
		}
		if in := s.In("y"); len(in) != 1 || in[0].Store().Len() != 2 {
			t.Error("a namespace in scope has no informer")
		}
	})
}

// S08
func TestNamespaceCanBeAddedWhileTheInformerRuns(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c, l := newCluster("x/a", "y/b"), &log{}
		s := scoped(t, c, in(options{}), "x")
		byName := informer.NewIndex(func(o listwatch.Object) []string { return []string{o.Name} })
		s.AddHandler(l.in)
		s.AddIndex(byName)
		runScoped(t, s)
		for range 2 {
			if err := s.AddNamespace("y"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		c["y"].Update("b")
		synctest.Wait()
		expect(t, "events", l.got(), "x:+a@11!", "y:+b@11!", "y:~b@11>12")
		expect(t, "namespaces", s.Namespaces(), "x", "y")
		if got := names(byName.Get(s, "b")); got != "b" {
			t.Errorf("the index has %q", got)
		}
	})
}

// S08
//
// Stronger: namespaces can be added and removed while the informers run.
func TestRemovedNamespaceIsNeitherDeliveredNorRead(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c, l, registry := newCluster("x/a", "y/b"), &log{}, metrics.NewRegistry()
		s := scoped(t, c, in(options{Metrics: registry}), "x", "y")
		s.AddHandler(l.in)
		runScoped(t, s)
		s.RemoveNamespace("y")()
		s.RemoveNamespace("nowhere")()
		if n := c["y"].Unclosed(); n != 0 {
			t.Errorf("%d watches are open", n)
		}
		c["y"].Update("b")
		c["x"].Update("a")
		synctest.Wait()
		if got := l.got(); len(got) != 3 || got[2] != "x:~a@11>12" {
			t.Errorf("events %q", got)
		}
		if got := names(s.Lister().List(nil)); got != "a" {
			t.Errorf("the lister has %s", got)
		}
		var text strings.Builder
		_, _ = registry.WriteTo(&text)
		if !strings.Contains(text.String(), `informer_objects{informer="things/x"} 1`) ||
			strings.Contains(text.String(), "things/y") {
			t.Errorf("metrics:\n%s", text.String())
		}
		if err := s.AddNamespace("y"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expect(t, "events of the namespace added again", l.got(), "y:+b@12!")
	})
}

// S08
func TestPendingEventOfARemovedNamespaceIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster("x/a", "y/a")
		s := scoped(t, c, options{}, "x", "y")
		var received []string
		first, turn := make(chan struct{}), make(chan struct{})
		s.AddHandler(func(e informer.Event[listwatch.Object]) {
			if received = append(received, e.Object.Namespace); len(received) == 1 {
				close(first)
				<-turn
			}
		})
		runScoped(t, s)
		<-first
		for _, namespace := range []string{"x", "y"} {
			if namespace != received[0] {
				s.RemoveNamespace(namespace)
			}
		}
		close(turn)
		synctest.Wait()
		if len(received) != 1 {
			t.Errorf("got events of %v", received)
		}
	})
}

// S08, C12
func TestWaitForANamespaceThatIsRemovedEnds(t *testing.T) {
	for _, runs := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster("x/a", "y/b")
			c["y"].NoBegin = true
			s := scoped(t, c, options{}, "x", "y")
			in := s.In("y")[0]
			if runs {
				runScoped(t, s)
			}
			waited := make(chan error)
			go func() { waited <- in.Wait(t.Context()) }()
			synctest.Wait()
			s.RemoveNamespace("y")()
			if err := <-waited; !errors.Is(err, informer.ErrEnded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// S08
func TestAllNamespacesStayInScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster("/a")
		s := scoped(t, c, options{}, "")
		runScoped(t, s)
		s.RemoveNamespace("")()
		if got := names(s.Lister().List(nil)); got != "a" || len(s.In("x")) != 1 {
			t.Errorf("got %q", got)
		}
	})
}

// C12
func TestWaitForAnAbsentKindEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster("/a")
		absent := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Thing"}}
		c[""].OnWatch, c[""].OnList = listwatch.Always(absent), listwatch.Always(absent)
		s := scoped(t, c, options{}, "")
		waited := make(chan error)
		go func() { waited <- s.In("")[0].Wait(t.Context()) }()
		synctest.Wait()
		start := time.Now()
		runScoped(t, s)
		if err := <-waited; !meta.IsNoMatchError(err) || time.Since(start) > 0 {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		c[""].Heal()
		<-s.Synced()
		if err := s.In("")[0].Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// S08
func TestAllNamespacesBesideOneAreTheOthers(t *testing.T) {
	for _, namespaces := range [][]string{{"", "x"}, {"x", ""}} {
		s, err := informer.NewScoped(newCluster().open, namespaces, options{})
		if err != nil {
			t.Fatalf("%q: %v", namespaces, err)
		}
		x, y, all := s.In("x"), s.In("y"), s.In("")
		if len(all) != 2 || len(x) != 1 || len(y) != 1 || x[0] != all[1] || y[0] != all[0] {
			t.Errorf("%q: x has %v and y has %v of %v", namespaces, x, y, all)
		}
	}
}

// S08
func TestScopedFailsIfAnInformerCannotBeOpened(t *testing.T) {
	if _, err := informer.NewScoped(newCluster().open, []string{"closed"}, options{}); err == nil {
		t.Error("no error")
	}
}

// S08, C04
func TestScopedHandlerIsCalledForOneEventAtATime(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c := newCluster("x/a", "y/b", "z/c")
		s := scoped(t, c, in(options{}), "x", "y", "z")
		calls, step := 0, make(chan struct{})
		reg := s.AddHandler(func(informer.Event[listwatch.Object]) { calls++; <-step; calls-- })
		runScoped(t, s)
		for range 3 {
			if calls != 1 {
				t.Errorf("%d calls at once", calls)
			}
			if isClosed(reg.Synced()) {
				t.Error("synced before the last namespace")
			}
			step <- struct{}{}
			synctest.Wait()
		}
		<-reg.Synced()
	})
}

// S08, C05
func TestScopedHandlerIsSyncedWithTheNamespacesInScope(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c := newCluster("x/a", "y/b")
		c["y"].NoBegin = true
		s := scoped(t, c, in(options{}), "x", "y")
		reg := s.AddHandler(func(informer.Event[listwatch.Object]) {})
		runScoped(t, s)
		late := s.AddHandler(func(informer.Event[listwatch.Object]) {})
		synctest.Wait()
		if isClosed(s.Synced()) || isClosed(reg.Synced()) || isClosed(late.Synced()) {
			t.Error("synced without y")
		}
		s.RemoveNamespace("y")
		<-s.Synced()
		<-reg.Synced()
		<-late.Synced()
	})
}

// S08, C06
func TestScopedHandlerMayRemoveItself(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c := newCluster("x/a", "y/b")
		s := scoped(t, c, in(options{}), "x", "y")
		calls := 0
		var reg *informer.Registration
		reg = s.AddHandler(func(informer.Event[listwatch.Object]) { calls++; reg.Remove(); s.RemoveNamespace("x") })
		runScoped(t, s)
		reg.Remove()
		c["y"].Update("b")
		synctest.Wait()
		if calls != 1 {
			t.Errorf("called %d times", calls)
		}
	})
}

// C12
//
// Stronger: the error of a wait contains the cause for each informer that has not synced, such as a missing permission,
// and not only the names.
func TestWaitNamesWhatHasNotSyncedAndWhy(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		c := newCluster("x/a", "y/b", "z/c")
		c["y"].OnWatch, c["y"].OnList = listwatch.Always(listwatch.Forbidden("watch")),
			listwatch.Always(listwatch.Forbidden("list"))
		c["z"].NoBegin = true
		s := scoped(t, c, in(options{}), "x", "y", "z")
		runScoped(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := s.Wait(ctx)
		failure, ok := errors.AsType[*reflector.SyncError](err)
		if !ok || failure.Namespace != "y" || !apierrors.IsForbidden(failure) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		for _, want := range []string{"things/y has not synced: ", " things in namespace y: ", "things/z has not synced\n"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %q", want, err)
			}
		}
		if strings.Contains(err.Error(), "things/x") || s.Err() == nil {
			t.Errorf("got %q, Err %v", err, s.Err())
		}
		c["y"].Heal()
		c["z"].Send(client.WatchEvent[listwatch.Object]{Type: "BOOKMARK", ResourceVersion: "11", InitialEventsEnd: true})
		if err := s.Wait(t.Context()); err != nil || s.Err() != nil {
			t.Errorf("got %v, Err %v", err, s.Err())
		}
	})
}

// C07
func TestScopedInformerRunsOnceAndWaitsForItsParts(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := scoped(t, newCluster("x/a", "y/b"), in(options{}), "x", "y")
		release, done := make(chan struct{}), make(chan struct{})
		s.AddHandler(func(informer.Event[listwatch.Object]) { <-release })
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = s.Run(ctx); close(done) }()
		synctest.Wait()
		if err := s.Run(ctx); !errors.Is(err, informer.ErrAlreadyRun) {
			t.Errorf("second Run: %v", err)
		}
		cancel()
		synctest.Wait()
		if isClosed(done) {
			t.Error("Run has returned while a handler runs")
		}
		close(release)
		<-done
		if err := s.AddNamespace("z"); err != nil || fmt.Sprint(s.Namespaces()) != "[x y]" {
			t.Errorf("after the end: %v, %v", err, s.Namespaces())
		}
		if reg := s.AddHandler(func(informer.Event[listwatch.Object]) { t.Error("called") }); isClosed(reg.Synced()) {
			t.Error("synced after the end")
		}
	})
}

// S08, C06
func TestNamespacesAndHandlersComeAndGoAtOnce(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		var keys, all []string
		for _, namespace := range []string{"u", "v", "w", "x"} {
			all = append(all, namespace)
			keys = append(keys, namespace+"/a", namespace+"/b")
		}
		s := scoped(t, newCluster(keys...), in(options{Metrics: metrics.NewRegistry()}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = s.Run(ctx); close(done) }()
		var workers sync.WaitGroup
		for seed := range uint64(8) {
			random := rand.New(rand.NewPCG(seed, 0))
			workers.Go(func() {
				var last *informer.Registration
				for range 200 {
					namespace := all[random.IntN(len(all))]
					switch random.IntN(5) {
					case 0, 1:
						if err := s.AddNamespace(namespace); err != nil {
							t.Error(err)
						}
					case 2:
						s.RemoveNamespace(namespace)()
					case 3:
						if last != nil {
							last.Remove()
							<-last.Done()
						}
						last = s.AddHandler(func(e informer.Event[listwatch.Object]) {})
					case 4:
						for _, i := range s.In(namespace) {
							if err := i.Wait(ctx); err != nil && !errors.Is(err, informer.ErrEnded) {
								t.Error(err)
							}
							if got := names(s.Lister().Namespace(namespace).List(nil)); got != "" && got != "a b" {
								t.Errorf("a half state: %s", got)
							}
						}
					}
				}
			})
		}
		workers.Wait()
		for _, namespace := range all {
			if err := s.AddNamespace(namespace); err != nil {
				t.Error(err)
			}
		}
		l := &log{}
		reg := s.AddHandler(l.in)
		if err := errors.Join(reg.Wait(ctx), s.Wait(ctx)); err != nil {
			t.Error(err)
		}
		if got := l.got(); len(got) != len(keys) {
			t.Errorf("got %q", got)
		}
		cancel()
		<-done
		<-reg.Done()
	})
}
