// Package edit changes Go and YAML files that belong to a user: Go by its syntax, YAML by its nodes. [EnsureArgument],
// [EnsureListItem], [RemoveListItem], [ReplaceListItem] and [ReplaceScalar] take the bytes of a file and return those it
// should hold. They change the one place they are about and leave every other byte alone; what is there already
// gives the very bytes back.
//
// Where they cannot be sure of the place they refuse: the error is a *diagnostic.Error with the position, and its hint has
// the exact text to add. An edited file is parsed again, and has to mean what was asked for.
//
// [Documents], [Find], [KeyIndex], [Position] and [Describe] are for those that read YAML by nodes. All functions may be
// called at once from many goroutines; what they get is only read.
package edit
