package lint

import (
	"fmt"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/markers"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
)

// checkEnum reports duplicate values in enums, and values that the type does not allow.
func (t *target) checkEnum() {
	for _, e := range t.entries {
		values, ok := e.Value.(crdmarkers.Enum)
		if !ok {
			continue
		}
		want := t.shape.kind
		if e.items {
			want = t.items().kind
		}
		seen := map[string]bool{}
		words := enumWords(e.Text)
		for i, value := range values {
			text := spell(value)
			if len(words) == len(values) && kindOfValue(value) != markers.KindString {
				text = words[i].text // compare spellings, because 1.0 differs from 1
			}
			d := problem(CodeEnum, fmt.Sprintf("+%s has %s twice", e.label(), text), "remove one of them")
			switch {
			case !fits(value, want):
				d.Message = fmt.Sprintf("+%s has %s, and the values are of type %s", e.label(), text, want)
				d.Hint = ""
				if _, written, ok := retype(value, text, want); ok {
					d.Hint = "write " + written
				}
				if want == markers.KindArray && !e.items {
					d.Hint = "write +" + crdmarkers.ValidationItemsPrefix + "Enum=" + e.Text[markers.ValueOffset(e.Text):]
				}
			case !seen[text]:
				seen[text] = true
				continue
			}
			offset := markers.ValueOffset(e.Text)
			if len(words) == len(values) {
				offset = words[i].offset
			}
			t.reportAt(e, offset, d)
			break
		}
	}
}

// enumWord is a value of an enum as it is written in the marker, with its offset.
type enumWord struct {
	text   string
	offset int
}

// enumWords returns the values of an enum marker.
func enumWords(text string) []enumWord {
	begin := markers.ValueOffset(text)
	end := len(text)
	if strings.HasPrefix(text[begin:], "{") && strings.HasSuffix(text, "}") {
		begin, end = begin+1, end-1
	}
	var words []enumWord
	add := func(from, to int) {
		word := text[from:to]
		trimmed := strings.TrimLeft(word, " ")
		words = append(words, enumWord{strings.TrimRight(trimmed, " "), from + len(word) - len(trimmed)})
	}
	var quote byte
	for i := begin; i < end; i++ {
		switch b := text[i]; {
		case quote != 0 && b == '\\' && quote == '"':
			i++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '`' || b == '\'':
			quote = b
		case b == ';' || b == ',':
			add(begin, i)
			begin = i + 1
		}
	}
	add(begin, end)
	return words
}
