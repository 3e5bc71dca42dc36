package wire

import (
	"errors"
	"strings"
)

// mask says which members of an object are built, and below which of them only some are. Nil builds all.
type mask struct {
	only   bool             // only fields are built, not what has no entry in it
	fields map[string]*mask // what is built of a member; nil is all
	drop   map[string]bool  // members that are not built
}

// identity are the fields that no mask takes away: without them an object could not be kept and compared.
var identity = []string{
	"apiVersion", "kind",
	"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion",
	"metadata.generation", "metadata.deletionTimestamp",
}

// newMask returns the mask that builds what paths name, or all if there are none, and managedFields only if they are
// wanted.
func newMask(paths []string, managedFields bool) (*mask, error) {
	if len(paths) == 0 && managedFields {
		return nil, nil
	}
	root := &mask{only: len(paths) > 0, fields: make(map[string]*mask)}
	for _, path := range paths {
		if err := root.keep(strings.Split(path, ".")); err != nil {
			return nil, err
		}
	}
	if root.only {
		for _, path := range identity {
			_ = root.keep(strings.Split(path, ".")) // no name in it is empty
		}
	}
	if !managedFields {
		metadata := root.fields["metadata"]
		if metadata == nil {
			metadata = &mask{}
			root.fields["metadata"] = metadata
		}
		metadata.drop = map[string]bool{"managedFields": true}
	}
	return root, nil
}

// keep adds the member that path leads to, with all below it, to what is built.
func (m *mask) keep(path []string) error {
	name := path[0]
	if name == "" {
		return errors.New("mask: a path with an empty name")
	}
	child, known := m.fields[name]
	switch {
	case known && child == nil: // all of it is kept
		return nil
	case len(path) == 1:
		m.fields[name] = nil
		return nil
	case !known:
		child = &mask{only: true, fields: make(map[string]*mask)}
		m.fields[name] = child
	}
	return child.keep(path[1:])
}

// member returns what is built of the member with that name, and whether anything is.
func (m *mask) member(name string) (*mask, bool) {
	if m == nil {
		return nil, true
	}
	if m.drop[name] {
		return nil, false
	}
	child, known := m.fields[name]
	return child, known || !m.only
}
