package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// E01
//
// Stronger: it is events that differ which are dropped; repetitions of those that wait need no place.
func TestRecordingNeverBlocksAndWhatDoesNotFitIsCountedAndToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.sink.hang()
		f.run(t)
		begun := time.Now()
		for i := range 1500 {
			f.say(thing(fmt.Sprint("a", i)), "Pulled", "")
			if i == 0 {
				synctest.Wait() // The first is being written.
			}
		}
		f.say(thing("a1"), "Pulled", "") // Waits already.
		if time.Since(begun) > 0 {
			t.Error("recording took time")
		}
		if n := f.dropped(dropOverload); n != 499 {
			t.Errorf("%d are dropped, want 499", n)
		}
		if n := len(f.log.with("some are dropped")); n != 1 {
			t.Errorf("it is told %d times", n)
		}
		f.sink.fail(nil)
		time.Sleep(time.Minute)
		if n := len(f.sink.all()); n != 1001 {
			t.Errorf("%d events are stored, want 1001", n)
		}
	})
}

// E01, E02: what is left is written at the end, each event once.
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
		if err := f.broadcaster.Run(t.Context()); !errors.Is(err, ErrStarted) {
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
				f.say(thing("a0"), "Pulled", "note") // Lets the filter tell what it held back of one.
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

func TestMetricsTellWhatWasRecordedWrittenAndDropped(t *testing.T) {
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
