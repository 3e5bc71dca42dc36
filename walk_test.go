package kctrl_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	// mostFunctions is the maximum number of the runtime's functions that run from the arrival of an event's bytes to the
	// call of the reconciler. Functions that pack and unpack the object are not included.
	mostFunctions = 160
	// mostPacking is the maximum number of functions that pack the object for the store and unpack it for the handlers.
	mostPacking = 32
	// mostGoroutines is the maximum number of goroutines that pass the event on. docs/ARCHITECTURE.md describes each of
	// them.
	mostGoroutines = 4
)

// TestAnEventTakesFewSteps sends one event through the client, an informer and a controller. It counts the functions
// and the goroutines of the runtime that run until the reconciler is called.
func TestAnEventTakesFewSteps(t *testing.T) {
	counters, program := t.TempDir(), filepath.Join(t.TempDir(), "walk")
	command(t, "go", "build", "-cover", "-covermode=atomic", "-coverpkg=./runtime/...,./testdata/walk", "-o", program,
		"./testdata/walk")
	goroutines := strings.Fields(string(command(t, program, counters)))
	if n := len(goroutines); n < 2 || n > mostGoroutines {
		t.Errorf("%d goroutines pass an event on, want at most %d: %q", n, mostGoroutines, goroutines)
	}
	var functions, packing []string
	for line := range strings.Lines(string(command(t, "go", "tool", "covdata", "func", "-i="+counters))) {
		fields := strings.Fields(line)
		name, inRuntime := strings.CutPrefix(fields[0], module+"/runtime/")
		switch {
		case !inRuntime || fields[len(fields)-1] == "0.0%":
		case strings.HasPrefix(name, "internal/pack/"):
			packing = append(packing, name+" "+fields[1])
		default:
			functions = append(functions, name+" "+fields[1])
		}
	}
	if n := len(packing); n == 0 || n > mostPacking {
		t.Errorf("%d functions pack and unpack, want at most %d:\n%s", n, mostPacking, strings.Join(packing, "\n"))
	}
	if n := len(functions); n < 50 || n > mostFunctions {
		t.Errorf("%d functions run for an event, want at most %d:\n%s", n, mostFunctions, strings.Join(functions, "\n"))
	}
}

func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	return out
}

// TestArchitectureNamesDeclaredFunctions checks each `package.Name` and `package.Type.method` of the runtime in
// docs/ARCHITECTURE.md. A name without a package, `.method`, belongs to the type in front of it.
func TestArchitectureNamesDeclaredFunctions(t *testing.T) {
	text, err := os.ReadFile("docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	declared, before, checked := declarations(t), "", 0
	name := regexp.MustCompile("`([a-z]*)\\.([A-Za-z]+(?:\\.[A-Za-z]+)?)`")
	for _, match := range name.FindAllStringSubmatch(string(text), -1) {
		pkg, name := match[1], match[2]
		if pkg == "" {
			name = before[:strings.LastIndexByte(before, '.')+1] + name
			pkg, name, _ = strings.Cut(name, ".")
		}
		names := declared["runtime/"+pkg]
		if names == nil {
			names = declared["runtime/internal/"+pkg]
		}
		if names == nil {
			continue // a file, or a package of another module
		}
		if before, checked = pkg+"."+name, checked+1; !names[name] {
			t.Errorf("docs/ARCHITECTURE.md names %s.%s, which runtime/ does not declare", pkg, name)
		}
	}
	if checked < 40 {
		t.Errorf("found only %d names", checked)
	}
	_, walk, _ := strings.Cut(string(text), "### The path of an event\n")
	walk, _, _ = strings.Cut(walk, "\n### ")
	if n := len(name.FindAllString(walk, -1)); n < 30 || n > 40 {
		t.Errorf("docs/ARCHITECTURE.md names %d functions on the path of an event, want at most 40", n)
	}
}
