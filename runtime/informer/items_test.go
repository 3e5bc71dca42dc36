package informer

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/internal/collect"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

func packedContents[T object.Object](t *testing.T, prototype T) *contents[T] {
	t.Helper()
	packing, err := NewPacking(prototype)
	if err != nil {
		t.Fatal(err)
	}
	return newContents(nil, packing)
}

// list returns a complete list for c, as a reflector collects it.
func list[T object.Object](c *contents[T], version string, objects ...T) reflector.Delta[T] {
	all := sink[T]{contents: c}.Collect(0)
	for _, o := range objects {
		if key := object.KeyOf(o); !all.Keep(key, o) {
			all.Set(key, o)
		}
	}
	return whole(all, version)
}

// whole returns the delta of the state that all has collected.
func whole[T object.Object](all collect.Collector[T], version string) reflector.Delta[T] {
	d := reflector.Delta[T]{Type: reflector.Replaced, ResourceVersion: version}
	d.Stored, d.Retained = all.State()
	return d
}

// listedNodes returns a list of the nodes at a version.
func listedNodes(c *contents[meta], version int, names ...string) reflector.Delta[meta] {
	all := sink[meta]{contents: c}.Collect(0)
	for _, name := range names {
		o := node(name, version)
		all.Set(object.KeyOf(o), o)
	}
	return whole(all, fmt.Sprint(version))
}

func TestRelistKeepsWhatWasPacked(t *testing.T) {
	c := packedContents(t, &metav1.PartialObjectMetadata{})
	packedAt := func(name string) *byte {
		held, ok := c.items.find(object.Key{Name: name})
		if !ok {
			return nil
		}
		return unsafe.StringData(string(held.packed))
	}
	c.advance(reflector.Deltas[meta]{listedNodes(c, 1, "a", "b")})
	a, b := packedAt("a"), packedAt("b")
	c.advance(reflector.Deltas[meta]{nodeDelta(reflector.Updated, "b", 2)})
	if packedAt("a") != a || packedAt("b") == b {
		t.Error("an update has packed the wrong object")
	}
	if c.advance(reflector.Deltas[meta]{listedNodes(c, 1, "a")}); packedAt("a") != a || packedAt("b") != nil {
		t.Error("the list has packed again what has not changed, or has kept what is gone")
	}
	// This list was read before the store reached its current state.
	early := sink[meta]{contents: packedContents(t, &metav1.PartialObjectMetadata{})}.Collect(0)
	o := node("a", 1)
	early.Set(object.KeyOf(o), o)
	if c.advance(reflector.Deltas[meta]{whole(early, "9")}); packedAt("a") != a {
		t.Error("the list has taken the place of the same state")
	}
	for key, held := range c.items.all() {
		if start := unsafe.StringData(string(held.packed)); !within(unsafe.StringData(key.Name), start, len(held.packed)) {
			t.Error("the key has strings of its own")
		}
	}
}

func within(p, start *byte, length int) bool {
	at := uintptr(unsafe.Pointer(p))
	return at >= uintptr(unsafe.Pointer(start)) && at < uintptr(unsafe.Pointer(start))+uintptr(length)
}

func TestObjectWithoutAVersionIsNeverTheOneThatIsKept(t *testing.T) {
	c := packedContents(t, &metav1.PartialObjectMetadata{})
	add := func(label string) {
		o := node("a", 1)
		o.ResourceVersion, o.Labels = "", map[string]string{"label": label}
		c.advance(reflector.Deltas[meta]{list(c, "9", o)})
	}
	add("first")
	add("second")
	if o, _ := (Store[meta]{c}).Get(object.Key{Name: "a"}); o.Labels["label"] != "second" {
		t.Errorf("got %v", o.Labels)
	}
}

func TestPackedListIsWhatArrivedLast(t *testing.T) {
	c := packedContents(t, &metav1.PartialObjectMetadata{})
	state := sink[meta]{contents: c}.Collect(0)
	for _, step := range []string{"a1", "b1", "a2", "-b", "c1", "-a", "b2", "a3"} {
		key := object.Key{Name: step[1:]}
		if step[0] == '-' {
			state.Remove(key)
			continue
		}
		o := node(step[:1], int(step[1]-'0'))
		state.Set(object.KeyOf(o), o)
	}
	d := whole(state, "9")
	var keys []object.Key
	for key := range c.listed(d.Stored) {
		keys = append(keys, key)
	}
	if fmt.Sprint(keys) != "[/a /b /c]" || d.Stored.Len() != 3 {
		t.Errorf("%d objects are listed: %v", d.Stored.Len(), keys)
	}
	var got []string
	for e := range c.advance(reflector.Deltas[meta]{d}).all() {
		got = append(got, fmt.Sprint(e.Type, " ", e.Object.Name, e.Object.ResourceVersion))
	}
	if fmt.Sprint(got) != "[Added a3 Added b2 Added c1]" {
		t.Errorf("got %v", got)
	}
}

func TestObjectThatCannotBePackedStaysAsItWas(t *testing.T) {
	c := packedContents(t, &unstructured.Unstructured{})
	state := func(name, version string, field any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"field": field}}
		u.SetName(name)
		u.SetResourceVersion(version)
		return u
	}
	update := func(u *unstructured.Unstructured) reflector.Deltas[*unstructured.Unstructured] {
		return reflector.Deltas[*unstructured.Unstructured]{{Type: reflector.Updated, Key: object.KeyOf(u), Object: u,
			ResourceVersion: u.GetResourceVersion()}}
	}
	c.advance(update(state("a", "1", "text")))
	if events := c.advance(update(state("a", "2", 'c'))); events.len() != 0 || c.version != "2" {
		t.Errorf("%d events at %s", events.len(), c.version)
	}
	if events := c.advance(reflector.Deltas[*unstructured.Unstructured]{list(c, "3", state("a", "3", 'c'),
		state("b", "3", "text"))}); events.len() != 1 {
		t.Errorf("%d events of a list", events.len())
	}
	u, ok := Store[*unstructured.Unstructured]{c}.Get(object.Key{Name: "a"})
	if !ok || u.Object["field"] != "text" || c.len() != 2 {
		t.Errorf("got %v of %d objects", u, c.len())
	}
}

func TestEventsOfPackedObjectsAreUnpackedWhenTheyAreDelivered(t *testing.T) {
	c := packedContents(t, &metav1.PartialObjectMetadata{})
	var names []string
	for i := range 3 * atOnce {
		names = append(names, fmt.Sprint("n", i))
	}
	first := c.advance(reflector.Deltas[meta]{listedNodes(c, 1, names...)})
	if len(first.events) != 0 || first.len() != len(names) {
		t.Errorf("%d of %d events are unpacked", len(first.events), first.len())
	}
	first.markInitial()
	var one, other outbox[meta]
	one.push(first, true)
	other.push(first, true)
	seen := 0
	for len(one.batches) > 0 {
		events, synced := one.take()
		if synced != (seen == len(names)) || len(events) > atOnce {
			t.Errorf("took %d events after %d, synced: %v", len(events), seen, synced)
		}
		for _, e := range events {
			if e.Object.Name != names[seen] || !e.Initial || e.Type != Added {
				t.Errorf("got %+v", e)
			}
			seen++
		}
	}
	mine, _ := other.take()
	again, _ := Store[meta]{c}.Get(object.Key{Name: names[0]})
	if mine[0].Object == again || mine[0].Object.Name != again.Name {
		t.Errorf("got %v and %v", mine[0].Object, again)
	}
	other.push(batch[meta]{events: []Event[meta]{{Type: Updated, Object: node("n20", 2), Old: node("n20", 1)},
		{Type: Deleted, Object: node("n21", 1)}}}, false)
	other.compact()
	var left []string
	for len(other.batches) > 0 {
		events, _ := other.take()
		for _, e := range events {
			if e.Object.ResourceVersion != "1" || e.Object.Name == "n21" {
				left = append(left, fmt.Sprint(e.Type, " ", e.Object.Name, e.Object.ResourceVersion))
			}
		}
	}
	if fmt.Sprint(left) != "[Added n202]" {
		t.Errorf("got %v", left)
	}
}

// A key handler receives placeholders for unchanged objects, and the whole objects for all other events.
func TestKeyHandlerReceivesPlaceholdersOfUnchangedObjects(t *testing.T) {
	c := packedContents[object.Object](t, &metav1.PartialObjectMetadata{})
	l := newListener(func(Event[object.Object]) {}, func() {}, func() {})
	l.byKey = true
	next := func(b batch[object.Object]) string {
		l.push(b, false)
		events, _, _ := l.take()
		var all []string
		for _, e := range events {
			_, placeholder := e.Object.(*kept[object.Object])
			all = append(all, fmt.Sprint(e.Type, " ", e.Key().Name, e.Object.GetResourceVersion(), " ", placeholder))
		}
		return fmt.Sprint(all)
	}
	advance := func(d reflector.Delta[object.Object], initial bool) batch[object.Object] {
		b := c.advance(reflector.Deltas[object.Object]{d})
		if initial {
			b.markInitial()
		}
		return b
	}
	changed := reflector.Delta[object.Object]{Type: reflector.Updated, Key: object.Key{Name: "a"}, Object: node("a", 2)}
	for _, step := range []struct {
		is   string
		push batch[object.Object]
		want string
	}{
		{"the first list", advance(list[object.Object](c, "1", node("a", 1)), true), "[Added a1 true]"},
		{"a change", advance(changed, false), "[Updated a2 false]"},
		{"a resync", advance(reflector.Delta[object.Object]{Type: reflector.Sync}, false), "[Updated a2 true]"},
		{"a new handler", c.items.events(Event[object.Object]{Type: Added, Initial: true}), "[Added a2 true]"},
		{"a relist that lacks the object", advance(list[object.Object](c, "3"), false), "[Deleted a2 false]"},
		{"a relist that has it again", advance(list[object.Object](c, "4", node("a", 4)), false), "[Added a4 false]"},
	} {
		if got := next(step.push); got != step.want {
			t.Errorf("%s: got %s, want %s", step.is, got, step.want)
		}
	}
}

func TestObserverOfAPackedStoreReceivesTheFirstObjectsAtOnce(t *testing.T) {
	packing, err := NewPacking(&metav1.PartialObjectMetadata{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	c := newContents(nil, packing)
	c.observer = observer[meta](func(version string, events []Event[meta]) {
		got = append(got, fmt.Sprintf("%d@%s", len(events), version))
	})
	c.advance(reflector.Deltas[meta]{listedNodes(c, 7, "a", "b", "c")})
	bookmark := reflector.Delta[meta]{Type: reflector.Bookmark, ResourceVersion: "9"}
	c.advance(reflector.Deltas[meta]{nodeDelta(reflector.Updated, "b", 8), bookmark})
	c.advance(reflector.Deltas[meta]{{Type: reflector.Sync}})
	c.advance(reflector.Deltas[meta]{listedNodes(c, 10)})
	if fmt.Sprint(got) != "[1@ 1@ 1@ 0@7 1@9 0@9 3@10]" {
		t.Errorf("got %v", got)
	}
}

// TestIndexesShareAnUnpackedObject checks that a list unpacks each object once, for all indexes.
func TestIndexesShareAnUnpackedObject(t *testing.T) {
	c := packedContents(t, &metav1.PartialObjectMetadata{})
	seen := map[meta]int{}
	for range 3 {
		c.addIndex(NewIndex(func(o meta) []string {
			seen[o]++
			return []string{o.Name}
		}))
	}
	c.advance(reflector.Deltas[meta]{listedNodes(c, 7, "a", "b")})
	for o, count := range seen {
		if count != 3 {
			t.Errorf("%d indexes received the same %s, want 3", count, o.Name)
		}
	}
	if len(seen) != 2 {
		t.Errorf("the store unpacked %d objects, want 2", len(seen))
	}
}

// observer receives the changes of a store.
type observer[T object.Object] func(version string, events []Event[T])

func (o observer[T]) Applied(version string, events []Event[T]) { o(version, events) }

func (o observer[T]) Listed(version string, objects iter.Seq[T]) {
	for obj := range objects {
		o("", []Event[T]{{Type: Added, Object: obj}})
	}
	o(version, nil)
}

func node(name string, version int) meta {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name),
		ResourceVersion: fmt.Sprint(version)}}
}

func nodeDelta(kind reflector.DeltaType, name string, version int) reflector.Delta[meta] {
	o := node(name, version)
	return reflector.Delta[meta]{Type: kind, Key: Event[meta]{Object: o}.Key(), Object: o,
		ResourceVersion: fmt.Sprint(version)}
}

// P02
//
// Stronger: the events of a batch are computed from the store's content, so no event is delivered twice.
func TestBatchIsAppliedInOneStep(t *testing.T) {
	c := newContents[meta](nil, nil)
	watched := NewIndex(func(o meta) []string {
		if c.mu.TryRLock() {
			c.mu.RUnlock()
			if o.ResourceVersion != "1" { // version 1 is indexed before the index is added to the store
				t.Errorf("a reader can see the store between %s and the rest of its batch", o.Name)
			}
		}
		return []string{o.Name}
	})
	c.advance(reflector.Deltas[meta]{nodeDelta(reflector.Added, "old", 1)})
	c.addIndex(watched)
	events := c.advance(reflector.Deltas[meta]{
		nodeDelta(reflector.Added, "a", 2), nodeDelta(reflector.Added, "b", 3), nodeDelta(reflector.Updated, "b", 3),
		nodeDelta(reflector.Updated, "old", 1),
		nodeDelta(reflector.Deleted, "a", 5), {Type: reflector.Bookmark, ResourceVersion: "9"},
	})
	var got []string
	for _, e := range events.events {
		got = append(got, fmt.Sprint(e.Type, " ", e.Object.Name, " ", e.Object.ResourceVersion))
	}
	if want := "[Added a 2 Added b 3 Deleted a 5]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if c.has(nodeDelta(reflector.Added, "a", 0).Key) || c.len() != 2 || c.version != "9" {
		t.Errorf("%d objects at %s", c.len(), c.version)
	}
}

// A relist brings a packed store and an unpacked store to the same state by the same events, in any order of the
// objects.
func TestRelistDoesTheSameInBothForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		packed, unpacked := packedContents(t, &metav1.PartialObjectMetadata{}), newContents[meta](nil, nil)
		size := 1 + rng.IntN(40)
		if round%20 == 0 {
			size = 2 * changedInPlace
		}
		for version := range 4 {
			inOrder, drift := rng.IntN(2) == 0, rng.IntN(3)
			seed := rng.Uint64()
			gathered := func(c *contents[meta]) batch[meta] {
				d := gather(c, rand.New(rand.NewPCG(seed, 0)), size, inOrder, drift)
				d.ResourceVersion = fmt.Sprint(version)
				return c.advance(reflector.Deltas[meta]{d})
			}
			if got, want := described(gathered(packed)), described(gathered(unpacked)); got != want {
				t.Fatalf("round %d, version %d: events %s, want %s", round, version, got, want)
			}
			if got, want := content(packed), content(unpacked); !maps.Equal(got, want) {
				t.Fatalf("round %d, version %d: the store has %v, want %v", round, version, got, want)
			}
		}
	}
}

// gather returns a list of some of size objects. Many of them are unchanged compared with the store.
func gather(c *contents[meta], rng *rand.Rand, size int, inOrder bool, drift int) reflector.Delta[meta] {
	all := sink[meta]{contents: c}.Collect(size / 2)
	for n := range size {
		if !inOrder {
			n = rng.IntN(size)
		}
		o := node(fmt.Sprintf("n%04d", n), 1+rng.IntN(1+drift))
		o.Namespace = fmt.Sprint("ns-", n*8/size)
		if drift > 0 && rng.IntN(9) == 0 {
			o.UID += "-again"
		}
		key := object.KeyOf(o)
		switch what := rng.IntN(20); {
		case what == 0:
			all.Remove(key)
		case what == 1:
			all.Retain(key)
		case !all.Keep(key, o):
			all.Set(key, o)
		}
	}
	return whole(all, "")
}

func described(b batch[meta]) string {
	var all []string
	for e := range b.all() {
		text := fmt.Sprint(e.Type, e.Key(), e.Object.UID, e.Object.ResourceVersion)
		if e.Old != nil {
			text += fmt.Sprint(" of ", e.Old.UID, e.Old.ResourceVersion)
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

func content(c *contents[meta]) map[object.Key]string {
	all := map[object.Key]string{}
	for key, held := range c.items.all() {
		o := held.object()
		all[key] = string(o.UID) + o.ResourceVersion
	}
	return all
}

func TestRelistOfUnchangedObjectsAllocatesNothingForThem(t *testing.T) {
	c := packedContents[object.Object](t, &metav1.PartialObjectMetadata{})
	var objects []object.Object
	for n := range 2000 {
		objects = append(objects, node(fmt.Sprintf("n%04d", n), 1))
	}
	c.advance(reflector.Deltas[object.Object]{list(c, "1", objects...)})
	var ids []wire.Identity
	for _, o := range objects {
		id := wire.Identity{Name: []byte(o.GetName()), UID: []byte(o.GetUID()), ResourceVersion: []byte("1")}
		ids = append(ids, id)
	}
	allocations := testing.AllocsPerRun(5, func() {
		all, known := sink[object.Object]{contents: c}.Collect(len(ids)), c.known()
		for _, id := range ids {
			o, has := known(id)
			if !has || !all.Keep(object.KeyOf(o), o) {
				t.Fatalf("%s is not known", id.Name)
			}
		}
		if events := c.advance(reflector.Deltas[object.Object]{whole(all, "2")}); events.len() != 0 {
			t.Fatalf("%d events", events.len())
		}
	})
	if allocations > 30 {
		t.Errorf("a relist of %d objects allocates %.0f times", len(ids), allocations)
	}
}
