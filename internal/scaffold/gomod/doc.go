// Package gomod plans go.mod, go.sum and go.work of a project and of its API module, and the bundled runtime. It keeps
// versions that are newer than kctrl's, and requirements that kctrl does not need.
package gomod
