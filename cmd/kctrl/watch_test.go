package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/watch"
)

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
