package garbagecollector

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

type delta = reflector.Delta[*metav1.PartialObjectMetadata]

// fed returns a graph with one kind, and the monitor of that kind for the test to feed.
func fed(t *testing.T) (*Graph, *monitor) {
	g, err := NewGraph(&rest.Config{Host: "http://127.0.0.1:0"}, GraphOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := &monitor{graph: g, kind: unique.Make(kindName{"v1", "Near"})}
	g.monitors[schema.GroupResource{Resource: "nears"}] = m
	return g, m
}

func near(uid string, owners ...string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "of-" + uid,
		UID: types.UID(uid)}}
	for _, owner := range owners {
		o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Near",
			Name: "of-" + owner, UID: types.UID(owner)})
	}
	return o
}

func (g *Graph) has(uids ...types.UID) bool {
	return !slices.ContainsFunc(uids, func(uid types.UID) bool {
		n, ok := g.Node(uid)
		return !ok || n.Virtual
	})
}

func TestListTakesAwayWhatIsNotInIt(t *testing.T) {
	g, m := fed(t)
	m.awaited, g.known, g.waiting = true, true, 1
	m.Push(delta{Type: reflector.Replaced, Objects: []*metav1.PartialObjectMetadata{near("1"), near("2"), near("3", "1"),
		near("4")}})
	select {
	case <-g.Synced():
	default:
		t.Error("the graph is not synced after the list of its only kind")
	}
	var acted changes
	g.act = func(c changes) { acted = c }
	m.Push(delta{
		Type: reflector.Replaced, Objects: []*metav1.PartialObjectMetadata{near("2"), near("3", "1")},
		Retained: []object.Key{{Namespace: "a", Name: "of-4"}},
	})
	if !g.has("2", "3", "4") || g.has("1") {
		t.Error("the graph does not have what the list has, and what could not be read")
	}
	if len(acted.look) != 1 || acted.look[0].uid != "3" {
		t.Errorf("the dependent of what is gone is not looked at: %+v", acted)
	}
	m.Push(delta{Type: reflector.Deleted, Object: near("3", "1")})
	if g.has("3") || g.Len() != 2 {
		t.Error("the deleted object, or the owner that only it has named, is in the graph still")
	}
	m.Push(delta{Type: reflector.Deleted, Object: near("3", "1")})
	m.Push(delta{Type: reflector.Bookmark})
	if g.Len() != 2 {
		t.Error("what means nothing has changed the graph")
	}
}

// TestKindInAnotherVersionKeepsItsObjects changes the preferred version of the API server, as after an update of a CRD.
func TestKindInAnotherVersionKeepsItsObjects(t *testing.T) {
	g, m := fed(t)
	m.Push(delta{Type: reflector.Replaced, Objects: []*metav1.PartialObjectMetadata{near("1"), near("2", "1")}})
	next := &monitor{graph: g, kind: unique.Make(kindName{"v2", "Near"}), former: m.kind}
	if !g.has("1", "2") {
		t.Error("objects are gone before the kind was listed in its new version")
	}
	next.Push(delta{Type: reflector.Replaced, Objects: []*metav1.PartialObjectMetadata{near("2", "1")}})
	if g.has("1") || !g.has("2") {
		t.Error("the list in the new version does not say what there is")
	}
	if n, _ := g.Node("2"); n.APIVersion != "v2" {
		t.Errorf("the object is still one of %s", n.APIVersion)
	}
}

// TestKindThatIsGoneTakesItsObjectsAlong removes a kind. Its objects no longer block the deletion of their owners.
// Their dependents are not treated as ownerless: the collector must first verify that the owners are absent.
func TestKindThatIsGoneTakesItsObjectsAlong(t *testing.T) {
	g, m := fed(t)
	m.cancel, m.done = func() {}, make(chan struct{})
	close(m.done)
	other := &monitor{graph: g, kind: unique.Make(kindName{"v1", "Else"}), gvk: schema.GroupVersionKind{Version: "v1",
		Kind: "Else"}}
	g.monitors[schema.GroupResource{Resource: "elses"}] = other
	m.Push(delta{Type: reflector.Replaced, Objects: []*metav1.PartialObjectMetadata{near("1")}})
	other.Push(delta{Type: reflector.Replaced, Objects: []*metav1.PartialObjectMetadata{near("2", "1")}})
	var acted changes
	g.act = func(c changes) { acted = c }
	g.stopGone(&kinds{kinds: map[schema.GroupResource]schema.GroupVersionKind{{Resource: "elses"}: other.gvk}})
	if g.has("1") || !g.has("2") || g.Len() != 2 {
		t.Error("the graph is not that of the kind that is left")
	}
	if len(acted.look) != 0 || len(acted.verify) != 1 || acted.verify[0].uid != "1" {
		t.Errorf("the owner of the kind that is gone is not verified: %+v", acted)
	}
}

func TestKindOfAVersionThatCannotBeAskedStays(t *testing.T) {
	g, m := fed(t)
	m.gvk = schema.GroupVersionKind{Version: "v1", Kind: "Near"}
	m.Push(delta{Type: reflector.Replaced, Objects: []*metav1.PartialObjectMetadata{near("1")}})
	g.stopGone(&kinds{unknown: map[schema.GroupVersion]bool{{Version: "v1"}: true}})
	if !g.has("1") {
		t.Error("an API server that cannot be asked has taken objects away")
	}
}

func BenchmarkMemoryOfAnObject(b *testing.B) {
	g, err := NewGraph(&rest.Config{Host: "http://127.0.0.1:0"}, GraphOptions{})
	if err != nil {
		b.Fatal(err)
	}
	m := &monitor{graph: g, kind: unique.Make(kindName{"v1", "ConfigMap"})}
	const objects = 100_000
	b.ReportMetric(bytesOf(func() { fill(m, objects) })/objects, "B/object")
	if g.Len() != objects {
		b.Fatal(g.Len())
	}
}

// fill adds objects to a monitor. Every hundredth object owns the objects that follow it.
func fill(m *monitor, objects int) {
	owner := ""
	for i := range objects {
		uid := fmt.Sprintf("4bf92f35-77b3-4da6-a3ce-%012d", i)
		o := near(uid, owner)
		if i%100 == 0 {
			owner, o.OwnerReferences = uid, nil
		}
		o.Name = fmt.Sprintf("web-%05d-7d9f8c6b5-%05d", i/100, i)
		m.Push(delta{Type: reflector.Added, Object: o})
	}
}

// bytesOf returns by how many bytes the heap grows in make.
func bytesOf(make func()) float64 {
	in := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := in()
	make()
	return float64(in() - before)
}
