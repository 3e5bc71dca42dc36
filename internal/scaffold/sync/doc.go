// Package sync decides what happens to each file of a project when what kctrl writes for the project changes.
//
// [Sync] compares two trees of render with the files on disk. It removes, creates, moves and merges files in a plan,
// and returns the files that cannot follow as conflicts. The owner of a file, on the row of its template, and its
// entries in PROJECT.lock decide. Edited files are merged line by line. Kustomizations are merged item by item first,
// and Go files after the caller has changed the names in them.
//
// [Bases] are what edits are merged from: what kctrl once wrote, from version control or from .kctrl/base.
package sync
