// Package templated plans files that templates render, under the header of the project, and lists them in
// kustomizations.
package templated
