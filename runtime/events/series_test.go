package events

import (
	"fmt"
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
		if got := f.sink.all()[0]; got.Count != 2 || !got.Last.Equal(first.Add(time.Minute)) || !got.First.Equal(first) || got.Note != "one" {
			t.Errorf("stored %+v", got)
		}
	})
}

// E02
//
// Stronger: the last count of a series is written six minutes after its last event, and not at the next of the checks
// that come every six minutes.
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
// Stronger: the version of the object is not part of what makes events equal, since most controllers change the object
// that they report about.
func TestSeriesAreOfEventsThatDifferInNoteAndTimeOnly(t *testing.T) {
	changed := thing("a")
	changed.ResourceVersion = "8"
	recreated := thing("a")
	recreated.UID = "u-2"
	for name, test := range map[string]struct {
		record func(f *fixture)
		same   bool
	}{
		"another note":    {func(f *fixture) { f.Eventf(thing("a"), nil, Normal, "R", "A", "other") }, true},
		"another version": {func(f *fixture) { f.Eventf(changed, nil, Normal, "R", "A", "note") }, true},
		"another time":    {func(f *fixture) { f.At(time.Unix(1, 0)).Eventf(thing("a"), nil, Normal, "R", "A", "note") }, true},
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
// Stronger: a controller that reports a thousand different reasons about one object writes 25 events and not a thousand,
// and the series that it begins later are told with their whole count.
func TestNewSeriesAboutOneObjectAreLimited(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil).run(t)
		for i := range 1000 {
			f.say(thing("a"), fmt.Sprintf("Reason%d", i), "")
		}
		if n := len(f.sink.written()); n != 25 {
			t.Errorf("%d writes, want 25", n)
		}
		f.say(thing("b"), "Pulled", "") // Another object has its own limit.
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

// E02: the state is bounded, and a count that has to go is written before.
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

// E02: what the API server does not take any more is tried within the limit for one object.
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
