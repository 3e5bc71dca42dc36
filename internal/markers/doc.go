// Package markers knows the markers in the comments of Go packages, such as "+kubebuilder:validation:MinLength=1": what
// each means and where it may stand ([Registry]), what to say of it ([Registry.Explain], in kctrl's own words), what was
// meant by one that is misspelt ([Registry.Correction]), and which of them a file has, with what each describes
// ([Registry.Read]).
//
// The meaning of a marker and where it may stand is that of controller-tools; its packages do the work. Markers of other
// tools are left alone. Nothing here reads a file or knows what a project is.
package markers
