// Package project reads the two files that describe a project: PROJECT, which defines it, and PROJECT.lock, which lists
// the files that kctrl wrote.
//
// [Project] is PROJECT: [Load] reads it strictly, [Project.Validate] checks the values, and [Project.Marshal] keeps the
// order, the comments and the unknown fields of the file. [Lock] is PROJECT.lock: path, hash and template of each file,
// from which kctrl detects the user's edits. Both have one line per kind or file, so that git can merge them.
//
// The package writes nothing: callers write through plans.
package project
