// Package handler provides handlers that map an event to requests: a request for the object itself, for its owner, or
// for the results of a function.
package handler

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/apimachinery"
	"github.com/kctrl-dev/kctrl/runtime/internal/blocked"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// Queue accepts the requests of a handler. *workqueue.Queue implements it.
type Queue[R comparable] interface {
	// Add adds requests to reconcile as soon as possible.
	Add(requests ...R)
	// AddAfter adds a request to reconcile after d.
	AddAfter(request R, d time.Duration)
	// AddWith adds requests with options, such as a priority.
	AddWith(o workqueue.AddOptions, requests ...R)
}

// Handler adds the requests that result from an event to the queue. It must not modify the objects of the event. It
// must be safe for concurrent use. The context ends when the controller stops.
type Handler[T object.Object, R comparable] func(ctx context.Context, e informer.Event[T], queue Queue[R])

// ForObject returns a handler that adds a request for the object of the event. If an update lacks the new state, the
// handler uses the old state. For an event without an object, which a channel may send, it adds no request and logs the
// event.
func ForObject[T object.Object]() Handler[T, reconcile.Request] {
	return func(ctx context.Context, e informer.Event[T], queue Queue[reconcile.Request]) {
		o := e.Object
		if isNil(o) && e.Type == informer.Updated {
			o = e.Old
		}
		if isNil(o) {
			log.FromContext(ctx).Error("an event has no object, and requests nothing", "type", e.Type.String())
			return
		}
		// AddAfter avoids the slice that Add would allocate for each event.
		queue.AddAfter(reconcile.Request{NamespacedName: object.KeyOf(o)}, 0)
	}
}

// isNil reports whether an event lacks an object.
func isNil[T object.Object](o T) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// states yields the objects of an event: the new state and, for an update, the old state.
func states[T object.Object](e informer.Event[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		if !isNil(e.Object) && !yield(e.Object) {
			return
		}
		if e.Type == informer.Updated && !isNil(e.Old) {
			yield(e.Old)
		}
	}
}

// MapFunc returns the requests that result from an event of an object of any kind. It must not modify the object.
type MapFunc = func(ctx context.Context, o object.Object) []reconcile.Request

// Map returns a handler that adds the requests that the function requests returns for the object of an event. For an
// update, the handler calls it for the new and the old state. If the event has no object, such as a timer event of a
// channel, the argument is the zero value of T.
func Map[T object.Object, R comparable](requests func(ctx context.Context, o T) []R) Handler[T, R] {
	return func(ctx context.Context, e informer.Event[T], queue Queue[R]) {
		all := slices.Clone(requests(ctx, e.Object))
		if e.Type == informer.Updated {
			all = append(all, requests(ctx, e.Old)...)
		}
		addOnce(queue, all)
	}
}

// For returns an empty object of type T and a handler of its events, which together are the arguments of the builder's
// Watches:
//
//	controller.For[*v1.Widget](m).Watches(handler.For(r.widgetsOf)).Complete(r)
//
// For events that all predicates accept, the handler adds the results of requests, as [Map] does. It ignores events of
// objects of another Go type, such as metadata. T must be a pointer to a type in the scheme; For panics if it is not a
// pointer.
func For[T object.Object, R comparable](
	requests func(ctx context.Context, o T) []R, predicates ...predicate.Predicate,
) (prototype object.Object, h Handler[object.Object, R]) {
	accept, add := predicate.And(predicates...), Map(requests)
	return object.New[T](), func(ctx context.Context, e informer.Event[object.Object], queue Queue[R]) {
		if typed, ok := informer.As[T](e); ok && accept(e) {
			add(ctx, typed, queue)
		}
	}
}

// addOnce adds requests to queue in one step and without duplicates. With two steps, a worker could take a request
// before the same event adds the request again.
func addOnce[R comparable](queue Queue[R], requests []R) {
	var once []R
	seen := make(map[R]struct{}, len(requests))
	for _, request := range requests {
		if _, ok := seen[request]; !ok {
			seen[request] = struct{}{}
			once = append(once, request)
		}
	}
	queue.Add(once...)
}

// ForOwner returns a handler that adds requests for the owners of the event's object that are of the given kind, in any
// version. For an update, these are the current and the previous owners. With controllerOnly, the handler ignores all
// owners except the one with controller: true.
//
// At the first event of a namespaced object with an owner, the handler calls mapper to find whether the owner's kind is
// namespaced. While the mapper fails, the handler blocks and retries every second, and the log and the readiness check
// of the controller report the kind and the cause.
func ForOwner[T object.Object](owner schema.GroupKind, mapper meta.RESTMapper,
	controllerOnly bool) Handler[T, reconcile.Request] {
	s := &scope{kind: owner, mapper: mapper}
	return func(ctx context.Context, e informer.Event[T], queue Queue[reconcile.Request]) {
		var owners []reference
		var namespace string // namespace of the object
		for o := range states(e) {
			owners, namespace = append(owners, ownersOf(o, owner, controllerOnly)...), o.GetNamespace()
		}
		if len(owners) == 0 {
			return
		}
		if namespace != "" { // the owner of a cluster-scoped object is cluster-scoped
			namespaced, err := s.namespaced(ctx, owners[0].version)
			if err != nil {
				return
			}
			if !namespaced {
				namespace = ""
			}
		}
		var requests []reconcile.Request
		for _, o := range owners {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace,
				Name: o.name}})
		}
		addOnce(queue, requests)
	}
}

// reference is an owner reference of a given kind.
type reference struct{ version, name string }

// ownersOf returns the owners of o of a kind.
func ownersOf(o metav1.Object, kind schema.GroupKind, controllerOnly bool) []reference {
	var owners []reference
	for _, ref := range o.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		isController := ref.Controller != nil && *ref.Controller
		if err == nil && gv.Group == kind.Group && ref.Kind == kind.Kind && (isController || !controllerOnly) {
			owners = append(owners, reference{gv.Version, ref.Name})
		}
	}
	return owners
}

// scope determines whether a kind is namespaced, and keeps the result.
type scope struct {
	kind   schema.GroupKind
	mapper meta.RESTMapper

	mu     sync.Mutex    // not held during calls of the mapper
	known  *bool         // nil until the mapper has answered
	asking chan struct{} // closed when the handler that calls the mapper has a result; nil if no call is in progress
}

const (
	askAgain = time.Second
	// logAgain is the interval at which the log repeats the same cause.
	logAgain = time.Minute
)

// namespaced blocks until the mapper has answered or ctx ends. version is the version in an owner reference.
func (s *scope) namespaced(ctx context.Context, version string) (bool, error) {
	var waiting wait
	defer func() { waiting.end() }()
	for {
		known, asked := s.begin()
		switch {
		case known != nil:
			return *known, nil
		case asked != nil: // another handler calls the mapper
			select {
			case <-ctx.Done():
				return false, context.Cause(ctx)
			case <-asked:
			}
			continue
		}
		err := s.ask(ctx, version)
		if err == nil {
			continue
		}
		waiting.because(ctx, s.kind, err)
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(askAgain):
		}
	}
}

// begin returns the known result, or the channel of the handler that is calling the mapper. If both are nil, the caller
// must call the mapper.
func (s *scope) begin() (known *bool, asked <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil && s.asking == nil {
		s.asking = make(chan struct{})
		return nil, nil
	}
	return s.known, s.asking
}

// ask calls the mapper, and shares the result with all handlers.
func (s *scope) ask(ctx context.Context, version string) error {
	mapping, err := apimachinery.RESTMapping(ctx, s.mapper, s.kind, version)
	if meta.IsNoMatchError(err) { // references may have a version that is no longer served
		mapping, err = apimachinery.RESTMapping(ctx, s.mapper, s.kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
		s.known = &namespaced
	}
	close(s.asking)
	s.asking = nil
	return err
}

// wait holds the reason why a handler blocks. The zero value means that it does not block.
type wait struct {
	cause  string
	logged time.Time
	over   func() // nil if the handler does not block
}

// because adds the mapper's error to the readiness check of the controller. It logs each new cause at once, and an
// unchanged cause periodically.
func (w *wait) because(ctx context.Context, kind schema.GroupKind, err error) {
	if ctx.Err() != nil {
		return
	}
	err = fmt.Errorf("find out whether the owner kind %s has namespaces: %w", kind, err)
	if w.cause != err.Error() || time.Since(w.logged) >= logAgain {
		w.cause, w.logged = err.Error(), time.Now()
		log.FromContext(ctx).Error("waiting to map owned objects to their owners", "kind", kind.String(), "err", err)
	}
	w.end()
	w.over = blocked.Because(ctx, err)
}

func (w *wait) end() {
	if w.over != nil {
		w.over()
	}
}
