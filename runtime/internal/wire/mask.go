package wire

import (
	"errors"
	"strings"
)

// mask selects the members of an object to decode, and the masks for their own members. A nil mask selects all.
type mask struct {
	only   bool             // decode only the members in fields
	fields map[string]*mask // masks of members; nil means all
	drop   map[string]bool  // members to skip
}

// identity lists the fields that every mask keeps, because an object cannot be stored and compared without them.
var identity = []string{
	"apiVersion", "kind",
	"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion",
	"metadata.generation", "metadata.deletionTimestamp",
}

// newMask returns the mask for paths, or for all fields if there are none. It skips managedFields by default.
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
			_ = root.keep(strings.Split(path, ".")) // none of the names is empty
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

// keep adds the member at path, with everything below it.
func (m *mask) keep(path []string) error {
	name := path[0]
	if name == "" {
		return errors.New("mask: a path with an empty name")
	}
	child, known := m.fields[name]
	switch {
	case known && child == nil: // everything below is already kept
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

// member returns the mask of the member with that name, and whether the member is kept.
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
