package events

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// E02
func TestFirstEventIsWrittenAtOnceAndTheSecondMakesItASeries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		first := time.Now()
		f.say(thing("a"), "Pulled", "one")
		want(t, f.sink.written(), "create Pulled")
		if got := f.sink.all()[0]; got.Count != 1 || !got.First.Equal(first) || got.Namespace != "web" {
			t.Errorf("stored %+v", got)
		}
		time.Sleep(time.Minute)
		f.say(thing("a"), "Pulled", "two")
		want(t, f.sink.written(), "patch Pulled")
		if got := f.sink.all()[0]; got.Count != 2 || !got.Last.Equal(first.Add(time.Minute)) || !got.First.Equal(first) ||
			got.Note != "one" {
			t.Errorf("stored %+v", got)
		}
	})
}

// E02
//
// Stronger: the last count of a series is written six minutes after its last event. client-go writes it at the next of
// its checks, which run every six minutes.
func TestCountOfASeriesIsWrittenEveryHalfHourAndAtItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		for range 2 {
			f.say(thing("a"), "Pulled", "")
		}
		f.sink.written()
		for range 28 {
			time.Sleep(time.Minute)
			f.say(thing("a"), "Pulled", "")
		}
		want(t, f.sink.written())
		time.Sleep(2 * time.Minute)
		f.say(thing("a"), "Pulled", "")
		want(t, f.sink.written(), "patch Pulled")
		if got := f.sink.all()[0].Count; got != 31 {
			t.Errorf("count is %d, want 31", got)
		}
		time.Sleep(time.Minute)
		f.say(thing("a"), "Pulled", "")
		last := time.Now()
		time.Sleep(6*time.Minute - 1)
		want(t, f.sink.written())
		time.Sleep(time.Nanosecond)
		want(t, f.sink.written(), "patch Pulled")
		if got := f.sink.all()[0]; got.Count != 32 || !got.Last.Equal(last) {
			t.Errorf("stored %+v", got)
		}
		f.say(thing("a"), "Pulled", "")
		want(t, f.sink.written(), "create Pulled")
		time.Sleep(time.Hour)
		want(t, f.sink.written())
		if n := len(f.broadcaster.correlator.(*series).records.entries); n != 0 {
			t.Errorf("%d records are left", n)
		}
	})
}

// E02
//
// Stronger: events with the same note are equal even if the version of their object differs, because most controllers
// change the object that they report about.
func TestSeriesAreOfEventsThatDifferInNoteAndTimeOnly(t *testing.T) {
	changed := thing("a")
	changed.ResourceVersion = "8"
	recreated := thing("a")
	recreated.UID = "u-2"
	for name, test := range map[string]struct {
		record func(f *fixture)
		same   bool
	}{
		"another note": {func(f *fixture) { f.Eventf(thing("a"), nil, Normal, "R", "A", "other") },
			true},
		"another version":                    {func(f *fixture) { f.Eventf(changed, nil, Normal, "R", "A", "note") }, true},
		"another note about another version": {func(f *fixture) { f.Eventf(changed, nil, Normal, "R", "A", "other") }, false},
		"another time": {func(f *fixture) {
			f.At(time.Unix(1, 0)).Eventf(thing("a"), nil, Normal, "R",
				"A", "note")
		}, true},
		"other annotations": {func(f *fixture) {
			f.WithAnnotations(map[string]string{"a": "b"}).Eventf(thing("a"), nil, Normal, "R", "A", "note")
		}, true},
		"another object":   {func(f *fixture) { f.Eventf(thing("b"), nil, Normal, "R", "A", "note") }, false},
		"a new object":     {func(f *fixture) { f.Eventf(recreated, nil, Normal, "R", "A", "note") }, false},
		"another type":     {func(f *fixture) { f.Eventf(thing("a"), nil, Warning, "R", "A", "note") }, false},
		"another reason":   {func(f *fixture) { f.Eventf(thing("a"), nil, Normal, "S", "A", "note") }, false},
		"another action":   {func(f *fixture) { f.Eventf(thing("a"), nil, Normal, "R", "B", "note") }, false},
		"a related object": {func(f *fixture) { f.Eventf(thing("a"), thing("b"), Normal, "R", "A", "note") }, false},
		"another controller": {func(f *fixture) {
			f.broadcaster.Recorder("other").Eventf(thing("a"), nil, Normal, "R", "A", "note")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, nil).run(t)
				f.Eventf(thing("a"), nil, Normal, "R", "A", "note")
				test.record(f)
				synctest.Wait()
				if got := len(f.sink.all()) == 1; got != test.same {
					t.Errorf("one series: %t, want %t: %v", got, test.same, f.sink.all())
				}
			})
		})
	}
}

// E02
func TestSeriesThatAnotherFollowsIsWrittenBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		for _, note := range []string{"1 of 2", "1 of 2", "1 of 2", "2 of 2"} {
			o := thing("a")
			o.ResourceVersion = note
			f.Eventf(o, nil, Normal, "Progressing", "Update", "%s", note)
			synctest.Wait()
		}
		got := f.sink.all()
		if len(got) != 2 || got[0].Note != "1 of 2" || got[0].Count != 3 || got[1].Note != "2 of 2" || got[1].Count != 1 {
			t.Errorf("stored %v", got)
		}
	})
}

// E02
func TestSeriesThatIsGoneIsCreatedAgainWithItsCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		f.say(thing("a"), "Pulled", "note")
		f.sink.written()
		f.sink.forget()
		f.say(thing("a"), "Pulled", "note")
		want(t, f.sink.written(), "patch Pulled", "create Pulled")
		if got := f.sink.all(); len(got) != 1 || got[0].Count != 2 || got[0].Note != "note" {
			t.Errorf("stored %+v", got)
		}
	})
}

// E02
//
// Stronger: a controller that reports a thousand different reasons about one object writes 25 events instead of a
// thousand, and later series have their complete count.
func TestNewSeriesAboutOneObjectAreLimited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		for i := range 1000 {
			f.say(thing("a"), fmt.Sprintf("Reason%d", i), "")
		}
		if n := len(f.sink.written()); n != 25 {
			t.Errorf("%d writes, want 25", n)
		}
		f.say(thing("b"), "Pulled", "") // each object has its own limit
		want(t, f.sink.written(), "create Pulled")
		if n := f.dropped(dropSpam); n != 975 {
			t.Errorf("%d are counted as dropped", n)
		}
		time.Sleep(5 * time.Minute)
		f.say(thing("a"), "Reason999", "")
		want(t, f.sink.written(), "create Reason999")
		if got := f.sink.all()[26]; got.Count != 2 {
			t.Errorf("count is %d", got.Count)
		}
	})
}

// E02: the number of remembered series is bounded, and the count of a series is written before the series is dropped.
func TestForgottenSeriesIsWrittenBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, func(o *Options) { o.CacheSize = 2 }).run(t)
		for range 3 {
			f.say(thing("a"), "Pulled", "")
			synctest.Wait()
		}
		f.sink.written()
		f.say(thing("b"), "Pulled", "")
		f.say(thing("c"), "Pulled", "")
		want(t, f.sink.written(), "create Pulled", "patch Pulled", "create Pulled")
		if got := f.sink.all()[0].Count; got != 3 {
			t.Errorf("count is %d, want 3", got)
		}
	})
}

// E02
func TestEachSeriesEndsAtItsOwnTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		for _, name := range []string{"a", "b", "c"} {
			for range 3 {
				f.say(thing(name), "Ends"+name, "")
				synctest.Wait()
			}
			time.Sleep(time.Minute)
		}
		f.sink.written()
		time.Sleep(3*time.Minute - time.Nanosecond)
		for _, name := range []string{"a", "b", "c"} {
			want(t, f.sink.written())
			time.Sleep(time.Nanosecond)
			want(t, f.sink.written(), "patch Ends"+name)
			time.Sleep(time.Minute - time.Nanosecond)
		}
	})
}

// E02: an event that the API server no longer accepts is retried within the limit for one object.
func TestRefusedSeriesIsNotTriedAtEachEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		for range 2 {
			f.say(thing("a"), "Looping", "")
			synctest.Wait()
		}
		f.sink.written()
		f.sink.fail(apierrors.NewForbidden(eventResource, "", nil))
		for range 3600 {
			time.Sleep(time.Second)
			f.say(thing("a"), "Looping", "")
		}
		if n := len(f.sink.written()); n < 25 || n > 40 {
			t.Errorf("%d writes", n)
		}
		f.sink.fail(nil)
		time.Sleep(5 * time.Minute)
		f.say(thing("a"), "Looping", "")
		want(t, f.sink.written(), "create Looping", "patch Looping")
		if got := f.sink.all()[0].Count; got != 3603 {
			t.Errorf("count is %d", got)
		}
	})
}

func newCounting(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	return newFixture(t, func(o *Options) {
		o.Correlation = ByCount
		if change != nil {
			change(o)
		}
	})
}

// E01
func TestSameEventIsCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newCounting(t, nil).run(t)
		first := time.Now()
		for i := range 5 {
			f.say(thing("a"), "Pulled", "the same")
			if want := []string{"create Pulled", "patch Pulled"}[min(i, 1)]; f.sink.written()[0] != want {
				t.Errorf("event %d: no %s", i, want)
			}
			time.Sleep(time.Minute)
		}
		got := f.sink.all()
		if len(got) != 1 || got[0].Count != 5 || !got[0].First.Equal(first) || !got[0].Last.Equal(first.Add(4*time.Minute)) {
			t.Errorf("stored %+v", got)
		}
	})
}

// E01
func TestTenthSimilarEventIsCombinedWithAllFurtherOnes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newCounting(t, nil).run(t)
		for i := range 12 {
			f.say(thing("a"), "Pulled", fmt.Sprintf("note %d", i))
			synctest.Wait()
		}
		f.say(thing("a"), "Pulled", "note 0") // an event with one of the first notes is not combined
		synctest.Wait()
		got := f.sink.all()
		if len(got) != 10 {
			t.Fatalf("%d events, want 9 and a combined one", len(got))
		}
		if got[0].Note != "note 0" || got[0].Count != 2 {
			t.Errorf("the first is %+v", got[0])
		}
		if last := got[9]; last.Note != "(combined from similar events): note 11" || last.Count != 3 {
			t.Errorf("the combined one is %+v", last)
		}
	})
}

// E01
func TestSimilarEventsAreForgottenTenMinutesAfterTheLast(t *testing.T) {
	for pause, combined := range map[time.Duration]bool{10 * time.Minute: true, 10*time.Minute + 1: false} {
		t.Run(pause.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newCounting(t, nil).run(t)
				for i := range 9 {
					time.Sleep(9 * time.Minute)
					f.say(thing("a"), "Pulled", fmt.Sprintf("note %d", i))
				}
				time.Sleep(pause)
				f.say(thing("a"), "Pulled", "new")
				synctest.Wait()
				if got := strings.HasPrefix(f.sink.all()[9].Note, combinedMark); got != combined {
					t.Errorf("combined: %t, want %t", got, combined)
				}
			})
		})
	}
}

// E01
func TestSimilarEventsDifferInNoteActionAndRelatedObjectOnly(t *testing.T) {
	for name, test := range map[string]struct {
		record  func(f *fixture, i int)
		similar bool
	}{
		"notes": {func(f *fixture, i int) { f.say(thing("a"), "R", fmt.Sprint(i)) }, true},
		"related objects": {func(f *fixture, i int) {
			f.Eventf(thing("a"), thing(fmt.Sprint("b", i)), Normal, "R", "A", "made b%d", i)
		}, true},
		"objects": {func(f *fixture, i int) { f.say(thing(fmt.Sprint("a", i)), "R", "note") }, false},
		"reasons": {func(f *fixture, i int) { f.say(thing("a"), fmt.Sprint("R", i), "note") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newCounting(t, nil).run(t)
				for i := range 15 {
					test.record(f, i)
				}
				synctest.Wait()
				if want := map[bool]int{true: 10, false: 15}[test.similar]; len(f.sink.all()) != want {
					t.Errorf("%d events, want %d", len(f.sink.all()), want)
				}
			})
		})
	}
}

// E01
func TestSpamIsFilteredAfterABurstOf25AndStillCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newCounting(t, nil).run(t)
		for range 40 {
			f.say(thing("a"), "Pulled", "note")
			synctest.Wait()
		}
		if n := len(f.sink.written()); n != 25 {
			t.Errorf("%d writes, want 25", n)
		}
		f.say(thing("b"), "Pulled", "note")
		f.Eventf(thing("a"), nil, Warning, "Pulled", "Testing", "note") // warnings have their own limit
		if n := len(f.sink.written()); n != 2 {
			t.Errorf("%d writes about others, want 2", n)
		}
		time.Sleep(5*time.Minute - 1)
		f.say(thing("a"), "Pulled", "note")
		want(t, f.sink.written())
		time.Sleep(time.Nanosecond)
		f.say(thing("a"), "Pulled", "note")
		want(t, f.sink.written(), "patch Pulled")
		if got := f.sink.all()[0].Count; got != 42 {
			t.Errorf("count is %d, want 42", got)
		}
		if n := f.dropped(dropSpam); n != 16 {
			t.Errorf("%d are counted as filtered, want 16", n)
		}
	})
}

// E01
func TestCountedEventThatIsGoneIsCreatedAgainWithItsCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newCounting(t, nil).run(t)
		for range 3 {
			f.say(thing("a"), "Pulled", "note")
			synctest.Wait()
		}
		f.sink.written()
		f.sink.forget()
		f.say(thing("a"), "Pulled", "note")
		want(t, f.sink.written(), "patch Pulled", "create Pulled")
		if got := f.sink.all(); len(got) != 1 || got[0].Count != 4 {
			t.Errorf("stored %+v", got)
		}
	})
}

// E01
func TestOnlyTheLastUsedCountsAreKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newCounting(t, func(o *Options) { o.CacheSize = 3 }).run(t)
		for i := range 100 {
			f.say(thing(fmt.Sprint("a", i)), "Pulled", "note")
		}
		c := f.broadcaster.correlator.(*counts)
		if a, b, d := len(c.groups.entries), len(c.records.entries), len(c.buckets.entries); a != 3 || b != 3 || d != 3 {
			t.Errorf("%d groups, %d records and %d buckets are kept", a, b, d)
		}
		synctest.Wait()
		if n := len(f.sink.all()); n != 100 {
			t.Errorf("%d events, want 100", n)
		}
	})
}

func TestCombinedNoteFitsToo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newCounting(t, nil).run(t)
		for i := range 10 {
			f.say(thing("a"), "Pulled", fmt.Sprint(i)+strings.Repeat("x", maxNote-1))
		}
		synctest.Wait()
		if got := f.sink.all()[9].Note; len(got) != maxNote || !strings.HasPrefix(got, combinedMark) ||
			!strings.HasSuffix(got, truncated) {
			t.Errorf("the note has %d bytes: %q", len(got), got)
		}
	})
}
