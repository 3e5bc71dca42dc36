package pack

import (
	"encoding/binary"

	"k8s.io/apimachinery/pkg/labels"
)

// Labels are the labels in a packed object. They are valid as long as it is, and not safe for concurrent use.
type Labels struct {
	at    reader
	count int
}

var _ labels.Labels = (*Labels)(nil)

// LabelsOf sets l to the labels of a packed object, without unpacking or allocating.
func (p *Packer[T]) LabelsOf(packed Packed, l *Labels) {
	l.at = reader{data: string(packed), strings: p.strings.all()}
	for range 4 {
		l.at.skipText() // UID, version, namespace, name
	}
	l.count, _ = l.at.length()
}

// Has reports whether the label exists.
func (l *Labels) Has(key string) bool {
	_, has := l.Lookup(key)
	return has
}

// Get returns the value of a label, or "".
func (l *Labels) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}

// Lookup returns the value of a label, and reports whether the label exists.
func (l *Labels) Lookup(key string) (value string, has bool) {
	r := l.at
	for range l.count {
		if r.text() == key {
			return r.text(), true
		}
		r.skipText()
	}
	return "", false
}

// word writes a string so that it can be read without allocating: directly, or as a reference to the table.
func (w *writer) word(s string) {
	if n, ok := w.strings.number(s, w.object); ok {
		w.uint(uint64(n)<<2 | knownText)
		return
	}
	w.buf = append(binary.AppendUvarint(w.buf, uint64(len(s))<<2), s...) // plainText is 0
}

func (r *reader) skipLabels() {
	n, _ := r.length()
	for range 2 * n {
		r.skipText()
	}
}
