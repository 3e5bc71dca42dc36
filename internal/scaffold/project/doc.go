// Package project reads the two files that describe a project: PROJECT, which defines it, and PROJECT.lock, which lists
// the files that kctrl wrote.
//
// [Project] represents PROJECT. [Load] reads the file strictly, [Project.Validate] checks the values, and
// [Project.Marshal] keeps the order, the comments and the unknown fields of the file. [Lock] represents PROJECT.lock.
// It has the path, hash and template of each file, with which kctrl detects the user's edits. Both files have one line
// for each kind or file, so that git can merge them.
//
// The package does not write files: callers write them with plans.
package project
