// Package sync decides what happens to each file of a project when the content that kctrl generates for it changes.
//
// [Sync] compares two rendered trees with the files on disk. It plans to remove, create, move and merge files, and
// returns the files that it cannot update as conflicts. It decides by the owner of a file, which the table of templates
// sets, and by the file's entries in PROJECT.lock. It merges edited files line by line. Before that, it merges
// kustomizations item by item, and lets the caller change the names in Go files.
//
// [Bases] finds the contents that kctrl once wrote, which are the bases of merges. They are in version control or in
// .kctrl/base.
package sync
