// Package refactor moves and renames the Go code and the manifests of a project that changes, with what users wrote.
// [Find] compares what kctrl writes before and after, and [KeepNeeded] finds the files that other code needs.
package refactor
