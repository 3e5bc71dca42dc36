package plan

import (
	"io"

	"github.com/kctrl-dev/kctrl/internal/transaction"
	"github.com/spf13/afero"
)

// OpenRoot opens the folder dir as a file system that nothing leads out of: names are relative to it, and a name or a
// symbolic link that points elsewhere is an error. Close the closer when done. A folder that does not exist is a
// *diagnostic.Error.
func OpenRoot(dir string) (afero.Fs, io.Closer, error) {
	folder, err := transaction.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	return folder, folder, nil
}
