package cache_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// author makes all writes to some objects. It reports the writes of this process to the cache, and does not report
// foreign writes.
type author struct {
	*fixture
	random  *rand.Rand
	prefix  string
	scope   labels.Selector
	born    int
	objects map[string]*history
	reads   *tally
}

// tally counts the results of reads.
type tally struct {
	mu          sync.Mutex
	good, stale int
}

// history is the sequence of states of one object. A nil state means that the object did not exist or was out of scope.
type history struct {
	states []*corev1.ConfigMap
	now    *corev1.ConfigMap
	seen   int // index of the oldest state that a read may still return
}

func (a *author) pick() (string, *history) {
	name := a.prefix + strconv.Itoa(a.random.IntN(3))
	if a.objects[name] == nil {
		a.objects[name] = &history{states: []*corev1.ConfigMap{nil}}
	}
	return name, a.objects[name]
}

// record appends the current state of the object. own is true if the write is reported to the cache.
func (a *author) record(h *history, own bool) {
	var state *corev1.ConfigMap
	if h.now != nil && (a.scope == nil || a.scope.Matches(labels.Set(h.now.Labels))) {
		state = h.now.DeepCopy()
	}
	h.states = append(h.states, state)
	if own {
		h.seen = len(h.states) - 1
	}
}

func (a *author) chance(n int) bool { return a.random.IntN(n) == 0 }

// put creates or changes an object on the server.
func (a *author) put(name string, h *history) {
	if h.now == nil {
		a.born++
		h.now = withUID(name, fmt.Sprint(name, "-", a.born))
	}
	h.now.Labels = map[string]string{"shard": strconv.Itoa(a.random.IntN(2)),
		"app": []string{"mine", "other"}[a.random.IntN(2)]}
	a.api.put(configMaps, h.now)
}

// report reports a write to the cache, at once or after a delay in which the watch may already have delivered it.
func (a *author) report(w writes.Write) {
	if a.chance(3) {
		time.Sleep(time.Duration(a.random.IntN(3000)) * time.Millisecond)
	}
	a.fixture.record(a.ctx, w)
}

// write creates or changes an object.
func (a *author) write() {
	name, h := a.pick()
	a.put(name, h)
	o := h.now.DeepCopy()
	a.report(writes.Write{Key: object.KeyOf(o), UID: o.UID, ResourceVersion: o.ResourceVersion, Object: o})
	a.record(h, true)
}

// subresource changes an object by a write, such as one of its scale, whose answer does not contain the object.
func (a *author) subresource() {
	if name, h := a.pick(); h.now != nil {
		a.put(name, h)
		a.report(writes.Write{Key: object.KeyOf(h.now), UID: h.now.UID, ResourceVersion: h.now.ResourceVersion})
		a.record(h, true)
	}
}

// foreign makes a change without reporting it to the cache.
func (a *author) foreign() {
	name, h := a.pick()
	if h.now != nil && a.chance(2) {
		a.api.remove(configMaps, h.now.DeepCopy())
		h.now = nil
	} else {
		a.put(name, h)
	}
	a.record(h, false)
}

// vague makes a write whose answer is lost or has no content, so the cache does not learn whether it had an effect.
func (a *author) vague() {
	name, h := a.pick()
	switch {
	case a.chance(3):
	case h.now != nil && a.chance(2):
		a.api.remove(configMaps, h.now.DeepCopy())
		h.now = nil
	default:
		a.put(name, h)
	}
	a.report(writes.Write{Key: object.Key{Namespace: "ns", Name: name}, Unknown: true})
	a.record(h, true)
}

// erase deletes an object, and may report its last version.
func (a *author) erase() {
	if _, h := a.pick(); h.now != nil {
		a.report(a.delete(h, false))
		a.record(h, true)
	}
}

// eraseAll deletes all objects in one request. Some of them are only marked as deleted at first.
func (a *author) eraseAll() {
	var all []writes.Write
	var changed []*history
	for _, h := range a.objects {
		if h.now == nil {
			continue
		}
		before := h.now.DeletionTimestamp
		all = append(all, a.delete(h, true))
		if before == nil {
			changed = append(changed, h)
		} else {
			a.record(h, false) // the answer does not show whether the object still has finalizers
		}
	}
	for _, w := range all {
		a.report(w)
	}
	for _, h := range changed {
		a.record(h, true)
	}
}

func (a *author) delete(h *history, all bool) writes.Write {
	w := writes.Write{Key: object.KeyOf(h.now), UID: h.now.UID, Gone: !all, Ending: all}
	if a.chance(2) {
		w.Before = h.now.ResourceVersion
	}
	if all && a.chance(2) {
		h.now.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)}
		a.api.put(configMaps, h.now)
		return w
	}
	a.api.remove(configMaps, h.now.DeepCopy())
	h.now = nil
	return w
}

// check fails unless the object was in the read state at the time of the last own write or later. uid and version are
// empty if the read found no object.
func (a *author) check(what, name string, h *history, uid types.UID, version string,
	shown func(*corev1.ConfigMap) bool) {
	for _, state := range h.states[h.seen:] {
		if state == nil || !shown(state) || state.DeletionTimestamp != nil && state.ResourceVersion != version {
			if version == "" {
				return
			}
		} else if state.ResourceVersion == version && state.UID == uid {
			return
		}
	}
	var was []string
	for _, state := range h.states[max(0, h.seen-3):] {
		if state == nil {
			was = append(was, "nothing")
		} else {
			was = append(was, fmt.Sprint(state.UID, " ", state.ResourceVersion, " ", state.Labels["shard"]))
		}
	}
	a.Errorf("%s: %s is %s %q, which is older than the last write: %q, of which the last %d count", what, name, uid,
		version, was, len(h.states)-h.seen)
}

func (a *author) count(err error) (good bool) {
	a.reads.mu.Lock()
	defer a.reads.mu.Unlock()
	switch {
	case err == nil || apierrors.IsNotFound(err):
		a.reads.good++
		return true
	case errors.Is(err, cache.ErrStale):
		a.reads.stale++
	default:
		a.Error(err)
	}
	return false
}

// get reads an object.
func (a *author) get() {
	name, h := a.pick()
	var got corev1.ConfigMap
	if err := a.fixture.get("ns", name, &got); a.count(err) {
		a.check("get", name, h, got.UID, got.ResourceVersion, func(*corev1.ConfigMap) bool { return true })
	}
}

// list reads a shard, or all objects.
func (a *author) list() {
	shard := strconv.Itoa(a.random.IntN(3))
	var opts []client.ListOption
	if shard != "2" {
		opts = append(opts, client.MatchingLabels{"shard": shard})
	}
	var list corev1.ConfigMapList
	if err := a.cache.List(a.ctx, &list, opts...); !a.count(err) {
		return
	}
	got := map[string]corev1.ConfigMap{}
	for _, o := range list.Items {
		got[o.Name] = o
	}
	for name, h := range a.objects {
		a.check("list of shard "+shard, name, h, got[name].UID, got[name].ResourceVersion, func(o *corev1.ConfigMap) bool {
			return shard == "2" || o.Labels["shard"] == shard
		})
	}
}

// TestNoReadIsOlderThanTheWritesBeforeIt lets authors write and read at random, as this process and as other processes.
// Watches are up to two seconds late or break, and trackers remember few writes. A read must return each object as its
// author last wrote it, or a later state. With a timeout of an hour, no read may fail as stale.
func TestNoReadIsOlderThanTheWritesBeforeIt(t *testing.T) {
	mine := labels.SelectorFromSet(labels.Set{"app": "mine"})
	seeds.Each(t, 16, func(t *testing.T, seed uint64) {
		options := rand.New(rand.NewPCG(seed, 1000))
		opts := cache.Options{ConsistencyTimeout: []time.Duration{time.Hour, time.Second}[options.IntN(2)]}
		var scope labels.Selector
		if options.IntN(2) == 0 {
			scope = mine
			opts.ByKind = []cache.KindOptions{{Object: &corev1.ConfigMap{}, Scope: client.Scope{Labels: mine}}}
		}
		unheld, past := []int{1, 2, 5, 8192}[options.IntN(4)], []int{1, 2, 1024}[options.IntN(3)]
		run(t, opts, func(f *fixture) {
			f.cache.SetBounds(unheld, past)
			reads := &tally{}
			var all sync.WaitGroup
			for n := range uint64(4) {
				a := &author{f, rand.New(rand.NewPCG(seed, n)), fmt.Sprint("author", n, "-"), scope, 0, map[string]*history{},
					reads}
				all.Go(func() { a.work(n == 0) })
			}
			f.declare(&corev1.ConfigMap{})
			done := make(chan struct{})
			go func() { all.Wait(); close(done) }()
			for working := true; working; {
				select {
				case <-done:
					working = false
				case <-time.After(5 * time.Second):
					f.api.bookmark()
				}
			}
			if reads.good < 50 || reads.stale > 0 && opts.ConsistencyTimeout == time.Hour {
				t.Errorf("%d good reads, %d stale ones", reads.good, reads.stale)
			}
		})
	})
}

// work writes and reads. One of the authors disturbs the watches.
func (a *author) work(disturbs bool) {
	time.Sleep(time.Millisecond)
	for range 200 {
		time.Sleep(time.Duration(a.random.IntN(200)) * time.Millisecond)
		a.api.late(time.Duration(a.random.IntN(2000)) * time.Millisecond)
		[]func(){a.write, a.write, a.foreign, a.foreign, a.erase, a.erase, a.eraseAll, a.vague, a.subresource, a.get, a.get,
			a.get, a.list, a.list}[a.random.IntN(14)]()
		if disturbs && a.chance(40) {
			a.api.cut()
		}
	}
}
