// Package templated plans the files that templates render, with the header of the project, and lists them in
// kustomizations.
package templated
