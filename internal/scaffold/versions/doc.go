// Package versions derives one version of a kind from another: [Package.Copy] copies the Go types of a kind to another
// API package, and [Convert] writes functions that convert objects between two versions, field by field.
//
// It works on the syntax of planned files: nothing needs to compile, and no package is loaded. If syntax cannot decide
// a case, such as whether two types of different names are identical, a comment in the result asks the user to.
package versions
