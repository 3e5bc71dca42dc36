// Package source reads the source of a project from disk, and records what it read. A [Tree] is the files on disk with
// an overlay of planned files. [Tree.Dirs] finds the directories that patterns such as "./..." match. [Tree.Inputs]
// returns the recorded questions with their answers. A run with the same inputs has the same result, so
// [Inputs.Unchanged] asks the questions again instead of a new run. [Stamps] show that the answers are unchanged
// without reading the content of a file.
//
// The package handles files, directories, modules and build constraints. It does not interpret Go code. Package resolve
// finds packages where the go command finds them.
package source
