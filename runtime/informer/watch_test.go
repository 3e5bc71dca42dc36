package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// R05
func TestRefusedWatchIsOpenedAgainWithoutAList(t *testing.T) {
	for name, refusal := range map[string]error{"429": tooMany(0), "connection refused": fmt.Errorf("dial: %w", syscall.ECONNREFUSED)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource("a")
				s.onWatch = once(refusal)
				r, _ := reflect(t, s, listOnly)
				if r.Err() == nil {
					t.Error("no error while refused")
				}
				pass(2 * time.Second)
				expect(t, "requests", s.took(), `list "0" limit 500`, `watch "11"`, `watch "11"`)
				if r.Err() != nil {
					t.Errorf("error after recovery: %v", r.Err())
				}
			})
		})
	}
}

// R06
func TestEndOfAWatchDecidesWhetherToList(t *testing.T) {
	rewatch, relist := []string{`watch "12"`}, []string{`list "12"`, `watch "12"`}
	for name, test := range map[string]struct {
		end   error
		want  []string
		pause time.Duration
	}{
		"in order":          {io.EOF, rewatch, 0},
		"broken connection": {io.ErrUnexpectedEOF, rewatch, 2 * time.Second},
		"too many requests": {tooMany(0), rewatch, 2 * time.Second},
		"expired":           {apierrors.NewResourceExpired("expired"), relist, 2 * time.Second},
		"internal error":    {apierrors.NewInternalError(errors.New("etcd")), relist, 2 * time.Second},
		"unreadable":        {&client.DecodeError{What: "watch event", Err: errors.New("bad json")}, relist, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource("a")
				reflect(t, s, listOnly)
				s.create("b")
				pass(time.Minute)
				s.took()
				s.cut(test.end)
				pass(test.pause)
				expect(t, "requests", s.took(), test.want...)
			})
		})
	}
}

// R07
func TestWatchesAreAskedToEndAfterFiveToTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		reflect(t, s, listOnly)
		pass(24 * time.Hour)
		s.mu.Lock()
		defer s.mu.Unlock()
		seen := make(map[int64]bool)
		for _, r := range s.requests[1:] {
			seconds := *r.options.TimeoutSeconds
			if r.verb != "watch" || seconds < 300 || seconds >= 600 || !r.options.AllowWatchBookmarks {
				t.Fatalf("got %s with %d seconds, bookmarks %v", r.verb, seconds, r.options.AllowWatchBookmarks)
			}
			seen[seconds] = true
		}
		if len(seen) < 50 {
			t.Errorf("only %d different timeouts in %d watches", len(seen), len(s.requests)-1)
		}
	})
}

// R08
//
// Stronger: it shows in Err and is followed by a growing pause, so a proxy that cuts every watch is seen and not
// hammered.
func TestVeryShortWatchIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		r, _ := reflect(t, s, listOnly)
		s.took()
		s.cut(io.EOF)
		synctest.Wait()
		expect(t, "requests at once", s.took())
		if r.Err() == nil {
			t.Error("no error after a watch that ended at once")
		}
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `list "11"`, `watch "11"`)
	})
}

// R08
func TestUnknownEventIsSkippedAndDoesNotMoveTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		_, sink := reflect(t, s, listOnly)
		s.send(client.WatchEvent[obj]{Type: "STRANGE", ResourceVersion: "99"})
		s.create("b")
		s.cut(io.EOF)
		synctest.Wait()
		expect(t, "deltas", sink.got(), "Replaced 11 a", "Added 12 b")
		expect(t, "requests", s.took(), `list "0" limit 500`, `watch "11"`, `watch "12"`)
	})
}

// R09
func TestBookmarkMovesTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		_, sink := reflect(t, s, listOnly)
		s.took()
		s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "77"})
		s.cut(io.EOF)
		synctest.Wait()
		expect(t, "requests", s.took(), `watch "77"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a", "Bookmark 77")
	})
}

// versionless is a source whose lists are of a version that says nothing: "0", or none at all.
type versionless struct {
	*source
	version string
}

func (v versionless) List(ctx context.Context, options metav1.ListOptions) (*client.Page[obj], error) {
	page, err := v.source.List(ctx, options)
	page.ResourceVersion = v.version
	return page, err
}

func TestListWithoutAVersionIsAnErrorAndLeavesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b")
		r, sink := reflect(t, versionless{s, ""}, listOnly)
		expect(t, "deltas", sink.got())
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "no resourceVersion") {
			t.Errorf("got %v", err)
		}
	})
}

func TestEventWithoutAVersionIsAnErrorAndRelists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		r, sink := reflect(t, s, listOnly)
		sink.got()
		s.send(client.WatchEvent[obj]{Type: watch.Bookmark})
		synctest.Wait()
		expect(t, "deltas", sink.got())
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "no resourceVersion") {
			t.Errorf("got %v", err)
		}
	})
}

// R09
func TestReplayedObjectsOfAVersionlessWatchDoNotMoveTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b")
		_, sink := reflect(t, versionless{s, "0"}, listOnly)
		expect(t, "deltas", sink.got(), "Replaced 0 a b", "Added  a", "Added  b")
		s.cut(io.EOF)
		synctest.Wait()
		s.update("a")
		s.cut(io.EOF)
		synctest.Wait()
		expect(t, "requests", s.took(), `list "0" limit 500`, `watch "0"`, `watch "0"`, `watch "13"`)
	})
}
