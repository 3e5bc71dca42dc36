package language_test

import (
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/kctrl-dev/kctrl/internal/language"
)

func TestFindReturnsTheShortestText(t *testing.T) {
	for _, test := range []struct {
		match, avoid string
		min, max     int
		found        bool
		length       int
	}{
		{`^[a-z]+$`, ``, 0, -1, true, 1},
		{`^[a-z]+$`, ``, 5, 5, true, 5},
		{`^[a-z]+$`, ``, 0, 0, false, 0},
		{`^[a-z0-9]+$`, `^[a-z]+$`, 0, -1, true, 1},
		{`^[a-z]+$`, `^[a-z0-9]+$`, 0, -1, false, 0},
		{`^(a|b)*$`, `^[ab]*$`, 0, -1, false, 0},
		{`^(a|b)*$`, `^([ab]{2})*$`, 0, -1, true, 1},
		{``, `^a`, 0, -1, true, 0},
		{`x`, `^x`, 0, -1, true, 2},
		{`(?i)^abc$`, `^abc$`, 0, -1, true, 3},
		{`\bfoo\b`, `^foo$`, 0, -1, true, 4},
		{`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, 0, 253, true,
			3},
		{`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, ``, 1000, 1024, true, 1000},
		{`^.*$`, `^[^\n]*$`, 0, -1, false, 0},
		{`^\d{3}$`, `^[0-9]+$`, 0, -1, false, 0},
		{`^$`, `a`, 1, -1, false, 0},
	} {
		q := language.Query{Match: []string{test.match}, Min: test.min, Max: test.max}
		if test.avoid != "" {
			q.Avoid = []string{test.avoid}
		}
		got, err := language.Find(q)
		if err != nil || !got.Complete || got.Found != test.found || utf8.RuneCountInString(got.Text) != test.length {
			t.Errorf("Find(%+v) = %+v, %v, want %v with %d characters", q, got, err, test.found, test.length)
		}
		if got.Found && (!regexp.MustCompile(test.match).MatchString(got.Text) || test.avoid != "" &&
			regexp.MustCompile(test.avoid).MatchString(got.Text)) {
			t.Errorf("Find(%+v) = %q, which does not fit", q, got.Text)
		}
	}
}

func TestFindGivesUp(t *testing.T) {
	got, err := language.Find(language.Query{Match: []string{`^(a|b){1,900}$`, `a.{12}b.{12}a`, `b.{11}a.{13}b`},
		Avoid: []string{`a.{15}a`, `^[ab]*$`}, Max: -1})
	if err != nil || got.Found || got.Complete {
		t.Errorf("Find = %+v, %v, want neither a text nor a proof", got, err)
	}
	if _, err := language.Find(language.Query{Match: []string{`(`}}); err == nil {
		t.Error("no error for what is no expression")
	}
}
