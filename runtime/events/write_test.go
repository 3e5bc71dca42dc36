package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
// Stronger: an event that cannot be written does not hold up the others, and the pauses grow from one second to fifteen.
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
			t.Errorf("it is told %d times", n)
		}
		if n := len(f.log.with("could not be written")); n != 1 {
			t.Errorf("the end is told %d times", n)
		}
		f.say(thing("a"), "Bad", "")
		want(t, f.sink.written(), "create Bad")
	})
}

func TestEventThatWaitsForTheServerGoesOnCounting(t *testing.T) {
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
				f.sink.fail(nil) // What is allowed later is written then.
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
