package incremental

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"go/token"

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

// format is the beginning of every file. It changes with the encoding.
const format = "kctrl generate entry 1\n"

var errDamaged = errors.New("damaged cache entry")

type warning struct {
	Pos                 token.Position
	Message, Hint, Code string
	Fatal               bool
	Fix                 *lint.Fix
}

func encode(key Key, e *Entry) []byte {
	w := writer{}
	w.number(len(e.Inputs))
	for _, input := range e.Inputs {
		w = append(w, byte(input.Question))
		w.text([]byte(input.Name))
		w = append(w, input.Answer[:]...)
	}
	w.number(len(e.Files))
	for _, file := range e.Files {
		w.text([]byte(file.Path))
		w.text([]byte(file.Generator))
		w.text(file.Content)
	}
	w.number(len(e.Kinds))
	for _, kind := range e.Kinds {
		w.text([]byte(kind.Group))
		w.text([]byte(kind.Version))
		w.text([]byte(kind.Kind))
	}
	w.warnings(e.Warnings)
	return seal(format, key, w)
}

// seal returns the text of a file: its format, a hash of the rest, the key, and the content.
func seal(format string, key Key, content []byte) []byte {
	text := append([]byte(format), make([]byte, sha256.Size)...)
	text = append(append(text, key[:]...), content...)
	sum := sha256.Sum256(text[len(format)+sha256.Size:])
	copy(text[len(format):], sum[:])
	return text
}

// sumIn returns the hash in the text of an entry.
func sumIn(text []byte) [sha256.Size]byte { return [sha256.Size]byte(text[len(format):]) }

// open returns a reader of the content that was sealed for the same key.
func open(format string, key Key, text []byte) (*reader, error) {
	head := len(format) + sha256.Size
	if len(text) < head || string(text[:len(format)]) != format {
		return nil, errDamaged
	}
	if sha256.Sum256(text[head:]) != [sha256.Size]byte(text[len(format):head]) {
		return nil, errDamaged
	}
	r := &reader{rest: text[head:]}
	if Key(r.bytes(len(key))) != key {
		return nil, errDamaged
	}
	return r, nil
}

// decode decodes the output of encode for the same key. The contents of files are slices of content.
func decode(key Key, content []byte) (*Entry, error) {
	r, err := open(format, key, content)
	if err != nil {
		return nil, err
	}
	e := &Entry{Sum: sumIn(content)}
	for range r.number() {
		question := source.Question(r.bytes(1)[0])
		input := source.Input{Question: question, Name: string(r.text())}
		copy(input.Answer[:], r.bytes(len(input.Answer)))
		e.Inputs = append(e.Inputs, input)
	}
	for range r.number() {
		e.Files = append(e.Files, artifact.File{Path: string(r.text()), Generator: string(r.text()), Content: r.text()})
	}
	for range r.number() {
		e.Kinds = append(e.Kinds, schema.GroupVersionKind{Group: string(r.text()), Version: string(r.text()),
			Kind: string(r.text())})
	}
	if e.Warnings, err = r.warnings(); err != nil {
		return nil, err
	}
	return e, nil
}

func (w *writer) warnings(findings []lint.Finding) {
	var warnings []warning
	for _, f := range findings {
		warnings = append(warnings, warning{f.Pos, f.Message, f.Hint, f.Code, f.Fatal, f.Fix})
	}
	// Encoding strings and numbers does not fail.
	text, _ := json.Marshal(warnings)
	w.text(text)
}

// warnings reads the warnings, which are last.
func (r *reader) warnings() ([]lint.Finding, error) {
	var warnings []warning
	if text := r.text(); r.failed || json.Unmarshal(text, &warnings) != nil || len(r.rest) > 0 {
		return nil, errDamaged
	}
	var findings []lint.Finding
	for _, w := range warnings {
		findings = append(findings, lint.Finding{
			Error: &diagnostic.Error{Pos: w.Pos, Message: w.Message, Hint: w.Hint, Code: w.Code}, Fatal: w.Fatal, Fix: w.Fix,
		})
	}
	return findings, nil
}

// writer is a buffer for an encoded entry. Its methods append numbers, and strings with a length prefix.
type writer []byte

func (w *writer) number(n int) { *w = binary.AppendUvarint(*w, uint64(n)) }

func (w *writer) text(text []byte) {
	w.number(len(text))
	*w = append(*w, text...)
}

// reader reads the output of a writer. Reading beyond the end returns zeros and sets failed.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) number() int {
	n, size := binary.Uvarint(r.rest)
	// A length greater than the rest is invalid, so damaged data cannot cause large allocations.
	if size <= 0 || n > uint64(len(r.rest)) {
		r.rest, r.failed = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.rest, r.failed = nil, true
		return make([]byte, n)
	}
	// Limit the capacity, so that appending to the slice does not overwrite the rest.
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) text() []byte { return r.bytes(r.number()) }

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
