// Package randomapi makes Go API packages from random numbers, so that tests can compare what generators make of them.
//
// [New] returns a group with types of every form that controller-gen v0.23.0 understands: structs in structs, embedded
// fields, maps, lists, pointers, aliases, named types, enums, types of other packages, types that marshal themselves, JSON
// tags in all forms, and markers on packages, types and fields in any mix that has one meaning. The same seed makes the
// same files.
package randomapi
