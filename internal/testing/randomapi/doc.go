// Package randomapi generates random Go API packages, for tests that compare the output of generators.
//
// [New] returns a group with types of every form that controller-gen v0.23.0 supports: nested structs, embedded fields,
// maps, lists, pointers, aliases, named types, enums, types of other packages, types that marshal themselves, all forms
// of JSON tags, and unambiguous combinations of markers on packages, types and fields. A seed always produces the same
// files.
package randomapi
