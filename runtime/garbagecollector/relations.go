package garbagecollector

import (
	"slices"
	"strings"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// kindName is an apiVersion and a kind, as in an owner reference. Nodes refer to it by a handle that has the size of
// one pointer.
type kindName struct{ apiVersion, kind string }

// coordinates identify an object by kind, namespace and name. For a cluster-scoped object, the namespace is
// clusterScoped.
type coordinates struct {
	kind      unique.Handle[kindName]
	namespace unique.Handle[string]
	name      string
}

var clusterScoped = unique.Make("")

// node is an object that was seen, or to which owner references point.
type node struct {
	// For a virtual node, these are the coordinates of its first reference, or coordinates at which it is known to be
	// absent.
	coordinates
	uid types.UID

	owners     []edge // one per owner reference, in order; replaced as a whole
	dependents *edge  // the first element of the list of all edges to this node
	blocking   int32  // number of these edges whose block is set

	list     uint32 // the last list that contained the object
	virtual  bool   // not seen, or no longer present; has dependents
	absent   bool   // virtual, and no object with this UID is at its coordinates
	deleting bool   // it has a deletion timestamp
	// foreground and orphan report whether a node in deletion has the respective finalizer.
	foreground, orphan bool
	removed            bool // no longer in the graph
}

// edge is an owner reference.
type edge struct {
	owner, dependent *node
	previous, next   *edge // in the list of the owner's dependents
	kind             unique.Handle[kindName]
	name             string
	block            bool // blockOwnerDeletion
	absent           bool // the API server does not have this owner
}

// names reports whether e refers to the object at c.
func (e *edge) names(c coordinates) bool {
	return e.kind == c.kind && e.name == c.name && (c.namespace == clusterScoped || c.namespace == e.dependent.namespace)
}

// dependentsOf yields the edges to n. They must not change during the iteration.
func dependentsOf(n *node) func(yield func(*edge) bool) {
	return func(yield func(*edge) bool) {
		for e := n.dependents; e != nil; e = e.next {
			if !yield(e) {
				return
			}
		}
	}
}

// relations holds all nodes by UID. Its methods add the nodes that need processing to a changes value. It is not safe
// for concurrent use.
//
// An edge is in its owner's list of dependents as long as its dependent has the edge. A node is in the map if and only
// if it is not virtual or has dependents.
type relations struct {
	nodes map[types.UID]*node
}

// changes collects the nodes that a collector must process after a change of relations.
type changes struct {
	// look are the objects whose owners or dependents have changed, and verify the virtual nodes that may be absent. A
	// node may occur twice.
	look, verify []*node
	// invalid are references to objects in other namespaces.
	invalid []*edge
}

func (r *relations) observe(kind unique.Handle[kindName], obj metav1.Object, c *changes) *node {
	at := coordinates{kind, unique.Make(obj.GetNamespace()), obj.GetName()}
	n := r.nodes[obj.GetUID()]
	if n == nil {
		// One allocation holds both strings, instead of references into the decoded object.
		words := string(obj.GetUID()) + at.name
		at.name = words[len(obj.GetUID()):]
		n = &node{coordinates: at, uid: types.UID(words[:len(obj.GetUID())])}
		r.nodes[n.uid] = n
	} else if n.virtual || n.coordinates != at {
		r.appear(n, at, c)
	}
	r.setOwners(n, obj.GetOwnerReferences(), c)
	n.setDeletion(obj, c)
	return n
}

// appear turns n into an object that was seen. Dependents whose reference has the UID of n but other coordinates need
// processing.
func (r *relations) appear(n *node, at coordinates, c *changes) {
	at.name = strings.Clone(at.name)
	n.coordinates, n.virtual, n.absent = at, false, false
	for e := range dependentsOf(n) {
		e.absent = false
		if !e.names(at) {
			c.mismatched(e)
		}
	}
}

// mismatched records an edge whose owner was seen at coordinates that differ from the reference.
func (c *changes) mismatched(e *edge) {
	c.look = append(c.look, e.dependent)
	if e.owner.namespace != clusterScoped && e.owner.namespace != e.dependent.namespace {
		c.invalid = append(c.invalid, e)
	}
}

func (n *node) setDeletion(obj metav1.Object, c *changes) {
	n.deleting = obj.GetDeletionTimestamp() != nil
	orphan := n.deleting && slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents)
	foreground := n.deleting && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
	begins := foreground && !n.foreground
	if begins {
		// The dependents are added before n itself. n does not wait for dependents that do not block it, and these must still
		// find n waiting.
		for e := range dependentsOf(n) {
			c.look = append(c.look, e.dependent)
		}
	}
	if begins || orphan && !n.orphan {
		c.look = append(c.look, n)
	}
	n.orphan, n.foreground = orphan, foreground
}

func (r *relations) setOwners(n *node, refs []metav1.OwnerReference, c *changes) {
	if slices.EqualFunc(n.owners, refs, func(e edge, ref metav1.OwnerReference) bool {
		return e.is(ref) && e.block == blocks(ref)
	}) {
		return
	}
	old := n.owners
	n.owners = nil
	if len(refs) > 0 {
		n.owners = make([]edge, len(refs))
	}
	for i, ref := range refs {
		r.link(n, &n.owners[i], ref, old, c)
	}
	// The old edges are removed last, so that an owner that is kept always has the edge and does not appear unblocked.
	for i := range old {
		r.unlink(&old[i], c)
	}
	// A removed reference may have kept n alive, or may have been unverifiable.
	if len(old) > 0 && slices.ContainsFunc(n.owners, func(e edge) bool { return e.absent }) {
		c.look = append(c.look, n)
	}
}

// is reports whether e and ref have the same owner.
func (e *edge) is(ref metav1.OwnerReference) bool {
	return e.owner.uid == ref.UID && e.name == ref.Name && e.kind.Value() == kindName{ref.APIVersion, ref.Kind}
}

func blocks(ref metav1.OwnerReference) bool {
	return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}

// link initializes e as the edge of one of n's references. old has the previous edges of n.
func (r *relations) link(n *node, e *edge, ref metav1.OwnerReference, old []edge, c *changes) {
	kind := unique.Make(kindName{ref.APIVersion, ref.Kind})
	owner := r.nodes[ref.UID]
	if owner == nil {
		owner = &node{
			coordinates: coordinates{kind, n.namespace, strings.Clone(ref.Name)},
			uid:         types.UID(strings.Clone(string(ref.UID))),
			virtual:     true,
		}
		r.nodes[owner.uid] = owner
	}
	*e = edge{owner: owner, dependent: n, kind: kind, name: owner.name, block: blocks(ref), next: owner.dependents}
	if e.name != ref.Name {
		e.name = strings.Clone(ref.Name)
	}
	if e.next != nil {
		e.next.previous = e
	}
	owner.dependents = e
	if e.block {
		owner.blocking++
	}
	i := slices.IndexFunc(old, func(o edge) bool { return o.owner == owner && o.kind == e.kind && o.name == e.name })
	if i >= 0 {
		e.absent = old[i].absent
		return
	}
	c.linked(e)
}

// linked records the nodes that need processing because of a new edge.
func (c *changes) linked(e *edge) {
	switch owner := e.owner; {
	case owner.absent && e.names(owner.coordinates):
		e.absent = true
		c.look = append(c.look, e.dependent)
	case owner.virtual:
		c.verify = append(c.verify, owner)
	case !e.names(owner.coordinates):
		c.mismatched(e)
	case owner.foreground:
		c.look = append(c.look, e.dependent)
	}
}

// unlink removes e from the list of its owner's dependents.
func (r *relations) unlink(e *edge, c *changes) {
	owner := e.owner
	if e.previous == nil {
		owner.dependents = e.next
	} else {
		e.previous.next = e.next
	}
	if e.next != nil {
		e.next.previous = e.previous
	}
	if e.block {
		owner.blocking--
	}
	switch {
	case owner.virtual && owner.dependents == nil:
		r.drop(owner)
	case e.block && owner.blocking == 0 && owner.foreground:
		c.look = append(c.look, owner)
	}
}

func (r *relations) drop(n *node) {
	n.removed = true
	delete(r.nodes, n.uid)
}

// remove removes an object that the API server no longer has. While references to the object exist, it remains as a
// virtual node. If gone is set, this node is known to be absent.
func (r *relations) remove(n *node, gone bool, c *changes) {
	for i := range n.owners {
		r.unlink(&n.owners[i], c)
	}
	n.owners = nil
	n.deleting, n.foreground, n.orphan = false, false, false
	n.virtual, n.absent = true, gone
	if n.dependents == nil {
		r.drop(n)
		return
	}
	if !gone {
		c.verify = append(c.verify, n)
		return
	}
	for e := range dependentsOf(n) {
		e.absent = e.names(n.coordinates)
		c.look = append(c.look, e.dependent)
	}
}

// unverified returns the coordinates at which references expect a virtual node, except those at which it is known to be
// absent. If an object is found at one of them, it exists for all dependents.
func (n *node) unverified() []coordinates {
	var all []coordinates
	known := map[coordinates]bool{}
	for e := range dependentsOf(n) {
		at := coordinates{e.kind, e.dependent.namespace, e.name} // if the owner is namespaced
		if !e.absent && !known[at] {
			known[at] = true
			all = append(all, at)
		}
	}
	return all
}

// verifiedAbsent records that the API server has no object with the UID of n at those coordinates. It does nothing if n
// was seen in the meantime.
func (r *relations) verifiedAbsent(n *node, at coordinates, c *changes) {
	if !n.virtual || n.removed {
		return
	}
	n.absent, n.coordinates = true, at
	for e := range dependentsOf(n) {
		if e.names(at) && !e.absent {
			e.absent = true
			c.look = append(c.look, e.dependent)
		}
	}
}

// knownAbsent reports whether the owner that a reference of n points to is known to be absent.
func (n *node) knownAbsent(ref metav1.OwnerReference) bool {
	return slices.ContainsFunc(n.owners, func(e edge) bool { return e.absent && e.is(ref) })
}

// key returns the namespace and the name.
func (c coordinates) key() object.Key {
	return object.Key{Namespace: c.namespace.Value(), Name: c.name}
}
