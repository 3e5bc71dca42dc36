// Package versions makes one version of a kind from another: [Package.Copy] gives the Go types of a kind to another API package,
// and [Convert] writes the functions that turn objects of two versions into each other, field by field, as the types are.
//
// All of it works on syntax, on files as they will be, so that nothing has to compile and no package is loaded. What syntax cannot
// decide, such as whether two types of different names are one, is left to the user, and the text says so.
package versions
