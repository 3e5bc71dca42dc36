//go:build !unix

package standalone

import (
	"errors"
	"os"
)

// lockDir fails, because this system has no lock that the end of a process releases.
func lockDir(string) (*os.File, error) {
	return nil, errors.New("objects are kept in a directory only on Linux and macOS")
}
