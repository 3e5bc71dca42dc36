package controllerruntime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// limiter records its calls.
type limiter struct {
	mu    sync.Mutex
	calls []string
}

func (l *limiter) add(call string, r reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call+" "+r.Name)
}

func (l *limiter) When(r reconcile.Request) time.Duration {
	l.add("When", r)
	return time.Millisecond
}

func (l *limiter) Forget(r reconcile.Request)        { l.add("Forget", r) }
func (l *limiter) NumRequeues(reconcile.Request) int { return 0 }

// TestTerminalErrorsKeepTheDelay reconciles requests of a custom rate limiter, which forgets a request only after a
// success.
func TestTerminalErrorsKeepTheDelay(t *testing.T) {
	events, limits := make(chan event.GenericEvent), &limiter{}
	attempts := map[string]int{}
	start(t, ctrl.Options{}, func(mgr ctrl.Manager) {
		c, err := controller.New("limited", mgr, controller.Options{RateLimiter: limits, Reconciler: reconcile.Func(
			func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
				attempts[r.Name]++
				switch {
				case r.Name == "terminal" && attempts[r.Name] == 1:
					return reconcile.Result{}, reconcile.TerminalError(errors.New("it cannot succeed"))
				case r.Name == "failing" && attempts[r.Name] == 1:
					return reconcile.Result{}, errors.New("it fails once")
				}
				return reconcile.Result{}, nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Watch(source.Channel(events, &handler.EnqueueRequestForObject{})); err != nil {
			t.Fatal(err)
		}
	})
	for _, step := range []struct {
		name string
		want []string
	}{
		{"terminal", nil}, {"failing", []string{"When failing", "Forget failing"}},
		{"terminal", []string{"When failing", "Forget failing", "Forget terminal"}},
	} {
		events <- event.GenericEvent{Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: step.name}}}
		await(t, func() error {
			limits.mu.Lock()
			defer limits.mu.Unlock()
			if !slices.Equal(limits.calls, step.want) {
				return fmt.Errorf("%s: calls %v, want %v", step.name, limits.calls, step.want)
			}
			return nil
		})
	}
}

// TestEventsHaveTheFieldsOfTheirRecorder records an event with each recorder.
func TestEventsHaveTheFieldsOfTheirRecorder(t *testing.T) {
	var out lines
	mgr := start(t, ctrl.Options{Logger: out.verbose(1)}, func(ctrl.Manager) {})
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "recorded", UID: "1"}}
	mgr.GetEventRecorderFor("core").Eventf(object, "Normal", "Core", "note %d", 1)
	mgr.GetEventRecorder("modern").Eventf(object, nil, "Warning", "Modern", "Act", "note %d", 2)
	var stored corev1.EventList
	await(t, func() error {
		err := mgr.GetAPIReader().List(t.Context(), &stored, client.MatchingFields{"involvedObject.name": "recorded"})
		if err == nil && len(stored.Items) < 2 {
			return errors.New("there are no two events")
		}
		return err
	})
	for _, e := range stored.Items {
		switch e.Reason {
		case "Core":
			if e.Action != "" || e.ReportingInstance != "" || e.ReportingController != "core" || e.Source.Component != "core" {
				t.Errorf("core event: %+v", e)
			}
		case "Modern":
			if e.Action != "Act" || !strings.HasPrefix(e.ReportingInstance, "modern-") {
				t.Errorf("modern event: %+v", e)
			}
		}
	}
	if line := out.with("note 1"); line["reason"] != "Core" || line["type"] != "Normal" {
		t.Errorf("line of the core event: %v", line)
	}
	if line := out.with("Event occurred"); line["reason"] != "Modern" || line["note"] != "note 2" {
		t.Errorf("line of the modern event: %v", line)
	}
}

// TestShutdownIsLoggedInOrder stops a controller.
func TestShutdownIsLoggedInOrder(t *testing.T) {
	var out lines
	t.Run("manager", func(t *testing.T) {
		start(t, ctrl.Options{Logger: out.logger()}, func(mgr ctrl.Manager) {
			_, err := controller.New("stopped", mgr, controller.Options{Reconciler: reconcile.Func(nil)})
			if err != nil {
				t.Fatal(err)
			}
		})
		await(t, func() error {
			if out.with("Starting workers") == nil {
				return errors.New("the controller has not started")
			}
			return nil
		})
	})
	text := strings.Join(out.all, "\n")
	signal := strings.Index(text, "Shutdown signal received, waiting for all workers to finish")
	if end := strings.Index(text, "All workers finished"); signal < 0 || end < signal {
		t.Errorf("lines of the shutdown:\n%s", text)
	}
}

// TestMetricsServerAnswersTokens reads metrics with tokens that the API server rejects, and of users without access.
func TestMetricsServerAnswersTokens(t *testing.T) {
	address := "127.0.0.1:18098"
	mgr := start(t, ctrl.Options{Metrics: metricsserver.Options{
		BindAddress: address, FilterProvider: filters.WithAuthenticationAndAuthorization,
	}}, func(ctrl.Manager) {})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "scraper"}}
	if err := mgr.GetClient().Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	issued := &authenticationv1.TokenRequest{}
	if err := mgr.GetClient().SubResource("token").Create(t.Context(), account, issued); err != nil {
		t.Fatal(err)
	}
	const denied = "Authorization denied for user system:serviceaccount:default:scraper"
	for _, test := range []struct {
		header string
		code   int
		text   string
	}{
		{"", http.StatusUnauthorized, "Unauthorized"},
		{"Basic abc", http.StatusUnauthorized, "Unauthorized"},
		{"Bearer bad", http.StatusInternalServerError, "Authentication failed"},
		{"Bearer bad", http.StatusInternalServerError, "Authentication failed"}, // cached
		{"Bearer " + issued.Status.Token, http.StatusForbidden, denied},
		{"bearer " + issued.Status.Token, http.StatusForbidden, denied},
	} {
		code, text := read(t, "http://"+address+"/metrics", test.header)
		if code != test.code || strings.TrimSpace(text) != test.text {
			t.Errorf("%.10s: %d %q, want %d %q", test.header, code, text, test.code, test.text)
		}
	}
}

// read returns the code and the text of the answer to a GET.
func read(t *testing.T, url, authorization string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", authorization)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
