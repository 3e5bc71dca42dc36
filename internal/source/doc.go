// Package source reads the source of a project from disk, and records what it read. A [Tree] consists of the files on
// disk and an overlay of planned files. [Tree.Dirs] finds the directories that patterns such as "./..." match.
// [Tree.Inputs] returns what it recorded: questions about files, with their answers. A run with the same inputs has the
// same result, so a caller can skip the run if [Inputs.Unchanged] finds the same answers. [Stamps] show that the
// answers are unchanged without reading the content of files.
//
// The package handles files, directories, modules and build constraints. It does not interpret Go code. Package resolve
// finds packages where the go command finds them.
package source
