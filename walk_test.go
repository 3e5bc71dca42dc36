package kctrl_test

import (
	"bufio"
	"bytes"
	"go/ast"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mostHops is how many functions may pass an event on, between its bytes and the reconciler.
const mostHops = 40

// asides are the functions that run between the arrival of an event and the reconcile without passing the event on: files,
// folders, and functions of the others. All else that runs is a hop, which docs/ARCHITECTURE.md has to name.
var asides = []struct{ names, reason string }{
	{"internal/wire/source.go", "it reads bytes"},
	{"internal/wire/cursor.go internal/wire/value.go internal/wire/compile.go wire.decodeEventType", "they read values of JSON"},
	{"wire.frames.balanced wire.frames.more wire.frames.used", "they look for the end of an event"},
	{"internal/wire/asked.go wire.Decoder.accept", "they check that it is what was asked for"},
	{"wire.Decoder.reuse", "it asks whether there is a shorter way"},
	{"informer.Reflector.transformed cache", "a kind's transform, and the ledger, which is told of the store"},
	{"informer/items.go informer/detector.go informer/compact.go", "data structures of the store and of the buffers"},
	{"informer.contents.removeLocked informer.contents.nameLocked informer.contents.unnameLocked informer.contents.advanceLocked", "indexes of the store"},
	{"informer.DeltaFIFO.batchLocked informer.outbox.empty informer.batch.len informer.batch.own informer.batch.chunks", "they count"},
	{"informer.change informer.As", "they make the value that is passed on"},
	{"controller.isQuiet predicate", "they look at the event"},
	{"controller.eventQueue.noteFailures controller.eventQueue.stateLocked controller.reason.add controller.eventQueue.begin", "the account of why a request is in the queue"},
	{"controller.parking.park controller.newRequestLogger internal/journal", "what a reconcile gets, and whether it has to wait"},
	{"workqueue/ready.go workqueue/entry.go workqueue/heap.go workqueue/table.go", "data structures of the queue"},
	{"workqueue.Queue.overtakeLocked workqueue.Queue.unscheduleLocked workqueue.Queue.setTimerLocked workqueue.Queue.now", "the schedule of what waits"},
	{"workqueue.Queue.signalLocked workqueue.Queue.signalOneLocked workqueue.Queue.unblockLocked", "they wake a worker"},
	{"workqueue/metrics.go metrics log object", "they count, log and name"},
}

// TestWalkOfAnEvent runs one event through a controller, the informer and the client, and compares the functions that ran
// with those that docs/ARCHITECTURE.md names on the path of an event.
func TestWalkOfAnEvent(t *testing.T) {
	declared := runtimeFunctions(t)
	named := hopsInTheDocs(t)
	ran := walk(t)
	if len(named) > mostHops {
		t.Errorf("%d functions pass an event on, want at most %d", len(named), mostHops)
	}
	for _, name := range named {
		if place := declared[name]; place == "" || !ran[place] {
			t.Errorf("docs/ARCHITECTURE.md names %s on the path of an event, which does not run there", name)
		}
	}
	apart := map[string]bool{}
	for _, aside := range asides {
		for name := range strings.FieldsSeq(aside.names) {
			apart[name] = true
			if _, err := os.Stat("runtime/" + name); err != nil && declared[name] == "" {
				t.Errorf("asides has %s, which is not there", name)
			}
		}
	}
	hops := 0
	for name, place := range declared {
		file, _, _ := strings.Cut(place, ":")
		switch hop := slices.Contains(named, name); {
		case !ran[place]:
		case hop:
			hops++
		case !apart[name] && !apart[file] && !apart[path.Dir(file)]:
			t.Errorf("%s (%s) runs on the path of an event: docs/ARCHITECTURE.md is to name it as a hop, or asides what it does beside", name, place)
		}
	}
	t.Logf("%d of %d functions that run pass the event on", hops, len(ran))
}

// hopsInTheDocs returns the functions that are named on the path of an event, as package.Type.method or package.function. In
// the docs .method is one of the type before it.
func hopsInTheDocs(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "### The path of an event\n")
	section, _, ended := strings.Cut(section, "\n### ")
	if !found || !ended {
		t.Fatal("docs/ARCHITECTURE.md has no section on the path of an event")
	}
	var hops []string
	for _, match := range regexp.MustCompile("`((?:client|wire|informer|source|controller|handler|workqueue|reconcile|)\\.[A-Za-z.]+)`").FindAllStringSubmatch(section, -1) {
		name := match[1]
		if name[0] == '.' {
			last := hops[len(hops)-1]
			name = last[:strings.LastIndexByte(last, '.')] + name
		}
		if slices.Contains(hops, name) {
			t.Errorf("docs/ARCHITECTURE.md names %s twice", name)
		}
		hops = append(hops, name)
	}
	return hops
}

// runtimeFunctions returns where the functions of the runtime are, as file:line below runtime/, by their names.
func runtimeFunctions(t *testing.T) map[string]string {
	t.Helper()
	declared := map[string]string{}
	for _, src := range sources(t) {
		if src.test || !strings.HasPrefix(src.folder, "runtime/") {
			continue
		}
		for _, decl := range src.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				name := src.file.Name.Name + "." + receiver(f) + f.Name.Name
				declared[name] = strings.TrimPrefix(src.path, "runtime/") + ":" + strconv.Itoa(src.set.Position(f.Pos()).Line)
			}
		}
	}
	return declared
}

// receiver returns the type of a method, with a dot behind it.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	return of.(*ast.Ident).Name + "."
}

// walk returns where the functions are that ran, as file:line below runtime/.
func walk(t *testing.T) map[string]bool {
	t.Helper()
	folder, program := t.TempDir(), filepath.Join(t.TempDir(), "walk")
	command(t, "go", "build", "-cover", "-covermode=atomic", "-coverpkg=./runtime/...,./testdata/walk", "-o", program, "./testdata/walk")
	command(t, program, folder)
	ran := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(command(t, "go", "tool", "covdata", "func", "-i="+folder)))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		place, found := strings.CutPrefix(fields[0], module+"/runtime/")
		if found && fields[len(fields)-1] != "0.0%" {
			ran[strings.TrimSuffix(place, ":")] = true
		}
	}
	return ran
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
