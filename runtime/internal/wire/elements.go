package wire

import "reflect"

// maxElements is the size of the largest place for elements that is kept, in bytes.
const maxElements = 8 << 10

// elements is where a cursor decodes the elements of a slice as long as it is not known how many they are. The slice is
// then allocated once, in its size.
type elements struct {
	slice reflect.Value // a slice without elements, unless it is used
	used  bool          // the elements of a slice are decoded right now: one within another is not decoded here
}

// elements returns the place for elements that elem decodes, of slices of type t, or nil if it is used.
func (c *cursor) elements(elem *plan, t reflect.Type) *elements {
	e, ok := c.places[elem]
	if !ok {
		if c.places == nil {
			c.places = make(map[*plan]*elements)
		}
		e = &elements{slice: reflect.New(t).Elem()}
		c.places[elem] = e
	}
	if e.used {
		return nil
	}
	e.used = true
	return e
}

// next returns the place of one more element, which is zero.
func (e *elements) next() reflect.Value {
	n := e.slice.Len()
	if n == e.slice.Cap() {
		e.slice.Grow(1)
	}
	e.slice.SetLen(n + 1)
	return e.slice.Index(n)
}

// moveTo makes v, which has no room, the elements.
func (e *elements) moveTo(v reflect.Value) {
	n := e.slice.Len()
	v.Grow(n)
	v.SetLen(n)
	reflect.Copy(v, e.slice)
}

// release forgets the elements.
func (e *elements) release() {
	e.used = false
	if uintptr(e.slice.Cap())*e.slice.Type().Elem().Size() > maxElements {
		e.slice.SetZero()
		return
	}
	e.slice.Clear()
	e.slice.SetLen(0)
}
