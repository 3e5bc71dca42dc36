package events

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// E01
//
// Stronger: only events that differ from all waiting events are dropped, because a repetition needs no space.
func TestRecordingNeverBlocksAndReportsDroppedEventsOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.sink.hang()
		f.run(t)
		begun := time.Now()
		for i := range 1500 {
			f.say(thing(fmt.Sprint("a", i)), "Pulled", "")
			if i == 0 {
				synctest.Wait() // until the first event is being written
			}
		}
		f.say(thing("a1"), "Pulled", "") // the same event is already waiting
		if time.Since(begun) > 0 {
			t.Error("recording took time")
		}
		if n := f.dropped(dropOverload); n != 499 {
			t.Errorf("%d are dropped, want 499", n)
		}
		if n := len(f.log.with("some are dropped")); n != 1 {
			t.Errorf("it is logged %d times", n)
		}
		f.sink.fail(nil)
		time.Sleep(time.Minute)
		if n := len(f.sink.all()); n != 1001 {
			t.Errorf("%d events are stored, want 1001", n)
		}
	})
}

// E01, E02: Run writes the remaining events when it ends, each once.
func TestRunWritesWhatIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		for range 10 {
			f.say(thing("a"), "Looping", "")
			synctest.Wait()
		}
		f.sink.fail(errDown)
		f.say(thing("a"), "Failing", "")
		f.sink.written()
		f.sink.fail(nil)
		f.shutDown()
		want(t, f.sink.written(), "patch Looping", "create Failing")
		if got := f.sink.all()[0].Count; got != 10 || f.err != nil {
			t.Errorf("count is %d, and Run returned %v", got, f.err)
		}
	})
}

func TestEndOfRunIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.sink.hang()
		f.run(t)
		for i := range 7 {
			f.say(thing(fmt.Sprint("a", i)), "Pulled", "")
		}
		synctest.Wait()
		begun := time.Now()
		f.shutDown()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the end took %s", took)
		}
		if n := f.dropped(dropShutdown); n != 7 || len(f.log.with("lost=7")) != 1 {
			t.Errorf("%d are counted as lost: %s", n, f.log.with("lost"))
		}
	})
}

func TestWriteThatHasBegunIsNotCutOffAtTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.sink.before = func(ctx context.Context, _ string, _ Event) error {
			select {
			case <-time.After(2 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		f.run(t)
		f.say(thing("a"), "Pulled", "")
		synctest.Wait()
		f.shutDown()
		want(t, f.sink.written(), "create Pulled")
		if len(f.sink.all()) != 1 {
			t.Error("nothing is stored")
		}
	})
}

func TestServerThatIsDownIsAskedOnceForEachEventAtTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.sink.fail(errDown)
		f.run(t)
		f.say(thing("a"), "One", "")
		f.say(thing("a"), "Two", "")
		f.sink.written()
		begun := time.Now()
		f.shutDown()
		want(t, f.sink.written(), "create One", "create Two")
		if n := f.dropped(dropShutdown); n != 2 || time.Since(begun) > 0 {
			t.Errorf("%d are counted as lost after %s", n, time.Since(begun))
		}
	})
}

func TestEventsBeforeRunAreWrittenAndThoseAfterItAreNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		watcher := f.broadcaster.Watch(10)
		f.say(thing("a"), "Before", "")
		want(t, f.sink.written())
		f.run(t)
		want(t, f.sink.written(), "create Before")
		f.shutDown()
		f.say(thing("a"), "After", "")
		want(t, f.sink.written())
		if n := len(watcher.C); n != 2 {
			t.Errorf("the watcher has %d events", n)
		}
		if after, full := f.dropped(dropShutdown), f.dropped(dropOverload); after != 1 || full != 0 ||
			len(f.log.with("too many events")) > 0 {
			t.Errorf("%d are dropped at the end and %d for being too many, as the log says %d times", after, full,
				len(f.log.with("too many events")))
		}
		if err := f.broadcaster.Run(t.Context()); !errors.Is(err, life.ErrAlreadyRun) {
			t.Errorf("a second Run returned %v", err)
		}
	})
}

func TestEventsOfManyGoroutinesAreAllCounted(t *testing.T) {
	for name, correlation := range map[string]Correlation{"series": BySeries, "counts": ByCount} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, func(o *Options) { o.Correlation = correlation }).run(t)
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						for i := range 100 {
							f.say(thing(fmt.Sprint("a", i%10)), "Pulled", "note")
						}
					})
				}
				all.Wait()
				time.Sleep(time.Hour)
				f.say(thing("a0"), "Pulled", "note") // makes the filter report how many events it dropped
				f.shutDown()
				total := 0
				for _, e := range f.sink.all() {
					total += e.Count
				}
				if spam := f.dropped(dropSpam); total > 801 || total+spam < 801 {
					t.Errorf("%d events are stored and %d filtered, of 801", total, spam)
				}
			})
		})
	}
}

func TestNamesAreUniqueAlsoAtOneInstant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		watcher := f.broadcaster.Watch(100)
		names := map[string]bool{}
		for range 100 {
			f.say(thing("a"), "Pulled", "")
			name := (<-watcher.C).Name
			if names[name] || !strings.HasPrefix(name, "a.") {
				t.Fatalf("name %q", name)
			}
			names[name] = true
		}
	})
}

func TestMetricsCountRecordedWrittenAndDroppedEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		for range 3 {
			f.say(thing("a"), "Pulled", "")
			synctest.Wait()
		}
		f.Eventf(thing("a"), nil, Warning, "", "Testing", "no reason")
		for name, want := range map[string]float64{
			"recorded": f.registry.Counter("kctrl_events_recorded_total", "", "type").Value(Normal) - 3,
			"created":  f.registry.Counter("kctrl_events_written_total", "", "verb").Value("create") - 1,
			"patched":  f.registry.Counter("kctrl_events_written_total", "", "verb").Value("patch") - 1,
			"invalid":  float64(f.dropped(dropInvalid)) - 1,
		} {
			if want != 0 {
				t.Errorf("%s is off by %v", name, want)
			}
		}
	})
}

// E01
//
// Stronger: an event that cannot be written does not delay other events. The exception is a write that gets no answer,
// which delays them by at most half a minute. The pauses grow from one second to fifteen.
func TestFailedWriteIsTriedTwelveTimes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.sink.before = func(_ context.Context, _ string, e Event) error {
			if e.Reason == "Bad" {
				return errDown
			}
			return nil
		}
		f.run(t)
		f.say(thing("a"), "Bad", "")
		f.say(thing("a"), "Good", "")
		want(t, f.sink.written(), "create Bad", "create Good")
		begun, tries := time.Now(), 1
		for f.dropped(dropUnreachable) == 0 {
			time.Sleep(time.Second)
			tries += len(f.sink.written())
		}
		if took := time.Since(begun); tries != 12 || took < 90*time.Second || took > 150*time.Second {
			t.Errorf("%d tries in %s", tries, took)
		}
		if n := len(f.log.with("cannot be written now")); n != 1 {
			t.Errorf("it is logged %d times", n)
		}
		if n := len(f.log.with("could not be written")); n != 1 {
			t.Errorf("the end is logged %d times", n)
		}
		f.say(thing("a"), "Bad", "")
		want(t, f.sink.written(), "create Bad")
	})
}

func TestPendingEventKeepsCounting(t *testing.T) {
	for name, correlation := range map[string]Correlation{"series": BySeries, "counts": ByCount} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, func(o *Options) { o.Correlation = correlation })
				f.sink.fail(errDown)
				f.run(t)
				for range 500 {
					f.say(thing("a"), "Pulled", "note")
					time.Sleep(10 * time.Millisecond)
				}
				f.sink.fail(nil)
				f.sink.written()
				time.Sleep(15 * time.Second)
				want(t, f.sink.written(), "create Pulled")
				if got := f.sink.all()[0].Count; got != 500 || f.dropped(dropSpam)+f.dropped(dropOverload) > 0 {
					t.Errorf("count is %d, and %d were filtered", got, f.dropped(dropSpam))
				}
			})
		})
	}
}

// E01, E02
func TestRefusedEventIsLoggedAndDropped(t *testing.T) {
	terminating := apierrors.NewForbidden(eventResource, "a", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: namespaceTerminating}}
	for name, test := range map[string]struct {
		err    error
		logged int
	}{
		"invalid":               {apierrors.NewInvalid(eventGroupKind(), "a", nil), 1},
		"forbidden":             {apierrors.NewForbidden(eventResource, "a", errors.New("no")), 1},
		"namespace terminating": {terminating, 0},
		"namespace missing":     {apierrors.NewNotFound(eventResource, "a"), 0},
		"group missing":         {&meta.NoKindMatchError{}, 1},
		"answer makes no sense": {&client.DecodeError{Err: errors.New("no JSON")}, 1},
		"wrapped":               {fmt.Errorf("create: %w", apierrors.NewBadRequest("no")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, nil)
				f.sink.fail(test.err)
				f.run(t)
				f.say(thing("a"), "Pulled", "")
				time.Sleep(time.Hour)
				want(t, f.sink.written(), "create Pulled")
				if n := len(f.log.with("is dropped because the API server refuses it")); n != test.logged {
					t.Errorf("logged %d times, want %d", n, test.logged)
				}
				if n := f.dropped(dropRefused); n != 1 {
					t.Errorf("counted %d times", n)
				}
				f.sink.fail(nil) // the API server now allows events, so later ones are written
				f.say(thing("a"), "Pulled", "")
				want(t, f.sink.written(), "create Pulled")
			})
		})
	}
}

func TestErrorsThatMayPassAreTriedAgain(t *testing.T) {
	for _, code := range []int{401, 408, 409, 429, 500, 503, 504} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, nil)
				f.sink.fail(apierrors.NewGenericServerResponse(code, "post", eventResource, "a", "", 0, true))
				f.run(t)
				f.say(thing("a"), "Pulled", "")
				want(t, f.sink.written(), "create Pulled")
				f.sink.fail(nil)
				time.Sleep(2 * time.Second)
				want(t, f.sink.written(), "create Pulled")
				if len(f.sink.all()) != 1 {
					t.Error("nothing is stored")
				}
			})
		})
	}
}

func TestWriteWhoseAnswerWasLostCounts(t *testing.T) {
	for events, calls := range map[int][]string{
		1: {"create Pulled", "create Pulled"},
		2: {"create Pulled", "create Pulled", "patch Pulled"},
	} {
		t.Run(fmt.Sprint(events), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, nil)
				lost := false
				f.sink.after = func(context.Context, string, Event) error {
					if lost {
						return nil
					}
					lost = true
					return errDown
				}
				f.run(t)
				for range events {
					f.say(thing("a"), "Pulled", "")
					synctest.Wait()
				}
				time.Sleep(time.Minute)
				want(t, f.sink.written(), calls...)
				if got := f.sink.all(); len(got) != 1 || got[0].Count != events {
					t.Errorf("stored %+v", got)
				}
			})
		})
	}
}

func TestWriteThatHangsIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.sink.hang()
		f.run(t)
		f.say(thing("a"), "Pulled", "")
		synctest.Wait()
		f.sink.fail(nil)
		time.Sleep(attemptTimeout + 2*time.Second)
		want(t, f.sink.written(), "create Pulled", "create Pulled")
		if len(f.sink.all()) != 1 {
			t.Error("nothing is stored")
		}
	})
}
