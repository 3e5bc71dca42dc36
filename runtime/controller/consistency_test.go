package controller_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// late is a transport that delays the events of watches.
type late struct {
	http.RoundTripper
	lag time.Duration
}

func (l late) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(req)
	if err == nil && l.lag > 0 && req.URL.Query().Get("watch") != "" {
		resp.Body = newLateBody(resp.Body, l.lag)
	}
	return resp, err
}

// lateBody delivers the bytes of a body after a delay. Closing it ends its goroutine.
type lateBody struct {
	*io.PipeReader
	body io.ReadCloser
	done chan struct{}
}

type lateChunk struct {
	due  time.Time
	data []byte
	err  error
}

func newLateBody(body io.ReadCloser, lag time.Duration) *lateBody {
	reader, writer := io.Pipe()
	l := &lateBody{PipeReader: reader, body: body, done: make(chan struct{})}
	chunks := make(chan lateChunk, 100_000)
	go func() {
		for {
			buf := make([]byte, 64<<10)
			n, err := body.Read(buf)
			chunks <- lateChunk{time.Now().Add(lag), buf[:n], err}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(l.done)
		for c := range chunks {
			<-time.After(time.Until(c.due))
			if _, err := writer.Write(c.data); err != nil {
				return
			}
			if c.err != nil {
				writer.CloseWithError(c.err)
				return
			}
		}
	}()
	return l
}

func (l *lateBody) Close() error {
	_ = l.PipeReader.Close()
	return l.body.Close()
}

// chains is the number of objects that are reconciled at the same time.
var chains = flag.Int("chains", 100, "objects of the consistency tests")

// steps is the number of steps of each object. Each step makes two writes.
const steps = 5

// truth is the expected state of the objects, which a reconciler knows without reading them.
type truth struct {
	mu         sync.Mutex
	step       map[string]int
	stale      int
	reconciles map[string]int
	finished   atomic.Int64
	done       chan struct{}
}

// climb returns a reconciler that takes an object to the next step: it creates another child with a generated name, and
// writes the number of the step into the object. It counts the reads that do not show its last write.
func (f *fixture) climb(m *manager.Manager, l *truth) reconcile.Func[reconcile.Request] {
	return func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		c := m.Client()
		var parent corev1.ConfigMap
		if err := c.Get(ctx, request.NamespacedName, &parent); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		var children corev1.SecretList
		if err := c.List(ctx, &children, client.InNamespace(request.Namespace),
			client.MatchingLabels{"parent": request.Name}); err != nil {
			return reconcile.Result{}, err
		}
		step, _ := strconv.Atoi(parent.Data["step"])
		l.mu.Lock()
		l.reconciles[request.Name]++
		if step != l.step[request.Name] || len(children.Items) != step {
			l.stale++
		}
		l.mu.Unlock()
		if step == steps {
			return reconcile.Result{}, nil
		}
		child := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: request.Namespace, GenerateName: request.Name + "-", Labels: map[string]string{"parent": request.Name},
		}}
		if err := c.Create(ctx, child); err != nil {
			return reconcile.Result{}, err
		}
		parent.Data = map[string]string{"step": strconv.Itoa(step + 1)}
		if err := c.Update(ctx, &parent); err != nil {
			return reconcile.Result{}, err
		}
		l.mu.Lock()
		l.step[request.Name] = step + 1
		l.mu.Unlock()
		if step+1 == steps && l.finished.Add(1) == int64(*chains) {
			close(l.done)
		}
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	}
}

// climbAll runs the reconciler on all objects while watches are late, and returns what it counted.
func (f *fixture) climbAll(lag time.Duration, inconsistent bool) *truth {
	f.Helper()
	for n := range *chains {
		f.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprintf("chain-%d", n)}})
	}
	config := rest.CopyConfig(f.config)
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return late{rt, lag} })
	l := &truth{step: map[string]int{}, reconciles: map[string]int{}, done: make(chan struct{})}
	m, err := manager.New(config, manager.Options{
		Scheme: newScheme(f), Namespaces: []string{f.namespace}, Logger: slog.New(slog.DiscardHandler),
		Cache: cache.Options{DisableConsistency: inconsistent},
	})
	if err != nil {
		f.Fatal(err)
	}
	err = controller.For[*corev1.ConfigMap](m).Owns(&corev1.Secret{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 16}).Complete(f.climb(m, l))
	if err != nil {
		f.Fatal(err)
	}
	ctx, stop := context.WithCancel(f.ctx)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	select {
	case <-l.done:
	case <-ctx.Done():
		f.Errorf("%d of %d objects are done: %v", l.finished.Load(), *chains, ctx.Err())
	}
	stop()
	if err := <-ended; err != nil {
		f.Error(err)
	}
	return l
}

// children returns the number of children that each object has on the server.
func (f *fixture) children() map[string]int {
	var list corev1.SecretList
	if err := f.client.List(f.ctx, &list, client.InNamespace(f.namespace)); err != nil {
		f.Fatal(err)
	}
	count := map[string]int{}
	for _, child := range list.Items {
		count[child.Labels["parent"]]++
	}
	return count
}

// noDecisionIsStale reconciles all objects while watches are late by lag. Every reconcile must read the earlier writes,
// and each object must have the right number of children. No object may be reconciled more than four times per step:
// each step causes two events and requests another reconcile, and each of these may cause one reconcile that finds no
// work.
func noDecisionIsStale(lag time.Duration) func(f *fixture) {
	return func(f *fixture) {
		l := f.climbAll(lag, false)
		if l.stale > 0 {
			f.Errorf("%d stale decisions", l.stale)
		}
		children := f.children()
		for n := range *chains {
			name := fmt.Sprintf("chain-%d", n)
			if children[name] != steps {
				f.Errorf("%s has %d children, want %d", name, children[name], steps)
			}
			if l.reconciles[name] > 4*steps {
				f.Errorf("%s was reconciled %d times", name, l.reconciles[name])
			}
		}
	}
}

// withoutConsistencyDecisionsAreStale shows that the test detects stale decisions.
func withoutConsistencyDecisionsAreStale(f *fixture) {
	l := f.climbAll(time.Second, true)
	children, twice := f.children(), 0
	for n := range *chains {
		if children[fmt.Sprintf("chain-%d", n)] > steps {
			twice++
		}
	}
	if l.stale == 0 || twice == 0 {
		f.Errorf("%d stale decisions, %d objects with too many children; want more than none", l.stale, twice)
	}
}
