package informer_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// older returns an event of an object in a state of that version.
func older(kind watch.EventType, s *source, name, version string) client.WatchEvent[obj] {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[keyOf(name)].DeepCopy()
	o.ResourceVersion = version
	o.Labels = map[string]string{"of": "the past"}
	return client.WatchEvent[obj]{Type: kind, Object: o, ResourceVersion: version}
}

// Stronger: client-go takes the event, and its store goes back.
func TestEventThatGoesBackIsAnErrorAndRelists(t *testing.T) {
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		synctest.Test(t, func(t *testing.T) {
			s := newSource("a", "b")
			r, sink := reflect(t, s, listOnly)
			s.update("b")
			s.cut(io.EOF)
			synctest.Wait()
			sink.got()
			s.took()
			s.send(older(kind, s, "a", "11"))
			s.create("c") // which the watch would show
			synctest.Wait()
			expect(t, "deltas", sink.got())
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), "gone back") {
				t.Errorf("got %v", err)
			}
			pass(2 * time.Second)
			expect(t, "requests", s.took(), `list "13"`, `watch "14"`)
			expect(t, "deltas", sink.got(), "Replaced 14 a b c")
			if err := r.Err(); err != nil {
				t.Errorf("after the list: %v", err)
			}
		})
	}
}

// TestListAfterAnEventThatGoesBackTakesNothingFromTheStore has a server that has come to the version of the store again by then.
func TestListAfterAnEventThatGoesBackTakesNothingFromTheStore(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := newSource("a", "b"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		synctest.Wait()
		l.got()
		s.setBack(12, "later") // a and b have other states under their versions
		s.heal()
		s.send(older(watch.Modified, s, "a", "9"))
		pass(time.Minute)
		expect(t, "events", l.got(), "~a@11>11", "~b@12>12")
		if a, _ := inf.Store().Get(keyOf("a")); a.Labels["of"] != "later" {
			t.Errorf("the store has %v", a)
		}
	})
}

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// TestStoreThatGoesBackIsLogged finds out by a list, after the watch was refused.
func TestStoreThatGoesBackIsLogged(t *testing.T) {
	for _, disabled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, out := newSource("a", "b"), &lines{}
			s.update("b")
			inf := informer.New(s, options{DisableWatchList: disabled, Logger: slog.New(slog.NewTextHandler(out, nil))})
			run(t, inf)
			if n := out.count("was set back"); n > 0 {
				t.Errorf("%d lines before", n)
			}
			s.setBack(12, "later")
			s.cut(apierrors.NewInternalError(io.ErrUnexpectedEOF))
			pass(time.Minute)
			if n := out.count("was set back"); n != 1 || inf.Store().ResourceVersion() != "12" {
				t.Errorf("list only %v: %d lines, and the store is at %s", disabled, n, inf.Store().ResourceVersion())
			}
		})
	}
}
