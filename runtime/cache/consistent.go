package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
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

// reading is a read of an informer that must not be older than the writes before it.
type reading struct {
	informer *Informer
	sides    []*side
	started  time.Time // zero until the read has waited
}

// side is what a read has to know of one part.
type side struct {
	part  *part
	first []*write // what the store has to catch up with before it is read
	mark  mark
}

// add makes the read one of p, where that was with first still to come.
func (r *reading) add(p *part, first []*write, m mark) {
	r.sides = append(r.sides, &side{p, first, m})
}

// begin blocks until the stores can be read. It fails with a [*StaleError] when that takes too long, and with the cause of
// ctx when that ends.
func (r *reading) begin(ctx context.Context) error {
	for _, s := range r.sides {
		for _, w := range s.first {
			if err := r.await(ctx, s.part, w); err != nil {
				return err
			}
		}
		if s.mark.open && s.part.ledger.crowded() {
			s.part.askIfNobodyDoes(ctx, r.informer.patience)
		}
	}
	return nil
}

// read returns what found finds in each part, and calls it again as long as it has found something that is older than a
// write before the read.
func (r *reading) read(ctx context.Context, found func(*part) []object.Object) ([]object.Object, error) {
	for {
		var all []object.Object
		again := false
		for _, s := range r.sides {
			s.part.ledger.look(&s.mark)
			objects := found(s.part)
			older, changed := s.part.ledger.older(&s.mark, objects)
			for _, w := range older {
				if err := r.await(ctx, s.part, w); err != nil {
					return nil, err
				}
			}
			again = again || changed || len(older) > 0
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
func (r *reading) late(w *write, why error) error {
	if r.started.IsZero() {
		r.started = time.Now()
	}
	waited := time.Since(r.started)
	if waited < r.informer.patience && why == nil {
		return nil
	}
	stale := &StaleError{GVK: r.informer.gvk, Waited: waited, Err: why}
	if w != nil {
		stale.Key = w.key
	}
	return stale
}

// await blocks until the store has caught up with w, or has changed its object.
func (r *reading) await(ctx context.Context, p *part, w *write) error {
	if err := r.late(w, nil); err != nil {
		return err
	}
	within, cancel := context.WithDeadline(ctx, r.started.Add(r.informer.patience))
	defer cancel()
	for written := w; ; {
		w, err := p.clear(within, written)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return r.late(written, err)
		case w == nil:
			return nil
		}
		seen := make(chan struct{})
		waiting := &waiter{wake: func() { close(seen) }}
		if !p.ledger.await(w, waiting) {
			return nil
		}
		select {
		case <-seen:
			if w.kind == deletion || w.kind == outside {
				return nil // the object is looked at again
			}
		case <-r.informer.removed:
			p.ledger.leave(w, waiting)
			return r.informer.isRemoved()
		case <-within.Done():
			p.ledger.leave(w, waiting)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return r.late(written, p.informer.Err())
		}
	}
}

// server is where a part comes from. It is asked when a write did not say what it has made of an object.
type server struct {
	live  *client.REST
	gvk   schema.GroupVersionKind
	scope client.Scope
}

var errNoVersion = errors.New("the API server says no version that can be compared")

// stateOf asks what an object is by now.
func (s server) stateOf(ctx context.Context, key object.Key) (answer, error) {
	named := fields.OneTermEqualSelector(nameField, key.Name)
	list, err := s.list(ctx, key.Namespace, client.MatchingFieldsSelector{Selector: named})
	if err != nil {
		return answer{}, err
	}
	a := answer{version: versionOf(list.ResourceVersion)}
	for i := range list.Items {
		if o := &list.Items[i]; object.KeyOf(o) == key {
			a = answer{found: true, version: versionOf(o.ResourceVersion), labels: labels.Set(o.Labels)}
		}
	}
	if a.version == 0 {
		return answer{}, errNoVersion
	}
	return a, nil
}

// version asks how far the server is.
func (s server) version(ctx context.Context) (uint64, error) {
	list, err := s.list(ctx, s.scope.Namespace, client.Limit(1))
	if err != nil {
		return 0, err
	}
	version := versionOf(list.ResourceVersion)
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

// clear asks the server what w comes to, if it is vague, and returns what the store has to catch up with, nil if there is
// nothing. One at a time asks; those who come meanwhile find its answer.
func (p *part) clear(ctx context.Context, w *write) (*write, error) {
	for {
		now, vague := p.ledger.current(w)
		if !vague {
			return now, nil
		}
		if err := p.ask(ctx, now); err != nil {
			return nil, err
		}
	}
}

// ask asks the server what w comes to, if it is still vague.
func (p *part) ask(ctx context.Context, w *write) error {
	select {
	case p.ledger.asking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.ledger.asking }()
	w, vague := p.ledger.current(w)
	if !vague {
		return nil
	}
	number := p.ledger.numberNow()
	if w.kind == unknown {
		a, err := p.server.stateOf(ctx, w.key)
		if err == nil {
			p.ledger.answered(w, number, a)
		}
		return err
	}
	version, err := p.server.version(ctx)
	if err == nil {
		p.ledger.bounded(version, number)
	}
	return err
}

// askIfNobodyDoes asks the server how far it is. If that fails, or somebody asks already, another read will.
func (p *part) askIfNobodyDoes(ctx context.Context, patience time.Duration) {
	select {
	case p.ledger.asking <- struct{}{}:
	default:
		return
	}
	defer func() { <-p.ledger.asking }()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	number := p.ledger.numberNow()
	if version, err := p.server.version(ctx); err == nil {
		p.ledger.bounded(version, number)
	}
}
