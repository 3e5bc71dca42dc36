// Package pack keeps objects in few bytes. An API object in Go consists mostly of maps, pointers and string headers;
// its packed form is one short string, which is converted to an equal object when it is read.
//
// A [Packer] is created once per Go type. Packing and unpacking an object take about as long as a deep copy:
//
//	packer, err := pack.New(&corev1.Pod{})
//	packed, err := packer.Pack(pod)
//	again, err := packer.Unpack(packed)
//
// # Guarantees
//
//   - An unpacked object is deeply equal to the original, for every value that a decoder creates: nil and empty slices
//     and maps stay different, and times keep their location if that is UTC or local. A quantity is returned as parsed
//     from its canonical text, in which servers write it: 1 for 1000m.
//   - Two packed states of an object can be compared without unpacking: see [Packed.SameState].
//   - Unpacking foreign data returns an error or some object, but never panics, and needs memory in proportion to the
//     result.
//
// Strings that repeat across objects are kept once per packer, in a table of bounded size. The other strings of an
// unpacked object are substrings of the packed one, which they keep alive.
//
// The format is for the memory of one process: only the packer that packed an object can unpack it.
package pack
