// Package sync decides what happens to each file of a project when the content that kctrl generates for it changes.
//
// [Sync] compares two trees of render with the files on disk. It plans to remove, create, move and merge files, and
// returns the files that it cannot update as conflicts. The owner of a file, on the row of its template, and its
// entries in PROJECT.lock decide. Edited files are merged line by line. Kustomizations are merged item by item first,
// and Go files after the caller has changed the names in them.
//
// [Bases] are the contents that edits are merged from: kctrl wrote them once, and version control or .kctrl/base has
// them.
package sync
