// Package markers defines the markers in the comments of Go packages, such as "+kubebuilder:validation:MinLength=1". A
// [Registry] contains their definitions and targets. [Registry.Explain] returns their documentation.
// [Registry.Correction] suggests a spelling for an unknown marker. [Registry.Read] returns the markers of a file with
// the declarations that they describe.
//
// controller-tools' packages define the meanings and targets of markers. The package ignores markers of other tools. It
// reads no files and does not depend on projects.
package markers
