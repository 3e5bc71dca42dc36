// Package gomod plans what go.mod, go.sum and go.work say, for the module of a project and for that of its API
// packages, and the bundled runtime. Versions that are newer than those of kctrl stay, and so does what other modules
// need.
package gomod
