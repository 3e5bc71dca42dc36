package incremental

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// Entry is the result of a successful run.
type Entry struct {
	Inputs source.Inputs
	Files  []artifact.File
	Kinds  []schema.GroupVersionKind
	// Warnings are the warnings of the run in order.
	Warnings []lint.Finding
	// Sum identifies an entry that was put or read.
	Sum [sha256.Size]byte
}

// plain returns an entry without the causes and classes of the warnings, which cannot be encoded.
func (e *Entry) plain() *Entry {
	encoded := *e
	encoded.Warnings = slices.Clone(e.Warnings)
	for i, w := range e.Warnings {
		encoded.Warnings[i].Error = &diagnostic.Error{Pos: w.Pos, Message: w.Message, Hint: w.Hint, Code: w.Code}
	}
	return &encoded
}

// The beginnings of files. They change with the encoding.
const (
	entryFormat   = "kctrl generate entry 2\n"
	stampedFormat = "kctrl generate stamps 4\n"
)

var errDamaged = errors.New("damaged cache entry")

// encode returns the text of a file: its format, a hash of the rest, the key, and the value.
func encode(format string, key Key, value any) ([]byte, error) {
	var content bytes.Buffer
	content.Write(key[:])
	if err := gob.NewEncoder(&content).Encode(value); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content.Bytes())
	return slices.Concat([]byte(format), sum[:], content.Bytes()), nil
}

// sumIn returns the hash in the text of an entry.
func sumIn(text []byte) [sha256.Size]byte { return [sha256.Size]byte(text[len(entryFormat):]) }

// decode reads the output of encode for the same format and key. value is a pointer.
func decode(format string, key Key, text []byte, value any) error {
	text, found := bytes.CutPrefix(text, []byte(format))
	if !found || len(text) < sha256.Size {
		return errDamaged
	}
	sum := [sha256.Size]byte(text)
	content, found := bytes.CutPrefix(text[sha256.Size:], key[:])
	if !found || sha256.Sum256(text[sha256.Size:]) != sum {
		return errDamaged
	}
	return gob.NewDecoder(bytes.NewReader(content)).Decode(value)
}

// Current returns the entry of a key if all its inputs are unchanged on the disk with an overlay. It stores stamps if
// the next run can then detect that without reading the inputs.
func (s Store) Current(key Key, environment *resolve.Environment, overlay map[string][]byte) (*Entry, bool) {
	entry, ok := s.Get(key)
	if !ok {
		return nil, false
	}
	// Stamps are of files on disk and do not include the overlay.
	if stamped, ok := s.GetStamped(key); ok && len(overlay) == 0 && stamped.Entry == entry.Sum && s.holds(key, stamped) {
		return entry, true
	}
	stamps, stamped, unchanged := entry.Inputs.Unchanged(environment, overlay)
	if stamped {
		// Without stamps the next run reads the same files again.
		_ = s.PutStamped(key, &Stamped{Entry: entry.Sum, Inputs: stamps})
	}
	return entry, unchanged
}
