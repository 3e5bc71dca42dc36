// Package kctrl embeds the sources that the kctrl command copies or compiles: the runtime, the test server, the module
// versions with which both were tested, and the module with controller-runtime's API.
package kctrl

import (
	"archive/zip"
	"bytes"
	"embed"
	"io/fs"
)

// Source is this module's go.mod, go.sum and LICENSE, and the trees below runtime/ and testserver/, tests included.
//
//go:embed go.mod go.sum LICENSE runtime testserver
var Source embed.FS

// The go command does not embed files of other modules, so the sources of compat/controller-runtime are in an archive.
// TestControllerRuntimeIsEmbedded compares the archive with the sources, and writes it with -update.
//
//go:embed compat/controller-runtime.zip
var controllerRuntime []byte

// The oldest and the newest release of controller-runtime whose API the embedded module provides.
const (
	OldestControllerRuntime = "v0.23"
	NewestControllerRuntime = "v0.25"
)

// ControllerRuntime returns go.mod, go.sum and the Go files of compat/controller-runtime, without tests.
func ControllerRuntime() (fs.FS, error) {
	return zip.NewReader(bytes.NewReader(controllerRuntime), int64(len(controllerRuntime)))
}
