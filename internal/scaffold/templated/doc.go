// Package templated plans the files that templates render, with the project's header, and adds them to kustomizations.
package templated
