package load

import (
	"go/token"
	"testing"
)

func TestParsePosition(t *testing.T) {
	tests := map[string]token.Position{
		"/a/b.go:3:4":     {Filename: "/a/b.go", Line: 3, Column: 4},
		"/a/b.go:3":       {Filename: "/a/b.go", Line: 3},
		"/a/b.go":         {Filename: "/a/b.go"},
		"-":               {},
		"":                {},
		"example.com/a:-": {},
	}
	for text, want := range tests {
		if got := parsePosition(text); got != want {
			t.Errorf("parsePosition(%q) = %v, want %v", text, got, want)
		}
	}
}
