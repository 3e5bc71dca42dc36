package transaction

import (
	"io"
	"os"
)

// spareFiles is the maximum number of files that a rollback opens at once: a file and two of its parent directories.
const spareFiles = 3

// spare are open files that a transaction holds while it makes changes. Their release leaves room for a rollback when
// the process has reached its limit on open files.
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

// release closes the files. It may be called again.
func (s *spare) release() {
	for _, file := range *s {
		_ = file.Close()
	}
	*s = nil
}
