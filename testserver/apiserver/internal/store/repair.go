package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Repaired is the result of a repair. It is zero if the file was not damaged.
type Repaired struct {
	Kept    int    // number of lines
	Dropped int    // number of lines
	Bytes   int64  // total size of the dropped lines
	Copy    string // path to which the damaged file was moved
}

// Repair replaces the file at path with its undamaged lines, and keeps the damaged file beside it. Writes in
// dropped lines are lost, so their objects have the state of an earlier write. An undamaged file is not changed.
func Repair(path string) (r Repaired, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	var kept []byte
	for n := 0; len(data) > 0; n++ {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if data = rest; !ended && n > 0 {
			break // a write that was not acknowledged
		}
		if header, err := readable(line); err == nil && header == (n == 0) {
			kept = append(append(kept, line...), '\n')
			r.Kept++
			continue
		}
		if n == 0 {
			if kept, err = walLine(walHeader{Format: walFormat, Version: walVersion}); err != nil {
				return r, err
			}
		}
		r.Dropped++
		r.Bytes += int64(len(line)) + 1
	}
	switch {
	case r.Dropped == 0:
		return r, nil
	case r.Kept == 0:
		return r, errForeign
	}
	if r.Copy, err = unused(path + ".damaged"); err != nil {
		return r, err
	}
	temporary := path + ".tmp"
	err = errors.Join(os.WriteFile(temporary, kept, 0o600), os.Link(path, r.Copy))
	if err == nil {
		err = os.Rename(temporary, path)
	}
	return r, errors.Join(err, syncDir(filepath.Dir(path)))
}

// readable reports whether a line is a header. It returns an error if the line cannot be read.
func readable(line []byte) (header bool, err error) {
	text, err := walText(line)
	if err != nil {
		return false, err
	}
	var h walHeader
	return json.Unmarshal(text, &h) == nil && h.Format == walFormat, nil
}

// unused returns a path that begins with prefix and does not exist.
func unused(prefix string) (string, error) {
	path := prefix
	for n := 2; ; n++ {
		_, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil
		case err != nil:
			return "", err
		}
		path = prefix + "." + strconv.Itoa(n)
	}
}
