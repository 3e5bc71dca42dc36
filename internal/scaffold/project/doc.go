// Package project knows the two files by which kctrl knows a project: PROJECT, which says what it is, and PROJECT.lock, which
// says what kctrl wrote.
//
// [Project] is PROJECT: [Load] reads it strictly, [Project.Validate] says what the values may be, and [Project.Marshal] writes
// it with the order, the comments and the unknown fields that it had. [Lock] is PROJECT.lock: path, hash and template of
// each file, so that what the user has edited can be told. Both have a line for each kind or file, so that git merges them.
//
// Nothing is written here: that is what plans are for.
package project
