package incremental

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"go/token"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// Entry is a run that went well.
type Entry struct {
	Inputs source.Inputs
	Files  []File
	Kinds  []schema.GroupVersionKind
	// Warnings are what the run warned of, in order.
	Warnings []lint.Finding
	// Sum tells an entry that was put or read from others.
	Sum [sha256.Size]byte
}

// File is a generated file. Its path is relative to the project, with slashes.
type File struct {
	Path     string
	Template string // the name of its generator
	Content  []byte
}

// format begins every file, and changes whenever the encoding does.
const format = "kctrl generate entry 1\n"

var errDamaged = errors.New("damaged cache entry")

// warning is a finding as it is stored.
type warning struct {
	Pos                 token.Position
	Message, Hint, Code string
	Fatal               bool
	Fix                 *lint.Fix
}

// encode returns the text of the file of an entry.
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
		w.text([]byte(file.Template))
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

// seal returns the text of a file: its format, the hash of all that follows, the key, and the content.
func seal(format string, key Key, content []byte) []byte {
	text := append([]byte(format), make([]byte, sha256.Size)...)
	text = append(append(text, key[:]...), content...)
	sum := sha256.Sum256(text[len(format)+sha256.Size:])
	copy(text[len(format):], sum[:])
	return text
}

// sumIn returns the hash that was sealed into the text of an entry.
func sumIn(text []byte) [sha256.Size]byte { return [sha256.Size]byte(text[len(format):]) }

// open returns a reader of the content of what was sealed for the same key.
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

// decode reads what encode wrote for the same key. The contents of files are parts of content.
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
		e.Files = append(e.Files, File{string(r.text()), string(r.text()), r.text()})
	}
	for range r.number() {
		e.Kinds = append(e.Kinds, schema.GroupVersionKind{Group: string(r.text()), Version: string(r.text()), Kind: string(r.text())})
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
	// Strings and numbers can always be encoded.
	text, _ := json.Marshal(warnings)
	w.text(text)
}

// warnings reads the warnings, which come last.
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

// writer appends numbers, and texts after their lengths.
type writer []byte

func (w *writer) number(n int) { *w = binary.AppendUvarint(*w, uint64(n)) }

func (w *writer) text(text []byte) {
	w.number(len(text))
	*w = append(*w, text...)
}

// reader reads what a writer wrote. Behind the end it reads zeros, and has failed.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) number() int {
	n, size := binary.Uvarint(r.rest)
	// No number is larger than what is left, so a damaged one cannot make anybody allocate.
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
	// Without room behind it: who appends to it must not write into the next.
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) text() []byte { return r.bytes(r.number()) }

// Current returns the entry of a key, if the disk with an overlay still gives the same answers. If that can be seen
// without reading the next time, it is noted.
func (s Store) Current(key Key, environment *resolve.Environment, overlay map[string][]byte) (*Entry, bool) {
	entry, ok := s.Get(key)
	if !ok {
		return nil, false
	}
	// Stamps are of files on disk, and know nothing of planned ones.
	if stamped, ok := s.GetStamped(key); ok && len(overlay) == 0 && stamped.Entry == entry.Sum && s.Holds(key, stamped) {
		return entry, true
	}
	stamps, stamped, unchanged := entry.Inputs.Unchanged(environment, overlay)
	if stamped {
		// Without stamps the next run reads what this one has read.
		_ = s.PutStamped(key, &Stamped{Entry: entry.Sum, Inputs: stamps})
	}
	return entry, unchanged
}
