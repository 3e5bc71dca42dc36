package edit

import (
	"cmp"
	"slices"
)

// Splice is a replacement of the part of a text between two offsets.
type Splice struct {
	From, To int
	Text     string
}

// Apply returns a text with all replacements. It omits replacements that overlap with an earlier part.
func Apply(text []byte, list []Splice) []byte {
	slices.SortStableFunc(list, func(a, b Splice) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	var out []byte
	at := 0
	for _, s := range list {
		if s.From < at || s.To < s.From || s.To > len(text) {
			continue
		}
		out = append(append(out, text[at:s.From]...), s.Text...)
		at = s.To
	}
	return append(out, text[at:]...)
}
