//go:build !linux && !darwin

package source

import "io/fs"

// identityOf returns false: on this system, the metadata does not show every change.
func identityOf(fs.FileInfo) (Identity, bool) { return Identity{}, false }
