//go:build unix

package main

import "testing"

func TestPlayShowsCommandsWithTheirOutput(t *testing.T) {
	got, err := play(t.Context(), "# a comment\nhide x=1\nlast 1 t echo one; echo two; echo three\necho $x\n")
	if want := "$ echo one; echo two; echo three\n...\nthree\n$ echo $x\n1\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := play(t.Context(), "last many x echo"); err == nil {
		t.Error("a number that is none is not an error")
	}
	if _, err := play(t.Context(), "exit 3"); err == nil {
		t.Error("a failing command is not an error")
	}
}
