// Package refactor moves and renames the Go code and the manifests of a project, including those that the user wrote.
// [Find] compares the files that kctrl writes before and after a change of PROJECT, and [KeepNeeded] finds the files
// that other code needs.
package refactor
