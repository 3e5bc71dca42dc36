package controller

import (
	"context"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	// maxOwnWrites is how many own writes are remembered, the last ones, and maxOwnObjects of how many objects it is
	// remembered what this process has sent. Events of writes that are forgotten are somebody else's.
	maxOwnWrites  = 4096
	maxOwnObjects = 4096
	// maxBodies is how many of the last bodies are remembered that were sent for one object.
	maxBodies = 64
	// tellWithin is how long an event waits for the end of own writes that may have caused it. A user's change waits that
	// long if it meets an own write of the same object that hangs.
	tellWithin = time.Second
	// maxQuestions is how many events wait for one write. Of more than that nobody asks who has caused them.
	maxQuestions = 16
)

// ownWrites knows which changes are this process's own, as one of its controllers sees it: what its reconciles write, with
// whatever context, and what its runnables and webhooks write. What the reconciles of another controller write is not: of two
// controllers that are chained, the one that waits for the other would wait out its backoff too. What it is not sure of it
// takes for somebody else's: that makes an attempt too many, where the opposite would make one too few.
type ownWrites struct {
	seed  maphash.Seed
	count atomic.Uint64 // how many own writes have begun; it grows with mu held

	mu     sync.Mutex
	begun  map[*beginning]struct{} // own writes that are not told yet
	writes recent[ownWrite, struct{}]
	sent   recent[target, sentBodies]

	following sync.Mutex // never held with mu
	followed  map[*client.Journal]*followed
}

// followed is a journal that the ownWrites subscribe to until its last source has ended: sources come and go with clusters,
// and controllers with their restarts.
type followed struct {
	sources int // those that have not ended
	cancel  []func()
}

// target is an object that is written, from the state in which it was read, or from none.
type target struct {
	uid  types.UID
	read bool
}

// sentBodies is what was sent for one object.
type sentBodies struct {
	hashes []uint64 // of the last maxBodies, last used last
	forgot bool     // there were more
	unlike int      // how many, the last ones, were unlike all that were remembered
}

// beginning is a write that the server may have made, and that is not told yet. Its event may come before.
type beginning struct {
	kind      string     // as in a [Cause]
	key       object.Key // without a name for all of the namespace, or of the cluster, and for a name that the server chooses
	number    uint64
	questions []*question
}

// concerns reports whether the write may be of that object.
func (b *beginning) concerns(kind string, key object.Key) bool {
	switch {
	case b.kind != kind:
		return false
	case b.key.Name == "":
		return b.key.Namespace == "" || b.key.Namespace == key.Namespace
	}
	return b.key == key
}

// question is who has caused an event, while own writes of its object are not told.
type question struct {
	writes  int // that it waits for; guarded by the ownWrites
	timeout *time.Timer
}

// ownWrite is a state of an object that this process has made: a version, or its end.
type ownWrite struct {
	uid     types.UID
	version string // empty is the end
	ending  bool   // of an end: the object may live on for its finalizers
}

func newOwnWrites() *ownWrites {
	return &ownWrites{
		seed:     maphash.MakeSeed(),
		followed: map[*client.Journal]*followed{},
		begun:    map[*beginning]struct{}{},
		writes:   newRecent[ownWrite, struct{}](maxOwnWrites),
		sent:     newRecent[target, sentBodies](maxOwnObjects),
	}
}

// follow subscribes to j for one source, until leave is called. The journal does not keep a controller that never runs.
func (o *ownWrites) follow(j *client.Journal) (leave func()) {
	o.following.Lock()
	defer o.following.Unlock()
	f, known := o.followed[j]
	if !known {
		log := writes.LogOf(j)
		f = &followed{cancel: []func(){
			writes.SubscribeFor(log, o, (*ownWrites).note), writes.SubscribeBeginFor(log, o, (*ownWrites).begin),
		}}
		o.followed[j] = f
	}
	f.sources++
	return sync.OnceFunc(func() { o.leave(j, f) })
}

// leave unsubscribes when the last source of j has ended.
func (o *ownWrites) leave(j *client.Journal, f *followed) {
	o.following.Lock()
	defer o.following.Unlock()
	if f.sources--; f.sources > 0 {
		return
	}
	delete(o.followed, j)
	for _, cancel := range f.cancel {
		cancel()
	}
}

type writerKey struct{}

// signed returns a context whose writes are those of the controller's reconciles.
func (o *ownWrites) signed(ctx context.Context) context.Context {
	return context.WithValue(ctx, writerKey{}, o)
}

// isOwn reports whether what is written with ctx is an own write.
func (o *ownWrites) isOwn(ctx context.Context) bool {
	writer := ctx.Value(writerKey{})
	return writer == nil || writer == o
}

// begin notes that a write is about to be sent, until the function that it returns is called.
func (o *ownWrites) begin(ctx context.Context, w writes.Write) (end func()) {
	if !o.isOwn(ctx) {
		return nil
	}
	b := &beginning{kind: w.GVK.GroupKind().String(), key: w.Key}
	o.mu.Lock()
	defer o.mu.Unlock()
	b.number = o.count.Add(1)
	o.begun[b] = struct{}{}
	return func() { o.end(b) }
}

// end answers the questions that have waited for nothing but b.
func (o *ownWrites) end(b *beginning) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.begun, b)
	for _, q := range b.questions {
		if q.writes--; q.writes == 0 && q.timeout.Stop() {
			q.timeout.Reset(0) // not by the goroutine that writes, and not under the lock
		}
	}
}

// begins returns how many own writes have begun.
func (o *ownWrites) begins() uint64 { return o.count.Load() }

// whenTold reports whether own writes of the object of an event are under way, of those that had begun when it came, which were
// that many. If so, it lets ask be called, once, when they are told, or have taken too long.
func (o *ownWrites) whenTold(kind string, e event, begins uint64, ask func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.begun) == 0 {
		return false
	}
	q := &question{}
	key := object.KeyOf(e.Object)
	for b := range o.begun {
		if b.number <= begins && b.concerns(kind, key) && len(b.questions) < maxQuestions {
			b.questions = append(b.questions, q)
			q.writes++
		}
	}
	if q.writes == 0 {
		return false
	}
	// A write whose answer never comes must not keep a user's change from ending the backoff.
	q.timeout = time.AfterFunc(tellWithin, ask)
	return true
}

// note remembers a write of this process, if it is an own one. Of one by a reconcile of another controller it remembers only
// what was sent.
func (o *ownWrites) note(ctx context.Context, w writes.Write) {
	if w.UID == "" {
		return
	}
	own := o.isOwn(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if own && (w.Gone || w.Ending) {
		o.writes.put(ownWrite{uid: w.UID, ending: w.Ending && !w.Gone}, struct{}{})
	}
	// mayBeIdleLocked is asked for writes of others too: it remembers what was sent.
	if w.ResourceVersion != "" && w.ResourceVersion != w.Base && !o.mayBeIdleLocked(w) && own {
		o.writes.put(ownWrite{uid: w.UID, version: w.ResourceVersion}, struct{}{})
	}
}

// mayBeIdleLocked reports whether w may have changed nothing, so that the version in the answer is somebody else's. The
// server does not say. A patch or an apply that was sent before is one that mostly changes nothing, and so may be one of
// which it is forgotten whether it was, unless the object is one that is never sent the same again, such as the time. What was
// never sent before is meant to change something, and so is a change of an object that was read.
func (o *ownWrites) mayBeIdleLocked(w writes.Write) bool {
	if w.Body == nil {
		return false
	}
	body := maphash.Bytes(o.seed, w.Body)
	to := target{w.UID, w.Base != ""}
	sent, known := o.sent.get(to)
	sent.forgot = sent.forgot || !known && o.sent.forgot
	doubtful := sent.forgot && sent.unlike < maxBodies && !to.read
	sent.unlike++
	if at := slices.Index(sent.hashes, body); at >= 0 {
		doubtful = true
		sent.hashes, sent.unlike = slices.Delete(sent.hashes, at, at+1), 0
	} else if len(sent.hashes) == maxBodies {
		sent.hashes, sent.forgot = slices.Delete(sent.hashes, 0, 1), true
	}
	sent.hashes = append(sent.hashes, body)
	o.sent.put(to, sent)
	return doubtful
}

// made reports whether the change that e tells of is an own write, and nothing but that.
func (o *ownWrites) made(e event) bool {
	uid := e.Object.GetUID()
	if uid == "" || e.Merged || e.FinalStateUnknown { // with others, which may be anybody's
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// The end of an object has no version of its own.
	state := ownWrite{uid: uid}
	if e.Type != informer.Deleted {
		state.version = e.Object.GetResourceVersion()
	}
	return o.writes.has(state) || beginsDeletion(e) && o.writes.has(ownWrite{uid: uid, ending: true})
}

// beginsDeletion reports whether e has begun the deletion of its object, or is the end of one whose deletion nobody has
// seen begin.
func beginsDeletion(e event) bool {
	switch e.Type {
	case informer.Updated:
		return e.Old.GetDeletionTimestamp() == nil && e.Object.GetDeletionTimestamp() != nil
	case informer.Deleted:
		return e.Object.GetDeletionTimestamp() == nil
	}
	return false
}

// isStatusOnly reports whether an update has left alone what users and other controllers ask for: the generation, labels,
// annotations, finalizers, owners, and whether the object is to be deleted. Of an object without a generation nobody can
// tell.
func isStatusOnly(e event) bool {
	if e.Type != informer.Updated {
		return false
	}
	before, now := e.Old, e.Object
	return now.GetGeneration() != 0 && before.GetGeneration() == now.GetGeneration() &&
		before.GetUID() == now.GetUID() &&
		(before.GetDeletionTimestamp() == nil) == (now.GetDeletionTimestamp() == nil) &&
		maps.Equal(before.GetLabels(), now.GetLabels()) &&
		maps.Equal(before.GetAnnotations(), now.GetAnnotations()) &&
		slices.Equal(before.GetFinalizers(), now.GetFinalizers()) &&
		reflect.DeepEqual(before.GetOwnerReferences(), now.GetOwnerReferences())
}

// recent is a map that forgets the keys that were put first when it has too many.
type recent[K comparable, V any] struct {
	values map[K]V
	order  []K // a ring, once it is full: next is the one that was put first
	next   int
	limit  int
	forgot bool // something was forgotten
}

func newRecent[K comparable, V any](limit int) recent[K, V] {
	return recent[K, V]{values: map[K]V{}, limit: limit}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	v, ok := r.values[key]
	return v, ok
}

func (r *recent[K, V]) has(key K) bool {
	_, ok := r.values[key]
	return ok
}

func (r *recent[K, V]) put(key K, value V) {
	if r.has(key) {
		r.values[key] = value
		return
	}
	if len(r.order) < r.limit {
		r.order = append(r.order, key)
	} else {
		delete(r.values, r.order[r.next])
		r.order[r.next], r.forgot = key, true
		r.next = (r.next + 1) % r.limit
	}
	r.values[key] = value
}
