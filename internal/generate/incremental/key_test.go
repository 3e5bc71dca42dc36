package incremental

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// TestEverythingInAKeyCounts changes one input of a key at a time, which must change the key.
func TestEverythingInAKeyCounts(t *testing.T) {
	environment, err := resolve.NewEnvironment(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	type options struct{ Year string }
	key := func(e resolve.Environment, dir string, o options, headers ...string) Key {
		t.Helper()
		key, ok := NewKey(&e, dir, o, headers...)
		if !ok {
			t.Fatal("no key")
		}
		return key
	}
	seen := map[Key]string{}
	count := func(name string, key Key) {
		t.Helper()
		if other, known := seen[key]; known {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[key] = name
	}
	plain := func() Key { return key(*environment, "/p", options{}, "a", "b") }
	count("nothing", plain())
	count("folder", key(*environment, "/q", options{}, "a", "b"))
	count("option", key(*environment, "/p", options{"2026"}, "a", "b"))
	count("header", key(*environment, "/p", options{}, "a", "c"))
	count("no header", key(*environment, "/p", options{}, "a"))
	count("headers that touch", key(*environment, "/p", options{}, "ab", ""))
	for name, change := range map[string]func(*resolve.Environment){
		"Go":           func(e *resolve.Environment) { e.Version = "go1.999" },
		"GOROOT":       func(e *resolve.Environment) { e.Root += "x" },
		"module cache": func(e *resolve.Environment) { e.ModuleCache += "x" },
	} {
		changed := *environment
		change(&changed)
		count(name, key(changed, "/p", options{}, "a", "b"))
	}
	for _, name := range append([]string{"GODEBUG"}, resolve.Settings...) {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "changed")
			count(name, plain())
		})
	}
	for _, variable := range []string{"INFLECT_PATH", "ACRONYMS_PATH"} {
		t.Run(variable, func(t *testing.T) {
			words := filepath.Join(t.TempDir(), "words.json")
			if err := os.WriteFile(words, []byte(variable), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv(variable, words)
			count(variable, plain())
		})
	}
	for name, self := range map[string]program{
		"no program": {}, "version": {Version: "v2"}, "file": {File: "/bin/kctrl"}, "size": {Size: 1},
		"time": {Modified: time.Unix(1, 0)},
	} {
		key, _ := identity{Program: self}.key()
		count(name, key)
	}
	if got := plain(); seen[got] != "nothing" {
		t.Error("the same inputs have another key")
	}
}
