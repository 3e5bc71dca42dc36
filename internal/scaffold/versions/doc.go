// Package versions derives one version of a kind from another: [Package.Copy] copies the Go types of a kind to another
// API package, and [Convert] writes functions that convert objects between two versions, field by field.
//
// It works on the syntax of planned files, which need not compile, and loads no packages. If the syntax is not
// sufficient, for example to decide whether two types with different names are identical, a comment in the result asks
// the user to write the code.
package versions
