// Package pack stores objects in few bytes. An API object in Go consists mostly of maps, pointers and string headers.
// Its packed form is one short string, which is converted to an equal object when it is read.
//
// A [Packer] is created once per Go type. Packing or unpacking an object takes about as long as a deep copy:
//
//	packer, err := pack.New(&corev1.Pod{})
//	packed, err := packer.Pack(pod)
//	again, err := packer.Unpack(packed)
//
// # Guarantees
//
//   - An unpacked object is deeply equal to the original, for every value that a decoder creates. Nil and empty slices
//     and maps stay different, and times keep their location if it is UTC or local. A quantity is returned as if it had
//     been parsed from its canonical text, in which servers write it: 1 for 1000m.
//   - Two packed states of an object can be compared without unpacking them: see [Packed.SameState].
//   - Unpacking foreign data returns an error or some object, never panics, and needs memory in proportion to the
//     result.
//
// Strings that repeat across objects are kept once per packer, in a table of bounded size. The other strings of an
// unpacked object are substrings of the packed object, which they keep alive.
//
// The format is for the memory of one process: only the packer that packed an object can unpack it.
package pack
