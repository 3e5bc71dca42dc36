package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// recorder is a sink that writes down what it gets.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Push(d informer.Delta[obj]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%v %s", d.Type, d.ResourceVersion)
	switch {
	case d.Type == informer.Replaced:
		for _, o := range d.Objects {
			line += " " + o.Name
		}
		for _, key := range d.Retained {
			line += " (" + key.Name + ")"
		}
	case d.Type != informer.Bookmark:
		line += " " + d.Key.Name
	}
	r.lines = append(r.lines, line)
}

// got returns the deltas since the last call.
func (r *recorder) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.lines = nil }()
	return r.lines
}

// reflect runs a reflector of source until the test ends, and waits until it has settled.
func reflect(t *testing.T, source informer.ListerWatcher[obj], opts informer.ReflectorOptions[obj]) (*informer.Reflector[obj], *recorder) {
	sink := &recorder{}
	opts.Name, opts.Logger = "things", slog.New(slog.DiscardHandler)
	r := informer.NewReflector(source, sink, opts)
	go r.Run(t.Context())
	synctest.Wait()
	return r, sink
}

// pass lets virtual time go by, and everything that is due in it happen.
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

var listOnly = informer.ReflectorOptions[obj]{DisableWatchList: true}

// R04
func TestPausesDoubleUpToALimitAndStartAgainAfterTwoHealthyMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.onList = func(metav1.ListOptions) error { return errors.New("no route") }
		reflect(t, s, listOnly)
		pass(5 * time.Minute)
		s.mu.Lock()
		at, base := s.requests[0].at, 800*time.Millisecond
		for i, r := range s.requests[1:] {
			pause := r.at.Sub(at)
			if pause < base || pause >= 2*base {
				t.Errorf("pause %d is %v, want [%v,%v)", i, pause, base, 2*base)
			}
			at, base = r.at, min(2*base, 30*time.Second)
		}
		s.onList = nil
		s.mu.Unlock()
		pass(time.Minute + healthy)
		s.took()
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(1600 * time.Millisecond)
		if len(s.took()) == 0 {
			t.Error("the pause after two healthy minutes is longer than a first one")
		}
	})
}

const healthy = 2 * time.Minute

// R04
//
// Stronger: a pause is also at least as long as the server asks for.
func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		s.onList = once(tooMany(20))
		reflect(t, s, listOnly)
		s.took()
		pass(20*time.Second - time.Millisecond)
		expect(t, "requests before", s.took())
		pass(time.Millisecond)
		expect(t, "requests after", s.took(), `list "0" limit 500`, `watch "10"`)
	})
}

// blocking is a source that does not answer before the context ends.
type blocking struct{ list, watch bool }

func (b blocking) List(ctx context.Context, _ metav1.ListOptions) (*client.Page[obj], error) {
	if b.list {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &client.Page[obj]{ResourceVersion: "1"}, nil
}

func (b blocking) Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[obj], error) {
	if b.watch {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return newStream(ctx, time.Duration(*options.TimeoutSeconds)*time.Second), nil
}

// R10
//
// Stronger: Run returns after its last goroutine, so a test that leaks one fails by itself.
func TestRunEndsWithItsContextWhateverItIsDoing(t *testing.T) {
	for name, source := range map[string]blocking{
		"in a list": {list: true}, "opening a watch": {watch: true}, "in a watch": {},
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " streaming ", streaming), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					opts := informer.ReflectorOptions[obj]{DisableWatchList: !streaming, Logger: slog.New(slog.DiscardHandler)}
					r := informer.NewReflector(source, &recorder{}, opts)
					done := make(chan struct{})
					go func() { r.Run(ctx); close(done) }()
					pass(5 * time.Second)
					cancel()
					<-done
					if r.Err() != nil {
						t.Errorf("the end of the context is reported: %v", r.Err())
					}
				})
			})
		}
	}
}

// cancelling is a sink that ends the reflector with the first complete state.
type cancelling context.CancelFunc

func (c cancelling) Push(informer.Delta[obj]) { c() }

// R10
func TestEveryStreamIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.noBegin = true
		reflect(t, s, streaming)
		s.cut(io.EOF)
		pass(2 * time.Second)
		s.cut(io.EOF)
		pass(4 * time.Second)
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(20 * time.Second)
		if n := s.unclosed(); n != 1 {
			t.Errorf("%d streams are not closed, want the one in use", n)
		}

		s = newSource("a")
		ctx, cancel := context.WithCancel(t.Context())
		informer.NewReflector(s, cancelling(cancel), streaming).Run(ctx)
		if n := s.unclosed(); n != 0 {
			t.Errorf("%d streams are not closed after the end", n)
		}
	})
}
