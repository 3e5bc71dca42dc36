package informer_test

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

var streaming = informer.ReflectorOptions[obj]{}

// W01, W04
//
// Stronger: bookmarks are always asked for with a streaming list, here and once more in the client, so no option can
// make an informer wait for an end that never comes.
func TestStreamingListGoesOnAsTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b")
		_, sink := reflect(t, s, streaming)
		s.create("c")
		synctest.Wait()
		expect(t, "deltas", sink.got(), "Replaced 12 a b", "Added 13 c")
		options := s.requests[0].options
		if options.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || !options.AllowWatchBookmarks {
			t.Errorf("options %+v: want NotOlderThan and bookmarks", options)
		}
		expect(t, "requests", s.took(), `watch! ""`)
	})
}

// W01
func TestStreamingListIsCompleteOnlyAtTheEndBookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b", "c")
		s.noBegin = true
		_, sink := reflect(t, s, streaming)
		for _, name := range []string{"a", "b", "c"} {
			s.send(client.WatchEvent[obj]{Type: watch.Added, Object: s.objects[keyOf(name)].DeepCopy()})
		}
		s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "13"})
		s.update("a")
		s.delete("b")
		s.create("d")
		s.delete("d")
		synctest.Wait()
		expect(t, "deltas before", sink.got())
		s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "17", InitialEventsEnd: true})
		synctest.Wait()
		expect(t, "deltas", sink.got(), "Replaced 17 a c")
	})
}

// W01
func TestServerWithoutStreamingListsIsListedForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.onWatch = once(invalid())
		r, _ := reflect(t, s, streaming)
		expect(t, "requests", s.took(), `watch! ""`, `list "0" limit 500`, `watch "11"`)
		if r.Err() != nil {
			t.Errorf("the fallback is an error: %v", r.Err())
		}
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests later", s.took(), `list "11"`, `watch "11"`)
	})
}

// W01
func TestExpiredWatchIsFollowedByAStreamingList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		reflect(t, s, streaming)
		s.took()
		s.onWatch = once(apierrors.NewResourceExpired("gone"))
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `watch! "11"`, `watch! ""`)
	})
}

// W01
func TestRefusedStreamingListIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.onWatch = once(tooMany(0))
		reflect(t, s, streaming)
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `watch! ""`, `watch! ""`)
	})
}

// W01
func TestStreamingListThatIsCutIsTriedAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.noBegin = true
		_, sink := reflect(t, s, streaming)
		s.send(client.WatchEvent[obj]{Type: watch.Added, Object: s.objects[keyOf("a")].DeepCopy()})
		s.cut(io.EOF)
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `watch! ""`, `watch! ""`)
		s.cut(io.ErrUnexpectedEOF)
		pass(4 * time.Second)
		expect(t, "requests", s.took(), `list "0" limit 500`, `watch "11"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a")
	})
}

// W01
func TestCompleteStreamingListMakesUpForOneThatWasCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		reflect(t, s, streaming)
		for range 2 {
			s.took()
			s.noBegin = true
			s.cut(apierrors.NewResourceExpired("gone"))
			pass(10 * time.Second)
			s.noBegin = false
			s.cut(io.EOF)
			pass(20 * time.Second)
			expect(t, "requests", s.took(), `watch! "11"`, `watch! "11"`)
		}
	})
}

// W01, C10
func TestObjectThatBecomesUnreadableDuringAStreamingListIsRetained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b")
		s.noBegin = true
		_, sink := reflect(t, s, informer.ReflectorOptions[obj]{Transform: marking(map[string]bool{"a@13": true, "b@12": true})})
		for _, name := range []string{"a", "b"} {
			s.send(client.WatchEvent[obj]{Type: watch.Added, Object: s.objects[keyOf(name)].DeepCopy()})
		}
		s.update("a")
		s.update("b")
		s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "14", InitialEventsEnd: true})
		synctest.Wait()
		expect(t, "deltas", sink.got(), "Replaced 14 b (a)")
	})
}

// W01
func TestOtherFailureOfAStreamingListIsFollowedByAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.onWatch = once(forbidden("watch"), forbidden("watch"))
		r, sink := reflect(t, s, streaming)
		failure, ok := errors.AsType[*informer.SyncError](r.Err())
		if !ok || failure.Verb != "watch" || failure.Resource != "things" || !apierrors.IsForbidden(r.Err()) {
			t.Errorf("got %#v, want a forbidden watch of things", r.Err())
		}
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `watch! ""`, `list "0" limit 500`, `watch "11"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a")
		pass(4 * time.Second)
		expect(t, "requests after the refused watch", s.took(), `watch! "11"`)
		if r.Err() != nil {
			t.Errorf("error after recovery: %v", r.Err())
		}
	})
}

// W02
//
// Stronger: a server that takes the request for a streaming list and sends nothing is given up after half a minute, and
// listed; upstream warns for ever.
func TestServerThatIgnoresInitialEventsIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.noBegin = true
		reflect(t, s, streaming)
		pass(29 * time.Second)
		s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "11"})
		pass(25 * time.Second)
		expect(t, "requests while something comes", s.took(), `watch! ""`)
		pass(10 * time.Second)
		expect(t, "requests", s.took(), `list "0" limit 500`, `watch "11"`)
	})
}

// W02
func TestWatchListCanBeDisabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		reflect(t, s, listOnly)
		if slices.ContainsFunc(s.requests, func(r request) bool { return r.options.SendInitialEvents != nil }) {
			t.Error("a streaming list was asked for")
		}
	})
}
