package controller

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
)

const (
	// maxOwnWrites is how many writes of this process are remembered, the last ones, and maxOwnObjects of how many
	// objects it is remembered what was sent. Events of writes that are forgotten are somebody else's.
	maxOwnWrites  = 4096
	maxOwnObjects = 4096
	// maxBodies is how many of the last bodies are remembered that were sent for one object.
	maxBodies = 16
)

// authors knows which events this process has caused itself. What it is not sure of it takes for somebody else's: that
// makes an attempt too many, where the opposite would make one too few.
type authors struct {
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

func newAuthors() *authors {
	return &authors{
		seed:     maphash.MakeSeed(),
		journals: map[weak.Pointer[client.Journal]]struct{}{},
		writes:   newRecent[ownWrite, struct{}](maxOwnWrites),
		sent:     newRecent[types.UID, sentBodies](maxOwnObjects),
	}
}

// follow notes what is written in j from now on.
func (a *authors) follow(j *client.Journal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pointer := weak.Make(j)
	if _, known := a.journals[pointer]; known {
		return
	}
	maps.DeleteFunc(a.journals, func(p weak.Pointer[client.Journal], _ struct{}) bool { return p.Value() == nil })
	a.journals[pointer] = struct{}{}
	j.Subscribe(func(_ context.Context, w client.Write) { a.note(w) })
}

// note remembers a write.
func (a *authors) note(w client.Write) {
	if w.UID == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.Gone || w.Ending {
		a.writes.put(ownWrite{uid: w.UID, ending: w.Ending && !w.Gone}, struct{}{})
	}
	if w.ResourceVersion != "" && w.ResourceVersion != w.Base && !a.mayBeIdleLocked(w) {
		a.writes.put(ownWrite{uid: w.UID, version: w.ResourceVersion}, struct{}{})
	}
}

// mayBeIdleLocked reports whether w may have changed nothing, so that the version in the answer is somebody else's. The
// server does not say. A patch or an apply that was sent before is one that mostly changes nothing, and so may be one of
// which it is forgotten whether it was; what was never sent before is meant to change something, and so is a change of an
// object that was read.
func (a *authors) mayBeIdleLocked(w client.Write) bool {
	if w.Body == nil {
		return false
	}
	body := maphash.Bytes(a.seed, w.Body)
	sent, known := a.sent.get(w.UID)
	sent.forgot = sent.forgot || !known && a.sent.forgot
	doubtful := sent.forgot && w.Base == ""
	if at := slices.Index(sent.hashes, body); at >= 0 {
		doubtful = true
		sent.hashes = slices.Delete(sent.hashes, at, at+1)
	} else if len(sent.hashes) == maxBodies {
		sent.hashes, sent.forgot = slices.Delete(sent.hashes, 0, 1), true
	}
	sent.hashes = append(sent.hashes, body)
	a.sent.put(w.UID, sent)
	return doubtful
}

// wrote reports whether the change that c tells of is one that this process has made, and nothing but that.
func (a *authors) wrote(c *handler.Cause) bool {
	if c.UID == "" || c.Merged {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.Type != informer.Deleted {
		return a.writes.has(ownWrite{uid: c.UID, version: c.Version}) ||
			c.Deletion && a.writes.has(ownWrite{uid: c.UID, ending: true})
	}
	return a.writes.has(ownWrite{uid: c.UID}) ||
		c.Deletion && a.writes.has(ownWrite{uid: c.UID, ending: true})
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
