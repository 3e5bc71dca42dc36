package reflector_test

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

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// recorder is a sink that records its calls.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Push(d reflector.Delta[listwatch.Object]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%v %s", d.Type, d.ResourceVersion)
	switch {
	case d.Type == reflector.Replaced:
		for _, o := range d.Objects {
			line += " " + o.Name
		}
		for _, key := range d.Retained {
			line += " (" + key.Name + ")"
		}
	case d.Type != reflector.Bookmark:
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
func reflect(t *testing.T, source reflector.ListerWatcher[listwatch.Object],
	opts reflector.Options[listwatch.Object]) (*reflector.Reflector[listwatch.Object], *recorder) {
	sink := &recorder{}
	opts.Name, opts.Logger = "things", slog.New(slog.DiscardHandler)
	r := reflector.New(source, sink, opts)
	go r.Run(t.Context())
	synctest.Wait()
	return r, sink
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

var listOnly = reflector.Options[listwatch.Object]{DisableWatchList: true}

// R04
func TestPausesDoubleUpToALimitAndStartAgainAfterTwoHealthyMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New()
		s.OnList = func(metav1.ListOptions) error { return errors.New("no route") }
		reflect(t, s, listOnly)
		pass(5 * time.Minute)
		s.Mu.Lock()
		at, base := s.Requests[0].At, 800*time.Millisecond
		for i, r := range s.Requests[1:] {
			pause := r.At.Sub(at)
			if pause < base || pause >= 2*base {
				t.Errorf("pause %d is %v, want [%v,%v)", i, pause, base, 2*base)
			}
			at, base = r.At, min(2*base, 30*time.Second)
		}
		s.OnList = nil
		s.Mu.Unlock()
		pass(time.Minute + healthy)
		s.Took()
		s.Cut(apierrors.NewResourceExpired("gone"))
		pass(1600 * time.Millisecond)
		if len(s.Took()) == 0 {
			t.Error("the pause after two healthy minutes is longer than a first one")
		}
	})
}

const healthy = 2 * time.Minute

// R04
//
// Stronger: a pause is at least as long as the server requests.
func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New()
		s.OnList = listwatch.Once(listwatch.TooMany(20))
		reflect(t, s, listOnly)
		s.Took()
		pass(20*time.Second - time.Millisecond)
		expect(t, "requests before", s.Took())
		pass(time.Millisecond)
		expect(t, "requests after", s.Took(), `list "0" limit 500`, `watch "10"`)
	})
}

// blocking is a source that does not answer until the context ends.
type blocking struct{ list, watch bool }

func (b blocking) List(ctx context.Context, _ metav1.ListOptions) (*client.Page[listwatch.Object], error) {
	if b.list {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &client.Page[listwatch.Object]{ResourceVersion: "1"}, nil
}

func (b blocking) Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[listwatch.Object], error) {
	if b.watch {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return listwatch.NewStream(ctx, time.Duration(*options.TimeoutSeconds)*time.Second), nil
}

// R10
//
// Stronger: Run returns only after its last goroutine has ended, so a test in which a goroutine leaks fails by itself.
func TestRunEndsWithItsContextWhateverItIsDoing(t *testing.T) {
	for name, source := range map[string]blocking{
		"in a list": {list: true}, "opening a watch": {watch: true}, "in a watch": {},
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " streaming ", streaming), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					opts := reflector.Options[listwatch.Object]{DisableWatchList: !streaming, Logger: slog.New(slog.DiscardHandler)}
					r := reflector.New(source, &recorder{}, opts)
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

// cancelling is a sink that stops the reflector when it receives the first complete state.
type cancelling context.CancelFunc

func (c cancelling) Push(reflector.Delta[listwatch.Object]) { c() }

// R10
func TestEveryStreamIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		s.NoBegin = true
		reflect(t, s, streaming)
		s.Cut(io.EOF)
		pass(2 * time.Second)
		s.Cut(io.EOF)
		pass(4 * time.Second)
		s.Cut(apierrors.NewResourceExpired("gone"))
		pass(20 * time.Second)
		if n := s.Unclosed(); n != 1 {
			t.Errorf("%d streams are not closed, want the one in use", n)
		}

		s = listwatch.New("a")
		ctx, cancel := context.WithCancel(t.Context())
		reflector.New(s, cancelling(cancel), streaming).Run(ctx)
		if n := s.Unclosed(); n != 0 {
			t.Errorf("%d streams are not closed after the end", n)
		}
	})
}

// R01, R03
func TestFirstListTakesAnyVersionAndLaterOnesNothingOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		_, sink := reflect(t, s, listOnly)
		expect(t, "requests", s.Took(), `list "0" limit 500`, `watch "11"`)
		s.Create("b")
		s.Cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `list "12"`, `watch "12"`)
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
		"expired": apierrors.NewResourceExpired("expired"), "gone": gone, "too large": listwatch.TooLarge(), "legacy": legacy,
		"oldest": oldest,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := listwatch.New("a")
				r, _ := reflect(t, s, listOnly)
				s.Took()
				s.OnList = listwatch.Once(refusal)
				s.Cut(apierrors.NewResourceExpired("expired"))
				pass(2 * time.Second)
				expect(t, "requests", s.Took(), `list "11"`, `list "" limit 500`, `watch "11"`)
				if r.Err() != nil {
					t.Errorf("error after recovery: %v", r.Err())
				}
				s.Cut(apierrors.NewResourceExpired("expired again"))
				pass(4 * time.Second)
				expect(t, "requests later", s.Took(), `list "11"`, `watch "11"`)
			})
		})
	}
}

// R02
func TestOtherTimeoutOfAListIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		s.OnList = listwatch.Once(apierrors.NewTimeoutError("slow", 0))
		r, _ := reflect(t, s, listOnly)
		if !apierrors.IsTimeout(r.Err()) {
			t.Errorf("got %v, want the timeout", r.Err())
		}
	})
}

// R03
func TestListIsPagedOnceTheServerHasShownToHaveNoCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New()
		for i := range 501 {
			s.Create(fmt.Sprint("o", i))
		}
		s.Paging = true
		reflect(t, s, listOnly)
		expect(t, "requests", s.Took(), `list "0" limit 500`, `list "" limit 500 continue 511/500`, `watch "511"`)
		s.Cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `list "511" limit 500`, `list "" limit 500 continue 511/500`, `watch "511"`)
	})
}

// R03
func TestPageSizeIsUsedAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a", "b", "c")
		s.Paging = true
		_, sink := reflect(t, s, reflector.Options[listwatch.Object]{DisableWatchList: true, PageSize: 2})
		expect(t, "requests", s.Took(), `list "0" limit 2`, `list "" limit 2 continue 13/2`, `watch "13"`)
		expect(t, "deltas", sink.got(), "Replaced 13 a b c")
	})
}

// R03
func TestListForgottenBetweenPagesIsReadInOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a", "b", "c")
		s.Paging = true
		s.OnList = listwatch.Once(nil, apierrors.NewResourceExpired("the continue token is too old"))
		_, sink := reflect(t, s, reflector.Options[listwatch.Object]{DisableWatchList: true, PageSize: 2})
		expect(t, "requests", s.Took(), `list "0" limit 2`, `list "" limit 2 continue 13/2`, `list "0"`, `watch "13"`)
		expect(t, "deltas", sink.got(), "Replaced 13 a b c")
	})
}

// forgetful is a source that sends every list in pages, but answers the request for a second page with 410 Gone.
type forgetful struct{ *listwatch.Source }

func (f forgetful) List(ctx context.Context, options metav1.ListOptions) (*client.Page[listwatch.Object], error) {
	page, err := f.Source.List(ctx, options)
	if options.Continue != "" {
		return nil, apierrors.NewResourceExpired("the continue token is too old")
	}
	page.Continue = "more"
	return page, err
}

// R03
func TestListForgottenBetweenPagesAgainAndAgainIsNotAskedForWithoutAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		r, sink := reflect(t, forgetful{s}, listOnly)
		expect(t, "requests", s.Took(), `list "0" limit 500`, `list "" limit 500 continue more`, `list "0"`,
			`list "" limit 500 continue more`,
			`list "" limit 500`, `list "" limit 500 continue more`, `list ""`, `list "" limit 500 continue more`)
		if err := r.Err(); !apierrors.IsResourceExpired(err) {
			t.Errorf("Err is %v, want what the server has said", err)
		}
		expect(t, "deltas", sink.got())
		pass(time.Minute)
		if n := len(s.Took()); n > 8*7 {
			t.Errorf("%d requests in a minute", n)
		}
	})
}

// circling is a source that sends each list in pages, the last of which leads back to an earlier page.
type circling struct {
	*listwatch.Source
	pages, back int
}

func (c circling) List(ctx context.Context, options metav1.ListOptions) (*client.Page[listwatch.Object], error) {
	number, _ := strconv.Atoi(options.Continue)
	options.Continue = ""
	page, err := c.Source.List(ctx, options)
	if number++; number == c.pages {
		number = c.back
	}
	page.Continue = strconv.Itoa(number)
	return page, err
}

// Stronger: an endless list would otherwise fill the memory.
func TestListWhosePagesGoInACircleIsAFailure(t *testing.T) {
	for _, c := range []circling{{pages: 1, back: 0}, {pages: 7, back: 6}, {pages: 7, back: 1}, {pages: 64, back: 1},
		{pages: 100, back: 50}} {
		synctest.Test(t, func(t *testing.T) {
			c.Source = listwatch.New("a")
			r, sink := reflect(t, c, listOnly)
			expect(t, "deltas", sink.got())
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), "sent before") {
				t.Errorf("%d pages, back to %d: Err is %v", c.pages, c.back, err)
			}
			if n := len(c.Took()); n > 4*c.pages {
				t.Errorf("%d requests for %d pages", n, c.pages)
			}
		})
	}
}

// drifting is a source whose later pages claim to be newer than the first.
type drifting struct{ *listwatch.Source }

func (d drifting) List(ctx context.Context, options metav1.ListOptions) (*client.Page[listwatch.Object], error) {
	page, err := d.Source.List(ctx, options)
	if options.Continue != "" {
		page.ResourceVersion = "99"
	}
	return page, err
}

// R03
func TestWatchStartsWhereTheFirstPageWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a", "b", "c")
		s.Paging = true
		reflect(t, drifting{s}, reflector.Options[listwatch.Object]{DisableWatchList: true, PageSize: 2})
		expect(t, "requests", s.Took(), `list "0" limit 2`, `list "" limit 2 continue 13/2`, `watch "13"`)
	})
}

var streaming = reflector.Options[listwatch.Object]{}

// W01, W04
//
// Stronger: the reflector and the client always request bookmarks with a streaming list, so no option can make an
// informer wait forever for the end of the list.
func TestStreamingListContinuesAsTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a", "b")
		_, sink := reflect(t, s, streaming)
		s.Create("c")
		synctest.Wait()
		expect(t, "deltas", sink.got(), "Replaced 12 a b", "Added 13 c")
		options := s.Requests[0].Options
		if options.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || !options.AllowWatchBookmarks {
			t.Errorf("options %+v: want NotOlderThan and bookmarks", options)
		}
		expect(t, "requests", s.Took(), `watch! ""`)
	})
}

// W01
func TestStreamingListIsCompleteOnlyAtTheEndBookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a", "b", "c")
		s.NoBegin = true
		_, sink := reflect(t, s, streaming)
		for _, name := range []string{"a", "b", "c"} {
			s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Added, Object: s.Objects[listwatch.KeyOf(name)].DeepCopy()})
		}
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "13"})
		s.Update("a")
		s.Delete("b")
		s.Create("d")
		s.Delete("d")
		synctest.Wait()
		expect(t, "deltas before", sink.got())
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "17", InitialEventsEnd: true})
		synctest.Wait()
		expect(t, "deltas", sink.got(), "Replaced 17 a c")
	})
}

// W01
func TestServerWithoutStreamingListsIsListedForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		s.OnWatch = listwatch.Once(listwatch.Invalid())
		r, _ := reflect(t, s, streaming)
		expect(t, "requests", s.Took(), `watch! ""`, `list "0" limit 500`, `watch "11"`)
		if r.Err() != nil {
			t.Errorf("the fallback is an error: %v", r.Err())
		}
		s.Cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests later", s.Took(), `list "11"`, `watch "11"`)
	})
}

// W01
func TestExpiredWatchIsFollowedByAStreamingList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		reflect(t, s, streaming)
		s.Took()
		s.OnWatch = listwatch.Once(apierrors.NewResourceExpired("gone"))
		s.Cut(apierrors.NewResourceExpired("gone"))
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `watch! "11"`, `watch! ""`)
	})
}

// W01
func TestRefusedStreamingListIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		s.OnWatch = listwatch.Once(listwatch.TooMany(0))
		reflect(t, s, streaming)
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `watch! ""`, `watch! ""`)
	})
}

// W01
func TestStreamingListThatIsCutIsTriedAgainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		s.NoBegin = true
		_, sink := reflect(t, s, streaming)
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Added, Object: s.Objects[listwatch.KeyOf("a")].DeepCopy()})
		s.Cut(io.EOF)
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `watch! ""`, `watch! ""`)
		s.Cut(io.ErrUnexpectedEOF)
		pass(4 * time.Second)
		expect(t, "requests", s.Took(), `list "0" limit 500`, `watch "11"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a")
	})
}

// W01
func TestCompleteStreamingListMakesUpForOneThatWasCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		reflect(t, s, streaming)
		for range 2 {
			s.Took()
			s.NoBegin = true
			s.Cut(apierrors.NewResourceExpired("gone"))
			pass(10 * time.Second)
			s.NoBegin = false
			s.Cut(io.EOF)
			pass(20 * time.Second)
			expect(t, "requests", s.Took(), `watch! "11"`, `watch! "11"`)
		}
	})
}

// W01, C10
func TestObjectThatBecomesUnreadableDuringAStreamingListIsRetained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a", "b")
		s.NoBegin = true
		unreadable := map[string]bool{"13": true, "12": true}
		_, sink := reflect(t, s, reflector.Options[listwatch.Object]{Transform: func(o listwatch.Object) (
			listwatch.Object, error) {
			if unreadable[o.ResourceVersion] {
				return o, errors.New("broken")
			}
			return o, nil
		}})
		for _, name := range []string{"a", "b"} {
			s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Added, Object: s.Objects[listwatch.KeyOf(name)].DeepCopy()})
		}
		s.Update("a")
		s.Update("b")
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "14", InitialEventsEnd: true})
		synctest.Wait()
		expect(t, "deltas", sink.got(), "Replaced 14 b (a)")
	})
}

// W01
func TestOtherFailureOfAStreamingListIsFollowedByAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		s.OnWatch = listwatch.Once(listwatch.Forbidden("watch"), listwatch.Forbidden("watch"))
		r, sink := reflect(t, s, streaming)
		failure, ok := errors.AsType[*reflector.SyncError](r.Err())
		if !ok || failure.Verb != "watch" || failure.Resource != "things" || !apierrors.IsForbidden(r.Err()) {
			t.Errorf("got %#v, want a forbidden watch of things", r.Err())
		}
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `watch! ""`, `list "0" limit 500`, `watch "11"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a")
		pass(4 * time.Second)
		expect(t, "requests after the refused watch", s.Took(), `watch! "11"`)
		if r.Err() != nil {
			t.Errorf("error after recovery: %v", r.Err())
		}
	})
}

// W02
//
// Stronger: if a server accepts the request for a streaming list but sends nothing for half a minute, the reflector
// gives up and lists. client-go logs warnings forever.
func TestServerThatIgnoresInitialEventsIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		s.NoBegin = true
		reflect(t, s, streaming)
		pass(29 * time.Second)
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "11"})
		pass(25 * time.Second)
		expect(t, "requests while something comes", s.Took(), `watch! ""`)
		pass(10 * time.Second)
		expect(t, "requests", s.Took(), `list "0" limit 500`, `watch "11"`)
	})
}

// W02
func TestBusyServerThatIgnoresInitialEventsIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		s.NoBegin = true
		_, sink := reflect(t, s, streaming)
		for range 14 {
			s.Update("a")
			pass(4 * time.Second)
		}
		expect(t, "requests while something comes", s.Took(), `watch! ""`)
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "25"})
		synctest.Wait()
		expect(t, "requests", s.Took(), `list "0" limit 500`, `watch "25"`)
		expect(t, "deltas", sink.got(), "Replaced 25 a")
	})
}

// W02
func TestWatchListCanBeDisabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		reflect(t, s, listOnly)
		if slices.ContainsFunc(s.Requests, func(r listwatch.Request) bool { return r.Options.SendInitialEvents != nil }) {
			t.Error("a streaming list was asked for")
		}
	})
}

// R05
func TestRefusedWatchIsOpenedAgainWithoutAList(t *testing.T) {
	for name, refusal := range map[string]error{"429": listwatch.TooMany(0), "connection refused": fmt.Errorf("dial: %w",
		syscall.ECONNREFUSED)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := listwatch.New("a")
				s.OnWatch = listwatch.Once(refusal)
				r, _ := reflect(t, s, listOnly)
				if r.Err() == nil {
					t.Error("no error while refused")
				}
				pass(2 * time.Second)
				expect(t, "requests", s.Took(), `list "0" limit 500`, `watch "11"`, `watch "11"`)
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
		"too many requests": {listwatch.TooMany(0), rewatch, 2 * time.Second},
		"expired":           {apierrors.NewResourceExpired("expired"), relist, 2 * time.Second},
		"internal error":    {apierrors.NewInternalError(errors.New("etcd")), relist, 2 * time.Second},
		"unreadable":        {&client.DecodeError{What: "watch event", Err: errors.New("bad json")}, relist, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := listwatch.New("a")
				reflect(t, s, listOnly)
				s.Create("b")
				pass(time.Minute)
				s.Took()
				s.Cut(test.end)
				pass(test.pause)
				expect(t, "requests", s.Took(), test.want...)
			})
		})
	}
}

// R07
func TestWatchesAreAskedToEndAfterFiveToTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		reflect(t, s, listOnly)
		pass(24 * time.Hour)
		s.Mu.Lock()
		defer s.Mu.Unlock()
		seen := make(map[int64]bool)
		for _, r := range s.Requests[1:] {
			if r.Verb == "list" && r.Options.Limit == 1 && r.Options.ResourceVersion == "" && r.Options.Continue == "" {
				continue // requests the server's version, since the server sends no bookmarks
			}
			seconds := *r.Options.TimeoutSeconds
			if r.Verb != "watch" || seconds < 300 || seconds >= 600 || !r.Options.AllowWatchBookmarks {
				t.Fatalf("got %s with %d seconds, bookmarks %v", r.Verb, seconds, r.Options.AllowWatchBookmarks)
			}
			seen[seconds] = true
		}
		if len(seen) < 50 {
			t.Errorf("only %d different timeouts in %d watches", len(seen), len(s.Requests)-1)
		}
	})
}

// endless is a source that never ends a watch, as if its connections were lost on the way.
type endless struct{ *listwatch.Source }

func (e endless) Watch(ctx context.Context, options metav1.ListOptions) (client.Stream[listwatch.Object], error) {
	seconds := int64(1 << 30)
	options.TimeoutSeconds = &seconds
	return e.Source.Watch(ctx, options)
}

// Stronger: client-go waits forever.
func TestWatchThatEndsLateIsReopened(t *testing.T) {
	for _, opts := range []reflector.Options[listwatch.Object]{{}, listOnly} {
		synctest.Test(t, func(t *testing.T) {
			s := listwatch.New("a")
			r, _ := reflect(t, endless{s}, opts)
			s.Took()
			pass(4 * time.Minute)
			expect(t, "requests in its time", s.Took())
			// A connection that still delivers data is kept.
			for n := range 20 {
				s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: strconv.Itoa(11 + n)})
				pass(50 * time.Second)
			}
			expect(t, "requests while it tells something", s.Took())
			pass(2 * time.Minute)
			expect(t, "requests when it is quiet", s.Took(), `watch "30"`)
			if err := r.Err(); err != nil {
				t.Error(err)
			}
			pass(time.Hour)
			watches := slices.DeleteFunc(s.Took(), func(request string) bool { return request == `list "" limit 1` })
			if n := len(watches); n < 5 || n > 10 {
				t.Errorf("%d watches in an hour", n)
			}
		})
	}
}

// R08
//
// Stronger: Err reports the failure and a growing pause follows, so a proxy that cuts every watch is noticed and does
// not cause a flood of requests.
func TestVeryShortWatchIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		r, _ := reflect(t, s, listOnly)
		s.Took()
		s.Cut(io.EOF)
		synctest.Wait()
		expect(t, "requests at once", s.Took())
		if r.Err() == nil {
			t.Error("no error after a watch that ended at once")
		}
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `list "11"`, `watch "11"`)
	})
}

// R08
func TestVeryShortWatchesThatComeNoFurtherAreFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		r, _ := reflect(t, s, listOnly)
		s.Took()
		for range 2 {
			s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "11"})
			s.Cut(io.EOF)
			synctest.Wait()
		}
		expect(t, "requests at once", s.Took(), `watch "11"`)
		if r.Err() == nil {
			t.Error("no error after watches that ended at once")
		}
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `list "11"`, `watch "11"`)
		for range 3 {
			s.Create("b" + strconv.Itoa(s.Version))
			s.Cut(io.EOF)
			synctest.Wait()
		}
		expect(t, "requests after news", s.Took(), `watch "12"`, `watch "13"`, `watch "14"`)
	})
}

// R08
func TestUnknownEventIsSkippedAndDoesNotMoveTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		_, sink := reflect(t, s, listOnly)
		s.Send(client.WatchEvent[listwatch.Object]{Type: "STRANGE", ResourceVersion: "99"})
		s.Create("b")
		s.Cut(io.EOF)
		synctest.Wait()
		expect(t, "deltas", sink.got(), "Replaced 11 a", "Added 12 b")
		expect(t, "requests", s.Took(), `list "0" limit 500`, `watch "11"`, `watch "12"`)
	})
}

// R09
func TestBookmarkMovesTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		_, sink := reflect(t, s, listOnly)
		s.Took()
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "77"})
		s.Cut(io.EOF)
		synctest.Wait()
		expect(t, "requests", s.Took(), `watch "77"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a", "Bookmark 77")
	})
}

// versionless is a source whose lists have the meaningless version "0", or no version.
type versionless struct {
	*listwatch.Source
	version string
}

func (v versionless) List(ctx context.Context, options metav1.ListOptions) (*client.Page[listwatch.Object], error) {
	page, err := v.Source.List(ctx, options)
	page.ResourceVersion = v.version
	return page, err
}

func TestListWithoutAVersionIsAnErrorAndLeavesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a", "b")
		r, sink := reflect(t, versionless{s, ""}, listOnly)
		expect(t, "deltas", sink.got())
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "no resourceVersion") {
			t.Errorf("got %v", err)
		}
	})
}

func TestEventWithoutAVersionIsAnErrorAndRelists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a")
		r, sink := reflect(t, s, listOnly)
		sink.got()
		s.Took()
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark})
		synctest.Wait()
		expect(t, "deltas", sink.got())
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "no resourceVersion") {
			t.Errorf("got %v", err)
		}
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `list "11"`, `watch "11"`)
		expect(t, "deltas", sink.got(), "Replaced 11 a")
	})
}

// Stronger: without a relist, the store would keep objects from before the reset that no longer exist.
func TestBookmarkThatGoesBackIsAnErrorAndRelists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a", "b")
		r, sink := reflect(t, s, listOnly)
		sink.got()
		s.Took()
		s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "7"})
		synctest.Wait()
		expect(t, "deltas", sink.got())
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), "gone back") {
			t.Errorf("got %v", err)
		}
		pass(2 * time.Second)
		expect(t, "requests", s.Took(), `list "12"`, `watch "12"`)
		expect(t, "deltas", sink.got(), "Replaced 12 a b")
	})
}

// Stronger: the reflector sends no requests to a server that sends bookmarks, and lists a single object from a server
// that does not. An answer without a version changes nothing.
func TestQuietWatchIsFollowedByOneSmallListUnlessThereAreBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := listwatch.New("a", "b", "c")
		r, sink := reflect(t, s, listOnly)
		sink.got()
		s.Took()
		pass(10 * time.Minute)
		expect(t, "requests without bookmarks", s.Took(), `watch "13"`, `list "" limit 1`)
		for _, hook := range []func(metav1.ListOptions) error{listwatch.Always(listwatch.Forbidden("list")),
			listwatch.Always(errors.New("no route"))} {
			s.Mu.Lock()
			s.OnList = hook
			s.Mu.Unlock()
			pass(time.Hour)
			if n := len(s.Took()); n < 12 || n > 24 {
				t.Errorf("%d requests in an hour", n)
			}
			if err := r.Err(); err != nil {
				t.Error(err)
			}
		}
		s.Heal()
		for range 120 {
			s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "13"})
			pass(time.Minute)
		}
		s.Took()
		for range 120 {
			s.Send(client.WatchEvent[listwatch.Object]{Type: watch.Bookmark, ResourceVersion: "13"})
			pass(time.Minute)
		}
		for _, request := range s.Took() {
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
		s := listwatch.New("a", "b")
		_, sink := reflect(t, versionless{s, "0"}, listOnly)
		expect(t, "deltas", sink.got(), "Replaced 0 a b", "Added  a", "Added  b")
		s.Cut(io.EOF)
		synctest.Wait()
		s.Update("a")
		s.Cut(io.EOF)
		synctest.Wait()
		expect(t, "requests", s.Took(), `list "0" limit 500`, `watch "0"`, `watch "0"`, `watch "13"`)
	})
}

// Stronger: client-go accepts the event, and its store goes back to an older state.
func TestEventThatGoesBackIsAnErrorAndRelists(t *testing.T) {
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		synctest.Test(t, func(t *testing.T) {
			s := listwatch.New("a", "b")
			r, sink := reflect(t, s, listOnly)
			s.Update("b")
			s.Cut(io.EOF)
			synctest.Wait()
			sink.got()
			s.Took()
			s.Send(listwatch.Older(kind, s, "a", "11"))
			s.Create("c") // a watch that is still open would deliver it
			synctest.Wait()
			expect(t, "deltas", sink.got())
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), "gone back") {
				t.Errorf("got %v", err)
			}
			pass(2 * time.Second)
			expect(t, "requests", s.Took(), `list "13"`, `watch "14"`)
			expect(t, "deltas", sink.got(), "Replaced 14 a b c")
			if err := r.Err(); err != nil {
				t.Errorf("after the list: %v", err)
			}
		})
	}
}
