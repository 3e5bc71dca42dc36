package incremental

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/source"
)

// TestMain lets a test run this binary as a process that writes entries into a directory until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PUT_FOREVER"); dir != "" {
		for {
			if err := (Store{Dir: dir}).Put(Key{1}, large()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

// large returns an entry whose write takes a while.
func large() *Entry {
	return &Entry{Files: []artifact.File{{Path: "config/large.yaml", Content: bytes.Repeat([]byte("large"), 1<<20)}}}
}

func TestGetReturnsWhatWasPut(t *testing.T) {
	want := &Entry{
		Inputs: source.Inputs{
			{Question: source.AskContent, Name: "/p/api/v1/types.go", Answer: source.Answer{1, 2, 3}},
			{Question: source.AskPackages, Name: "/p"},
		},
		Files: []artifact.File{
			{Path: "config/rbac/role.yaml", Generator: "generate/rbac", Content: []byte("---\n")},
			{Path: "empty"},
		},
		Kinds: []schema.GroupVersionKind{{Group: "g", Version: "v1", Kind: "K"}},
		Warnings: []lint.Finding{{
			Error: &diagnostic.Error{Message: "unknown marker", Hint: "write +x", Code: lint.CodeUnknown},
			Fatal: true,
			Fix:   &lint.Fix{File: "api/v1/types.go", Offset: 3, Length: 4, Text: "+x"},
		}},
	}
	store := Store{Dir: filepath.Join(t.TempDir(), "new", "folder")}
	if _, ok := store.Get(Key{1}); ok {
		t.Error("an empty store has an entry")
	}
	if err := store.Put(Key{1}, want); err != nil {
		t.Fatal(err)
	}
	got, ok := store.Get(Key{1})
	if !ok {
		t.Fatal("no entry")
	}
	if want.Sum = got.Sum; got.Sum == ([32]byte{}) {
		t.Error("the entry has no sum")
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if _, ok := store.Get(Key{2}); ok {
		t.Error("another key has an entry")
	}
}

// TestEveryDamageIsFound changes each byte of an entry, and truncates the entry at each byte. Decoding must fail each
// time.
func TestEveryDamageIsFound(t *testing.T) {
	key := Key{7}
	whole, err := encode(entryFormat, key, &Entry{
		Inputs: source.Inputs{{Question: source.AskContent, Name: "/p/go.mod"}},
		Files:  []artifact.File{{Path: "a", Generator: "b", Content: []byte("c")}},
		Kinds:  []schema.GroupVersionKind{{Group: "g", Version: "v1", Kind: "K"}},
	})
	if err := errors.Join(err, decode(entryFormat, key, whole, &Entry{})); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x40
		if decode(entryFormat, key, damaged, &Entry{}) == nil {
			t.Errorf("the change of byte %d was not detected", i)
		}
		if decode(entryFormat, key, whole[:i], &Entry{}) == nil {
			t.Errorf("the loss of all bytes from %d on was not detected", i)
		}
	}
}

func TestKilledWriterLeavesTheEntryWhole(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	if err := store.Put(Key{1}, large()); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		writer := exec.CommandContext(t.Context(), os.Args[0])
		writer.Env = append(os.Environ(), "PUT_FOREVER="+store.Dir)
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		waitForFresh(t, store)
		if err := writer.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = writer.Wait()
		if _, ok := store.Get(Key{1}); !ok {
			t.Fatal("the entry is gone")
		}
	}
	// Leftover files are ignored, and removed when they are old.
	names, _ := filepath.Glob(filepath.Join(store.Dir, "*"+freshSuffix))
	store.prune(time.Now())
	if after, _ := filepath.Glob(filepath.Join(store.Dir, "*"+freshSuffix)); len(after) != len(names) {
		t.Error("a file that may be being written was removed")
	}
	store.prune(time.Now().Add(2 * leftoverAge))
	if after, _ := filepath.Glob(filepath.Join(store.Dir, "*"+freshSuffix)); len(after) != 0 {
		t.Errorf("%d of %d leftovers remain", len(after), len(names))
	}
}

// waitForFresh returns when another process is about to write an entry.
func waitForFresh(t *testing.T, store Store) {
	t.Helper()
	for t.Context().Err() == nil {
		if names, _ := filepath.Glob(filepath.Join(store.Dir, "*"+freshSuffix)); len(names) > 0 {
			return
		}
	}
	t.Fatal(t.Context().Err())
}

func TestOldestEntriesGoFirst(t *testing.T) {
	entry := &Entry{Files: []artifact.File{{Path: "a", Generator: "b", Content: bytes.Repeat([]byte("c"), 10_000)}}}
	store := Store{Dir: t.TempDir(), MaxBytes: 35_000}
	now := time.Now()
	for i := range 5 {
		if err := store.Put(Key{byte(i)}, entry); err != nil {
			t.Fatal(err)
		}
		used := now.Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(store.file(Key{byte(i)}, entrySuffix), used, used); err != nil {
			t.Fatal(err)
		}
	}
	store.prune(now)
	for i, want := range []bool{false, false, true, true, true} {
		if _, ok := store.Get(Key{byte(i)}); ok != want {
			t.Errorf("entry %d: there %v, want %v", i, ok, want)
		}
	}
	store.prune(now.Add(2 * maxAge))
	if files, _ := os.ReadDir(store.Dir); len(files) != 0 {
		t.Errorf("%d entries are too old and remain", len(files))
	}
}

func TestUseKeepsAnEntryYoung(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	if err := store.Put(Key{1}, &Entry{}); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * touchAge)
	if err := os.Chtimes(store.file(Key{1}, entrySuffix), old, old); err != nil {
		t.Fatal(err)
	}
	if _, ok := store.Get(Key{1}); !ok {
		t.Fatal("no entry")
	}
	info, err := os.Stat(store.file(Key{1}, entrySuffix))
	if err != nil || !info.ModTime().After(old) {
		t.Errorf("last used %v, %v", info.ModTime(), err)
	}
}

// TestOtherFilesStay checks that a store removes only its own files.
func TestOtherFilesStay(t *testing.T) {
	store := Store{Dir: t.TempDir(), MaxBytes: 1}
	name := filepath.Join(store.Dir, "notes.txt")
	if err := os.WriteFile(name, []byte(strings.Repeat("note", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	store.prune(time.Now().Add(2 * maxAge))
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
}

func TestStoreWithoutDirectoryIsEmpty(t *testing.T) {
	if _, ok := (Store{}).Get(Key{}); ok {
		t.Error("an entry from nowhere")
	}
	if err := (Store{}).Put(Key{}, &Entry{}); err == nil {
		t.Error("no error")
	}
}

func TestReadOnlyDirectoryIsRead(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	if err := store.Put(Key{1}, &Entry{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(store.Dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(store.Dir, 0o700) })
	if _, ok := store.Get(Key{1}); !ok {
		t.Error("no entry")
	}
	// Root can write in spite of the permissions.
	if err := store.Put(Key{2}, &Entry{}); err != nil {
		if _, ok := store.Get(Key{2}); ok {
			t.Error("an entry that could not be put")
		}
	}
}
