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
	// quietPriority is that of requests for which nothing has changed: what exists at the start, and resyncs. They age in
	// the queue as all do, so that changes go first but not for ever.
	quietPriority = -100
	// maxUndecided is how many events of a request are kept during its reconcile whose author is not known yet.
	maxUndecided = 16
	// maxCauses is how many causes of one reconcile are kept.
	maxCauses = 4
	// maxFree is how many requestStates are kept for use by the next requests.
	maxFree = 64
)

// event is one of an object of any kind.
type event = informer.Event[object.Object]

// eventQueue is the queue of a controller's sources: it records why requests are added, and collects them for a while.
// A foreign change interrupts the backoff of a request, a certain write of this process does not: see [isMine].
type eventQueue[R comparable] struct {
	queue    *workqueue.Queue[R]
	debounce time.Duration
	writer   *writes.Writer // of the controller's reconciles
	// kind is that of the objects that the requests name, as [Cause] has it. It is empty when they name none. A change of
	// nothing but the status of such an object is an answer to what is asked for in it, and calls for nothing.
	kind string

	mu sync.Mutex
	// No other lock is taken while this one is held: logs of writes are asked before, or after.
	//
	// requests has those that are reconciled, whose last reconcile has failed, or that were added for an event and not got
	// since.
	requests map[R]*requestState[R]
	free     []*requestState[R]
	begun    uint64 // how many reconciles have
	events   uint64 // how many have come that might interrupt a backoff
}

// requestState is what an eventQueue knows of a request.
type requestState[R comparable] struct {
	request R
	reason  reason // why it was added since it was got last
	begun   uint64 // the last reconcile, as the eventQueue counts them
	running bool
	failed  bool // so that it backs off
	// undecided are the events that have come while it runs. Whether they call for another attempt is decided at its end, and
	// only if it has failed: before that what it writes may not be told, and most do not fail.
	undecided []undecided
}

// undecided is an event that may call for another attempt.
type undecided struct {
	log   *writes.Log // of the writes that may have caused it
	kind  string
	event event
	opts  workqueue.AddOptions // with which the request is added if it does
	begun uint64               // the last reconcile before it
	// writes is the number of writes that had begun before it.
	writes uint64
	// number tells it from all others of its queue.
	number uint64
}

func newEventQueue[R comparable](queue *workqueue.Queue[R], debounce time.Duration) *eventQueue[R] {
	return &eventQueue[R]{
		queue: queue, debounce: debounce, writer: &writes.Writer{}, requests: map[R]*requestState[R]{},
	}
}

// of returns the queue for a source: log has the writes that can cause its events.
func (q *eventQueue[R]) of(log *writes.Log) sourceQueue[R] { return sourceQueue[R]{q, log} }

// sourceQueue is an eventQueue for one source.
type sourceQueue[R comparable] struct {
	*eventQueue[R]
	log *writes.Log
}

// Because returns the queue for one event.
func (q sourceQueue[R]) Because(kind string, e event) handler.Queue[R] {
	if isQuiet(e) {
		return quietQueue[R]{q.eventQueue}
	}
	return &causalQueue[R]{queue: q.eventQueue, log: q.log, kind: kind, event: e}
}

// isQuiet reports whether nothing has changed: the object is one of those that existed at the start, or is delivered again
// by a resync.
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

// AddWith adds requests for no event of an object: the source, which is no part of the reconciler, asks for them.
func (q *eventQueue[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	o.After = max(o.After, q.debounce)
	o.Interrupt = workqueue.InterruptLimited
	// Before a worker can get them: an event that comes then has a backoff to interrupt.
	q.noteFailures(o, requests)
	q.queue.AddWith(o, requests...)
}

// noteFailures notes that requests back off, if they are added as such.
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

// stateLocked returns that of a request, and makes it when there is none.
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

// begin returns the state of a request that is to be reconciled, and why it was added, and forgets the latter.
func (q *eventQueue[R]) begin(request R) (s *requestState[R], because reason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s = q.stateLocked(request)
	q.begun++
	s.running, s.begun = true, q.begun
	// What comes from here on is why of the next reconcile.
	because, s.reason = s.reason, reason{}
	return s, because
}

// end decides about the events that have come since begin. If the reconcile has not failed there is no backoff to
// interrupt.
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

// fate is what becomes of an event that may interrupt a backoff.
type fate int

const (
	interrupts fate = iota // it may: there is nothing to decide
	postponed              // it is kept until the end of the reconcile
	crowded                // it would be kept, but too many are
	open                   // the request backs off: it depends on who has caused the event
)

// note notes that a request is added for an event, and returns what becomes of that.
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

// keep keeps an event until the end of the reconcile, if there is room for it.
func (s *requestState[R]) keep(u *undecided) fate {
	if len(s.undecided) == maxUndecided {
		return crowded
	}
	s.undecided = append(s.undecided, *u)
	return postponed
}

// makeRoom keeps an event in place of those that are decided by now, since their writes were told meanwhile. It returns what
// becomes of the event.
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
		return interrupts // that reconcile has ended, and another one may have begun
	case !s.running:
		return open
	}
	s.undecided = slices.DeleteFunc(s.undecided, func(other undecided) bool { return decided[other.number] })
	return s.keep(u)
}

// leave notes the end of a reconcile, and returns the events that have come meanwhile.
func (q *eventQueue[R]) leave(s *requestState[R], failed bool) []undecided {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := s.undecided
	s.running, s.failed, s.undecided = false, failed, nil
	// With a reason it was added again: its state is needed at the next begin.
	if !failed && !s.reason.known {
		delete(q.requests, s.request)
		if *s = (requestState[R]{}); len(q.free) < maxFree {
			q.free = append(q.free, s)
		}
	}
	return events
}

// counts reports whether an event calls for another attempt at a request that backs off, now. When that depends on writes
// that are under way, it is decided later.
func (q *eventQueue[R]) counts(request R, u undecided) bool {
	if q.isAnswer(request, u) || q.isMine(u) {
		return false
	}
	key := object.KeyOf(u.event.Object)
	later := u.log.WhenRecorded(q.writer, u.kind, key, u.writes, func() { q.decide(request, u) })
	// Again: the write may have been recorded in between.
	return !later && !q.isMine(u)
}

func (q *eventQueue[R]) isMine(u undecided) bool { return isMine(u.log, q.writer, u.event) }

// decide adds a request for an event, now that all own writes are told that may have caused it, unless one has. A reconcile
// that has begun since has seen what the event tells of.
func (q *eventQueue[R]) decide(request R, u undecided) {
	q.mu.Lock()
	s, ok := q.requests[request]
	unseen := ok && s.failed && s.begun == u.begun
	q.mu.Unlock()
	if unseen && !q.isMine(u) {
		q.queue.AddWith(u.opts, request)
	}
}

// isAnswer reports whether an event is a change of nothing but the status of the object that a request names.
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
	c.queue.noteFailures(o, requests)
	plain := c.note(o, requests)
	o.Interrupt = workqueue.InterruptLimited
	// All in one step: so it is for nearly every event.
	if plain == nil {
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

// note notes why requests are added, before a worker can get them. It returns which of them must not interrupt their
// backoff, nil for none: for nearly all events there is none to interrupt, and nothing to decide.
func (c *causalQueue[R]) note(o workqueue.AddOptions, requests []R) (plain []bool) {
	o.Interrupt = workqueue.InterruptLimited
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

// quietQueue is an eventQueue for an event that changes nothing. It is not collected, and no cause.
type quietQueue[R comparable] struct{ queue *eventQueue[R] }

func (q quietQueue[R]) Add(requests ...R) { q.AddWith(workqueue.AddOptions{}, requests...) }

func (q quietQueue[R]) AddAfter(request R, d time.Duration) {
	q.AddWith(workqueue.AddOptions{After: d}, request)
}

func (q quietQueue[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	if o.Priority == 0 {
		// A start or a resync of thousands shall not hold up what somebody has just changed.
		o.Priority = quietPriority
	}
	q.queue.noteFailures(o, requests)
	q.queue.queue.AddWith(o, requests...)
}

// Cause is why a request is in the queue: one event of one object.
type Cause struct {
	// Kind is the kind of the object, such as "Deployment.apps", or the name of the source for one that is of no kind.
	Kind string
	// Type is what happened to the object.
	Type informer.EventType
	// Key names the object.
	Key object.Key
}

// String is the cause as logs show it, such as "Updated Deployment.apps default/web".
func (c Cause) String() string { return fmt.Sprintf("%s %s %s", c.Type, c.Kind, c.Key) }

// Reason is why a reconcile takes place.
type Reason struct {
	// Causes are the first events that asked for it since the reconcile before began, in the order in which they came.
	// There is none for what existed when the controller started, and when the reconciler itself has asked, by an error
	// or by RequeueAfter.
	Causes []Cause
	// More is how many events came after these.
	More int
}

// String is the reason in one line, such as "Updated Deployment.apps default/web, and more".
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

// reason is a Reason while it grows. Most have one cause, which costs no slice.
type reason struct {
	known bool // there is a cause
	first Cause
	rest  []Cause
	more  int
}

// add adds an event.
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

// ReasonFrom returns why the reconcile with this context takes place. The caller may modify it. It is for logs and metrics:
// what a reconciler does should depend on what it reads alone, because events are merged and a new leader has none.
func ReasonFrom(ctx context.Context) Reason {
	because, ok := ctx.Value(reasonKey{}).(reason)
	if !ok {
		return Reason{}
	}
	return Reason{Causes: append([]Cause{because.first}, because.rest...), More: because.more}
}
