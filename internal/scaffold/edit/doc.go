// Package edit changes Go and YAML files of the user. It finds positions in Go files by syntax and in YAML files by
// nodes. [EnsureArgument], [EnsureListItem], [RemoveListItem], [ReplaceListItem], [ReplaceScalar] and [ReplaceBool]
// take and return the bytes of a file. They change one place and keep every other byte. If nothing has to change, the
// result equals the input.
//
// If the place is ambiguous, these functions return a *diagnostic.Error with the position; its hint has the exact text
// to add. They parse the edited file again and check that its meaning is as expected.
//
// [ParseGo], [Documents], [Position] and [Describe] help to read files, and [Apply] replaces parts of a text. All
// functions are safe for concurrent use, and only read their arguments.
package edit
