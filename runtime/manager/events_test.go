package manager_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

// eventServer is an API server with only the requests that are needed to write events.
type eventServer struct {
	mu      sync.Mutex
	reasons []string // reasons of the created events
	hangs   bool     // block requests for events until their context ends
}

// RoundTrip implements http.RoundTripper.
func (s *eventServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.URL.Path, "/events") {
		return answer(http.StatusOK, metav1.APIResourceList{GroupVersion: strings.TrimPrefix(strings.TrimPrefix(req.URL.Path,
			"/apis/"), "/api/"), APIResources: []metav1.APIResource{
			{Kind: "Event", Name: "events", Namespaced: true},
		}}), nil
	}
	if s.hangs {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	var event struct {
		metav1.TypeMeta
		Reason string
	}
	if err := json.NewDecoder(req.Body).Decode(&event); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reasons = append(s.reasons, event.Reason)
	return answer(http.StatusCreated, event), nil
}

// created returns the reasons of all created events.
func (s *eventServer) created() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reasons)
}

func (s *eventServer) newManager(t *testing.T, opts manager.Options) *manager.Manager {
	t.Helper()
	opts.Logger = newJournal().logger()
	m, err := manager.New(&rest.Config{Host: "http://apiserver", Transport: s}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func record(r *events.Recorder, reason string) {
	r.Eventf(&metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Guestbook"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello"},
	}, nil, events.Normal, reason, "Test", "")
}

func TestEventsAreWrittenUntilTheControllersHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &eventServer{}
		m := s.newManager(t, manager.Options{})
		recorder := m.EventRecorder("guestbook")
		record(recorder, "BeforeRun")
		add(t, m, runFunc(func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			record(recorder, "AtTheEnd")
			return nil
		}))
		r := start(t, m)
		synctest.Wait()
		if got := s.created(); !slices.Equal(got, []string{"BeforeRun"}) {
			t.Errorf("created %q", got)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if got := s.created(); !slices.Equal(got, []string{"BeforeRun", "AtTheEnd"}) {
			t.Errorf("created %q", got)
		}
	})
}

func TestRecorderCanBeAskedForWhileTheManagerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &eventServer{}
		m := s.newManager(t, manager.Options{})
		start(t, m)
		synctest.Wait()
		record(m.EventRecorder("guestbook"), "One")
		record(m.EventRecorder("visitor"), "Two")
		synctest.Wait()
		if got := s.created(); !slices.Equal(got, []string{"One", "Two"}) {
			t.Errorf("created %q", got)
		}
	})
}

func TestEventsThatCannotBeWrittenHoldUpTheEndForABoundedTime(t *testing.T) {
	for timeout, took := range map[time.Duration]time.Duration{time.Minute: 5 * time.Second,
		2 * time.Second: 2 * time.Second} {
		t.Run(timeout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := (&eventServer{hangs: true}).newManager(t, manager.Options{GracefulShutdownTimeout: timeout})
				record(m.EventRecorder("guestbook"), "Lost")
				r := start(t, m)
				synctest.Wait()
				begun := time.Now()
				err := r.stop()
				if time.Since(begun) != took {
					t.Errorf("the end took %s, want %s", time.Since(begun), took)
				}
				if named := err != nil && strings.Contains(err.Error(), "events"); named != (timeout < 5*time.Second) {
					t.Errorf("got %v", err)
				}
				time.Sleep(5 * time.Second) // a program would exit here, with everything that still runs
			})
		})
	}
}
