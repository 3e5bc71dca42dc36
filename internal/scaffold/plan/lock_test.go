package plan

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/spf13/afero"
)

func TestMergedLockKnowsBothBranches(t *testing.T) {
	ours, theirs := hash([]byte("ours")), hash([]byte("theirs"))
	for name, text := range map[string]string{
		"union": lockHeader + "a\t" + ours + "\tt\na\t" + theirs + "\tt\nb\t" + ours + "\tt\nb\t" + ours + "\tt\n",
		"conflict": "<<<<<<< HEAD\n" + lockHeader + "a\t" + ours + "\tt\nb\t" + ours + "\tt\n||||||| 012345\n=======\n" +
			lockHeader + "a\t" + theirs + "\tt\nb\t" + ours + "\tt\n>>>>>>> branch\n",
		"unsorted, on Windows": lockHeader + "b\t" + ours + "\tt\r\na\t" + theirs + "\tt\r\na\t" + ours + "\tt\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			lock, err := parseLock([]byte(text))
			must(t, err)
			if lock.Touched("a", []byte("ours")) || lock.Touched("a", []byte("theirs")) || !lock.Touched("a", []byte("mine")) {
				t.Errorf("what both branches wrote is not kctrl's: %q", lock.Marshal())
			}
			if got := strings.Count(string(lock.Marshal()), "\n"); got != 4 {
				t.Errorf("%d lines in %q, want 4", got, lock.Marshal())
			}
			lock.record("a", []byte("merged"), "t")
			if !lock.Touched("a", []byte("ours")) || lock.Touched("a", []byte("merged")) {
				t.Errorf("writing the file does not settle it: %q", lock.Marshal())
			}
		})
	}
}

// TestFirstFormatOfTheLockIsReplaced has nothing else to change, which is what a user is told.
func TestFirstFormatOfTheLockIsReplaced(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": "# Written by kctrl\nversion: kctrl/v1\nfiles:\n- path: \"a b\"\n  sha256: " + hash([]byte("x")) + "\n  template: t\n",
		"JSON": `{"version": "kctrl/v1", "files": [{"path": "a b", "sha256": "` + hash([]byte("x")) + `", "template": "t"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			fsys := afero.NewMemMapFs()
			write(t, fsys, map[string]string{LockFile: text, "a b": "x"})
			plan := New(afero.NewIOFS(fsys))
			must(t, plan.Write("a b", []byte("x"), "t"))
			if plan.Len() != 0 {
				t.Errorf("another spelling counts as a change: %s", plan.Diff())
			}
			must(t, plan.Apply(t.Context(), fsys, "test"))
			got, err := afero.ReadFile(fsys, LockFile)
			must(t, err)
			if want := lockHeader + "a b\t" + hash([]byte("x")) + "\tt\n"; string(got) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func FuzzLock(f *testing.F) {
	f.Add(lockHeader + "a\t" + hash(nil) + "\tt\n")
	f.Add("version: kctrl/v1\nfiles: []\n")
	f.Fuzz(func(t *testing.T, text string) {
		lock, err := LoadLock(fstest.MapFS{LockFile: {Data: []byte(text)}})
		if err != nil {
			return
		}
		again, err := parseLock(lock.Marshal())
		if err != nil || string(again.Marshal()) != string(lock.Marshal()) {
			t.Errorf("%q is read as %q, and that as %v, %v", text, lock.Marshal(), again, err)
		}
	})
}
