package reflector_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

var (
	errStorm     = apierrors.NewInternalError(errors.New("storm"))
	errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
	errAbsent    = &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Thing"}}
)

// outage is a server whose requests all fail until over is closed. Its clients are notified of the end.
type outage struct {
	*listwatch.Source
	mu    sync.Mutex
	over  chan struct{}
	asked int
}

func newOutage() *outage { return &outage{Source: listwatch.New("a"), over: make(chan struct{})} }

// Reachable blocks until the outage is over.
func (o *outage) Reachable(ctx context.Context) error {
	o.mu.Lock()
	o.asked++
	over := o.over
	o.mu.Unlock()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take returns the requests since the last call.
func (o *outage) take() []listwatch.Request {
	synctest.Wait()
	o.Source.Mu.Lock()
	defer o.Source.Mu.Unlock()
	defer func() { o.Requests = nil }()
	return o.Requests
}

// fail makes the source fail with err.
func (o *outage) fail(err error) {
	fail := func(metav1.ListOptions) error { return err }
	o.Source.Mu.Lock()
	defer o.Source.Mu.Unlock()
	o.OnList, o.OnWatch = fail, fail
}

func TestReflectorComesBackWithinASecondOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage()
		o.fail(errStorm)
		r, sink := reflect(t, o, reflector.Options[listwatch.Object]{})
		time.Sleep(10 * time.Minute)
		if r.Err() == nil || len(sink.got()) != 0 {
			t.Fatalf("got %v", r.Err())
		}
		o.Heal()
		close(o.over)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if r.Err() != nil || len(sink.got()) == 0 {
			t.Errorf("got %v two seconds after the end of the storm", r.Err())
		}
	})
}

func TestReflectorsComeBackOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage()
		o.fail(errStorm)
		for range 20 {
			reflect(t, o, reflector.Options[listwatch.Object]{})
		}
		time.Sleep(10 * time.Minute)
		o.take()
		o.Heal()
		end := time.Now()
		close(o.over)
		time.Sleep(2 * time.Second)
		moments := map[time.Duration]bool{}
		for _, request := range o.take() {
			if after := request.At.Sub(end); after > latest {
				t.Errorf("one came %s after the end", after)
			} else {
				moments[after] = true
			}
		}
		if len(moments) < 15 {
			t.Errorf("20 reflectors came at %d moments", len(moments))
		}
	})
}

// latest is the time after which the last reflector has retried: a pause that has just begun is not shortened for 800
// ms, and pauses that are shortened together are spread over a second.
const latest = 800*time.Millisecond + time.Second

func TestFailedReflectorBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage()
		o.fail(errStorm)
		close(o.over) // the server answers all other clients
		reflect(t, o, reflector.Options[listwatch.Object]{})
		time.Sleep(time.Minute)
		o.take()
		time.Sleep(time.Hour)
		if got := len(o.take()); got > 2*360 {
			t.Errorf("%d requests in an hour", got)
		}
	})
}

func TestReflectorWaitsAsLongAsTheServerHasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage()
		o.fail(apierrors.NewGenericServerResponse(http.StatusTooManyRequests, "list", schema.GroupResource{}, "", "busy", 5,
			true))
		close(o.over)
		begin := time.Now()
		reflect(t, o, reflector.Options[listwatch.Object]{})
		time.Sleep(4900 * time.Millisecond)
		if got := len(o.take()); got != 1 {
			t.Errorf("%d requests within %s", got, time.Since(begin))
		}
	})
}

func TestRefusalsAreNoOutages(t *testing.T) {
	for _, refusal := range []error{errForbidden, errAbsent} {
		synctest.Test(t, func(t *testing.T) {
			o := newOutage()
			o.fail(refusal)
			close(o.over)
			reflect(t, o, reflector.Options[listwatch.Object]{})
			time.Sleep(time.Hour)
			o.take()
			if o.asked != 0 {
				t.Errorf("%v is taken for an outage", refusal)
			}
		})
	}
}

func TestAbsentKindIsFoundWithinSecondsAndReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage()
		o.fail(errAbsent)
		sink := &recorder{}
		var lines strings.Builder
		opts := reflector.Options[listwatch.Object]{Name: "things", Logger: slog.New(slog.NewTextHandler(&lines, nil))}
		r := reflector.New(o, sink, opts)
		go r.Run(t.Context())
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := strings.Count(lines.String(), "level=WARN"); got != 1 {
			t.Errorf("%d warnings in an hour", got)
		}
		if got := len(o.take()); got < 1800 || got > 3700 {
			t.Errorf("it was looked for %d times in an hour", got)
		}
		o.Heal()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if r.Err() != nil || len(sink.got()) == 0 {
			t.Errorf("got %v", r.Err())
		}
	})
}
