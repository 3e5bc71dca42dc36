package scaffold

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlainLockIsReadWithoutYAML(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for name, test := range map[string]struct {
		entries []LockEntry
		plain   bool
	}{
		"empty":     {nil, true},
		"files":     {[]LockEntry{{".gitignore", sum, "project/.gitignore"}, {"Makefile", sum, "project/Makefile"}, {"api/v1/x_types.go", sum, "t"}}, true},
		"a boolean": {[]LockEntry{{"yes", sum, "t"}}, false},
		"a number":  {[]LockEntry{{"1e3", sum, "t"}}, false},
		"a float":   {[]LockEntry{{".5", sum, "t"}}, false},
		"infinity":  {[]LockEntry{{".inf", sum, "t"}}, false},
		"a space":   {[]LockEntry{{"a b", sum, "t"}}, false},
		"a colon":   {[]LockEntry{{"a:b", sum, "t"}}, false},
		"a letter":  {[]LockEntry{{"ä/b", sum, "t"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := &Lock{entries: map[string]LockEntry{}}
			for _, e := range test.entries {
				want.entries[e.Path] = e
			}
			plain, ok := parsePlainLock(want.Marshal())
			if ok != test.plain {
				t.Fatalf("read without YAML: %v, want %v", ok, test.plain)
			}
			if ok && !maps.Equal(plain.entries, want.entries) {
				t.Errorf("got %v, want %v", plain.entries, want.entries)
			}
			read, err := parseLock(want.Marshal())
			if err != nil || !maps.Equal(read.entries, want.entries) {
				t.Errorf("got %v, %v, want %v", read, err, want.entries)
			}
		})
	}
}

func TestOddLockIsLeftToYAML(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	text := string((&Lock{entries: map[string]LockEntry{"a": {"a", sum, "t"}, "b": {"b", sum, "t"}}}).Marshal())
	for name, odd := range map[string]string{
		"no header":        strings.TrimPrefix(text, lockHeader),
		"another version":  strings.Replace(text, "kctrl/v1", "kctrl/v2", 1),
		"unsorted":         strings.NewReplacer("path: a", "path: b", "path: b", "path: a").Replace(text),
		"twice":            strings.Replace(text, "path: b", "path: a", 1),
		"a broken hash":    strings.Replace(text, sum, sum[1:]+"x", 1),
		"a path outside":   strings.Replace(text, "path: b", "path: b/../../c", 1),
		"cut off":          text[:len(text)-3],
		"something behind": text + "more: 1\n",
		"carriage returns": strings.ReplaceAll(text, "\n", "\r\n"),
	} {
		if _, ok := parsePlainLock([]byte(odd)); ok {
			t.Errorf("%s: was read without YAML", name)
		}
	}
}

// TestPublishedLocksArePlain keeps the lock of every project as it is scaffolded on the fast path.
func TestPublishedLocksArePlain(t *testing.T) {
	locks, err := filepath.Glob(filepath.Join("..", "..", "testdata", "project*", LockFile))
	if err != nil || len(locks) == 0 {
		t.Fatal("no locks", err)
	}
	for _, name := range locks {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := parsePlainLock(text); !ok {
			t.Errorf("%s is not plain", name)
		}
	}
}
