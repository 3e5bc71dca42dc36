// Package markers defines the markers in the comments of Go packages, such as "+kubebuilder:validation:MinLength=1". A
// [Registry] has their meaning and targets. [Registry.Explain] returns their documentation. [Registry.Correction]
// suggests a spelling for an unknown marker. [Registry.Read] returns the markers of a file with the declarations that
// they describe.
//
// The packages of controller-tools define meanings and targets. Markers of other tools are ignored. The package reads
// no files and does not depend on projects.
package markers
