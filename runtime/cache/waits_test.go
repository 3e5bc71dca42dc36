package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// waits returns all calls that wait for ConfigMaps in namespace one.
func waits(t *testing.T, c *cache.Cache) map[string]func(context.Context) error {
	i, err := c.Informer(&corev1.ConfigMap{})
	if err != nil {
		t.Fatal(err)
	}
	index, err := cache.NewIndex(c, &corev1.ConfigMap{}, func(o *corev1.ConfigMap) []string { return []string{o.Name} })
	if err != nil {
		t.Fatal(err)
	}
	key := object.Key{Namespace: "one", Name: "a"}
	return map[string]func(context.Context) error{
		"get": func(ctx context.Context) error { return c.Get(ctx, key, &corev1.ConfigMap{}) },
		"list": func(ctx context.Context) error {
			return c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("one"))
		},
		"list all": func(ctx context.Context) error { return c.List(ctx, &corev1.ConfigMapList{}) },
		"view": func(ctx context.Context) error {
			_, err := cache.View(ctx, c, key, &corev1.ConfigMap{})
			return err
		},
		"each": func(ctx context.Context) (err error) {
			for _, err = range cache.Each(ctx, c, &corev1.ConfigMap{}) {
			}
			return err
		},
		"index": func(ctx context.Context) (err error) {
			for _, err = range index.Get(ctx, "a", client.InNamespace("one")) {
			}
			return err
		},
		"informer": i.Wait,
		"handler":  i.AddHandler(func(informer.Event[object.Object]) {}).Wait,
	}
}

func TestEveryWaitEnds(t *testing.T) {
	gaveUp := errors.New("gave up")
	for name, end := range map[string]struct {
		by   func(c *cache.Cache, stop, giveUp func()) error
		want error // error of a read
		wait error // error of a wait for the whole cache
	}{
		"namespace removed": {func(c *cache.Cache, _, _ func()) error { return c.RemoveNamespace("one") },
			cache.ErrNamespaceRemoved, nil},
		"cache ended":   {func(_ *cache.Cache, stop, _ func()) error { stop(); return nil }, cache.ErrEnded, cache.ErrEnded},
		"context ended": {func(_ *cache.Cache, _, giveUp func()) error { giveUp(); return nil }, gaveUp, gaveUp},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI()
				a.refuse("/api/v1/namespaces/one/configmaps", "you may not")
				c := cache.New(connect(t, a), cache.Options{Namespaces: []string{"one", "two"}})
				ctx, stop := context.WithCancel(t.Context())
				reading, giveUp := context.WithCancelCause(t.Context())
				ended := make(chan error, 1)
				c.Begin()
				go func() { ended <- c.Run(ctx) }()
				results := map[string]chan error{}
				for what, wait := range waits(t, c) {
					result := make(chan error, 1)
					results[what] = result
					go func() { result <- wait(reading) }()
				}
				synctest.Wait()
				if err := end.by(c, stop, func() { giveUp(gaveUp) }); err != nil {
					t.Fatal(err)
				}
				for what, result := range results {
					want := end.want
					if what == "informer" || what == "handler" {
						want = end.wait
					}
					select {
					case err := <-result:
						if want == nil && err != nil || !errors.Is(err, want) {
							t.Errorf("%s: got %v, want %v", what, err, want)
						}
					case <-time.After(time.Minute):
						t.Errorf("%s does not end", what)
					}
				}
				stop()
				giveUp(nil)
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestReadBeforeRunIsAnErrorWithHint(t *testing.T) {
	test := func(t *testing.T) {
		a := newAPI()
		c := cache.New(connect(t, a), cache.Options{})
		for what, wait := range waits(t, c) {
			if what == "informer" || what == "handler" {
				continue
			}
			start := time.Now()
			if err := wait(t.Context()); !errors.Is(err, cache.ErrNotRunning) {
				t.Errorf("%s: got %v", what, err)
			}
			if passed := time.Since(start); isVirtual(t) && passed > 0 {
				t.Errorf("%s: after %v", what, passed)
			}
		}
		if asked := a.take(); len(asked) > 0 {
			t.Errorf("the server was asked for %q", asked)
		}
	}
	t.Run("real time", test)
	t.Run(virtual, func(t *testing.T) { synctest.Test(t, test) })
}

// virtual is the suffix in the names of tests that run in virtual time.
const virtual = "virtual time"

func isVirtual(t *testing.T) bool {
	return strings.HasSuffix(t.Name(), strings.ReplaceAll(virtual, " ", "_"))
}

func TestReadsWaitForARunThatIsAboutToBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI()
		a.put(configMaps, configMap("one", "a"))
		c := cache.New(connect(t, a), cache.Options{})
		reads := waits(t, c)
		c.Begin()
		c.Begin()
		results := make(chan error, len(reads))
		for what, read := range reads {
			go func() {
				if err := read(t.Context()); err != nil {
					results <- fmt.Errorf("%s: %w", what, err)
					return
				}
				results <- nil
			}()
		}
		synctest.Wait()
		if len(results) > 0 {
			t.Errorf("a read did not wait: %v", <-results)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		for range reads {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestReadsEndWithARunThatEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cache.New(connect(t, newAPI()), cache.Options{})
		reads := waits(t, c)
		c.Begin()
		results := make(chan error, len(reads))
		for _, read := range reads {
			go func() { results <- read(t.Context()) }()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
		for range reads {
			if err := <-results; !errors.Is(err, cache.ErrEnded) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// nothing is an API server that serves no resources and counts its requests.
type nothing struct{ asked map[string]int }

func (n nothing) RoundTrip(r *http.Request) (*http.Response, error) {
	n.asked[r.URL.Path]++
	return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}, nil
}

// TestKindsThatAreNotThereCostTheServerARequestInTwoSeconds also checks that the number of requests does not grow with
// the number of kinds: one request gets the discovery document for all kinds of a version.
func TestKindsThatAreNotThereCostTheServerARequestInTwoSeconds(t *testing.T) {
	for _, kinds := range []int{1, 20} {
		synctest.Test(t, func(t *testing.T) {
			server := nothing{asked: map[string]int{}}
			live, err := client.New(&rest.Config{Host: "http://nothing"}, client.Options{
				Scheme: runtime.NewScheme(), HTTPClient: &http.Client{Transport: server}, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			c := cache.New(live, cache.Options{Logger: slog.New(slog.DiscardHandler)})
			for n := range kinds {
				prototype := &unstructured.Unstructured{}
				prototype.SetAPIVersion("absent.example.com/v1")
				prototype.SetKind(fmt.Sprint("Kind", n))
				if _, err := c.Informer(prototype); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if err := c.Run(ctx); err != nil {
				t.Error(err)
			}
			const path = "/apis/absent.example.com/v1"
			t.Logf("%d kinds: %d requests in an hour", kinds, server.asked[path])
			if got := server.asked[path]; len(server.asked) != 1 || got < 900 || got > 1810 {
				t.Errorf("%d kinds: asked for %v in an hour", kinds, server.asked)
			}
		})
	}
}
