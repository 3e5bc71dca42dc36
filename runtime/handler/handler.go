// Package handler turns events into requests: for the object itself, for its owner, or for whatever a function says.
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
	"k8s.io/apimachinery/pkg/runtime"
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

// Queue is where a handler puts requests. *workqueue.Queue is one.
type Queue[R comparable] interface {
	// Add asks for the requests to be reconciled as soon as possible.
	Add(requests ...R)
	// AddAfter asks for the request to be reconciled when d has passed.
	AddAfter(request R, d time.Duration)
	// AddWith asks for the requests to be reconciled as o says, such as with a priority.
	AddWith(o workqueue.AddOptions, requests ...R)
}

// Handler puts the requests that follow from an event into the queue. It must not modify the objects of the event, and
// is called from several goroutines. The context ends when the controller stops.
type Handler[T object.Object, R comparable] func(ctx context.Context, e informer.Event[T], queue Queue[R])

// ForObject is a handler that requests the object of the event: of an update that lacks the new state, the object of
// the old state. An event without an object, as channels may send it, is logged and requests nothing.
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
		// Add would allocate a list for each of the many events that come here.
		queue.AddAfter(reconcile.Request{NamespacedName: object.KeyOf(o)}, 0)
	}
}

// isNil reports whether an event lacks an object.
func isNil[T object.Object](o T) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// states yields the objects that an event has: the new state, and the old one of an update.
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

// MapFunc says which requests follow from an object of any kind. It must not modify the object.
type MapFunc = func(ctx context.Context, o object.Object) []reconcile.Request

// Map is a handler that requests what requests returns for the object; for an update, for the new state and the old. A
// state that the event lacks is the zero value of T, as an event that only says that it is time has none.
func Map[T object.Object, R comparable](requests func(ctx context.Context, o T) []R) Handler[T, R] {
	return func(ctx context.Context, e informer.Event[T], queue Queue[R]) {
		all := slices.Clone(requests(ctx, e.Object))
		if e.Type == informer.Updated {
			all = append(all, requests(ctx, e.Old)...)
		}
		addOnce(queue, all)
	}
}

// For returns an object of the kind of T and a handler of its events, which together are the arguments of the Watches
// of a controller's builder:
//
//	controller.For[*v1.Widget](m).Watches(handler.For(r.widgetsOf)).Complete(r)
//
// The handler requests what requests returns for the object of an event that counts for all predicates, as [Map] does.
// Events of objects in another Go type, such as those of metadata alone, request nothing. T is a pointer to a type of
// the scheme; For panics if it is no pointer.
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

// addOnce adds requests to queue in one step, and each of them once: between two steps a worker could get a request
// that then comes again for the same event.
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

// ForOwner is a handler that requests the owners of the object that are of a kind, in any version of it: those that it
// has and, for an update, those that it had. With controllerOnly only the owner with controller: true counts.
//
// The handler asks mapper whether owners have a namespace at the first event of an object that has an owner and a
// namespace. While the mapper fails, the handler blocks and asks again each second. The log, and the readiness of the
// controller, then name the kind and the cause.
func ForOwner[T object.Object](owner schema.GroupKind, mapper meta.RESTMapper, controllerOnly bool) Handler[T, reconcile.Request] {
	s := &scope{kind: owner, mapper: mapper}
	return func(ctx context.Context, e informer.Event[T], queue Queue[reconcile.Request]) {
		var owners []reference
		var namespace string // of the object
		for o := range states(e) {
			owners, namespace = append(owners, ownersOf(o, owner, controllerOnly)...), o.GetNamespace()
		}
		if len(owners) == 0 {
			return
		}
		if namespace != "" { // the owner of an object without one has none either
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
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: o.name}})
		}
		addOnce(queue, requests)
	}
}

// reference is an owner reference to a kind.
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

// scope finds out, once, whether a kind has namespaces.
type scope struct {
	kind   schema.GroupKind
	mapper meta.RESTMapper

	mu     sync.Mutex    // not held while the mapper is asked
	known  *bool         // nil until the mapper has answered
	asking chan struct{} // closed when the one handler that asks the mapper has an answer or an error; nil if none asks
}

const (
	askAgain = time.Second
	// logAgain is how often the log repeats the same cause.
	logAgain = time.Minute
)

// namespaced blocks until the mapper has answered or ctx ends. version is that of an owner.
func (s *scope) namespaced(ctx context.Context, version string) (bool, error) {
	var waiting wait
	defer func() { waiting.end() }()
	for {
		known, asked := s.begin()
		switch {
		case known != nil:
			return *known, nil
		case asked != nil: // by another handler
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

// begin returns what is known, or else the channel of the handler that asks. It is nil if the caller has to ask.
func (s *scope) begin() (known *bool, asked <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil && s.asking == nil {
		s.asking = make(chan struct{})
		return nil, nil
	}
	return s.known, s.asking
}

// ask asks the mapper, for all handlers.
func (s *scope) ask(ctx context.Context, version string) error {
	mapping, err := apimachinery.RESTMapping(ctx, s.mapper, s.kind, version)
	if meta.IsNoMatchError(err) { // references may have a version that is served no longer
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

// wait is why a handler blocks. The zero value is for one that does not.
type wait struct {
	cause  string
	logged time.Time
	over   func() // nil if it does not block
}

// because shows the error of the mapper in the readiness of the controller. It logs each new cause, and an old one now
// and then.
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

// ForOwnerOf is [ForOwner] for the kind of owner, a Go type in scheme. It panics if scheme does not have it.
func ForOwnerOf[T object.Object](owner runtime.Object, scheme *runtime.Scheme, mapper meta.RESTMapper, controllerOnly bool) Handler[T, reconcile.Request] {
	gvk, err := object.GVK(owner, scheme)
	if err != nil {
		panic(err)
	}
	return ForOwner[T](gvk.GroupKind(), mapper, controllerOnly)
}
