package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/internal/markers"
)

func TestProgressIsShownAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		stop := progressLine(&out)
		time.Sleep(900 * time.Millisecond)
		stop()
		if out.Len() > 0 {
			t.Errorf("a short run shows %q", out.String())
		}
		stop = progressLine(&out)
		time.Sleep(2500 * time.Millisecond)
		stop()
		const line = "\x1b[Kkctrl: reading packages and generating, "
		if want := line + "1 s\r" + line + "2 s\r\x1b[K"; out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	})
}

func TestFoldersOfReplacedModulesAreWatched(t *testing.T) {
	dir := filepath.FromSlash("/p/project")
	got := outside(dir, markers.Inputs{
		{Question: markers.AskContent, Name: filepath.FromSlash("/p/project/go.mod")},
		{Question: markers.AskContent, Name: filepath.FromSlash("/p/shared/shared.go")},
		{Question: markers.AskGoFiles, Name: filepath.FromSlash("/p/shared")},
		{Question: markers.AskPackages, Name: dir},
		{Question: markers.AskExists, Name: filepath.FromSlash("/go.work")},
	})
	if want := []string{filepath.FromSlash("/p/shared")}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
