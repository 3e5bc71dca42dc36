package controller

import (
	"context"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

const (
	// maxOwnWrites is how many writes of the controller are remembered, the last ones, and maxOwnObjects of how many
	// objects it is remembered what this process has sent. Events of writes that are forgotten are somebody else's.
	maxOwnWrites  = 4096
	maxOwnObjects = 4096
	// maxBodies is how many of the last bodies are remembered that were sent for one object.
	maxBodies = 16
)

// ownWrites knows which changes the reconciles of a controller have made. What it is not sure of it takes for somebody
// else's: that makes an attempt too many, where the opposite would make one too few.
type ownWrites struct {
	seed maphash.Seed

	mu       sync.Mutex
	journals map[weak.Pointer[client.Journal]]struct{} // those that are followed; a controller may outlive a cluster
	writes   recent[ownWrite, struct{}]
	sent     recent[types.UID, sentBodies]
}

// sentBodies is what was sent for one object.
type sentBodies struct {
	hashes []uint64 // of the last maxBodies, last used last
	forgot bool     // there were more
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
		journals: map[weak.Pointer[client.Journal]]struct{}{},
		writes:   newRecent[ownWrite, struct{}](maxOwnWrites),
		sent:     newRecent[types.UID, sentBodies](maxOwnObjects),
	}
}

// follow notes what is written in j from now on.
func (o *ownWrites) follow(j *client.Journal) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pointer := weak.Make(j)
	if _, known := o.journals[pointer]; known {
		return
	}
	maps.DeleteFunc(o.journals, func(p weak.Pointer[client.Journal], _ struct{}) bool { return p.Value() == nil })
	o.journals[pointer] = struct{}{}
	j.Subscribe(o.note)
}

type writerKey struct{}

// signed returns a context whose writes are those of the controller.
func (o *ownWrites) signed(ctx context.Context) context.Context {
	return context.WithValue(ctx, writerKey{}, o)
}

// note remembers a write of this process, if the controller has made it. Of others, which are other controllers too, it
// remembers only what was sent.
func (o *ownWrites) note(ctx context.Context, w client.Write) {
	if w.UID == "" {
		return
	}
	own := ctx.Value(writerKey{}) == o
	o.mu.Lock()
	defer o.mu.Unlock()
	if own && (w.Gone || w.Ending) {
		o.writes.put(ownWrite{uid: w.UID, ending: w.Ending && !w.Gone}, struct{}{})
	}
	if w.ResourceVersion != "" && w.ResourceVersion != w.Base && !o.mayBeIdleLocked(w) && own {
		o.writes.put(ownWrite{uid: w.UID, version: w.ResourceVersion}, struct{}{})
	}
}

// mayBeIdleLocked reports whether w may have changed nothing, so that the version in the answer is somebody else's. The
// server does not say. A patch or an apply that was sent before is one that mostly changes nothing, and so may be one of
// which it is forgotten whether it was; what was never sent before is meant to change something, and so is a change of an
// object that was read.
func (o *ownWrites) mayBeIdleLocked(w client.Write) bool {
	if w.Body == nil {
		return false
	}
	body := maphash.Bytes(o.seed, w.Body)
	sent, known := o.sent.get(w.UID)
	sent.forgot = sent.forgot || !known && o.sent.forgot
	doubtful := sent.forgot && w.Base == ""
	if at := slices.Index(sent.hashes, body); at >= 0 {
		doubtful = true
		sent.hashes = slices.Delete(sent.hashes, at, at+1)
	} else if len(sent.hashes) == maxBodies {
		sent.hashes, sent.forgot = slices.Delete(sent.hashes, 0, 1), true
	}
	sent.hashes = append(sent.hashes, body)
	o.sent.put(w.UID, sent)
	return doubtful
}

// made reports whether the change that e tells of is one that the controller has made, and nothing but that.
func (o *ownWrites) made(e event) bool {
	uid := e.Object.GetUID()
	if uid == "" || e.Merged || e.FinalStateUnknown { // with others, which may be anybody's
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
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
