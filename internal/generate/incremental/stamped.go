package incremental

import (
	"crypto/sha256"
	"time"

	"github.com/kctrl-dev/kctrl/internal/source"
)

// Stamped records the state of the files on disk at a time when an entry was up to date. While these files are
// unchanged, the caller need not read them.
type Stamped struct {
	// Entry is the SHA-256 sum of the entry.
	Entry [sha256.Size]byte
	// Inputs has the stamps of the inputs.
	Inputs source.Stamps
}

// GetStamped returns the stamps of a key, if they exist and are valid.
func (s Store) GetStamped(key Key) (*Stamped, bool) {
	stamped := &Stamped{}
	content, ok := s.read(key, stampedSuffix)
	return stamped, ok && decode(stampedFormat, key, content, stamped) == nil
}

// PutStamped stores the stamps of a key, replacing earlier ones.
func (s Store) PutStamped(key Key, stamped *Stamped) error {
	content, err := encode(stampedFormat, key, stamped)
	if err != nil {
		return err
	}
	return s.write(key, stampedSuffix, content)
}

// holds reports whether all files are unchanged. It stores stamps that have become reliable, so that the next run need
// not read the files.
func (s Store) holds(key Key, stamped *Stamped) bool {
	// The time precedes the check, so that a change during the check is not older than this time.
	now := time.Now()
	if !stamped.Inputs.Hold() {
		return false
	}
	if inputs, changed := stamped.Inputs.Trust(now); changed {
		_ = s.PutStamped(key, &Stamped{Entry: stamped.Entry, Inputs: inputs})
	}
	return true
}
