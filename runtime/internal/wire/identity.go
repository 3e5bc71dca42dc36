package wire

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Identity identifies a state of an object. Its fields are valid only during the call that receives it.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// Known returns the caller's object in the identified state, if it has one. Decoders call it before they decode.
type Known[T object.Object] func(Identity) (T, bool)

type knownKey[T object.Object] struct{}

// WithKnown returns a context for lists and watches of a caller that already has many of the objects. known is called
// at the beginning of each list or watch, and returns the function to use, or nil. The caller receives objects that it
// shares with other code, so the context must be used only for calls of the client.
func WithKnown[T object.Object](ctx context.Context, known func() Known[T]) context.Context {
	return context.WithValue(ctx, knownKey[T]{}, known)
}

// KnownBy returns the current Known of the context, or nil.
func KnownBy[T object.Object](ctx context.Context) Known[T] {
	if known, ok := ctx.Value(knownKey[T]{}).(func() Known[T]); ok {
		return known()
	}
	return nil
}

// reuse returns the known object for the object at the cursor, and skips the latter. If no object is known, or the
// identity is unclear, the cursor does not move.
func (d *Decoder[T]) reuse(c *cursor, known Known[T]) (T, bool) {
	var none T
	if known == nil {
		return none, false
	}
	at, depth := c.at, c.depth
	obj, ok := lookUp(c, known)
	if !ok {
		c.at, c.depth = at, depth
	}
	return obj, ok
}

// lookUp skips as much of an object as is necessary to identify it, and returns the known object.
func lookUp[T object.Object](c *cursor, known Known[T]) (obj T, found bool) {
	name, more, err := c.nextName(c.enter('}'))
	for ; more; name, more, err = c.nextName(c.more('}')) {
		if string(name) != "metadata" {
			if err := c.skip(); err != nil {
				return obj, false
			}
			continue
		}
		id, ok := c.identity()
		if !ok || found {
			return obj, false // duplicate metadata
		}
		if obj, found = known(id); !found {
			return obj, false
		}
	}
	return obj, found && err == nil
}

// identity skips metadata and returns the identity in it. It reports false for metadata in an unusual form.
func (c *cursor) identity() (id Identity, ok bool) {
	if b, err := c.peek(); err != nil || b != '{' {
		return id, false
	}
	name, more, err := c.nextName(c.enter('}'))
	for ; more; name, more, err = c.nextName(c.more('}')) {
		var into *[]byte
		switch string(name) {
		case "namespace":
			into = &id.Namespace
		case "name":
			into = &id.Name
		case "uid":
			into = &id.UID
		case "resourceVersion":
			into = &id.ResourceVersion
		}
		if into == nil {
			if c.skip() != nil {
				return id, false
			}
			continue
		}
		if c.data[c.at] != '"' {
			return id, false
		}
		var plain bool
		if *into, plain, _ = c.scanText(); !plain {
			return id, false
		}
	}
	return id, err == nil && len(id.Name) > 0 && len(id.UID) > 0 && len(id.ResourceVersion) > 0
}
