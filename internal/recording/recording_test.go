package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw docs/images/demo.svg")

// TestRecordingIsThatOfItsText compares the picture with the recorded session. With -update it draws the picture.
func TestRecordingIsThatOfItsText(t *testing.T) {
	dir := filepath.Join("..", "..", filepath.FromSlash(images))
	if *update {
		if err := run(t.Context(), dir, false); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "demo.txt"))
	if err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(filepath.Join(dir, "demo.svg"))
	if err != nil || string(picture) != draw(string(text)) {
		t.Errorf("docs/images/demo.svg is out of date (%v); run go test ./internal/recording -update", err)
	}
	decoder := xml.NewDecoder(strings.NewReader(string(picture)))
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("docs/images/demo.svg is not XML: %v", err)
	}
}

// TestSessionHasTheCommandsOfTheScript checks that the recorded session shows the commands of the script, in order.
func TestSessionHasTheCommandsOfTheScript(t *testing.T) {
	dir := filepath.Join("..", "..", filepath.FromSlash(images))
	script, err := os.ReadFile(filepath.Join(dir, "demo.script"))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := parse(string(script))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "demo.txt"))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	for _, s := range steps {
		if s.hidden {
			continue
		}
		_, after, found := strings.Cut(rest, "$ "+s.command+"\n")
		if !found {
			t.Fatalf("docs/images/demo.txt does not show %q; run go run ./internal/recording -record", s.command)
		}
		rest = after
	}
}
