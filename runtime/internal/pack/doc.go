// Package pack keeps objects as few bytes: what an object of the API is in Go, which is mostly maps, pointers and string
// headers, becomes one short string, and an equal object again when it is read.
//
// A [Packer] is made once for a Go type. To pack an object costs about as much as a deep copy of it, and so does to unpack
// it:
//
//	packer, err := pack.New(&corev1.Pod{})
//	packed, err := packer.Pack(pod)
//	again, err := packer.Unpack(packed)
//
// # Guarantees
//
//   - What is unpacked is deeply equal to what was packed, for every value that a decoder makes: nil and empty slices and
//     maps stay different, and times keep their location if that is UTC or the local one. A quantity
//     comes back as one that was parsed from its canonical text, which is how servers write it: 1 for 1000m.
//   - One state of one object is recognised without unpacking it: see [Packed.SameState].
//   - Unpacking what no packer has made is an error or some object, but never a panic, and takes memory in proportion to
//     what is unpacked.
//
// Strings that repeat from object to object are kept once for all that one packer packs, in a table of bounded size. The
// other strings of an unpacked object are parts of the packed one, which is not freed before them.
//
// The form is for the memory of one process: only the packer that packed an object can unpack it.
package pack
