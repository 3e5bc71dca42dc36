package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/internal/testing/listwatch"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

func thing(name, uid string, version int) listwatch.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(uid), ResourceVersion: strconv.Itoa(version),
	}}
}

// delta returns a delta of kind with thing(name, uid, version) and that version.
func delta(kind reflector.DeltaType, name, uid string, version int) reflector.Delta[listwatch.Object] {
	return reflector.Delta[listwatch.Object]{Type: kind, Object: thing(name, uid, version),
		ResourceVersion: strconv.Itoa(version)}
}

func replaced(version int, objects ...listwatch.Object) reflector.Delta[listwatch.Object] {
	return reflector.Delta[listwatch.Object]{Type: reflector.Replaced, Objects: objects,
		ResourceVersion: strconv.Itoa(version)}
}

// popped pops all batches of f and formats them: "Updated a/1@12" is object a with UID 1 at version 12.
func popped(t *testing.T, f *reflector.DeltaFIFO[listwatch.Object]) [][]string {
	t.Helper()
	var batches [][]string
	for f.Len() > 0 {
		err := f.Pop(t.Context(), func(deltas reflector.Deltas[listwatch.Object]) {
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

func short(d reflector.Delta[listwatch.Object]) string {
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
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	f.Push(delta(reflector.Added, "a", "1", 1))
	f.Push(delta(reflector.Added, "b", "2", 2))
	f.Push(delta(reflector.Updated, "a", "1", 3))
	f.Push(delta(reflector.Deleted, "b", "2", 4))
	expectBatches(t, popped(t, f), []string{"Added a/1@1", "Added b/2@2", "Updated a/1@3", "Deleted b/2@4"})
}

// D03, F02, F03
//
// Stronger: a list is always one delta instead of a sequence of deletions and additions, so the store changes from one
// complete state to the next.
func TestReplacedIsHandedOutAloneAndWhole(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	f.Push(delta(reflector.Added, "a", "1", 1))
	f.Push(replaced(5, thing("a", "1", 2), thing("b", "2", 3)))
	f.Push(delta(reflector.Updated, "a", "1", 6))
	expectBatches(t, popped(t, f), []string{"Added a/1@1"}, []string{"Replaced:5"}, []string{"Updated a/1@6"})
}

// D03
func TestLaterReplacedTakesThePlaceOfOneThatWaits(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	f.Push(delta(reflector.Deleted, "a", "1", 1))
	for v := range 1000 {
		f.Push(replaced(v, thing("b", "2", 3)))
		f.Push(delta(reflector.Updated, "b", "2", v))
	}
	f.Push(replaced(2000))
	expectBatches(t, popped(t, f), []string{"Deleted a/1@1"}, []string{"Replaced:2000"})
}

// F04
//
// Stronger: an object may occur more than once in a batch, since the deltas of a batch are applied in order. So a busy
// object does not make batches shorter.
func TestBatchHasAtMostAThousandDeltas(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	for i := range 2500 {
		f.Push(delta(reflector.Added, fmt.Sprint("o", i), "1", i))
	}
	batches := popped(t, f)
	if len(batches) != 3 || len(batches[0]) != 1000 || len(batches[1]) != 1000 || len(batches[2]) != 500 {
		t.Errorf("got %d batches", len(batches))
	}
}

// D05, F03
//
// Stronger: a resync waits in the queue as one entry and reads the store only when it is processed, so its state cannot
// be older than the store.
func TestOneSyncWaitsAtATime(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	for range 3 {
		f.Push(reflector.Delta[listwatch.Object]{Type: reflector.Sync})
		f.Push(delta(reflector.Updated, "a", "1", 1))
	}
	expectBatches(t, popped(t, f), []string{"Sync:"}, []string{"Updated a/1@1", "Updated a/1@1", "Updated a/1@1"})
}

// F08
func TestBookmarkMovesTheVersionOfWhatWaits(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	bookmark := func(version string) {
		f.Push(reflector.Delta[listwatch.Object]{Type: reflector.Bookmark, ResourceVersion: version})
	}
	bookmark("5")
	bookmark("6")
	expectBatches(t, popped(t, f), []string{"Bookmark:6"})
	f.Push(delta(reflector.Added, "a", "1", 7))
	bookmark("9")
	_ = f.Pop(t.Context(), func(deltas reflector.Deltas[listwatch.Object]) {
		if len(deltas) != 1 || deltas[0].ResourceVersion != "9" {
			t.Errorf("got %+v, want one delta at version 9", deltas)
		}
	})
}

// D06, F05
func TestQueueIsSyncedWhenTheFirstReplacedHasBeenProcessed(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	synced := func() bool {
		select {
		case <-f.Synced():
			return true
		default:
			return false
		}
	}
	f.Push(delta(reflector.Added, "a", "1", 1))
	f.Push(replaced(5))
	for _, want := range []bool{false, true} {
		_ = f.Pop(t.Context(), func(reflector.Deltas[listwatch.Object]) {
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
		f := reflector.NewDeltaFIFO[listwatch.Object](nil)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		pop := func() { result <- f.Pop(ctx, func(reflector.Deltas[listwatch.Object]) {}) }
		go pop()
		synctest.Wait()
		f.Push(delta(reflector.Added, "a", "1", 1))
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
		if err := <-result; !errors.Is(err, reflector.ErrClosed) {
			t.Errorf("got %v after close", err)
		}
		f.Push(delta(reflector.Added, "a", "1", 1))
		if f.Len() != 0 {
			t.Error("a closed queue took a delta")
		}
	})
}

// D07
func TestClosedQueueHandsOutWhatWaits(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	f.Push(delta(reflector.Added, "a", "1", 1))
	f.Close()
	expectBatches(t, popped(t, f), []string{"Added a/1@1"})
}

// D08
//
// Stronger: the delta contains the key, so key functions need no case for a tombstone type.
func TestDeletionWithoutAnObjectKeepsItsKey(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	f.Push(reflector.Delta[listwatch.Object]{Type: reflector.Deleted, Key: listwatch.KeyOf("a"), FinalStateUnknown: true})
	expectBatches(t, popped(t, f), []string{"Deleted a?"})
}

// F06
//
// Stronger: a slow consumer never blocks the watch, which the server would otherwise end. Nor does memory grow with
// each event, because waiting deltas are compressed per object.
func TestPushDoesNotWaitForTheConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := reflector.NewDeltaFIFO[listwatch.Object](nil)
		f.Push(delta(reflector.Added, "a", "1", 1))
		release, popped := make(chan struct{}), make(chan error)
		go func() { popped <- f.Pop(t.Context(), func(reflector.Deltas[listwatch.Object]) { <-release }) }()
		synctest.Wait()
		for v := range 100000 {
			f.Push(delta(reflector.Updated, fmt.Sprint("o", v%10), "2", v))
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

// D01, D02: the deltas of a busy object while the consumer is blocked.
//
// Stronger: compression begins only when hundreds of deltas wait. Until then all deltas are delivered, as F01 requires.
func TestPendingDeltasOfAnObjectAreCompressed(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	f.Push(delta(reflector.Updated, "quiet", "0", 1))
	f.Push(delta(reflector.Deleted, "a", "1", 2))
	for v := range 10000 {
		f.Push(delta(reflector.Updated, "a", "2", 3+v))
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
	unknown := reflector.Delta[listwatch.Object]{Type: reflector.Deleted, Key: listwatch.KeyOf("a"),
		FinalStateUnknown: true}
	known := delta(reflector.Deleted, "a", "1", 2)
	for _, order := range [][]reflector.Delta[listwatch.Object]{{unknown, known}, {known, unknown}} {
		f := reflector.NewDeltaFIFO[listwatch.Object](nil)
		f.Push(order[0])
		f.Push(order[1])
		for v := range 255 {
			f.Push(delta(reflector.Updated, "b", "2", 3+v))
		}
		expectBatches(t, popped(t, f), []string{"Deleted a/1@2", "Updated b/2@257"})
	}
}

// F08
func TestCompressedBacklogEndsAtItsLastVersion(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	for v := range 257 {
		f.Push(delta(reflector.Updated, string("ab"[v%2]), "1", v))
	}
	_ = f.Pop(t.Context(), func(deltas reflector.Deltas[listwatch.Object]) {
		if len(deltas) != 2 || deltas[0].ResourceVersion != "0" || deltas[1].ResourceVersion != "256" {
			t.Errorf("got %+v, want two deltas, at the versions 0 and 256", deltas)
		}
	})
}

// D04, F07
//
// Stronger: the deletion of an unknown object is delivered. It is dropped only under load, and only if the consumer
// never saw the object.
func TestMemoryIsBoundedByObjectsThatTheConsumerKnowsOrThatExist(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](func(key object.Key) bool { return key == listwatch.KeyOf("known") })
	f.Push(replaced(0))
	_ = f.Pop(t.Context(), func(reflector.Deltas[listwatch.Object]) {})
	f.Push(delta(reflector.Deleted, "known", "0", 0))
	for v := range 10000 {
		name := fmt.Sprint("short-lived-", v)
		f.Push(delta(reflector.Added, name, "1", 2*v))
		f.Push(delta(reflector.Deleted, name, "1", 2*v+1))
	}
	if f.Len() > 300 {
		t.Errorf("%d deltas wait", f.Len())
	}
	version := ""
	for f.Len() > 0 {
		_ = f.Pop(t.Context(), func(deltas reflector.Deltas[listwatch.Object]) {
			if version == "" && deltas[0].Key != listwatch.KeyOf("known") {
				t.Error("the deletion of a known object was dropped")
			}
			version = deltas[len(deltas)-1].ResourceVersion
		})
	}
	if version != "19999" {
		t.Errorf("the queue ends at version %s", version)
	}
}

// D04: an object that is being processed counts as known, since the consumer may store it at any moment.
func TestDeletionOfAnObjectInProcessIsKept(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](func(object.Key) bool { return false })
	f.Push(delta(reflector.Added, "a", "1", 1))
	_ = f.Pop(t.Context(), func(reflector.Deltas[listwatch.Object]) {
		f.Push(delta(reflector.Deleted, "a", "1", 2))
		for v := range 1000 {
			f.Push(delta(reflector.Updated, "b", "2", 3+v))
		}
	})
	if first := popped(t, f)[0][0]; first != "Deleted a/1@2" {
		t.Errorf("got %s first", first)
	}
}

func TestQueueForgetsThatItWasLong(t *testing.T) {
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	for v := range 5000 {
		f.Push(delta(reflector.Added, fmt.Sprint("o", v), "1", v))
	}
	popped(t, f)
	for v := range 5000 {
		f.Push(delta(reflector.Updated, "a", "1", v))
	}
	if f.Len() > 300 {
		t.Errorf("%d deltas wait", f.Len())
	}
}

// D01, D02, D03, D04, F01, F02, F03, F08
//
// A consumer that sometimes blocks for hundreds of deltas ends with the producer's state. It never sees one incarnation
// of an object follow another without the deletion between them. At each version that it reaches, it has all objects of
// that version.
func TestQueueLeadsTheConsumerToTheStateOfTheProducer(t *testing.T) {
	seeds.Each(t, 10, func(t *testing.T, seed uint64) { produceAndConsume(t, rand.New(rand.NewPCG(seed, 11))) })
}

func produceAndConsume(t *testing.T, random *rand.Rand) {
	p := &producer{random: random, state: make(map[object.Key]listwatch.Object), last: make(map[object.Key]int),
		keys: 3 + random.IntN(40)}
	c := &consumer{t: t, producer: p, state: make(map[object.Key]listwatch.Object), latest: make(map[object.Key]step)}
	f := reflector.NewDeltaFIFO[listwatch.Object](func(key object.Key) bool { return c.state[key] != nil })
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
	if !apiequality.Semantic.DeepEqual(c.state, p.state) {
		t.Errorf("the consumer has %v, the producer %v", c.state, p.state)
	}
	if c.version != p.version {
		t.Errorf("consumer at version %d, producer at %d", c.version, p.version)
	}
}

// producer creates deltas and records when each key changed.
type producer struct {
	random  *rand.Rand
	keys    int
	version int
	uid     int
	state   map[object.Key]listwatch.Object
	changes []step
	last    map[object.Key]int // version of the last change
}

// step is one change: at version, the object with the key became object, or was deleted if object is nil.
type step struct {
	key     object.Key
	version int
	object  listwatch.Object
}

func (p *producer) next() reflector.Delta[listwatch.Object] {
	p.version++
	name := fmt.Sprint("o", p.random.IntN(p.keys))
	key := listwatch.KeyOf(name)
	old := p.state[key]
	switch dice := p.random.IntN(400); {
	case dice == 0:
		return p.replaced()
	case dice < 10:
		return reflector.Delta[listwatch.Object]{Type: reflector.Bookmark, ResourceVersion: strconv.Itoa(p.version)}
	case old == nil:
		p.uid++
		return p.set(key, reflector.Added, thing(name, strconv.Itoa(p.uid), p.version))
	case dice < 120:
		d := p.set(key, reflector.Deleted, nil)
		d.Object = thing(name, string(old.UID), p.version)
		if dice < 30 {
			d.Object, d.Key, d.FinalStateUnknown = nil, key, true
		}
		return d
	default:
		return p.set(key, reflector.Updated, thing(name, string(old.UID), p.version))
	}
}

func (p *producer) set(key object.Key, kind reflector.DeltaType, o listwatch.Object) reflector.Delta[listwatch.Object] {
	p.state[key] = o
	if o == nil {
		delete(p.state, key)
	}
	p.changes, p.last[key] = append(p.changes, step{key, p.version, o}), p.version
	return reflector.Delta[listwatch.Object]{Type: kind, Object: o, ResourceVersion: strconv.Itoa(p.version)}
}

func (p *producer) replaced() reflector.Delta[listwatch.Object] {
	d := reflector.Delta[listwatch.Object]{Type: reflector.Replaced, ResourceVersion: strconv.Itoa(p.version)}
	for _, o := range p.state {
		d.Objects = append(d.Objects, o)
	}
	return d
}

// consumer applies deltas and checks each of them.
type consumer struct {
	t        *testing.T
	producer *producer
	fifo     *reflector.DeltaFIFO[listwatch.Object]
	state    map[object.Key]listwatch.Object
	version  int
	past     int                 // number of the producer's changes up to version
	latest   map[object.Key]step // by key, the last of these changes
}

func (c *consumer) process(deltas reflector.Deltas[listwatch.Object]) {
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
			c.t.Fatalf("at version %d the consumer has %s of %s, which changed at %d", c.version, have.ResourceVersion, key.Name,
				s.version)
		case !has && s.object != nil && c.producer.last[key] == s.version:
			c.t.Fatalf("at version %d the consumer does not have %s", c.version, key.Name)
		}
	}
}

func (c *consumer) apply(d reflector.Delta[listwatch.Object]) {
	switch d.Type {
	case reflector.Replaced:
		clear(c.state)
		for _, o := range d.Objects {
			c.state[object.KeyOf(o)] = o
		}
	case reflector.Added, reflector.Updated:
		if have := c.state[d.Key]; have != nil && have.UID != d.Object.UID {
			c.t.Fatalf("%s, but the consumer has incarnation %s", short(d), have.UID)
		}
		c.state[d.Key] = d.Object
	case reflector.Deleted:
		delete(c.state, d.Key)
	}
}

func versionNumber(o listwatch.Object) int {
	n, _ := strconv.Atoi(o.ResourceVersion)
	return n
}

func TestWaitingDeltasAreBoundedInBytes(t *testing.T) {
	const size = 64 << 10
	f := reflector.NewDeltaFIFO[listwatch.Object](nil)
	for version := range 1000 {
		d := delta(reflector.Updated, fmt.Sprint("n", version%4), "1", version+1)
		d.Bytes = size
		f.Push(d)
		if waits := f.Len(); waits > 4<<20/size+1 {
			t.Fatalf("%d deltas of 64 KiB wait", waits)
		}
	}
	batches := popped(t, f)
	if last := batches[len(batches)-1]; last[len(last)-1] != "Updated n3/1@1000" {
		t.Errorf("got %v", batches)
	}
}
