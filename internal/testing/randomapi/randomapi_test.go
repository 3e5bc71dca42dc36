package randomapi

import (
	"go/parser"
	"go/token"
	"maps"
	"testing"
)

func TestFilesParse(t *testing.T) {
	for seed := range uint64(200) {
		files, types := New(seed, "example.com/random", "group")
		if len(files) < 4 || types < 6 {
			t.Errorf("seed %d: %d files with %d types", seed, len(files), types)
		}
		for name, source := range files {
			if _, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, source)
			}
		}
	}
}

func TestSameSeedSameFiles(t *testing.T) {
	first, _ := New(7, "example.com/random", "group")
	second, _ := New(7, "example.com/random", "group")
	other, _ := New(8, "example.com/random", "group")
	if !maps.Equal(first, second) || maps.Equal(first, other) {
		t.Error("files do not follow from the seed")
	}
}
