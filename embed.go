// Package kctrl carries the parts of this module that the kctrl command copies or compiles: the source of the runtime
// and of the test server, and the module versions that both were tested with.
package kctrl

import "embed"

// Source is this module's go.mod, go.sum and LICENSE, and the trees below runtime/ and testserver/, tests included.
//
//go:embed go.mod go.sum LICENSE runtime testserver
var Source embed.FS
