package fieldset

import "maps"

// Set is a set of fields as fieldsV1 has it: of each field what it has in it, and "." where it is in the set itself; a field with
// nothing in it is in the set. A set as a whole has no ".".
type Set = map[string]any

const self = "."

// member reports whether the field of a node is in the set.
func member(node Set) bool {
	_, ok := node[self]
	return ok || len(node) == 0
}

// node is that of a field with what is in it; nil when there is nothing in the set.
func node(children Set, member bool) Set {
	switch {
	case len(children) == 0 && !member:
		return nil
	case len(children) == 0:
		return Set{}
	case member:
		children[self] = Set{}
	}
	return children
}

// well reports whether a set is one whose nodes are all objects.
func well(s Set) bool {
	for _, child := range s {
		if child, ok := child.(Set); !ok || !well(child) {
			return false
		}
	}
	return true
}

// union has what either has.
func union(a, b Set) Set {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	both := maps.Clone(a)
	for name, child := range b {
		if other, ok := both[name]; ok {
			child = unionNodes(other.(Set), child.(Set))
		}
		both[name] = child
	}
	return both
}

func unionNodes(a, b Set) Set {
	in := member(a) || member(b)
	both := union(children(a), children(b))
	if len(both) > 0 && in {
		both = maps.Clone(both) // which may be that of one of them
	}
	return node(both, in)
}

// children are a node without what says that it is in the set.
func children(node Set) Set {
	if _, ok := node[self]; !ok {
		return node
	}
	rest := make(Set, len(node))
	for name, child := range node {
		if name != self {
			rest[name] = child
		}
	}
	return rest
}

// difference is what a has and b has not. It is a itself where that is all.
func difference(a, b Set) Set {
	if !overlap(a, b) {
		return a
	}
	rest := make(Set, len(a))
	for name, child := range a {
		if other, ok := b[name]; ok {
			if child := differenceOfNodes(child.(Set), other.(Set)); child != nil {
				rest[name] = child
			}
			continue
		}
		rest[name] = child
	}
	return rest
}

func differenceOfNodes(a, b Set) Set {
	in := member(a) && !member(b)
	rest := make(Set, len(a))
	for name, child := range a {
		if name == self {
			continue
		}
		if other, ok := b[name]; ok {
			if child := differenceOfNodes(child.(Set), other.(Set)); child != nil {
				rest[name] = child
			}
			continue
		}
		rest[name] = child
	}
	return node(rest, in)
}

// overlap reports whether two sets have a field in common.
func overlap(a, b Set) bool {
	for name, child := range a {
		if other, ok := b[name]; ok && overlapOfNodes(child.(Set), other.(Set)) {
			return true
		}
	}
	return false
}

func overlapOfNodes(a, b Set) bool {
	if member(a) && member(b) {
		return true
	}
	for name, child := range a {
		if name == self {
			continue
		}
		if other, ok := b[name]; ok && overlapOfNodes(child.(Set), other.(Set)) {
			return true
		}
	}
	return false
}

// within reports whether b has all that a has.
func within(a, b Set) bool {
	for name, child := range a {
		other, ok := b[name]
		if !ok || !withinNodes(child.(Set), other.(Set)) {
			return false
		}
	}
	return true
}

func withinNodes(a, b Set) bool {
	if member(a) && !member(b) {
		return false
	}
	for name, child := range a {
		if name == self {
			continue
		}
		other, ok := b[name]
		if !ok || !withinNodes(child.(Set), other.(Set)) {
			return false
		}
	}
	return true
}
