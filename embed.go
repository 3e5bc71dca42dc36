// Package kctrl carries the parts of this module that the kctrl command writes into other projects: the source of the
// runtime, and the module versions it was tested with.
package kctrl

import "embed"

// Source is this module's go.mod, go.sum and LICENSE, and the tree below runtime/, tests included.
//
//go:embed go.mod go.sum LICENSE runtime
var Source embed.FS
