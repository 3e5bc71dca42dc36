package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

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

// R01, R03
func TestFirstListTakesAnyVersionAndLaterOnesNothingOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		_, sink := reflect(t, s, listOnly)
		expect(t, "requests", s.took(), `list "0" limit 500`, `watch "11"`)
		s.create("b")
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `list "12"`, `watch "12"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a", "Added 12 b", "Replaced 12 a b")
	})
}

// R01, R02
func TestRefusedVersionMakesTheListAskForTheLatest(t *testing.T) {
	legacy := apierrors.NewTimeoutError("Too large resource version: 99, current: 12", 1)
	oldest := apierrors.NewTimeoutError("", 1)
	oldest.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "Too large resource version"}}
	gone := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonGone}}
	for name, refusal := range map[string]error{
		"expired": apierrors.NewResourceExpired("expired"), "gone": gone, "too large": tooLarge(), "legacy": legacy, "oldest": oldest,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource("a")
				r, _ := reflect(t, s, listOnly)
				s.took()
				s.onList = once(refusal)
				s.cut(apierrors.NewResourceExpired("expired"))
				pass(2 * time.Second)
				expect(t, "requests", s.took(), `list "11"`, `list "" limit 500`, `watch "11"`)
				if r.Err() != nil {
					t.Errorf("error after recovery: %v", r.Err())
				}
				s.cut(apierrors.NewResourceExpired("expired again"))
				pass(4 * time.Second)
				expect(t, "requests later", s.took(), `list "11"`, `watch "11"`)
			})
		})
	}
}

// R02
func TestOtherTimeoutOfAListIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.onList = once(apierrors.NewTimeoutError("slow", 0))
		r, _ := reflect(t, s, listOnly)
		if !apierrors.IsTimeout(r.Err()) {
			t.Errorf("got %v, want the timeout", r.Err())
		}
	})
}

// R03
func TestListIsPagedOnceTheServerHasShownToHaveNoCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		for i := range 501 {
			s.create(fmt.Sprint("o", i))
		}
		s.paging = true
		reflect(t, s, listOnly)
		expect(t, "requests", s.took(), `list "0" limit 500`, `list "" limit 500 continue 511/500`, `watch "511"`)
		s.cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `list "511" limit 500`, `list "" limit 500 continue 511/500`, `watch "511"`)
	})
}

// R03
func TestPageSizeIsUsedAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b", "c")
		s.paging = true
		_, sink := reflect(t, s, informer.ReflectorOptions[obj]{DisableWatchList: true, PageSize: 2})
		expect(t, "requests", s.took(), `list "0" limit 2`, `list "" limit 2 continue 13/2`, `watch "13"`)
		expect(t, "deltas", sink.got(), "Replaced 13 a b c")
	})
}

// R03
func TestListForgottenBetweenPagesIsReadInOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b", "c")
		s.paging = true
		s.onList = once(nil, apierrors.NewResourceExpired("the continue token is too old"))
		_, sink := reflect(t, s, informer.ReflectorOptions[obj]{DisableWatchList: true, PageSize: 2})
		expect(t, "requests", s.took(), `list "0" limit 2`, `list "" limit 2 continue 13/2`, `list "0"`, `watch "13"`)
		expect(t, "deltas", sink.got(), "Replaced 13 a b c")
	})
}

// forgetful is a source that sends every list in pages, and has forgotten it by the second.
type forgetful struct{ *source }

func (f forgetful) List(ctx context.Context, options metav1.ListOptions) (*client.Page[obj], error) {
	page, err := f.source.List(ctx, options)
	if options.Continue != "" {
		return nil, apierrors.NewResourceExpired("the continue token is too old")
	}
	page.Continue = "more"
	return page, err
}

// R03
func TestListForgottenBetweenPagesAgainAndAgainIsNotAskedForWithoutAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		r, sink := reflect(t, forgetful{s}, listOnly)
		expect(t, "requests", s.took(), `list "0" limit 500`, `list "" limit 500 continue more`, `list "0"`, `list "" limit 500 continue more`,
			`list "" limit 500`, `list "" limit 500 continue more`, `list ""`, `list "" limit 500 continue more`)
		if err := r.Err(); !apierrors.IsResourceExpired(err) {
			t.Errorf("Err is %v, want what the server has said", err)
		}
		expect(t, "deltas", sink.got())
		pass(time.Minute)
		if n := len(s.took()); n > 8*7 {
			t.Errorf("%d requests in a minute", n)
		}
	})
}

// circling is a source that sends each list in pages that lead back to the one with that number.
type circling struct {
	*source
	pages, back int
}

func (c circling) List(ctx context.Context, options metav1.ListOptions) (*client.Page[obj], error) {
	number, _ := strconv.Atoi(options.Continue)
	options.Continue = ""
	page, err := c.source.List(ctx, options)
	if number++; number == c.pages {
		number = c.back
	}
	page.Continue = strconv.Itoa(number)
	return page, err
}

// Stronger: what a server never comes to the end of would be gathered until memory is full.
func TestListWhosePagesGoInACircleIsAFailure(t *testing.T) {
	for _, c := range []circling{{pages: 1, back: 0}, {pages: 7, back: 6}, {pages: 7, back: 1}, {pages: 64, back: 1}, {pages: 100, back: 50}} {
		synctest.Test(t, func(t *testing.T) {
			c.source = newSource("a")
			r, sink := reflect(t, c, listOnly)
			expect(t, "deltas", sink.got())
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), "sent before") {
				t.Errorf("%d pages, back to %d: Err is %v", c.pages, c.back, err)
			}
			if n := len(c.took()); n > 4*c.pages {
				t.Errorf("%d requests for %d pages", n, c.pages)
			}
		})
	}
}

// drifting is a source whose later pages claim to be newer than the first.
type drifting struct{ *source }

func (d drifting) List(ctx context.Context, options metav1.ListOptions) (*client.Page[obj], error) {
	page, err := d.source.List(ctx, options)
	if options.Continue != "" {
		page.ResourceVersion = "99"
	}
	return page, err
}

// R03
func TestWatchStartsWhereTheFirstPageWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b", "c")
		s.paging = true
		reflect(t, drifting{s}, informer.ReflectorOptions[obj]{DisableWatchList: true, PageSize: 2})
		expect(t, "requests", s.took(), `list "0" limit 2`, `list "" limit 2 continue 13/2`, `watch "13"`)
	})
}

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
func TestBusyServerThatIgnoresInitialEventsIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		s.noBegin = true
		_, sink := reflect(t, s, streaming)
		for range 14 {
			s.update("a")
			pass(4 * time.Second)
		}
		expect(t, "requests while something comes", s.took(), `watch! ""`)
		s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "25"})
		synctest.Wait()
		expect(t, "requests", s.took(), `list "0" limit 500`, `watch "25"`)
		expect(t, "deltas", sink.got(), "Replaced 25 a")
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
			if r.verb == "list" && r.options.Limit == 1 && r.options.ResourceVersion == "" && r.options.Continue == "" {
				continue // what version the server is at, since it sends no bookmarks
			}
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

// endless is a source that does not end watches, as one whose connections are lost on the way.
type endless struct{ *source }

func (e endless) Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[obj], error) {
	seconds := int64(1 << 30)
	options.TimeoutSeconds = &seconds
	return e.source.Watch(ctx, options)
}

// Stronger: client-go waits for ever.
func TestWatchThatIsNotEndedInTimeIsOpenedAnew(t *testing.T) {
	for _, opts := range []informer.ReflectorOptions[obj]{{}, listOnly} {
		synctest.Test(t, func(t *testing.T) {
			s := newSource("a")
			r, _ := reflect(t, endless{s}, opts)
			s.took()
			pass(4 * time.Minute)
			expect(t, "requests in its time", s.took())
			// As long as something comes it is not lost.
			for n := range 20 {
				s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: strconv.Itoa(11 + n)})
				pass(50 * time.Second)
			}
			expect(t, "requests while it tells something", s.took())
			pass(2 * time.Minute)
			expect(t, "requests when it is quiet", s.took(), `watch "30"`)
			if err := r.Err(); err != nil {
				t.Error(err)
			}
			pass(time.Hour)
			watches := slices.DeleteFunc(s.took(), func(request string) bool { return request == `list "" limit 1` })
			if n := len(watches); n < 5 || n > 10 {
				t.Errorf("%d watches in an hour", n)
			}
		})
	}
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
func TestVeryShortWatchesThatComeNoFurtherAreFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a")
		r, _ := reflect(t, s, listOnly)
		s.took()
		for range 2 {
			s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "11"})
			s.cut(io.EOF)
			synctest.Wait()
		}
		expect(t, "requests at once", s.took(), `watch "11"`)
		if r.Err() == nil {
			t.Error("no error after watches that ended at once")
		}
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `list "11"`, `watch "11"`)
		for range 3 {
			s.create("b" + strconv.Itoa(s.version))
			s.cut(io.EOF)
			synctest.Wait()
		}
		expect(t, "requests after news", s.took(), `watch "12"`, `watch "13"`, `watch "14"`)
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
		s.took()
		s.send(client.WatchEvent[obj]{Type: watch.Bookmark})
		synctest.Wait()
		expect(t, "deltas", sink.got())
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "no resourceVersion") {
			t.Errorf("got %v", err)
		}
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `list "11"`, `watch "11"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a")
	})
}

// Stronger: what happened before the server was set back, and has not happened now, would stay in the store.
func TestBookmarkThatGoesBackIsAnErrorAndRelists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b")
		r, sink := reflect(t, s, listOnly)
		sink.got()
		s.took()
		s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "7"})
		synctest.Wait()
		expect(t, "deltas", sink.got())
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "gone back") {
			t.Errorf("got %v", err)
		}
		pass(2 * time.Second)
		expect(t, "requests", s.took(), `list "12"`, `watch "12"`)
		expect(t, "deltas", sink.got(), "Replaced 12 a b")
	})
}

// silentLater is a source that was set back, and tells watches from versions that it has not come to nothing, as kube-apiserver does.
func (s *source) silentLater(version int, label string) {
	s.setBack(version, label)
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := s.onList
	s.onWatch = func(options metav1.ListOptions) error {
		if options.SendInitialEvents == nil {
			return nil
		}
		return refuse(options)
	}
}

// Stronger: client-go waits for ever, and misses what happens until the server has come to the version of the watch.
func TestWatchOfAServerThatWasSetBackIsFoundOut(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		for _, outage := range []bool{false, true} {
			s, l := newSource("a", "b"), &log{}
			for range 5 {
				s.update("b")
			}
			inf := start(t, s, in(options{DisableWatchList: outage}))
			inf.AddHandler(l.handle)
			pass(time.Minute)
			l.got()
			s.took()
			if outage {
				// It is away for as long as that takes, and then passes the version at once when the watch is there.
				s.mu.Lock()
				s.onList, s.onWatch = always(syscall.ECONNREFUSED), always(syscall.ECONNREFUSED)
				s.mu.Unlock()
			}
			s.cut(io.ErrUnexpectedEOF)
			if outage {
				pass(6 * time.Minute)
				s.took()
			}
			s.silentLater(12, "later")
			s.delete("b")
			if outage {
				pass(2*time.Minute + 5*time.Second) // the longest pauses, before the watch and before the list
			} else {
				pass(10 * time.Second)
				expect(t, "events in between", l.got())
				pass(10*time.Minute + 5*time.Second)
			}
			expect(t, "events", l.got(), "-b@17?", "~a@11>11")
			if a, _ := inf.Store().Get(keyOf("a")); a.Labels["of"] != "later" {
				t.Errorf("outage %v: the store has %v", outage, a)
			}
			if err := inf.Err(); err != nil {
				t.Error(err)
			}
			asked, lists := 0, 0
			for _, r := range s.took() {
				switch {
				case r == `list "" limit 1`:
					asked++
				case !strings.HasPrefix(r, `watch "`):
					lists++
				}
			}
			if asked == 0 || lists != 1 { // asked again by a watch after the shortest ones
				t.Errorf("outage %v: %d lists of one object and %d of all, want one of all", outage, asked, lists)
			}
			s.create("c")
			synctest.Wait()
			expect(t, "events after", l.got(), "+c@14")
		}
	})
}

// Stronger: a server with bookmarks is never asked, one without is asked for one object, and an answer that says nothing changes nothing.
func TestQuietWatchIsFollowedByOneSmallListUnlessThereAreBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource("a", "b", "c")
		r, sink := reflect(t, s, listOnly)
		sink.got()
		s.took()
		pass(10 * time.Minute)
		expect(t, "requests without bookmarks", s.took(), `watch "13"`, `list "" limit 1`)
		for _, hook := range []func(metav1.ListOptions) error{always(forbidden("list")), always(errors.New("no route"))} {
			s.mu.Lock()
			s.onList = hook
			s.mu.Unlock()
			pass(time.Hour)
			if n := len(s.took()); n < 12 || n > 24 {
				t.Errorf("%d requests in an hour", n)
			}
			if err := r.Err(); err != nil {
				t.Error(err)
			}
		}
		s.heal()
		for range 120 {
			s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "13"})
			pass(time.Minute)
		}
		s.took()
		for range 120 {
			s.send(client.WatchEvent[obj]{Type: watch.Bookmark, ResourceVersion: "13"})
			pass(time.Minute)
		}
		for _, request := range s.took() {
			if request != `watch "13"` {
				t.Errorf("with bookmarks it asks %s", request)
			}
		}
		for _, delta := range sink.got() {
			if delta != "Bookmark 13" {
				t.Errorf("got %s", delta)
			}
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
