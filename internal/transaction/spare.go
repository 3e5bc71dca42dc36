package transaction

import (
	"io"
	"os"
)

// spareFiles is how many files a rollback has open at once, at most: a file and two directories on the way to it.
const spareFiles = 3

// spare are open files that a transaction holds while it makes changes. Their release leaves room for a rollback when
// the process has reached its limit on open files.
type spare []io.Closer

// holdSpare opens the files. With an error it has still opened some.
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
