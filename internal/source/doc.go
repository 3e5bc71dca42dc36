// Package source asks the disk about the source of a project, and remembers what it was asked: a [Tree] is the files with
// those on top that are only planned, [Tree.Folders] finds the folders that patterns such as "./..." match, and
// [Tree.Inputs] are the questions with their answers. A run that gets the same answers to the same questions comes to the
// same end, so [Inputs.Unchanged] asks them again instead of running; [Stamps] stand for the answers without reading a
// file.
//
// It knows files, folders, modules and build constraints, and nothing of what is in a Go file. Package resolve below it
// finds packages where the go command would.
package source
