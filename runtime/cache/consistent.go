package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// defaultConsistencyTimeout is the default of Options.ConsistencyTimeout.
const defaultConsistencyTimeout = 5 * time.Second

// ErrStale is the cause if a read fails because the cache did not receive an earlier write of this process in time. The
// error is a [*StaleError].
var ErrStale = errors.New("cache has not caught up with a write of this process")

// StaleError is the error of a cached read that waited too long for an earlier write of this process.
type StaleError struct {
	GVK schema.GroupVersionKind
	// Key is the key of the written object. It is zero if the object was written before its kind was declared, or if there
	// were too many writes to record each of them.
	Key object.Key
	// Waited is how long the read waited.
	Waited time.Duration
	// Err is the reason why the informer lags behind the API server, or the error of a request for the state of the
	// object. It is nil if neither is known.
	Err error
}

// Error returns the write, the time waited, and the reason.
func (e *StaleError) Error() string {
	text := fmt.Sprintf("%v: %s %s, waited %v", ErrStale, e.GVK.Kind, e.Key, e.Waited)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is reports whether target is [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// Unwrap returns Err.
func (e *StaleError) Unwrap() error { return e.Err }

// written records w in the trackers of its kind, for all API versions of the kind.
func (c *Cache) written(ctx context.Context, w writes.Write) {
	tracked := writes.TrackedIn(ctx)
	c.mu.RLock()
	defer c.mu.RUnlock()
	kind := writes.StoredAs(w.GVK.GroupKind())
	for gvk, i := range c.informers {
		if writes.StoredAs(gvk.GroupKind()) != kind {
			continue
		}
		for _, part := range i.in(w.Key.Namespace) {
			for _, entry := range part.tracker.Record(w) {
				tracked.Add(i.patience, func(seen func()) bool {
					_, waits := part.tracker.Await(entry, seen)
					return waits
				})
			}
		}
	}
}

// selector returns the function that reports whether scope selects an object, or nil if scope selects all objects.
func selector(scope client.Scope) func(object.Object) (selected, certain bool) {
	if scope.Labels == nil && scope.Fields == nil {
		return nil
	}
	return func(o object.Object) (selected, certain bool) { return selects(scope, o) }
}

// reading is one read from an informer. It must see all earlier writes.
type reading struct {
	informer *Informer
	sources  []source
	started  time.Time // zero until the read has waited
}

// source is a part of the informer, and the writes that the read must see in that part.
type source struct {
	part   *part
	before writes.Snapshot
}

// begin blocks until the stores can be read. It fails with a [*StaleError] on timeout, and with the cause of ctx when
// ctx ends.
func (r *reading) begin(ctx context.Context) error {
	for _, s := range r.sources {
		for _, e := range s.before.First {
			if err := r.await(ctx, s.part, e); err != nil {
				return err
			}
		}
		if s.before.IsEmpty() {
			continue
		}
		if q, full := s.part.tracker.Full(); full {
			s.part.askVersion(ctx, r.informer.patience, q)
		}
	}
	return nil
}

// read returns the objects that found returns for all parts. While one of them is older than an earlier write, read
// waits and calls found again.
func (r *reading) read(ctx context.Context, found func(*part) []object.Object) ([]object.Object, error) {
	for {
		var all []object.Object
		again := false
		for n := range r.sources {
			s := &r.sources[n]
			s.before.Look()
			objects := found(s.part)
			older := s.before.Older(objects)
			for _, e := range older {
				if err := r.await(ctx, s.part, e); err != nil {
					return nil, err
				}
			}
			again = again || len(older) > 0
			all = append(all, objects...)
		}
		if !again {
			return all, nil
		}
		if err := r.late(nil, nil); err != nil {
			return nil, err
		}
	}
}

// late returns a [*StaleError] if the read has taken longer than the timeout, or if why is set.
func (r *reading) late(e *writes.Entry, why error) error {
	if r.started.IsZero() {
		r.started = time.Now()
	}
	waited := time.Since(r.started)
	if waited < r.informer.patience && why == nil {
		return nil
	}
	stale := &StaleError{GVK: r.informer.gvk, Waited: waited, Err: why}
	if e != nil {
		stale.Key = e.Key()
	}
	return stale
}

// await blocks until the store has caught up with e, or has no older state of the object.
func (r *reading) await(ctx context.Context, p *part, e *writes.Entry) error {
	if err := r.late(e, nil); err != nil {
		return err
	}
	within, cancel := context.WithDeadline(ctx, r.started.Add(r.informer.patience))
	defer cancel()
	for {
		now, err := p.resolve(within, e)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return r.late(e, err)
		case now == nil:
			return nil
		}
		seen := make(chan struct{})
		leave, waits := p.tracker.Await(now, func() { close(seen) })
		if !waits {
			return nil
		}
		select {
		case <-seen: // the store has caught up, or another entry has replaced e
		case <-r.informer.removed:
			leave()
			return r.informer.isRemoved()
		case <-within.Done():
			leave()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return r.late(e, p.informer.Err())
		}
	}
}

// server resolves outcomes of writes with requests to the API server of a part.
type server struct {
	asking chan struct{} // full while a read sends requests
	live   *client.REST
	gvk    schema.GroupVersionKind
	scope  client.Scope
}

var errNoVersion = errors.New("the API server sent no version that can be compared")

// stateOf requests the current state of the object named key, or for a zero key the current resource version of the
// server.
func (s server) stateOf(ctx context.Context, key object.Key) (writes.Answer, error) {
	if key == (object.Key{}) {
		version, err := s.version(ctx)
		return writes.Answer{Found: true, Version: version}, err
	}
	named := fields.OneTermEqualSelector(nameField, key.Name)
	list, err := s.list(ctx, key.Namespace, client.MatchingFieldsSelector{Selector: named})
	if err != nil {
		return writes.Answer{}, err
	}
	a := writes.Answer{Version: writes.VersionOf(list.ResourceVersion)}
	for i := range list.Items {
		if o := &list.Items[i]; object.KeyOf(o) == key {
			a = writes.Answer{Found: true, Version: writes.VersionOf(o.ResourceVersion), Labels: o.Labels}
		}
	}
	if a.Version == 0 {
		return writes.Answer{}, errNoVersion
	}
	return a, nil
}

// version requests the current resource version of the server.
func (s server) version(ctx context.Context) (uint64, error) {
	list, err := s.list(ctx, s.scope.Namespace, client.Limit(1))
	if err != nil {
		return 0, err
	}
	version := writes.VersionOf(list.ResourceVersion)
	if version == 0 {
		return 0, errNoVersion
	}
	return version, nil
}

// list lists the metadata of the objects in scope.
func (s server) list(ctx context.Context, namespace string,
	option client.ListOption) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(s.gvk.GroupVersion().WithKind(s.gvk.Kind + "List"))
	err := s.live.List(ctx, list, client.InNamespace(namespace), option,
		client.MatchingLabelsSelector{Selector: s.scope.Labels}, client.MatchingFieldsSelector{Selector: s.scope.Fields})
	return list, err
}

// resolve requests the outcome of e while it is unknown. It returns the entry that the store has to catch up with, or
// nil. Only one read at a time sends requests; the other reads use the result.
func (p *part) resolve(ctx context.Context, e *writes.Entry) (*writes.Entry, error) {
	if now, _, unknown := p.tracker.Current(e); !unknown {
		return now, nil
	}
	select {
	case p.server.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.server.asking }()
	for {
		now, q, unknown := p.tracker.Current(e)
		if !unknown {
			return now, nil
		}
		a, err := p.server.stateOf(ctx, now.Key())
		if err != nil {
			return nil, err
		}
		p.tracker.Answered(q, a)
	}
}

// askVersion requests the current resource version of the server. If the request fails, or another read is already
// sending one, a later read tries again.
func (p *part) askVersion(ctx context.Context, patience time.Duration, q writes.Question) {
	select {
	case p.server.asking <- struct{}{}:
	default:
		return
	}
	defer func() { <-p.server.asking }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if version, err := p.server.version(ctx); err == nil {
		p.tracker.Answered(q, writes.Answer{Version: version})
	}
}
