package diagnostic_test

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func at(file string, line int, message string) *diagnostic.Error {
	return &diagnostic.Error{Pos: token.Position{Filename: file, Line: line, Column: 1}, Message: message}
}

func TestAllTakesJoinedErrorsApartInOrderOfPositionEachOnce(t *testing.T) {
	err := errors.Join(
		at("b.go", 1, "last"),
		errors.Join(at("a.go", 9, "third"), at("a.go", 2, "second")),
		at("a.go", 9, "third"),
		errors.New("first"),
	)
	var got []string
	for _, e := range diagnostic.All(err) {
		got = append(got, e.Error())
	}
	want := []string{"first", "a.go:2:1: second", "a.go:9:1: third", "b.go:1:1: last"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAllKeepsErrorsWithAMessageOfTheirOwnWhole(t *testing.T) {
	wrapped := fmt.Errorf("both: %w, %w", errors.New("one"), errors.New("two"))
	single := &diagnostic.Error{Message: "m", Class: diagnostic.ErrUsage, Cause: fs.ErrNotExist}
	echo := &diagnostic.Error{Message: fs.ErrExist.Error(), Hint: "h", Cause: fs.ErrExist}
	for _, err := range []error{wrapped, single, echo} {
		if got := diagnostic.All(err); len(got) != 1 || got[0] != err {
			t.Errorf("All(%v) = %v", err, got)
		}
	}
	if got := diagnostic.All(nil); got != nil {
		t.Errorf("All(nil) = %v", got)
	}
}

func TestErrorIsItsClassAndItsCause(t *testing.T) {
	err := error(&diagnostic.Error{Message: "m", Class: diagnostic.ErrDrift, Cause: fs.ErrExist})
	if !errors.Is(err, diagnostic.ErrDrift) || !errors.Is(err, fs.ErrExist) || errors.Is(err, diagnostic.ErrUsage) {
		t.Errorf("errors.Is sees the wrong things in %#v", err)
	}
}

func TestErrorWithOnlyAFileNamesTheFile(t *testing.T) {
	err := &diagnostic.Error{Pos: token.Position{Filename: "PROJECT"}, Message: "not found"}
	if got, want := err.Error(), "PROJECT: not found"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestYAMLIsAtTheLineOfTheMistake(t *testing.T) {
	for text, line := range map[string]int{
		"a: b\nc: [d\ne: f\n":         2,
		"a: b\nc: {d\n":               2,
		"a: b\nc: ]\ne: f\n":          2,
		"a: b\nc: [\n":                2,
		"a: b\nc:\n  d: e\n  f: [g\n": 4,
		"a: b\nc: d: e\n":             2,
		"a: b\nc: \"d\n":              2,
		"a:\n- b\nc\n":                3,
	} {
		var value any
		err := yaml.Unmarshal([]byte(text), &value)
		if err == nil {
			t.Errorf("%q is YAML", text)
			continue
		}
		var reported *diagnostic.Error
		if !errors.As(diagnostic.YAML("f.yaml", []byte(text), err, "h"), &reported) || reported.Pos.Line != line {
			t.Errorf("%q: %v, from %v, want line %d", text, reported, err, line)
		}
	}
}
