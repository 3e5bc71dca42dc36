package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// thing is the object of these tests, of any kind.
type thing = *metav1.PartialObjectMetadata

const (
	thingKind = "Thing.example.com"
	partKind  = "Part.example.com"
)

var theThing = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "a"}}

// world is an API server with a thing and a part of it, late watches, and a controller of things whose every reconcile
// fails. Own and foreign writes change both objects.
type world struct {
	t       *testing.T
	journal *client.Journal
	begun   time.Time
	queue   handler.Queue[reconcile.Request]

	mu      sync.Mutex
	random  *rand.Rand
	version int
	objects map[string]thing // by kind
	watches map[string]chan seen
	starts  []time.Duration // start times of reconciles
	ends    []time.Duration
	busy    map[string]time.Duration // by kind, the time until which an own write is in flight
	must    []asked                  // events that require an attempt
	may     []time.Duration          // times of events that allow an attempt
}

// asked is an event that requires an attempt: its time, and the time at which all own writes of its object that had
// begun before the event were reported.
type asked struct{ at, known time.Duration }

// seen is a change that the watch has delivered.
type seen struct {
	old, now thing
	must     bool
}

func newWorld(t *testing.T, random *rand.Rand) *world {
	return &world{
		t: t, journal: &client.Journal{}, begun: time.Now(), random: random, objects: map[string]thing{},
		watches: map[string]chan seen{thingKind: make(chan seen, 1000), partKind: make(chan seen, 1000)},
		busy:    map[string]time.Duration{},
	}
}

func (w *world) now() time.Duration { return time.Since(w.begun) }

func (w *world) intN(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

func (w *world) pause(most time.Duration) {
	<-time.After(time.Duration(1 + w.intN(int(most))))
}

// write changes an object on the server and returns the answer. The change counts as foreign unless own is true.
func (w *world) write(kind string, own bool, change func(o thing)) thing {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.objects[kind]
	now := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "a", UID: types.UID("uid of " + kind), Generation: 1, Labels: map[string]string{},
		Annotations: map[string]string{},
	}}
	if old != nil {
		now = old.DeepCopy()
	}
	if change == nil {
		return now // a write that changes nothing causes no event
	}
	change(now)
	w.version++
	now.ResourceVersion = strconv.Itoa(w.version)
	w.objects[kind] = now
	statusOnly := old != nil && isStatusOnly(event{Type: informer.Updated, Old: old, Object: now})
	w.watches[kind] <- seen{old, now, !own && !(kind == thingKind && statusOnly)}
	return now
}

// change returns a random change of one object.
func (w *world) change() func(o thing) {
	n := w.intN(1 << 62)
	switch text := strconv.Itoa(n); n % 4 {
	case 0:
		return func(o thing) { o.Generation++ }
	case 1:
		return func(o thing) { o.Labels["l"] = text }
	case 2:
		return func(o thing) { o.Annotations["a"] = text }
	}
	return func(thing) {} // a change of the status
}

func (w *world) kind() string { return [...]string{thingKind, partKind}[w.intN(2)] }

// Reconcile writes and then fails. A write is reported when it returns, which may be long after the watch delivered its
// event.
func (w *world) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	w.mu.Lock()
	w.starts = append(w.starts, w.now())
	w.mu.Unlock()
	if w.intN(2) == 0 {
		ctx = context.Background() // some reconcilers write with any context
	}
	for range w.intN(4) {
		kind, change := w.kind(), w.change()
		// Some writes are applies that change nothing, and some are patches with an uncertain effect, which count as foreign.
		// All others are conditional writes.
		certain, kinds := true, w.intN(12)
		switch {
		case kinds < 4:
			certain, change = false, nil
		case kinds == 4:
			certain = false
		}
		w.writeAndReportLate(ctx, kind, func() writes.Write {
			answer := w.write(kind, certain, change)
			return writes.Write{
				Key: object.KeyOf(answer), UID: answer.UID, ResourceVersion: answer.ResourceVersion, Changed: certain,
			}
		})
	}
	w.pause(20 * time.Millisecond)
	w.mu.Lock()
	w.ends = append(w.ends, w.now())
	w.mu.Unlock()
	return reconcile.Result{}, errors.New("broken")
}

// writeAndReportLate makes a write of this process and reports it after a long delay.
func (w *world) writeAndReportLate(ctx context.Context, kind string, write func() writes.Write) {
	long := time.Duration(1 + w.intN(int(200*time.Millisecond)))
	w.mu.Lock()
	w.busy[kind] = max(w.busy[kind], w.now()+long)
	w.mu.Unlock()
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: strings.TrimSuffix(kind, ".example.com")}
	key := object.Key{Namespace: "ns", Name: "a"}
	if w.intN(4) == 0 {
		key.Name = "" // the write affects all objects in a namespace
	}
	end := writes.LogOf(w.journal).Begin(ctx, writes.Write{GVK: gvk, Key: key})
	written := write()
	<-time.After(long)
	writes.LogOf(w.journal).Record(ctx, written)
	end()
}

// watch delivers the changes of a kind late, and merges some of them.
func (w *world) watch(ctx context.Context, kind string) {
	for {
		var s seen
		select {
		case s = <-w.watches[kind]:
		case <-ctx.Done():
			return
		}
		w.pause(150 * time.Millisecond)
		merged := false
		for len(w.watches[kind]) > 0 && w.intN(3) == 0 {
			next := <-w.watches[kind]
			s.now, s.must, merged = next.now, s.must || next.must, true
		}
		e := event{Type: informer.Added, Object: s.now, Merged: merged}
		if s.old != nil {
			e.Type, e.Old = informer.Updated, s.old
		}
		w.mu.Lock()
		if s.must {
			w.must = append(w.must, asked{w.now(), max(w.now(), w.busy[kind])})
		}
		if s.must || merged {
			w.may = append(w.may, w.now(), max(w.now(), w.busy[kind])) // the worker may start the attempt at either time
		}
		w.mu.Unlock()
		queue := w.queue.(sourceQueue[reconcile.Request])
		queue.Because(kind, e).Add(theThing)
		if w.intN(4) == 0 { // deliver a resync
			queue.Because(kind, event{Type: informer.Updated, Old: s.now, Object: s.now}).Add(theThing)
		}
	}
}

// String, Err, Run and Journal make the world a source.
func (w *world) String() string           { return "world" }
func (w *world) Err() error               { return nil }
func (w *world) Journal() *client.Journal { return w.journal }
func (w *world) Run(ctx context.Context, queue handler.Queue[reconcile.Request], synced func()) error {
	w.queue = queue
	synced()
	var all sync.WaitGroup
	for kind := range w.watches {
		all.Go(func() { w.watch(ctx, kind) })
	}
	all.Go(func() { w.author(ctx, false) })
	all.Go(func() { w.author(ctx, true) })
	all.Wait()
	return nil
}

// author writes now and then. Its writes are either own writes outside a reconcile, such as the writes of a webhook, or
// foreign writes, some of which come from another controller of this process.
func (w *world) author(ctx context.Context, own bool) {
	most := time.Duration(1+w.intN(100)) * 100 * time.Millisecond
	for ctx.Err() == nil && w.now() < 20*time.Minute {
		w.pause(most)
		kind := w.kind()
		write := func() writes.Write {
			answer := w.write(kind, own, w.change())
			return writes.Write{
				Key: object.KeyOf(answer), UID: answer.UID, ResourceVersion: answer.ResourceVersion, Changed: true,
			}
		}
		switch {
		case own:
			w.writeAndReportLate(context.Background(), kind, write)
		case w.intN(2) == 0:
			writes.LogOf(w.journal).Record(new(writes.Writer).Context(ctx), write())
		default:
			write()
		}
	}
}

// Q07: an attempt is made only when the backoff ends or after a foreign change that counts, even if events are late or
// merged. A change by another controller of this process is foreign. A foreign change always causes an immediate
// attempt, but at most one per second. These attempts do not change how the backoff grows.
func TestBackoffIsInterruptedByOthersAlone(t *testing.T) {
	seeds.Each(t, 12, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, rand.New(rand.NewPCG(seed, 3)))
			for kind := range w.watches {
				created := w.write(kind, true, func(thing) {})
				w.objects[kind] = created
			}
			w.run(30 * time.Minute)
			w.check()
		})
	})
}

const (
	worldBase  = 500 * time.Millisecond
	worldLimit = time.Minute
)

func (w *world) run(length time.Duration) {
	c := New("things", w, Options{BaseDelay: worldBase, MaxDelay: worldLimit, Logger: slog.New(slog.DiscardHandler)})
	c.events.kind = thingKind
	if err := c.Watch(w); err != nil {
		w.t.Fatal(err)
	}
	for _, o := range w.objects {
		writes.LogOf(w.journal).Record(c.events.writer.Context(w.t.Context()), writes.Write{
			UID: o.UID, ResourceVersion: o.ResourceVersion, Changed: true,
		})
	}
	ctx, stop := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	<-time.After(length)
	stop()
	if err := <-ended; err != nil {
		w.t.Error(err)
	}
}

// check compares the attempts, in their order, with the rules.
func (w *world) check() {
	var floor, extra time.Duration
	failures := 0
	for i, start := range w.starts {
		if i > 0 && start < floor {
			if !between(w.may, w.starts[i-1], start) {
				w.t.Fatalf("attempt %d at %v: no event requested it, and the backoff ends at %v", i, start, floor)
			}
			if extra != 0 && start < extra+time.Second {
				w.t.Fatalf("attempt %d at %v: one was made for a change at %v", i, start, extra)
			}
			extra = start
		}
		if i >= len(w.ends) {
			break
		}
		end := w.ends[i]
		if i > 0 && end >= floor || i == 0 {
			floor = end + min(worldLimit, worldBase<<min(failures, 20))
			failures++
		}
		if i+1 == len(w.starts) {
			break
		}
		next := w.starts[i+1]
		if next > floor {
			w.t.Fatalf("attempt %d at %v is after the end of the backoff at %v", i+1, next, floor)
		}
		for _, asked := range w.must {
			due := max(asked.known, end)
			if extra != 0 {
				due = max(due, extra+time.Second)
			}
			if asked.at > start && asked.at < next && next > min(due, floor) {
				w.t.Fatalf("attempt %d at %v: a change was made at %v and known at %v, the last attempt was %v "+
					"to %v, the last for a change at %v",
					i+1, next, asked.at, asked.known, start, end, extra)
			}
		}
	}
	if failures < 5 {
		w.t.Fatalf("%d failures", failures)
	}
}

func between(times []time.Duration, first, last time.Duration) bool {
	for _, at := range times {
		if first <= at && at <= last {
			return true
		}
	}
	return false
}

func update(uid, version string) event {
	return event{Type: informer.Updated, Old: state(uid, "0"), Object: state(uid, version)}
}

func state(uid, version string) thing {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
}

func ending(o thing) thing {
	o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return o
}

// Q07: a change counts as foreign unless it is certain that a write of this process made it.
func TestAmbiguousChangesCountAsForeign(t *testing.T) {
	log, mine := &writes.Log{}, &writes.Writer{}
	own := mine.Context(t.Context())
	log.Record(own, writes.Write{UID: "u", ResourceVersion: "2"})
	log.Record(own, writes.Write{UID: "u", ResourceVersion: "4", Changed: true})
	log.Record(own, writes.Write{ResourceVersion: "5", Changed: true})
	log.Record(t.Context(), writes.Write{UID: "u", ResourceVersion: "9", Changed: true})
	log.Record(t.Context(), writes.Write{UID: "removed by a webhook", Gone: true})
	log.Record(own, writes.Write{UID: "gone", Gone: true})
	log.Record(own, writes.Write{UID: "ending", Ending: true})
	chained := new(writes.Writer).Context(own)
	log.Record(chained, writes.Write{UID: "u", ResourceVersion: "8", Changed: true})
	log.Record(chained, writes.Write{UID: "theirs", Gone: true, Ending: true})
	merged := update("u", "4")
	merged.Merged = true
	for _, c := range []struct {
		what  string
		event event
		want  bool
	}{
		{"a write that may have changed nothing", update("u", "2"), false},
		{"an update", update("u", "4"), true},
		{"an update of another object", update("other", "4"), false},
		{"a write of an object without a UID", update("", "5"), false},
		{"an update in an event with others", merged, false},
		{"a deletion", event{Type: informer.Deleted, Object: ending(state("gone", "9"))}, true},
		{"a deletion by somebody else", event{Type: informer.Deleted, Object: state("u", "4")}, false},
		{"a deletion that was noticed later", event{Type: informer.Deleted, Object: state("gone", "9"),
			FinalStateUnknown: true}, false},
		{"the deletion of one of many", event{Type: informer.Deleted, Object: state("ending", "9")}, true},
		{"the begin of the deletion of one of many", event{Type: informer.Updated, Old: state("ending", "8"),
			Object: ending(state("ending", "9"))}, true},
		{"the end of one whose finalizers others removed",
			event{Type: informer.Deleted, Object: ending(state("ending", "9"))}, false},
		{"a write by a reconcile of another controller", update("u", "8"), false},
		{"a write by no reconcile", update("u", "9"), true},
		{"a deletion by no reconcile", event{Type: informer.Deleted, Object: state("removed by a webhook", "9")}, true},
		{"a deletion by another controller", event{Type: informer.Deleted, Object: state("theirs", "9")}, false},
	} {
		if got := isMine(log, mine, c.event); got != c.want {
			t.Errorf("%s: own %v, want %v", c.what, got, c.want)
		}
	}
	for n := range 10_000 {
		log.Record(own, writes.Write{UID: types.UID(fmt.Sprint(n)), ResourceVersion: "1", Changed: true})
	}
	if isMine(log, mine, update("u", "4")) {
		t.Error("the log remembers a write before too many others")
	}
	if !isMine(log, mine, update("9999", "1")) {
		t.Error("the log does not remember the last write")
	}
}

// Q07: if a request must wait for the caches at the end of its backoff, it runs as soon as they are ready.
func TestInterruptedBackoffSurvivesTheWaitForTheCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var starts []time.Duration
		c := New("parked", reconcile.Func[string](func(context.Context, string) (reconcile.Result, error) {
			starts = append(starts, time.Since(begun))
			return reconcile.Result{}, errors.New("broken")
		}), Options{BaseDelay: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		c.events.Add("a")
		synctest.Wait()
		w := &fakeWrites{timeout: time.Minute}
		c.parking.deferUntil("a", w)
		<-time.After(time.Second)
		added := event{Type: informer.Added, Object: &metav1.PartialObjectMetadata{}}
		sourceQueue[string]{c.events, &writes.Log{}}.Because("Thing", added).Add("a")
		<-time.After(5 * time.Second)
		w.seen()
		<-time.After(time.Minute)
		stop()
		if err := <-ended; err != nil || len(starts) != 2 || starts[1] != 6*time.Second {
			t.Errorf("reconciled at %v, want 0s and 6s: %v", starts, err)
		}
	})
}
