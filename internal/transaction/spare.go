package transaction

import (
	"io"
	"os"
)

// spareFiles is the maximum number of files that a rollback has open at the same time: a file and two of its parent
// directories.
const spareFiles = 3

// spare has open files that a transaction holds while it makes changes. If the process has reached its limit on open
// files, closing them makes a rollback possible.
type spare []io.Closer

// holdSpare opens the files. It may return open files together with an error.
func holdSpare() (s spare, err error) {
	for range spareFiles {
		file, err := os.Open(os.DevNull)
		if err != nil {
			return s, err
		}
		s = append(s, file)
	}
	return s, nil
}

// release closes the files. The caller may call it several times.
func (s *spare) release() {
	for _, file := range *s {
		_ = file.Close()
	}
	*s = nil
}
