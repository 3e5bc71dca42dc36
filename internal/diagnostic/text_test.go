package diagnostic_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func TestOneLineIsOneLineForATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "Grüße 世界": "Grüße 世界", "a\nb\r\n\n c\n": "a; b; c", "\x1b[31mred": `\x1b[31mred`,
		"\xff": `\ufffd`, "a\u202eb": `a\u202eb`,
	} {
		if got := diagnostic.OneLine(text); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", text, got, want)
		}
	}
	if long := diagnostic.OneLine(strings.Repeat("ü", 1_000_000)); len(long) > 5000 || !utf8.ValidString(long) {
		t.Errorf("a long line has %d bytes", len(long))
	}
}

func TestQuoteIsShort(t *testing.T) {
	if got := diagnostic.Quote("a\nb"); got != `"a\nb"` {
		t.Error(got)
	}
	if got := diagnostic.Quote(strings.Repeat("é", 1000)); got != `"`+strings.Repeat("é", 80)+`"...` {
		t.Error(got)
	}
}

func TestYAMLErrorsAreOneForEachLine(t *testing.T) {
	err := errors.New("error converting YAML to JSON: yaml: unmarshal errors:\n  line 2: cannot unmarshal !!seq into " +
		"string\n" +
		"  line 3: cannot unmarshal !!str `<<<` into scaffold.lockDocument\n  line 4: field x not found in type " +
		"scaffold.lockDocument\n" +
		"  line 5: mapping key \"v\" already defined at line 2\n  line 6: cannot unmarshal !!map into []scaffold.LockEntry")
	var got []string
	for _, e := range diagnostic.All(diagnostic.YAML("f", nil, err, "h")) {
		got = append(got, e.Error())
	}
	want := []string{
		"f:2: not valid YAML: want a text, got a list", "f:3: not valid YAML: want a mapping, got a text",
		`f:4: not valid YAML: unknown field "x"`,
		`f:5: not valid YAML: "v" is given twice, first in line 2`, "f:6: not valid YAML: want a list, got a mapping",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	many := "yaml: unmarshal errors:\n"
	for line := range 1000 {
		many += fmt.Sprintf("  line %d: cannot unmarshal !!seq into string\n", line+1)
	}
	if n := len(diagnostic.All(diagnostic.YAML("f", nil, errors.New(many), "h"))); n != 11 {
		t.Errorf("a thousand errors are reported as %d", n)
	}
	if got := diagnostic.YAML("f", []byte("a: 1\n<<<<<<< HEAD\n"), err,
		"h").Error(); got != "f:2:1: has the markers of a merge conflict" {
		t.Error(got)
	}
}
