//go:build !unix

package standalone

import (
	"errors"
	"os"
)

// lockFolder fails: this system has no lock that the end of a process releases.
func lockFolder(string) (*os.File, error) {
	return nil, errors.New("objects are kept in a directory only on Linux and macOS")
}
