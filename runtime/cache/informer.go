package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Informer is the informer of one kind, in the Go type that was asked for: over all namespaces, or over several of them
// as if it were one.
type Informer struct {
	*kind
	prototype object.Object // of what handlers get
}

// kind is what all the Informers of one kind share.
type kind struct {
	gvk        schema.GroupVersionKind
	life       life          // of the cache
	live       bool          // reads are for the server
	patience   time.Duration // how long a read waits for the writes before it
	logger     *slog.Logger
	scope      scope
	everywhere bool // it is cluster-scoped, or has namespaces of its own: those of the cache do not matter
	packed     bool // what is read from the stores is the reader's own

	packing *informer.Packing[object.Object] // of the type of stored, if packed; guarded by the mutex of the cache

	mu       sync.Mutex
	stored   object.Object // of what is in the stores
	parts    []part        // one for all namespaces, or one for each that is cached, in order
	handlers map[*Registration]struct{}
	indexes  []informer.Indexer[object.Object]
	fields   map[string]*fieldIndex // replaced when it changes
}

// part is the informer of one namespace; "" is all.
type part struct {
	namespace string
	ledger    *ledger
	server    server
	stay      *stay
	*informer.Informer[object.Object]
}

// stay is how long a part is one.
type stay struct {
	life                       // of the cache
	stop    context.CancelFunc // nil until it was started
	ended   chan struct{}      // closed when Run has returned
	removed chan struct{}      // closed when its namespace is not cached any more
}

// wait blocks until the part has synced. When ctx, the cache or the part ends earlier, the error says why it has not.
// It does not wait for a kind that the server does not know, or knows no longer: that is an error as it is of a live read.
func (p part) wait(ctx context.Context) error {
	err := p.waitKnown(ctx)
	if err == nil {
		return nil
	}
	if why := p.Informer.Err(); why != nil {
		return fmt.Errorf("%s has not synced: %w: %w", p.Name(), err, why)
	}
	return fmt.Errorf("%s has not synced: %w", p.Name(), err)
}

// askAgain is how often a read that waits looks whether the server knows the kind.
const askAgain = 100 * time.Millisecond

// waitKnown blocks until the part has synced, ctx ends, or the server does not know the kind.
func (p part) waitKnown(ctx context.Context) error {
	select {
	case <-p.Synced():
		if err := p.Informer.Err(); err != nil && meta.IsNoMatchError(err) {
			return errUnknownKind
		}
		return nil
	default:
	}
	ask := time.NewTicker(askAgain)
	defer ask.Stop()
	for {
		if err := p.Informer.Err(); meta.IsNoMatchError(err) {
			return errUnknownKind
		}
		select {
		case <-p.Synced():
			return nil
		case <-ask.C:
		case <-p.stay.removed:
			return ErrNamespaceRemoved
		case <-p.stay.over:
			return ErrEnded
		case <-ctx.Done():
			return endOf(ctx)
		}
	}
}

// errUnknownKind stands before the error of the informer, which says the kind.
var errUnknownKind = errors.New("the API server does not know the kind")

// GVK returns the kind.
func (i *Informer) GVK() schema.GroupVersionKind { return i.gvk }

// AddHandler makes h be told of every object and of every change, as [informer.Informer.AddHandler] does. With several
// namespaces h is called from several goroutines; of a namespace that is added later it is told then.
func (i *Informer) AddHandler(h informer.Handler[object.Object]) *Registration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if convert, ok := converter(i.stored, i.prototype, i.gvk); ok && convert != nil {
		h = i.converting(h, convert)
	}
	r := &Registration{kind: i.kind, handler: h, parts: map[string]*informer.Registration{}}
	for _, part := range i.parts {
		r.parts[part.namespace] = part.AddHandler(h)
	}
	if i.handlers == nil {
		i.handlers = map[*Registration]struct{}{}
	}
	i.handlers[r] = struct{}{}
	return r
}

// Wait blocks until the informer has synced, also before [Cache.Run]. When ctx ends earlier, the error holds its cause and
// that of [Informer.Err]; when the cache does, [ErrEnded]. It does not wait for a namespace that is removed.
func (i *Informer) Wait(ctx context.Context) error {
	for _, part := range i.in("") {
		if err := part.wait(ctx); err != nil && !errors.Is(err, ErrNamespaceRemoved) {
			return err
		}
	}
	return nil
}

// Err returns why the informer is not in step with the API server, as an *[informer.SyncError], or nil.
func (i *Informer) Err() error {
	for _, part := range i.in("") {
		if err := part.Err(); err != nil {
			return err
		}
	}
	return nil
}

// in returns the parts that together have the objects of a namespace, or of all that are cached when it is "". There
// are none when the namespace is not cached.
func (k *kind) in(namespace string) []part {
	k.mu.Lock()
	defer k.mu.Unlock()
	if namespace == "" {
		return slices.Clone(k.parts)
	}
	n := slices.IndexFunc(k.parts, func(p part) bool { return p.namespace == "" || p.namespace == namespace })
	if n < 0 {
		return nil
	}
	return k.parts[n : n+1 : n+1]
}

// Registration is one handler's place at an informer.
type Registration struct {
	kind    *kind
	handler informer.Handler[object.Object]
	parts   map[string]*informer.Registration // by namespace; guarded by the mutex of kind
}

// Wait blocks until the handler has seen all that existed when it was added, in the namespaces that are not removed
// meanwhile. It fails with [informer.ErrRemoved] when the handler is removed before, with [ErrEnded] when the cache has
// ended before, and with the error of ctx and its cause when that ends.
func (r *Registration) Wait(ctx context.Context) error {
	for _, part := range r.all() {
		err := part.Wait(ctx)
		switch {
		case err == nil || !r.isAt(part):
		case errors.Is(err, informer.ErrEnded):
			return ErrEnded
		default:
			return err
		}
	}
	return nil
}

// Remove takes the handler away, as [informer.Registration.Remove] does.
func (r *Registration) Remove() {
	r.kind.mu.Lock()
	delete(r.kind.handlers, r)
	r.kind.mu.Unlock()
	for _, part := range r.all() {
		part.Remove()
	}
}

// Drain blocks until the handler, which was removed or whose cache is ending, has returned from its last call. A handler must
// not wait for itself.
func (r *Registration) Drain() {
	for _, part := range r.all() {
		<-part.Done()
	}
}

// isAt reports whether the handler is still one of the namespace of part.
func (r *Registration) isAt(part *informer.Registration) bool { return slices.Contains(r.all(), part) }

func (r *Registration) all() []*informer.Registration {
	r.kind.mu.Lock()
	defer r.kind.mu.Unlock()
	return slices.Collect(maps.Values(r.parts))
}

// endOf returns the error of ctx, which has ended, with its cause.
func endOf(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
