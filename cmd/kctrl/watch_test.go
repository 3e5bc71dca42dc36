package main

import (
	"bytes"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/watch"
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

func TestFilesOutsideTheProjectAreWatched(t *testing.T) {
	dir := filepath.FromSlash("/p/project")
	got := outside(dir, source.Inputs{
		{Question: source.AskContent, Name: filepath.FromSlash("/p/project/go.mod")},
		{Question: source.AskContent, Name: filepath.FromSlash("/p/shared/shared.go")},
		{Question: source.AskGoFiles, Name: filepath.FromSlash("/p/shared")},
		{Question: source.AskPackages, Name: dir},
		{Question: source.AskExists, Name: filepath.FromSlash("/go.work")},
	})
	want := watch.More{Dirs: []string{filepath.FromSlash("/p/shared")},
		Files: []string{filepath.FromSlash("/go.work"), filepath.FromSlash("/p/shared/shared.go")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
