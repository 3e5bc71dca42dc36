package incremental

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"time"

	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/source"
)

// Stamped records the state of the files on disk at a time when an entry was up to date. While these files are
// unchanged, the caller need not read the inputs or the entry.
type Stamped struct {
	// Entry is the SHA-256 sum of the entry.
	Entry [sha256.Size]byte
	// Inputs has the stamps of the inputs, and Outputs the stamps of the files to which the content of the
	// entry was written. If Outputs is empty, these files are unknown.
	Inputs, Outputs source.Stamps
	// Warnings are the warnings of the entry.
	Warnings []lint.Finding
}

// stampedFormat is the beginning of every file of stamps. It changes with the encoding.
const stampedFormat = "kctrl generate stamps 2\n"

// GetStamped returns the stamps of a key, if they exist and are valid.
func (s Store) GetStamped(key Key) (*Stamped, bool) {
	content, ok := s.read(key, stampedSuffix)
	if !ok {
		return nil, false
	}
	r, err := open(stampedFormat, key, content)
	if err != nil {
		return nil, false
	}
	stamped := &Stamped{}
	copy(stamped.Entry[:], r.bytes(len(stamped.Entry)))
	stamped.Inputs, stamped.Outputs = r.stamps(), r.stamps()
	if stamped.Warnings, err = r.warnings(); err != nil {
		return nil, false
	}
	return stamped, true
}

// PutStamped stores the stamps of a key, replacing earlier ones.
func (s Store) PutStamped(key Key, stamped *Stamped) error {
	w := writer{}
	w = append(w, stamped.Entry[:]...)
	w.stamps(stamped.Inputs)
	w.stamps(stamped.Outputs)
	w.warnings(stamped.Warnings)
	return s.write(key, stampedSuffix, seal(stampedFormat, key, w))
}

func (w *writer) stamps(stamps source.Stamps) {
	w.number(len(stamps))
	for _, stamp := range stamps {
		w.text([]byte(stamp.Name))
		*w = append(*w, byte(stamp.Kind))
		if stamp.Kind != source.StampWhole && stamp.Kind != source.StampFresh {
			continue
		}
		*w = append(*w, stamp.Sum[:]...)
		for _, n := range []uint64{stamp.Device, stamp.Inode, uint64(stamp.Size), uint64(stamp.Modified),
			uint64(stamp.Changed)} {
			*w = binary.LittleEndian.AppendUint64(*w, n)
		}
	}
}

func (r *reader) stamps() source.Stamps {
	count := r.number()
	stamps := make(source.Stamps, 0, count)
	for range count {
		stamp := source.Stamp{Name: string(r.text()), Kind: source.StampKind(r.bytes(1)[0])}
		if stamp.Kind == source.StampWhole || stamp.Kind == source.StampFresh {
			copy(stamp.Sum[:], r.bytes(len(stamp.Sum)))
			stamp.Device, stamp.Inode = r.uint64(), r.uint64()
			stamp.Size, stamp.Modified, stamp.Changed = int64(r.uint64()), int64(r.uint64()), int64(r.uint64())
		}
		stamps = append(stamps, stamp)
	}
	return stamps
}

func (r *reader) uint64() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }

// StampFiles stamps files before they are compared with their expected content. It returns false if the file system
// provides too little information about one of them.
func StampFiles(names []string) (source.Stamps, bool) {
	var stamps source.Stamps
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, false
		}
		stamp, ok := source.StampFile(name, info)
		if !ok {
			return nil, false
		}
		stamps = append(stamps, stamp)
	}
	return stamps, true
}

// Holds reports whether all files are unchanged. It stores stamps that have become reliable, so that the next run need
// not read the files.
func (s Store) Holds(key Key, stamped *Stamped) bool {
	// The time precedes the check, so that a change during the check is not older than this time.
	now := time.Now()
	if !stamped.Inputs.Hold() || !stamped.Outputs.Hold() {
		return false
	}
	next := *stamped
	var inputs, outputs bool
	next.Inputs, inputs = stamped.Inputs.Trust(now)
	next.Outputs, outputs = stamped.Outputs.Trust(now)
	if inputs || outputs {
		_ = s.PutStamped(key, &next)
	}
	return true
}
