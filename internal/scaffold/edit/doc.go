// Package edit changes Go and YAML files that belong to a user: Go by its syntax, YAML by its nodes. [EnsureArgument],
// [EnsureListItem], [RemoveListItem], [ReplaceListItem] and [ReplaceScalar] take and return the bytes of a file. They
// change one place and keep every other byte. If nothing has to change, the result equals the input.
//
// They refuse an ambiguous place: the error is a *diagnostic.Error with the position, and its hint has the exact text
// to add. They parse an edited file again, and check its meaning.
//
// [Documents], [Find], [KeyIndex], [Position] and [Describe] help to read YAML by nodes. All functions are safe for
// concurrent use, and only read their arguments.
package edit
