package incremental

import (
	"crypto/sha256"
	"encoding/binary"
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

// stampedFormat is the beginning of every file of stamps. It changes with the encoding.
const stampedFormat = "kctrl generate stamps 3\n"

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
	stamped.Inputs = r.stamps()
	return stamped, !r.failed && len(r.rest) == 0
}

// PutStamped stores the stamps of a key, replacing earlier ones.
func (s Store) PutStamped(key Key, stamped *Stamped) error {
	w := writer{}
	w = append(w, stamped.Entry[:]...)
	w.stamps(stamped.Inputs)
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
