package controller

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// quietPriority is that of requests for which nothing has changed: what exists at the start, and resyncs. They age in the
// queue as all do, so that changes go first but not for ever.
const quietPriority = -100

// maxUndecided is how many events of a request are kept during its reconcile whose author is not known yet.
const maxUndecided = 16

// feeder is the queue as sources see it: it knows why requests are added, and collects them for a while. What somebody
// else has changed interrupts the backoff of a request, and what this process has changed does not: see [authors].
type feeder[R comparable] struct {
	queue    *workqueue.Queue[R]
	debounce time.Duration
	authors  *authors
	// kind is that of the objects that the requests name, as [handler.Cause] has it. It is empty when they name none. A
	// change of nothing but the status of such an object is an answer to what is asked for in it, and calls for nothing.
	kind string

	mu      sync.Mutex
	reasons map[R]reason // of requests that were not got since they were added; those without a cause have none
	// running has the requests that are reconciled, with the events that have come since. The writes of a reconcile are
	// told when they return, which may be after their events: so who is the author is decided at the end of it.
	running map[R][]undecided
}

// undecided is an event of a request that is being reconciled.
type undecided struct {
	cause handler.Cause
	opts  workqueue.AddOptions // with which the request was added
}

var _ handler.CausalQueue[string] = (*feeder[string])(nil)

func newFeeder[R comparable](queue *workqueue.Queue[R], debounce time.Duration) *feeder[R] {
	return &feeder[R]{
		queue: queue, debounce: debounce, authors: newAuthors(), reasons: map[R]reason{}, running: map[R][]undecided{},
	}
}

// Because returns the feeder for one event.
func (f *feeder[R]) Because(cause handler.Cause) handler.Queue[R] {
	if cause.Quiet {
		return quiet[R]{f}
	}
	return &caused[R]{feeder: f, cause: cause}
}

func (f *feeder[R]) Add(requests ...R) { f.AddWith(workqueue.AddOptions{}, requests...) }

func (f *feeder[R]) AddAfter(request R, d time.Duration) {
	f.AddWith(workqueue.AddOptions{After: d}, request)
}

// AddWith adds requests for no event of an object: the source, which is no part of the reconciler, asks for them.
func (f *feeder[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	o.After = max(o.After, f.debounce)
	o.Hasten = true
	f.queue.AddWith(o, requests...)
}

// begin returns why a request was added, and forgets it. Until end its events are collected.
func (f *feeder[R]) begin(request R) reason {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[request] = nil
	because, ok := f.reasons[request]
	if ok {
		delete(f.reasons, request)
	}
	return because
}

// end decides about the events that have come since begin. If the reconcile has not failed there is no backoff to
// interrupt.
func (f *feeder[R]) end(request R, failed bool) {
	f.mu.Lock()
	events := f.running[request]
	delete(f.running, request)
	f.mu.Unlock()
	if !failed {
		return
	}
	for i := range events {
		if !f.authors.wrote(&events[i].cause) {
			f.queue.AddWith(events[i].opts, request)
		}
	}
}

// note notes why requests are added, before a worker can get them, and appends to each how they are to be added.
func (f *feeder[R]) note(each []workqueue.AddOptions, cause *handler.Cause, o workqueue.AddOptions, requests []R) []workqueue.AddOptions {
	hasten := o
	hasten.Hasten = true
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, request := range requests {
		f.reasons[request] = f.reasons[request].and(cause)
		events, runs := f.running[request]
		switch {
		case cause.StatusOnly && f.names(request, cause), !runs && f.authors.wrote(cause):
			each = append(each, o)
		case runs && len(events) < maxUndecided:
			f.running[request] = append(events, undecided{*cause, hasten})
			each = append(each, o)
		default:
			each = append(each, hasten)
		}
	}
	return each
}

// names reports whether the object of a cause is the one that a request names.
func (f *feeder[R]) names(request R, cause *handler.Cause) bool {
	if f.kind == "" || cause.Kind != f.kind {
		return false
	}
	named, ok := any(request).(reconcile.Request)
	return ok && named.NamespacedName == cause.Key
}

// caused is a feeder for one event.
type caused[R comparable] struct {
	feeder *feeder[R]
	cause  handler.Cause
}

func (c *caused[R]) Add(requests ...R) { c.AddWith(workqueue.AddOptions{}, requests...) }

func (c *caused[R]) AddAfter(request R, d time.Duration) {
	c.AddWith(workqueue.AddOptions{After: d}, request)
}

func (c *caused[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	o.After = max(o.After, c.feeder.debounce)
	var few [2]workqueue.AddOptions
	each := c.feeder.note(few[:0], &c.cause, o, requests)
	for len(requests) > 0 {
		n := 1
		for n < len(requests) && each[n] == each[0] {
			n++
		}
		c.feeder.queue.AddWith(each[0], requests[:n]...)
		requests, each = requests[n:], each[n:]
	}
}

// quiet is a feeder for an event that changes nothing. It is not collected, and no cause.
type quiet[R comparable] struct{ feeder *feeder[R] }

func (q quiet[R]) Add(requests ...R) { q.AddWith(workqueue.AddOptions{}, requests...) }

func (q quiet[R]) AddAfter(request R, d time.Duration) {
	q.AddWith(workqueue.AddOptions{After: d}, request)
}

func (q quiet[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	if o.Priority == 0 {
		o.Priority = quietPriority
	}
	q.feeder.queue.AddWith(o, requests...)
}

// maxCauses is how many causes of one reconcile are kept.
const maxCauses = 4

// Reason is why a reconcile takes place.
type Reason struct {
	// Causes are the first events that asked for it since the reconcile before began, in the order in which they came.
	// There is none for what existed when the controller started, and when the reconciler itself has asked, by an error
	// or by RequeueAfter.
	Causes []handler.Cause
	// More is how many events came after these.
	More int
}

// String is the reason in one line, such as "Updated Deployment.apps default/web and 2 more".
func (r Reason) String() string {
	var text strings.Builder
	for i, cause := range r.Causes {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(cause.String())
	}
	if r.More > 0 {
		text.WriteString(", and more")
	}
	return text.String()
}

type reasonKey struct{}

// ReasonFrom returns why the reconcile with this context takes place. It is for logs and metrics: what a reconciler does
// should depend on what it reads alone, because events are merged and a new leader has none.
func ReasonFrom(ctx context.Context) Reason {
	because, _ := ctx.Value(reasonKey{}).(reason)
	return because.exported()
}

// reason is a Reason while it grows. Most have one cause, which costs no slice.
type reason struct {
	first *handler.Cause // nil in the zero value
	rest  []*handler.Cause
	more  int
}

// and returns the reason with a cause added.
func (r reason) and(cause *handler.Cause) reason {
	switch {
	case r.first == nil:
		r.first = cause
	case len(r.rest) < maxCauses-1:
		r.rest = append(r.rest, cause)
	default:
		r.more++
	}
	return r
}

func (r reason) exported() Reason {
	if r.first == nil {
		return Reason{}
	}
	all := Reason{Causes: []handler.Cause{*r.first}, More: r.more}
	for _, cause := range r.rest {
		all.Causes = append(all.Causes, *cause)
	}
	return all
}
