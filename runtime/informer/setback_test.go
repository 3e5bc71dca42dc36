package informer_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

// TestListAfterAnEventThatGoesBackTakesNothingFromTheStore lists from a server that was reset, but whose version has
// reached the store's version again. The list must not reuse objects of the store.
func TestListAfterAnEventThatGoesBackTakesNothingFromTheStore(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s, l := listwatch.New("a", "b"), &log{}
		inf := start(t, s, in(options{}))
		inf.AddHandler(l.handle)
		synctest.Wait()
		l.got()
		s.SetBack(12, "later") // after the reset, a and b have other states under the same versions
		s.Heal()
		s.Send(listwatch.Older(watch.Modified, s, "a", "9"))
		pass(time.Minute)
		expect(t, "events", l.got(), "~a@11>11", "~b@12>12")
		if a, _ := inf.Store().Get(listwatch.KeyOf("a")); a.Labels["of"] != "later" {
			t.Errorf("the store has %v", a)
		}
	})
}

// lines collects the lines that several goroutines log.
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

// TestStoreThatGoesBackIsLogged resets the server and breaks the watch. The informer detects the reset when it lists.
func TestStoreThatGoesBackIsLogged(t *testing.T) {
	for _, disabled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, out := listwatch.New("a", "b"), &lines{}
			s.Update("b")
			inf := informer.New(s, options{DisableWatchList: disabled, Logger: slog.New(slog.NewTextHandler(out, nil))})
			run(t, inf)
			if n := out.count("was set back"); n > 0 {
				t.Errorf("%d lines before", n)
			}
			s.SetBack(12, "later")
			s.Cut(apierrors.NewInternalError(io.ErrUnexpectedEOF))
			pass(time.Minute)
			if n := out.count("was set back"); n != 1 || inf.Store().ResourceVersion() != "12" {
				t.Errorf("list only %v: %d lines, and the store is at %s", disabled, n, inf.Store().ResourceVersion())
			}
		})
	}
}

// Stronger: client-go waits until the server has reached the version of the watch again, and misses the events until
// then.
func TestWatchOfAServerThatWasSetBackIsFoundOut(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		for _, outage := range []bool{false, true} {
			s, l := listwatch.New("a", "b"), &log{}
			for range 5 {
				s.Update("b")
			}
			inf := start(t, s, in(options{DisableWatchList: outage}))
			inf.AddHandler(l.handle)
			pass(time.Minute)
			l.got()
			s.Took()
			if outage {
				// During the outage no watch is open. When it ends, the pauses between attempts have become long.
				s.Mu.Lock()
				s.OnList, s.OnWatch = listwatch.Always(syscall.ECONNREFUSED), listwatch.Always(syscall.ECONNREFUSED)
				s.Mu.Unlock()
			}
			s.Cut(io.ErrUnexpectedEOF)
			if outage {
				pass(6 * time.Minute)
				s.Took()
			}
			s.SilentLater(12, "later")
			s.Delete("b")
			if outage {
				pass(2*time.Minute + 5*time.Second) // the longest pauses before the watch and before the list
			} else {
				pass(10 * time.Second)
				expect(t, "events in between", l.got())
				pass(10*time.Minute + 5*time.Second)
			}
			expect(t, "events", l.got(), "-b@17?", "~a@11>11")
			if a, _ := inf.Store().Get(listwatch.KeyOf("a")); a.Labels["of"] != "later" {
				t.Errorf("outage %v: the store has %v", outage, a)
			}
			if err := inf.Err(); err != nil {
				t.Error(err)
			}
			asked, lists := 0, 0
			for _, r := range s.Took() {
				switch {
				case r == `list "" limit 1`:
					asked++
				case !strings.HasPrefix(r, `watch "`):
					lists++
				}
			}
			if asked == 0 || lists != 1 { // each watch may check the version, so asked can exceed 1
				t.Errorf("outage %v: %d lists of one object and %d of all, want one of all", outage, asked, lists)
			}
			s.Create("c")
			synctest.Wait()
			expect(t, "events after", l.got(), "+c@14")
		}
	})
}
