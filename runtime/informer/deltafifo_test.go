package informer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func thing(name, uid string, version int) obj {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(uid), ResourceVersion: strconv.Itoa(version),
	}}
}

// delta returns a delta of thing(name, uid, version) that arrives at that version.
func delta(kind informer.EventType, name, uid string, version int) informer.Delta[obj] {
	return informer.Delta[obj]{Type: kind, Object: thing(name, uid, version), ResourceVersion: strconv.Itoa(version)}
}

func replaced(version int, objects ...obj) informer.Delta[obj] {
	return informer.Delta[obj]{Type: informer.Replaced, Objects: objects, ResourceVersion: strconv.Itoa(version)}
}

// popped returns the batches that wait in f, in short: "Updated a/1@12" is object a of UID 1 in version 12.
func popped(t *testing.T, f *informer.DeltaFIFO[obj]) [][]string {
	t.Helper()
	var batches [][]string
	for f.Len() > 0 {
		err := f.Pop(t.Context(), func(deltas informer.Deltas[obj]) {
			var batch []string
			for _, d := range deltas {
				batch = append(batch, short(d))
			}
			batches = append(batches, batch)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return batches
}

func short(d informer.Delta[obj]) string {
	switch {
	case d.FinalStateUnknown:
		return fmt.Sprintf("%v %s?", d.Type, d.Key.Name)
	case d.Object == nil:
		return fmt.Sprintf("%v:%s", d.Type, d.ResourceVersion)
	}
	return fmt.Sprintf("%v %s/%s@%s", d.Type, d.Object.Name, d.Object.UID, d.Object.ResourceVersion)
}

func expectBatches(t *testing.T, got [][]string, want ...[]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

// D01, F01
func TestDeltasComeOutInTheOrderInWhichTheyWentIn(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Added, "a", "1", 1))
	f.Push(delta(informer.Added, "b", "2", 2))
	f.Push(delta(informer.Updated, "a", "1", 3))
	f.Push(delta(informer.Deleted, "b", "2", 4))
	expectBatches(t, popped(t, f), []string{"Added a/1@1", "Added b/2@2", "Updated a/1@3", "Deleted b/2@4"})
}

// D03, F02, F03
//
// Stronger: a list is always one delta, never a row of deletions and additions, so the store goes from one whole state
// to the next.
func TestReplacedIsHandedOutAloneAndWhole(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Added, "a", "1", 1))
	f.Push(replaced(5, thing("a", "1", 2), thing("b", "2", 3)))
	f.Push(delta(informer.Updated, "a", "1", 6))
	expectBatches(t, popped(t, f), []string{"Added a/1@1"}, []string{"Replaced:5"}, []string{"Updated a/1@6"})
}

// D03
func TestLaterReplacedTakesThePlaceOfOneThatWaits(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Deleted, "a", "1", 1))
	for v := range 1000 {
		f.Push(replaced(v, thing("b", "2", 3)))
		f.Push(delta(informer.Updated, "b", "2", v))
	}
	f.Push(replaced(2000))
	expectBatches(t, popped(t, f), []string{"Deleted a/1@1"}, []string{"Replaced:2000"})
}

// F04
//
// Stronger: an object may be in a batch more than once, since the deltas of a batch are applied one after the other; so
// a busy object does not cut batches short.
func TestBatchHasAtMostAThousandDeltas(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	for i := range 2500 {
		f.Push(delta(informer.Added, fmt.Sprint("o", i), "1", i))
	}
	batches := popped(t, f)
	if len(batches) != 3 || len(batches[0]) != 1000 || len(batches[1]) != 1000 || len(batches[2]) != 500 {
		t.Errorf("got %d batches", len(batches))
	}
}

// D05, F03
//
// Stronger: a resync waits as one entry, and is made from the store when its turn comes, so it cannot carry a state
// that is older than the store.
func TestOneSyncWaitsAtATime(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	for range 3 {
		f.Push(informer.Delta[obj]{Type: informer.Sync})
		f.Push(delta(informer.Updated, "a", "1", 1))
	}
	expectBatches(t, popped(t, f), []string{"Sync:"}, []string{"Updated a/1@1", "Updated a/1@1", "Updated a/1@1"})
}

// F08
func TestBookmarkMovesTheVersionOfWhatWaits(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	bookmark := func(version string) {
		f.Push(informer.Delta[obj]{Type: informer.Bookmark, ResourceVersion: version})
	}
	bookmark("5")
	bookmark("6")
	expectBatches(t, popped(t, f), []string{"Bookmark:6"})
	f.Push(delta(informer.Added, "a", "1", 7))
	bookmark("9")
	_ = f.Pop(t.Context(), func(deltas informer.Deltas[obj]) {
		if len(deltas) != 1 || deltas[0].ResourceVersion != "9" {
			t.Errorf("got %+v, want one delta at version 9", deltas)
		}
	})
}

// D06, F05
func TestQueueIsSyncedWhenTheFirstReplacedHasBeenProcessed(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	synced := func() bool {
		select {
		case <-f.Synced():
			return true
		default:
			return false
		}
	}
	f.Push(delta(informer.Added, "a", "1", 1))
	f.Push(replaced(5))
	for _, want := range []bool{false, true} {
		_ = f.Pop(t.Context(), func(informer.Deltas[obj]) {
			if synced() {
				t.Error("synced during processing")
			}
		})
		if synced() != want {
			t.Errorf("synced %v, want %v", synced(), want)
		}
	}
}

// D07
func TestPopEndsWithTheQueueOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := informer.NewDeltaFIFO[obj](nil)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		pop := func() { result <- f.Pop(ctx, func(informer.Deltas[obj]) {}) }
		go pop()
		synctest.Wait()
		f.Push(delta(informer.Added, "a", "1", 1))
		if err := <-result; err != nil {
			t.Errorf("got %v after a push", err)
		}
		go pop()
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v after cancel", err)
		}
		ctx = t.Context()
		go pop()
		synctest.Wait()
		f.Close()
		f.Close()
		if err := <-result; !errors.Is(err, informer.ErrClosed) {
			t.Errorf("got %v after close", err)
		}
		f.Push(delta(informer.Added, "a", "1", 1))
		if f.Len() != 0 {
			t.Error("a closed queue took a delta")
		}
	})
}

// D07
func TestClosedQueueHandsOutWhatWaits(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Added, "a", "1", 1))
	f.Close()
	expectBatches(t, popped(t, f), []string{"Added a/1@1"})
}

// D08
//
// Stronger: the key is in the delta, so there is no tombstone type that a key function would have to know.
func TestDeletionWithoutAnObjectKeepsItsKey(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(informer.Delta[obj]{Type: informer.Deleted, Key: keyOf("a"), FinalStateUnknown: true})
	expectBatches(t, popped(t, f), []string{"Deleted a?"})
}

// F06
//
// Stronger: a slow consumer never holds up the watch, which the server would end, nor does it cost more memory for each
// event: what waits is compressed per object.
func TestPushDoesNotWaitForTheConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := informer.NewDeltaFIFO[obj](nil)
		f.Push(delta(informer.Added, "a", "1", 1))
		release, popped := make(chan struct{}), make(chan error)
		go func() { popped <- f.Pop(t.Context(), func(informer.Deltas[obj]) { <-release }) }()
		synctest.Wait()
		for v := range 100000 {
			f.Push(delta(informer.Updated, fmt.Sprint("o", v%10), "2", v))
			if f.Len() > 257 {
				t.Fatalf("%d deltas wait", f.Len())
			}
		}
		close(release)
		if err := <-popped; err != nil {
			t.Error(err)
		}
	})
}

// D01, D02: the deltas of a busy object, while the consumer stands still.
//
// Stronger: compression begins only when hundreds of deltas wait; until then everything is delivered, as F01 wants.
func TestDeltasOfAnObjectAreCompressedWhenManyWait(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	f.Push(delta(informer.Updated, "quiet", "0", 1))
	f.Push(delta(informer.Deleted, "a", "1", 2))
	for v := range 10000 {
		f.Push(delta(informer.Updated, "a", "2", 3+v))
	}
	if f.Len() > 300 {
		t.Fatalf("%d deltas wait", f.Len())
	}
	var all []string
	for _, batch := range popped(t, f) {
		all = append(all, batch...)
	}
	if all[0] != "Updated quiet/0@1" || all[1] != "Deleted a/1@2" || all[len(all)-1] != "Updated a/2@10002" {
		t.Errorf("got %q, ..., %q", all[:3], all[len(all)-1])
	}
}

// D02
func TestOfTwoDeletionsTheOneWithTheFinalStateIsKept(t *testing.T) {
	unknown := informer.Delta[obj]{Type: informer.Deleted, Key: keyOf("a"), FinalStateUnknown: true}
	known := delta(informer.Deleted, "a", "1", 2)
	for _, order := range [][]informer.Delta[obj]{{unknown, known}, {known, unknown}} {
		f := informer.NewDeltaFIFO[obj](nil)
		f.Push(order[0])
		f.Push(order[1])
		for v := range 255 {
			f.Push(delta(informer.Updated, "b", "2", 3+v))
		}
		expectBatches(t, popped(t, f), []string{"Deleted a/1@2", "Updated b/2@257"})
	}
}

// F08
func TestCompressedBacklogEndsAtItsLastVersion(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	for v := range 257 {
		f.Push(delta(informer.Updated, string("ab"[v%2]), "1", v))
	}
	_ = f.Pop(t.Context(), func(deltas informer.Deltas[obj]) {
		if len(deltas) != 2 || deltas[0].ResourceVersion != "0" || deltas[1].ResourceVersion != "256" {
			t.Errorf("got %+v, want two deltas, at the versions 0 and 256", deltas)
		}
	})
}

// D04, F07
//
// Stronger: a deletion is delivered even of an unknown object, and dropped only under load and when the consumer never
// saw the object.
func TestMemoryIsBoundedByObjectsThatTheConsumerKnowsOrThatExist(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](func(key object.Key) bool { return key == keyOf("known") })
	f.Push(replaced(0))
	_ = f.Pop(t.Context(), func(informer.Deltas[obj]) {})
	f.Push(delta(informer.Deleted, "known", "0", 0))
	for v := range 10000 {
		name := fmt.Sprint("short-lived-", v)
		f.Push(delta(informer.Added, name, "1", 2*v))
		f.Push(delta(informer.Deleted, name, "1", 2*v+1))
	}
	if f.Len() > 300 {
		t.Errorf("%d deltas wait", f.Len())
	}
	version := ""
	for f.Len() > 0 {
		_ = f.Pop(t.Context(), func(deltas informer.Deltas[obj]) {
			if version == "" && deltas[0].Key != keyOf("known") {
				t.Error("the deletion of a known object was dropped")
			}
			version = deltas[len(deltas)-1].ResourceVersion
		})
	}
	if version != "19999" {
		t.Errorf("the queue ends at version %s", version)
	}
}

// D04: what is being processed may become known at any moment.
func TestDeletionOfAnObjectInProcessIsKept(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](func(object.Key) bool { return false })
	f.Push(delta(informer.Added, "a", "1", 1))
	_ = f.Pop(t.Context(), func(informer.Deltas[obj]) {
		f.Push(delta(informer.Deleted, "a", "1", 2))
		for v := range 1000 {
			f.Push(delta(informer.Updated, "b", "2", 3+v))
		}
	})
	if first := popped(t, f)[0][0]; first != "Deleted a/1@2" {
		t.Errorf("got %s first", first)
	}
}

func TestQueueForgetsThatItWasLong(t *testing.T) {
	f := informer.NewDeltaFIFO[obj](nil)
	for v := range 5000 {
		f.Push(delta(informer.Added, fmt.Sprint("o", v), "1", v))
	}
	popped(t, f)
	for v := range 5000 {
		f.Push(delta(informer.Updated, "a", "1", v))
	}
	if f.Len() > 300 {
		t.Errorf("%d deltas wait", f.Len())
	}
}

// F08, C09: a resync that waits takes over the version of what comes behind it.
func TestVersionOfABookmarkBehindAResyncReachesTheStore(t *testing.T) {
	inBothForms(t, func(t *testing.T, in form) {
		s := newSource("a")
		hold, held := make(chan struct{}), false
		inf := build(s, in(options{Resync: time.Minute, Observer: observer(func(_ string, events []informer.Event[obj]) {
			if len(events) > 0 && events[0].Type == informer.Updated && !held {
				held = true
				<-hold
			}
		})}))
		run(t, inf)
		synctest.Wait()
		s.update("a") // is being applied, while a resync and then a bookmark come
		time.Sleep(time.Minute)
		s.send(bookmark("99"))
		synctest.Wait()
		close(hold)
		synctest.Wait()
		if version := inf.Store().ResourceVersion(); version != "99" {
			t.Errorf("the store is at %s", version)
		}
	})
}

// D01, D02, D03, D04, F01, F02, F03, F08
//
// A consumer that now and then stands still for hundreds of deltas ends with the state of the producer, never sees an
// incarnation follow another without the deletion between them, and at each version it reaches has all there was at
// that version.
func TestQueueLeadsTheConsumerToTheStateOfTheProducer(t *testing.T) {
	seeds.Each(t, 10, func(t *testing.T, seed uint64) { produceAndConsume(t, rand.New(rand.NewPCG(seed, 11))) })
}

func produceAndConsume(t *testing.T, random *rand.Rand) {
	p := &producer{random: random, state: make(map[object.Key]obj), last: make(map[object.Key]int), keys: 3 + random.IntN(40)}
	c := &consumer{t: t, producer: p, state: make(map[object.Key]obj), latest: make(map[object.Key]step)}
	f := informer.NewDeltaFIFO[obj](func(key object.Key) bool { return c.state[key] != nil })
	c.fifo = f
	f.Push(p.replaced())
	for range 12 {
		for range random.IntN(700) {
			f.Push(p.next())
		}
		if f.Len() > 257+4*p.keys {
			t.Fatalf("%d deltas of %d objects wait", f.Len(), p.keys)
		}
		for n := random.IntN(4); n > 0 && f.Len() > 0; n-- {
			_ = f.Pop(t.Context(), c.process)
		}
	}
	for f.Len() > 0 {
		_ = f.Pop(t.Context(), c.process)
	}
	compare(t, "consumer", c.state, p.state)
	if c.version != p.version {
		t.Errorf("consumer at version %d, producer at %d", c.version, p.version)
	}
}

// producer makes deltas, and remembers when each key changed.
type producer struct {
	random  *rand.Rand
	keys    int
	version int
	uid     int
	state   map[object.Key]obj
	changes []step
	last    map[object.Key]int // the version of the last change
}

// step is one change: of key, at version, to an object or to nothing.
type step struct {
	key     object.Key
	version int
	object  obj
}

func (p *producer) next() informer.Delta[obj] {
	p.version++
	name := fmt.Sprint("o", p.random.IntN(p.keys))
	key := keyOf(name)
	old := p.state[key]
	switch dice := p.random.IntN(400); {
	case dice == 0:
		return p.replaced()
	case dice < 10:
		return informer.Delta[obj]{Type: informer.Bookmark, ResourceVersion: strconv.Itoa(p.version)}
	case old == nil:
		p.uid++
		return p.set(key, informer.Added, thing(name, strconv.Itoa(p.uid), p.version))
	case dice < 120:
		d := p.set(key, informer.Deleted, nil)
		d.Object = thing(name, string(old.UID), p.version)
		if dice < 30 {
			d.Object, d.Key, d.FinalStateUnknown = nil, key, true
		}
		return d
	default:
		return p.set(key, informer.Updated, thing(name, string(old.UID), p.version))
	}
}

func (p *producer) set(key object.Key, kind informer.EventType, o obj) informer.Delta[obj] {
	p.state[key] = o
	if o == nil {
		delete(p.state, key)
	}
	p.changes, p.last[key] = append(p.changes, step{key, p.version, o}), p.version
	return informer.Delta[obj]{Type: kind, Object: o, ResourceVersion: strconv.Itoa(p.version)}
}

func (p *producer) replaced() informer.Delta[obj] {
	d := informer.Delta[obj]{Type: informer.Replaced, ResourceVersion: strconv.Itoa(p.version)}
	for _, o := range p.state {
		d.Objects = append(d.Objects, o)
	}
	return d
}

// consumer applies deltas and checks each of them.
type consumer struct {
	t        *testing.T
	producer *producer
	fifo     *informer.DeltaFIFO[obj]
	state    map[object.Key]obj
	version  int
	past     int                 // how many changes of the producer are not after version
	latest   map[object.Key]step // the last of those, by key
}

func (c *consumer) process(deltas informer.Deltas[obj]) {
	for range c.producer.random.IntN(2) * 300 {
		c.fifo.Push(c.producer.next())
	}
	for _, d := range deltas {
		c.apply(d)
		version, _ := strconv.Atoi(d.ResourceVersion)
		if version < c.version {
			c.t.Fatalf("version %d after %d", version, c.version)
		}
		c.version = version
	}
	for changes := c.producer.changes; c.past < len(changes) && changes[c.past].version <= c.version; c.past++ {
		c.latest[changes[c.past].key] = changes[c.past]
	}
	for key, s := range c.latest {
		have, has := c.state[key]
		switch {
		case has && versionNumber(have) < s.version:
			c.t.Fatalf("at version %d the consumer has %s of %s, which changed at %d", c.version, versionOf(have), key.Name, s.version)
		case !has && s.object != nil && c.producer.last[key] == s.version:
			c.t.Fatalf("at version %d the consumer does not have %s", c.version, key.Name)
		}
	}
}

func (c *consumer) apply(d informer.Delta[obj]) {
	switch d.Type {
	case informer.Replaced:
		clear(c.state)
		for _, o := range d.Objects {
			c.state[object.KeyOf(o)] = o
		}
	case informer.Added, informer.Updated:
		if have := c.state[d.Key]; have != nil && have.UID != d.Object.UID {
			c.t.Fatalf("%s, but the consumer has incarnation %s", short(d), have.UID)
		}
		c.state[d.Key] = d.Object
	case informer.Deleted:
		delete(c.state, d.Key)
	}
}

func versionNumber(o obj) int {
	n, _ := strconv.Atoi(o.ResourceVersion)
	return n
}
