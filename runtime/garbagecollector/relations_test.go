package garbagecollector

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// model computes the expected relations from the list of all objects.
type model struct {
	objects map[types.UID]*metav1.PartialObjectMetadata
	absent  map[place]bool // owners that were verified as absent, or whose deletion was observed
}

// place identifies an owner as a reference does. Its namespace is the dependent's namespace, or empty for a
// cluster-scoped kind.
type place struct {
	uid                          types.UID
	version, kind, in, namespace string
}

func placeOf(o *metav1.PartialObjectMetadata) place {
	return place{o.UID, o.APIVersion, o.Kind, o.Name, o.Namespace}
}

// condition returns the state of an owner reference.
func (m *model) condition(o *metav1.PartialObjectMetadata, ref metav1.OwnerReference) string {
	owner := m.objects[ref.UID]
	at := place{ref.UID, ref.APIVersion, ref.Kind, ref.Name, o.Namespace}
	everywhere := at
	everywhere.namespace = ""
	switch {
	case owner == nil && (m.absent[at] || m.absent[everywhere]):
		return "absent"
	case owner == nil:
		return "virtual"
	case placeOf(owner) != at && placeOf(owner) != everywhere:
		return "mismatch"
	case waits(owner, metav1.FinalizerDeleteDependents):
		return "foreground"
	}
	return "solid"
}

func waits(o *metav1.PartialObjectMetadata, finalizer string) bool {
	return o.DeletionTimestamp != nil && slices.Contains(o.Finalizers, finalizer)
}

// conditions returns the conditions of all references and of all waiting objects.
func (m *model) conditions() map[string]string {
	all := map[string]string{}
	for uid, o := range m.objects {
		for _, ref := range o.OwnerReferences {
			all[fmt.Sprintf("%s -> %s %s %s", uid, ref.UID, ref.Kind, ref.Name)] = m.condition(o, ref)
		}
		switch {
		case waits(o, metav1.FinalizerOrphanDependents):
			all["orphan "+string(uid)] = "waits"
		case waits(o, metav1.FinalizerDeleteDependents) && m.blocking(uid) == 0:
			all["foreground "+string(uid)] = "unblocked"
		}
	}
	return all
}

func (m *model) blocking(owner types.UID) (n int) {
	for _, o := range m.objects {
		for _, ref := range o.OwnerReferences {
			if ref.UID == owner && blocks(ref) {
				n++
			}
		}
	}
	return n
}

func (m *model) dependents(owner types.UID) (all []string) {
	for uid, o := range m.objects {
		for _, ref := range o.OwnerReferences {
			if ref.UID == owner {
				all = append(all, fmt.Sprint(uid, ref.APIVersion, ref.Kind, ref.Name, blocks(ref)))
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestRelationsAreThoseOfTheObjects makes random changes and compares the relations with the model: nodes, edges, and
// the objects to process after each change.
func TestRelationsAreThoseOfTheObjects(t *testing.T) {
	seeds.Each(t, 4, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		for range 25 {
			m := &model{objects: map[types.UID]*metav1.PartialObjectMetadata{}, absent: map[place]bool{}}
			rel := relations{nodes: map[types.UID]*node{}}
			for step := range 60 {
				before := m.conditions()
				var c changes
				what := change(r, m, &rel, &c)
				check(t, m, &rel)
				checkDelivered(t, before, m.conditions(), &rel, &c)
				if t.Failed() {
					t.Fatalf("step %d: %s", step, what)
				}
			}
		}
	})
}

// change makes one random change to the model and to the relations.
func change(r *rand.Rand, m *model, rel *relations, c *changes) string {
	uid := types.UID(fmt.Sprintf("uid-%d", r.IntN(7)))
	switch n := rel.nodes[uid]; {
	case r.IntN(4) == 0 && n != nil && !n.virtual:
		o := m.objects[uid]
		delete(m.objects, uid)
		if r.IntN(4) == 0 {
			rel.remove(n, false, c)
			return "forget " + string(uid)
		}
		m.absent[placeOf(o)] = true
		rel.remove(n, true, c)
		m.prune()
		return "remove " + string(uid)
	case n != nil && n.virtual && r.IntN(2) == 0:
		places := n.unverified()
		if len(places) == 0 {
			return "nothing"
		}
		at := places[r.IntN(len(places))]
		if at.kind.Value().kind == "Cluster" {
			at.namespace = clusterScoped
		}
		m.absent[place{uid, at.kind.Value().apiVersion, at.kind.Value().kind, at.name, at.namespace.Value()}] = true
		rel.verifiedAbsent(n, at, c)
		return "verify " + string(uid)
	}
	o := randomObject(r, uid, m.objects[uid])
	m.objects[uid] = o
	maps.DeleteFunc(m.absent, func(p place, _ bool) bool { return p.uid == uid })
	rel.observe(unique.Make(kindName{o.APIVersion, o.Kind}), o, c)
	m.prune()
	return fmt.Sprintf("observe %+v", o)
}

// prune removes absent owners that no object references.
func (m *model) prune() {
	maps.DeleteFunc(m.absent, func(p place, _ bool) bool { return len(m.dependents(p.uid)) == 0 })
}

// randomObject returns old with other owner references and another state, or a new object.
func randomObject(r *rand.Rand, uid types.UID, old *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.APIVersion, o.Kind = "v1", []string{"Cluster", "Near"}[r.IntN(2)]
	o.UID, o.Name = uid, "of-"+string(uid)
	if o.Kind == "Near" {
		o.Namespace = []string{"a", "b"}[r.IntN(2)]
	}
	if old != nil {
		o = old.DeepCopy()
		if r.IntN(3) == 0 {
			o.Finalizers = [][]string{nil, {metav1.FinalizerDeleteDependents}, {metav1.FinalizerOrphanDependents},
				{"else"}}[r.IntN(4)]
		}
		if r.IntN(4) == 0 {
			o.DeletionTimestamp = &metav1.Time{}
		}
	}
	if old == nil || r.IntN(2) == 0 {
		o.OwnerReferences = nil
		for range r.IntN(4) {
			owner := fmt.Sprintf("uid-%d", r.IntN(7))
			ref := metav1.OwnerReference{APIVersion: "v1", Kind: []string{"Cluster", "Near"}[r.IntN(2)], UID: types.UID(owner),
				Name: "of-" + owner}
			if r.IntN(8) == 0 {
				ref.Name = "else"
			}
			if block := r.IntN(2) == 0; block {
				ref.BlockOwnerDeletion = &block
			}
			o.OwnerReferences = append(o.OwnerReferences, ref)
		}
	}
	return o
}

// check compares the nodes and edges.
func check(t *testing.T, m *model, rel *relations) {
	t.Helper()
	for uid := range m.objects {
		if n := rel.nodes[uid]; n == nil || n.virtual || n.removed || n.uid != uid {
			t.Errorf("object %s has the node %+v", uid, n)
		}
	}
	for uid, n := range rel.nodes {
		var dependents []string
		var last *edge
		blocking := int32(0)
		for e := range dependentsOf(n) {
			kind := e.kind.Value()
			dependents = append(dependents, fmt.Sprint(e.dependent.uid, kind.apiVersion, kind.kind, e.name, e.block))
			if e.owner != n || e.previous != last {
				t.Errorf("an edge to %s is wrong: %+v", uid, e)
			}
			if e.block {
				blocking++
			}
			last = e
		}
		slices.Sort(dependents)
		if !slices.Equal(dependents, m.dependents(uid)) {
			t.Errorf("dependents of %s: %q, want %q", uid, dependents, m.dependents(uid))
		}
		if blocking != n.blocking {
			t.Errorf("%s: blocking is %d, want %d", uid, n.blocking, blocking)
		}
		if m.objects[uid] == nil && (!n.virtual || len(dependents) == 0) {
			t.Errorf("%s is no object, and has the node %+v", uid, n)
		}
		for i := range n.owners {
			ref := m.objects[uid].OwnerReferences[i]
			// If references give one owner several places, the node remembers only the last place where the owner is absent.
			if absent := m.condition(m.objects[uid], ref) == "absent"; n.knownAbsent(ref) && !absent {
				t.Errorf("%s takes its owner %+v for absent", uid, ref)
			}
		}
	}
}

// checkDelivered checks that every object whose condition changed was queued.
func checkDelivered(t *testing.T, before, after map[string]string, rel *relations, c *changes) {
	t.Helper()
	looked, verified := map[types.UID]bool{}, map[types.UID]bool{}
	for _, n := range c.look {
		looked[n.uid] = true
	}
	for _, n := range c.verify {
		verified[n.uid] = true
	}
	for key, now := range after {
		if before[key] == now || now == "solid" {
			continue
		}
		var dependent, owner, rest types.UID
		if _, err := fmt.Sscanf(key, "%s -> %s %s", &dependent, &owner, &rest); err != nil {
			_, _ = fmt.Sscanf(key, "%s %s", &rest, &dependent) // the key of a waiting object
		}
		if found := looked[dependent] || verified[owner] && (now == "virtual" || now == "absent"); !found {
			t.Errorf("%s was %q and is %q, and is not queued", key, before[key], now)
		}
	}
}
