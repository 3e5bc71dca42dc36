package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// defaultConsistencyTimeout is how long a read waits for the writes before it.
const defaultConsistencyTimeout = 5 * time.Second

// ErrStale is in the error of a read that would not have seen a write of this process that had returned before, and has
// waited in vain for the cache to catch up. It is a [*StaleError].
var ErrStale = errors.New("cache has not caught up with a write of this process")

// StaleError says which write a cached read has waited for.
type StaleError struct {
	GVK schema.GroupVersionKind
	// Key names the object that was written. It is zero for one that was written before its kind was cached, and for one of
	// so many that were written that it is not known which.
	Key object.Key
	// Waited is how long the read has waited.
	Waited time.Duration
	// Err is why the informer is out of step with the API server, or why that could not be asked what has become of the
	// object. It is nil when neither is known.
	Err error
}

// Error names the write, and why it has not come.
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

// reading is a read of an informer that must see the writes before it.
type reading struct {
	informer *Informer
	sources  []source
	started  time.Time // zero until the read has waited
}

// source is a part that is read, and the writes before the read.
type source struct {
	part   *part
	before writes.Snapshot
}

// add adds a part to the read.
func (r *reading) add(p *part, before writes.Snapshot) {
	r.sources = append(r.sources, source{p, before})
}

// hasAll reports whether the stores had all writes before the read when it was added.
func (r *reading) hasAll() bool {
	return !slices.ContainsFunc(r.sources, func(s source) bool { return !s.before.IsEmpty() })
}

// begin blocks until the stores can be read. It fails with a [*StaleError] when that takes too long, and with the cause of
// ctx when that ends.
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

// read returns the objects that found finds in each part. It calls found again while one of them is older than a write
// before the read.
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

// late returns an error when the read has taken longer than it may.
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

// await blocks until the store has caught up with e, or shows nothing older.
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
		case <-seen: // or it has become another entry
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

// server is the source of a part. It is asked for the outcome of writes.
type server struct {
	asking chan struct{} // holds a token while a read asks
	live   *client.REST
	gvk    schema.GroupVersionKind
	scope  client.Scope
}

var errNoVersion = errors.New("the API server says no version that can be compared")

// stateOf asks for the current state of an object, or with a zero key for the version of the server.
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

// version asks for the version of the server.
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

// list lists the metadata of what is in scope.
func (s server) list(ctx context.Context, namespace string, option client.ListOption) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(s.gvk.GroupVersion().WithKind(s.gvk.Kind + "List"))
	err := s.live.List(ctx, list, client.InNamespace(namespace), option,
		client.MatchingLabelsSelector{Selector: s.scope.Labels}, client.MatchingFieldsSelector{Selector: s.scope.Fields})
	return list, err
}

// resolve asks the server for the outcome of e while it is unknown, and returns what the store has to catch up with, or
// nil.
func (p *part) resolve(ctx context.Context, e *writes.Entry) (*writes.Entry, error) {
	for {
		now, _, unknown := p.tracker.Current(e)
		if !unknown {
			return now, nil
		}
		if err := p.ask(ctx, now); err != nil {
			return nil, err
		}
	}
}

// ask asks the server for the outcome of e if it is still unknown. One read asks at a time, for all.
func (p *part) ask(ctx context.Context, e *writes.Entry) error {
	select {
	case p.server.asking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.server.asking }()
	now, q, unknown := p.tracker.Current(e)
	if !unknown {
		return nil
	}
	a, err := p.server.stateOf(ctx, now.Key())
	if err == nil {
		p.tracker.Answered(q, a)
	}
	return err
}

// askVersion asks the server for its version. If that fails, or another read asks, a later read will.
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
