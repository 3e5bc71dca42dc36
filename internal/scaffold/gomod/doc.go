// Package gomod plans go.mod, go.sum and go.work of a project and of its API module, and the bundled runtime. It keeps
// versions newer than kctrl's, and the requirements of other modules.
package gomod
