package informer_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

func newFactory(opts informer.FactoryOptions) *informer.Factory {
	opts.Logger = slog.New(slog.DiscardHandler)
	return informer.NewFactory(opts)
}

// share returns the factory's informer for the kind with that name.
func share(t *testing.T, f *informer.Factory, c cluster, name string,
	namespaces ...string) *informer.Scoped[listwatch.Object] {
	t.Helper()
	s, err := informer.Shared(f, c.open, informer.KindOptions[listwatch.Object]{Options: options{Name: name},
		Namespaces: namespaces})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// S08, S07
func TestFactoryHasOneInformerForEachKind(t *testing.T) {
	c, f := newCluster(), newFactory(informer.FactoryOptions{})
	pods := share(t, f, c, "pods")
	if share(t, f, c, "pods") != pods {
		t.Error("a kind has two informers")
	}
	if share(t, f, c, "nodes") == pods {
		t.Error("two kinds have one informer")
	}
	if _, err := informer.Shared(f, c.open, informer.KindOptions[listwatch.Object]{Options: options{Name: "x"},
		Namespaces: []string{"closed"}}); err == nil {
		t.Error("a kind that cannot be opened is no error")
	}
}

// S08
//
// Stronger: Run starts and ends everything. No informer can be forgotten, and there is no Start to call a second time.
func TestFactoryStartsInformersThatAreAddedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newCluster("/a"), newFactory(informer.FactoryOptions{})
		first := share(t, f, c, "first")
		if isClosed(first.Synced()) || len(c[""].Took()) > 0 {
			t.Error("an informer was started before Run")
		}
		runScoped(t, f)
		second := share(t, f, c, "second")
		if err := f.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := names(first.Lister().List(nil)) + names(second.Lister().List(nil)); got != "aa" {
			t.Errorf("got %s", got)
		}
		if err := f.Run(t.Context()); !errors.Is(err, informer.ErrAlreadyRun) {
			t.Errorf("second Run: %v", err)
		}
	})
}

// S08
func TestFactoryEndsWithItsLastHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newCluster("/a"), newFactory(informer.FactoryOptions{})
		release, done := make(chan struct{}), make(chan struct{})
		things := share(t, f, c, "things")
		things.AddHandler(func(informer.Event[listwatch.Object]) { <-release })
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = f.Run(ctx); close(done) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if isClosed(done) {
			t.Error("Run has returned while a handler runs")
		}
		close(release)
		<-done
		if share(t, f, c, "things") != things {
			t.Error("the informer is another one after the end")
		}
		if _, err := informer.Shared(f, c.open, informer.KindOptions[listwatch.Object]{}); !errors.Is(err,
			informer.ErrEnded) {
			t.Errorf("a new kind after the end: %v", err)
		}
	})
}

// S08
func TestFactoryChangesTheNamespacesOfTheKindsThatFollowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newCluster(), newFactory(informer.FactoryOptions{Namespaces: []string{"x"}})
		follows, own, whole := share(t, f, c, "pods"), share(t, f, c, "secrets", "x"), share(t, f, c, "nodes", "")
		runScoped(t, f)
		if err := f.AddNamespace("y"); err != nil {
			t.Fatal(err)
		}
		late := share(t, f, c, "services")
		for _, test := range []struct {
			informer *informer.Scoped[listwatch.Object]
			want     string
		}{{follows, "x y"}, {own, "x"}, {whole, ""}, {late, "x y"}} {
			if got := strings.Join(test.informer.Namespaces(), " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		}
		f.RemoveNamespace("x")
		expect(t, "namespaces", late.Namespaces(), "y")
		expect(t, "namespaces of a kind that is added later", share(t, f, c, "jobs").Namespaces(), "y")
		expect(t, "namespaces of its own", own.Namespaces(), "x")
		if err := f.AddNamespace(""); err == nil {
			t.Error("all namespaces were added to one")
		}
		if err := f.AddNamespace("closed"); err == nil || !strings.Contains(err.Error(), `add namespace "closed" for `) {
			t.Errorf("got %v", err)
		}
	})
}

// S08, C12
func TestFactoryWaitNamesTheKindsThatHaveNotSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad, f := newCluster("/a"), newCluster("/a"), newFactory(informer.FactoryOptions{})
		bad[""].OnWatch, bad[""].OnList = listwatch.Always(listwatch.Forbidden("watch")),
			listwatch.Always(listwatch.Forbidden("list"))
		share(t, f, good, "pods")
		share(t, f, bad, "secrets")
		runScoped(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := f.Wait(ctx)
		if _, ok := errors.AsType[*reflector.SyncError](err); !ok || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if !strings.Contains(err.Error(), "secrets has not synced: ") || strings.Contains(err.Error(), "pods") {
			t.Errorf("got %q", err)
		}
	})
}

// S08, C10, C09
func TestOptionsOfTheFactoryAreThoseOfEachKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster("/a", "/broken"), &log{}
		f := newFactory(informer.FactoryOptions{
			Resync: time.Minute,
			Transform: func(o object.Object) error {
				if o.GetName() == "broken" {
					return errors.New("broken")
				}
				o.SetAnnotations(map[string]string{"factory": "was first"})
				return nil
			},
		})
		opts := informer.KindOptions[listwatch.Object]{}
		opts.Transform = func(o listwatch.Object) (listwatch.Object, error) {
			o.Labels = o.Annotations
			return o, nil
		}
		s, err := informer.Shared(f, c.open, opts)
		if err != nil {
			t.Fatal(err)
		}
		s.AddHandler(l.handle)
		runScoped(t, f)
		pass(time.Minute)
		expect(t, "events", l.got(), "+a@11!", "~a@11>11")
		if o := s.Lister().List(nil)[0]; o.Labels["factory"] != "was first" {
			t.Errorf("labels %v", o.Labels)
		}
	})
}

// S08
func TestForgottenKindEndsAndIsRecreated(t *testing.T) {
	for _, runs := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c, l, f := newCluster("/a"), &log{}, newFactory(informer.FactoryOptions{})
			first := share(t, f, c, "things")
			in := first.In("")[0]
			waited := make(chan error)
			c[""].NoBegin = true
			go func() { waited <- f.Wait(t.Context()) }()
			reg := first.AddHandler(l.handle)
			if runs {
				runScoped(t, f)
			}
			informer.Forget(f, first)()
			<-reg.Done()
			if err := <-waited; err != nil {
				t.Errorf("a wait for what was forgotten: %v", err)
			}
			c[""].NoBegin = false
			if err := in.Wait(t.Context()); !runs && !errors.Is(err, informer.ErrEnded) {
				t.Errorf("got %v", err)
			}
			if n := c[""].Unclosed(); n != 0 {
				t.Errorf("%d watches are open", n)
			}
			l.got()
			second := share(t, f, c, "things")
			if second == first {
				t.Fatal("it is the same informer")
			}
			if !runs {
				runScoped(t, f)
			}
			if err := f.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			c[""].Update("a")
			synctest.Wait()
			if len(l.got()) > 0 || len(first.In("")) > 0 {
				t.Error("the informer that was forgotten goes on")
			}
			if got := second.Lister().List(nil); len(got) != 1 || got[0].ResourceVersion != "12" {
				t.Errorf("got %v", got)
			}
		})
	}
}

// S08
func TestKindsOfOneTypeAndNameAreDistinct(t *testing.T) {
	c, f := newCluster(), newFactory(informer.FactoryOptions{})
	var all []*informer.Scoped[listwatch.Object]
	for _, version := range []string{"v1", "v2", "v1"} {
		opts := informer.KindOptions[listwatch.Object]{Options: options{Name: "things"},
			Kind: schema.GroupVersionKind{Version: version, Kind: "Thing"}}
		s, err := informer.Shared(f, c.open, opts)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if all[0] == all[1] || all[0] != all[2] {
		t.Errorf("got %v", all)
	}
}
