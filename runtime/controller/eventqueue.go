package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

const (
	// quietPriority is the priority of requests without a change: objects that exist at the start, and resyncs. Changes
	// are reconciled before them. Because priorities grow with the time in the queue, these requests do not wait forever.
	quietPriority = -100
	// maxUndecided is the number of events of unknown origin that are kept per request during its reconcile.
	maxUndecided = 16
	// maxCauses is the number of causes that are kept per reconcile.
	maxCauses = 4
	// maxFree is the number of requestStates that are kept for reuse.
	maxFree = 64
)

// event is an event of an object of any kind.
type event = informer.Event[object.Object]

// eventQueue is the queue of a controller's sources. It records the causes of requests and debounces them. A foreign
// change interrupts the backoff of a request; a certain write of this process does not, see [isMine].
type eventQueue[R comparable] struct {
	queue    *workqueue.Queue[R]
	debounce time.Duration
	writer   *writes.Writer // the writer of the controller's reconciles
	// kind is the kind of the requested objects, in the form of [Cause]. It is empty if requests do not refer to objects.
	// An event that changes only the status of such an object does not interrupt a backoff, because a controller writes
	// the status in response to the spec.
	kind string

	mu sync.Mutex
	// No other lock is acquired while mu is held: methods of writes.Log are called before or after.
	//
	// requests holds each request that is being reconciled, whose last reconcile has failed, or that was added for an
	// event and has not been taken since.
	requests map[R]*requestState[R]
	free     []*requestState[R]
	begun    uint64 // number of reconciles that have begun
	events   uint64 // number of events that might interrupt a backoff
}

// requestState is the state of a request in an eventQueue.
type requestState[R comparable] struct {
	request R
	reason  reason // causes since the request was last taken
	begun   uint64 // number of the last reconcile, as counted by the eventQueue
	running bool
	failed  bool // so it backs off
	// undecided are events that arrived during the reconcile. If the reconcile fails, the queue decides at its end whether
	// they require another attempt. It does not decide earlier, because some writes of the reconcile may not be recorded
	// yet, and because most reconciles succeed.
	undecided []undecided
}

// undecided is an event that may require another attempt.
type undecided struct {
	log   *writes.Log // the writes that may have caused it
	kind  string
	event event
	opts  workqueue.AddOptions // options with which the request is added in that case
	begun uint64               // number of the last reconcile before the event
	// writes is the number of writes that had begun before the event.
	writes uint64
	// number identifies the event in its queue.
	number uint64
}

func newEventQueue[R comparable](queue *workqueue.Queue[R], debounce time.Duration) *eventQueue[R] {
	return &eventQueue[R]{queue: queue, debounce: debounce, writer: &writes.Writer{}, requests: map[R]*requestState[R]{}}
}

// sourceQueue is an eventQueue for one source.
type sourceQueue[R comparable] struct {
	*eventQueue[R]
	log *writes.Log // the writes that can cause the events of the source
}

// Because returns the queue for one event.
func (q sourceQueue[R]) Because(kind string, e event) handler.Queue[R] {
	if isQuiet(e) {
		return quietQueue[R]{q.eventQueue}
	}
	return &causalQueue[R]{queue: q.eventQueue, log: q.log, kind: kind, event: e}
}

// isQuiet reports whether an event is not a change: the object existed at the start, or a resync delivers it again.
func isQuiet(e event) bool {
	if e.Type != informer.Updated {
		return e.Initial
	}
	version := e.Object.GetResourceVersion()
	return version != "" && version == e.Old.GetResourceVersion()
}

func (q *eventQueue[R]) Add(requests ...R) { q.AddWith(workqueue.AddOptions{}, requests...) }

func (q *eventQueue[R]) AddAfter(request R, d time.Duration) {
	q.AddWith(workqueue.AddOptions{After: d}, request)
}

// AddWith adds requests that have no event. They interrupt a backoff, because the source is not part of the reconciler.
func (q *eventQueue[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	o.After = max(o.After, q.debounce)
	o.Interrupt = workqueue.InterruptLimited
	// This comes before a worker can take the requests, so that a later event can interrupt their backoff.
	q.noteFailures(o, requests)
	q.queue.AddWith(o, requests...)
}

// noteFailures records that the requests back off, if o is rate limited.
func (q *eventQueue[R]) noteFailures(o workqueue.AddOptions, requests []R) {
	if !o.RateLimited {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, request := range requests {
		q.stateLocked(request).failed = true
	}
}

// stateLocked returns the state of a request, and creates it if needed.
func (q *eventQueue[R]) stateLocked(request R) *requestState[R] {
	s, ok := q.requests[request]
	if ok {
		return s
	}
	if last := len(q.free) - 1; last >= 0 {
		s, q.free = q.free[last], q.free[:last]
	} else {
		s = &requestState[R]{}
	}
	s.request = request
	q.requests[request] = s
	return s
}

// begin returns the state of a request that is about to be reconciled, and its reason, which it resets.
func (q *eventQueue[R]) begin(request R) (s *requestState[R], because reason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s = q.stateLocked(request)
	q.begun++
	s.running, s.begun = true, q.begun
	// Later events belong to the reason of the next reconcile.
	because, s.reason = s.reason, reason{}
	return s, because
}

// end decides whether the events since begin require another attempt. After a success, the request does not back off.
func (q *eventQueue[R]) end(s *requestState[R], failed bool) {
	request := s.request
	events := q.leave(s, failed)
	if !failed {
		return
	}
	for _, u := range events {
		if q.counts(request, u) {
			q.queue.AddWith(u.opts, request)
		}
	}
}

// fate is the decision about an event that may interrupt a backoff.
type fate int

const (
	interrupts fate = iota // the event may interrupt a backoff without a further decision
	postponed              // the event is kept until the end of the reconcile
	crowded                // the event should be kept, but the limit is reached
	open                   // the request backs off; the origin of the event decides whether to interrupt
)

// note records that a request is added for an event, and returns the event's fate.
func (q *eventQueue[R]) note(request R, u *undecided) fate {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stateLocked(request)
	s.reason.add(u.kind, u.event)
	if !s.running && !s.failed {
		return interrupts
	}
	q.events++
	u.begun, u.number = s.begun, q.events
	if s.running {
		return s.keep(u)
	}
	return open
}

// keep keeps an event until the end of the reconcile, up to the limit.
func (s *requestState[R]) keep(u *undecided) fate {
	if len(s.undecided) == maxUndecided {
		return crowded
	}
	s.undecided = append(s.undecided, *u)
	return postponed
}

// makeRoom replaces kept events, whose origin is known by now, with a new event. It returns the fate of the new event.
func (q *eventQueue[R]) makeRoom(request R, u *undecided) fate {
	q.mu.Lock()
	var kept []undecided
	if s := q.requests[request]; s != nil && s.begun == u.begun {
		kept = slices.Clone(s.undecided)
	}
	q.mu.Unlock()
	decided := map[uint64]bool{} // by number
	for _, other := range kept {
		if q.isAnswer(request, other) || q.isMine(other) {
			decided[other.number] = true
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.requests[request]
	switch {
	case s == nil || s.begun != u.begun:
		return interrupts // that reconcile has ended, and another may have begun
	case !s.running:
		return open
	}
	s.undecided = slices.DeleteFunc(s.undecided, func(other undecided) bool { return decided[other.number] })
	return s.keep(u)
}

// leave records the end of a reconcile, and returns the events that arrived during it.
func (q *eventQueue[R]) leave(s *requestState[R], failed bool) []undecided {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := s.undecided
	s.running, s.failed, s.undecided = false, failed, nil
	// If s has a reason, the request was added again, and the next begin needs its state.
	if !failed && !s.reason.known {
		delete(q.requests, s.request)
		if *s = (requestState[R]{}); len(q.free) < maxFree {
			q.free = append(q.free, s)
		}
	}
	return events
}

// counts reports whether an event requires an immediate attempt at a request that backs off. If that depends on writes
// in flight, counts returns false, and the decision is made when they have ended.
func (q *eventQueue[R]) counts(request R, u undecided) bool {
	if q.isAnswer(request, u) || q.isMine(u) {
		return false
	}
	key := object.KeyOf(u.event.Object)
	later := u.log.WhenRecorded(q.writer, u.kind, key, u.writes, func() { q.decide(request, u) })
	// Check again, because the write may have been recorded in between.
	return !later && !q.isMine(u)
}

func (q *eventQueue[R]) isMine(u undecided) bool { return isMine(u.log, q.writer, u.event) }

// decide is called when all writes of this process that may have caused an event are recorded. It adds the request,
// unless one of them has caused the event, or a reconcile that began after the event has seen the change.
func (q *eventQueue[R]) decide(request R, u undecided) {
	q.mu.Lock()
	s, ok := q.requests[request]
	unseen := ok && s.failed && s.begun == u.begun
	q.mu.Unlock()
	if unseen && !q.isMine(u) {
		q.queue.AddWith(u.opts, request)
	}
}

// isAnswer reports whether an event changes only the status of the request's own object.
func (q *eventQueue[R]) isAnswer(request R, u undecided) bool {
	if q.kind == "" || u.kind != q.kind {
		return false
	}
	named, ok := any(request).(reconcile.Request)
	return ok && named.NamespacedName == object.KeyOf(u.event.Object) && isStatusOnly(u.event)
}

// causalQueue is an eventQueue for one event.
type causalQueue[R comparable] struct {
	queue *eventQueue[R]
	log   *writes.Log
	kind  string
	event event
}

func (c *causalQueue[R]) Add(requests ...R) { c.AddWith(workqueue.AddOptions{}, requests...) }

func (c *causalQueue[R]) AddAfter(request R, d time.Duration) {
	c.AddWith(workqueue.AddOptions{After: d}, request)
}

func (c *causalQueue[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	o.After = max(o.After, c.queue.debounce)
	o.Interrupt = workqueue.InterruptLimited
	c.queue.noteFailures(o, requests)
	plain := c.note(o, requests)
	if plain == nil { // as for nearly every event
		c.queue.queue.AddWith(o, requests...)
		return
	}
	for i, request := range requests {
		o.Interrupt = workqueue.InterruptLimited
		if plain[i] {
			o.Interrupt = workqueue.InterruptNever
		}
		c.queue.queue.AddWith(o, request)
	}
}

// note records the causes of requests before a worker can take them. It returns which of them must not interrupt their
// backoff, or nil if all may, which is the case for most events.
func (c *causalQueue[R]) note(o workqueue.AddOptions, requests []R) (plain []bool) {
	u := undecided{log: c.log, kind: c.kind, event: c.event, opts: o, writes: c.log.Begun()}
	for i, request := range requests {
		f := c.queue.note(request, &u)
		if f == crowded {
			f = c.queue.makeRoom(request, &u)
		}
		if f == postponed || f == open && !c.queue.counts(request, u) {
			if plain == nil {
				plain = make([]bool, len(requests))
			}
			plain[i] = true
		}
	}
	return plain
}

// quietQueue is an eventQueue for an event that is not a change. It does not debounce and records no cause.
type quietQueue[R comparable] struct{ queue *eventQueue[R] }

func (q quietQueue[R]) Add(requests ...R) { q.AddWith(workqueue.AddOptions{}, requests...) }

func (q quietQueue[R]) AddAfter(request R, d time.Duration) {
	q.AddWith(workqueue.AddOptions{After: d}, request)
}

func (q quietQueue[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	if o.Priority == 0 {
		// A start or resync of thousands of objects must not delay recent changes.
		o.Priority = quietPriority
	}
	q.queue.noteFailures(o, requests)
	q.queue.queue.AddWith(o, requests...)
}

// Cause is an event that caused a request.
type Cause struct {
	// Kind is the kind of the object, such as "Deployment.apps". If the object has no kind, it is the name of the source.
	Kind string
	// Type is the type of the event.
	Type informer.EventType
	// Key is the key of the object.
	Key object.Key
}

// String returns the cause for logs, such as "Updated Deployment.apps default/web".
func (c Cause) String() string { return fmt.Sprintf("%s %s %s", c.Type, c.Kind, c.Key) }

// Reason lists the causes of a reconcile.
type Reason struct {
	// Causes are the first events since the last reconcile of the request began, in order. It is empty if the object
	// existed when the controller started, or if an error or RequeueAfter of the reconciler caused the reconcile.
	Causes []Cause
	// More is the number of events that Causes omits.
	More int
}

// String returns the reason in one line, such as "Updated Deployment.apps default/web, and more".
func (r Reason) String() string {
	var parts []string
	for _, cause := range r.Causes {
		parts = append(parts, cause.String())
	}
	if r.More > 0 {
		parts = append(parts, "and more")
	}
	return strings.Join(parts, ", ")
}

// reason collects a Reason. Most reasons have one cause, which is stored without a slice.
type reason struct {
	known bool // the reason has a cause
	first Cause
	rest  []Cause
	more  int
}

func (r *reason) add(kind string, e event) {
	cause := Cause{Kind: kind, Type: e.Type, Key: object.KeyOf(e.Object)}
	switch {
	case !r.known:
		r.known, r.first = true, cause
	case len(r.rest) < maxCauses-1:
		r.rest = append(r.rest, cause)
	default:
		r.more++
	}
}

type reasonKey struct{}

// ReasonFrom returns the reason of the reconcile with this context. The caller owns it. Use it only for logs and
// metrics: events are merged, and a new leader has not received earlier events.
func ReasonFrom(ctx context.Context) Reason {
	because, ok := ctx.Value(reasonKey{}).(reason)
	if !ok {
		return Reason{}
	}
	return Reason{Causes: append([]Cause{because.first}, because.rest...), More: because.more}
}
