package wire

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Identity is what tells a state of an object from all others. Its fields are only valid during the call that gets it.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// Known returns the object that the caller has already in the state that is identified, if it has. It is asked before an
// object is built, from the goroutines that decode.
type Known[T object.Object] func(Identity) (T, bool)

type knownKey[T object.Object] struct{}

// WithKnown returns a context for the lists and the watches of a caller who has many of the objects already: known is called
// at the beginning of each, and returns what to ask then, or nil. Whoever adds it gets objects back that he shares with
// others, so it is for contexts that go to nobody but the client.
func WithKnown[T object.Object](ctx context.Context, known func() Known[T]) context.Context {
	return context.WithValue(ctx, knownKey[T]{}, known)
}

// KnownBy returns what the caller with that context has by now, nil if there is nothing.
func KnownBy[T object.Object](ctx context.Context) Known[T] {
	if known, ok := ctx.Value(knownKey[T]{}).(func() Known[T]); ok {
		return known()
	}
	return nil
}

// reuse returns what known has for the object at the cursor, and goes past it. If it has none, or that cannot be told,
// the cursor stays where it is.
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

// lookUp goes past an object as far as it must to know whether known has it.
func lookUp[T object.Object](c *cursor, known Known[T]) (obj T, found bool) {
	more, err := c.enter('}')
	for more && err == nil {
		name, nameErr := c.name()
		if nameErr != nil {
			return obj, false
		}
		if string(name) != "metadata" {
			err = c.skip()
		} else {
			id, ok := c.identity()
			if !ok || found {
				return obj, false // said twice
			}
			if obj, found = known(id); !found {
				return obj, false
			}
		}
		if err == nil {
			more, err = c.more('}')
		}
	}
	return obj, found && err == nil
}

// identity goes past metadata and returns what it identifies. It reports false for metadata that is not as every server
// writes it.
func (c *cursor) identity() (id Identity, ok bool) {
	if b, err := c.peek(); err != nil || b != '{' {
		return id, false
	}
	more, err := c.enter('}')
	for more && err == nil {
		name, nameErr := c.name()
		if nameErr != nil {
			return id, false
		}
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
			err = c.skip()
		} else if b, _ := c.peek(); b != '"' {
			return id, false
		} else {
			var plain bool
			if *into, plain, err = c.scanText(); !plain {
				return id, false
			}
		}
		if err == nil {
			more, err = c.more('}')
		}
	}
	return id, err == nil && len(id.Name) > 0 && len(id.UID) > 0 && len(id.ResourceVersion) > 0
}
