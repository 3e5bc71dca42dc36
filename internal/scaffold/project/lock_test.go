package project

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

func TestMergedLockKnowsBothBranches(t *testing.T) {
	ours, theirs := hash([]byte("ours")), hash([]byte("theirs"))
	for name, text := range map[string]string{
		"union": lockHeader + "a\t" + ours + "\tt\na\t" + theirs + "\tt\nb\t" + ours + "\tt\nb\t" + ours + "\tt\n",
		"conflict": "<<<<<<< HEAD\n" + lockHeader + "a\t" + ours + "\tt\nb\t" + ours + "\tt\n||||||| 012345\n=======\n" +
			lockHeader + "a\t" + theirs + "\tt\nb\t" + ours + "\tt\n>>>>>>> branch\n",
		"unsorted, on Windows": "\ufeff" + lockHeader + "b\t" + ours + "\tt\r\na\t" + theirs + "\tt\r\na\t" + ours +
			"\tt\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			lock, err := ParseLock([]byte(text))
			must(t, err)
			if lock.Touched("a", []byte("ours")) || lock.Touched("a", []byte("theirs")) || !lock.Touched("a", []byte("mine")) {
				t.Errorf("what both branches wrote is not kctrl's: %q", lock.Marshal())
			}
			if got := strings.Count(string(lock.Marshal()), "\n"); got != 4 {
				t.Errorf("%d lines in %q, want 4", got, lock.Marshal())
			}
			lock.Record("a", []byte("merged"), "t")
			if !lock.Touched("a", []byte("ours")) || lock.Touched("a", []byte("merged")) {
				t.Errorf("writing the file does not make it the same: %q", lock.Marshal())
			}
		})
	}
}

func TestBrokenLockIsReported(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for text, want := range map[string]string{
		"version: kctrl/v1\nfiles: {}\n":         "PROJECT.lock:2: ",
		"version: kctrl/v1\nfiles:\n- path: [\n": "PROJECT.lock:3: ",
		"version: kctrl/v9\n":                    `PROJECT.lock: version "kctrl/v9" is not supported`,
		"version: kctrl/v1\nfiles:\n- {path: ../x, sha256: " + sum +
			"}\n": `PROJECT.lock: the entry of "../x" is broken`,
		"version: kctrl/v1\nfiles:\n- {path: x, sha256: abc}\n": `PROJECT.lock: the entry of "x" is broken`,
		"version: kctrl/v1\nfiles:\n- {path: x, sha256: " + sum +
			"}\n": `PROJECT.lock: the entry of "x" is broken`,
		"version: kctrl/v1\nfiles:" + strings.Repeat("\n- {path: x, sha256: "+sum+", template: t}",
			2): `PROJECT.lock: "x" is listed twice`,
		"version: kctrl/v1\nfiles:\n- {path: x, sha256: " + sum +
			", owner: me}\n": `PROJECT.lock:3: not valid YAML: unknown field "owner"`,
		lockTitle + "kctrl/v3: more\n":                      `PROJECT.lock:1: version "kctrl/v3" is not supported`,
		lockHeader + "x\t" + sum + "\n":                     "PROJECT.lock:2: want a path, a hash and a template",
		lockHeader + "a\t" + sum + "\tt\nx " + sum + " t\n": "PROJECT.lock:3: want a path, a hash and a template",
		lockHeader + "x\t" + sum[1:] + "\tt\n":              `PROJECT.lock:2: the entry of "x" is broken`,
		lockHeader + "../x\t" + sum + "\tt\n":               `PROJECT.lock:2: the entry of "../x" is broken`,
		lockHeader + "x\t" + sum + "\t\n":                   `PROJECT.lock:2: the entry of "x" is broken`,
		"version: kctrl/v1\nfiles:\n- path: a\n  sha256: " + sum + "\n  template: x\n\tbroken: by a tab\n": "PROJECT.lock:",
	} {
		_, err := LoadLock(fstest.MapFS{LockFile: {Data: []byte(text)}})
		e, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || !strings.HasPrefix(e.Error(), want) || !strings.Contains(e.Hint, "restore PROJECT.lock") ||
			strings.Contains(e.Message, "\n") {
			t.Errorf("%q: got %v", text, err)
		}
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
		again, err := ParseLock(lock.Marshal())
		if err != nil || string(again.Marshal()) != string(lock.Marshal()) {
			t.Errorf("%q is read as %q, and that as %v, %v", text, lock.Marshal(), again, err)
		}
	})
}
