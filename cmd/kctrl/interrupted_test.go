//go:build unix

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

const (
	// faultVariable makes kctrl send itself a signal before a step. The value is "SIGNAL STEP" as numbers, or "SIGNAL STEP
	// again" to send another signal before the next step.
	faultVariable = "KCTRL_TEST_FAULT"
	// stepsVariable is the file to which kctrl writes the number of steps.
	stepsVariable = "KCTRL_TEST_STEPS"
)

// runFaulty is main with an optional fault: a signal before a step.
func runFaulty() int {
	var steps atomic.Int64
	var number, at int64
	fault, again := strings.CutSuffix(os.Getenv(faultVariable), " again")
	if n, err := fmt.Sscan(fault, &number, &at); err != nil && n > 0 {
		return 99
	}
	send := func() { _ = syscall.Kill(os.Getpid(), syscall.Signal(number)) }
	transaction.Step = func() {
		switch step := steps.Add(1); {
		case step == at:
			send()
			if syscall.Signal(number) == syscall.SIGKILL {
				select {}
			}
		case step == at+1 && again:
			for range 1 << 20 { // until kctrl no longer handles signals, and this process ends
				send()
				runtime.Gosched()
			}
		}
	}
	code := runMain()
	if name := os.Getenv(stepsVariable); name != "" {
		_ = os.WriteFile(name, []byte(strconv.FormatInt(steps.Load(), 10)), 0o600)
	}
	return code
}

// workbench runs kctrl in copies of the shared projects.
type workbench struct {
	env   []string
	kctrl string
}

func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	path, err := exec.LookPath("kctrl")
	if err != nil {
		t.Fatal("testscript.Main puts kctrl into the path: ", err)
	}
	env := append(slices.Clone(os.Environ()), goEnvironment(t)...)
	return &workbench{kctrl: path, env: append(env, "XDG_CACHE_HOME="+filepath.Join(t.TempDir(), "cache"))}
}

// run runs kctrl in a directory and returns its exit code, -1 if a signal ended it, and its output.
func (w *workbench) run(t *testing.T, dir, line string, env ...string) (int, string) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), w.kctrl, strings.Fields(line)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(slices.Clone(w.env), env...), &said, &said
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

// project returns the directory of a shared project. The caller must not change it.
func (w *workbench) project(t *testing.T, layout string) string {
	t.Helper()
	dir, err := shared.project(layout, w.env)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// copy returns a new directory with the files of a shared project, or an empty directory for "".
func (w *workbench) copy(t *testing.T, layout string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	err := os.Mkdir(dir, 0o755)
	if layout != "" {
		err = os.CopyFS(dir, os.DirFS(w.project(t, layout)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents returns everything in a directory: file contents, modes and directories.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += " " + string(content)
		}
		all[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// difference returns the files that differ, and how they differ.
func difference(want, got map[string]string) string {
	var lines []string
	for name, text := range want {
		other, ok := got[name]
		switch {
		case !ok:
			lines = append(lines, "missing "+name)
		case text != other:
			lines = append(lines, "differs "+name+"\n"+gocmp.Diff(text, other))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			lines = append(lines, "left over "+name)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines[:min(len(lines), 10)], "\n")
}

// writer is a command that writes to a copy of a shared project.
type writer struct {
	from, line string
	once       sync.Once
	done       outcome // result without a fault, computed once per test process
}

// outcome is the tree after a command, the number of its write steps, and its duration.
type outcome struct {
	tree  map[string]string
	steps int
	took  time.Duration
}

// writers are the commands that write, by name.
var writers = map[string]*writer{
	"init":       {from: "", line: "init --domain example.com --repo example.com/guestbook"},
	"create api": {from: "empty", line: "create api --group webapp --version v1 --kind Guestbook"},
	"delete api": {from: "out-of-date", line: "delete api --group webapp --kind Guestbook"},
	"edit":       {from: "out-of-date", line: "edit --multigroup --namespaced"},
	"rename":     {from: "out-of-date", line: "rename kind --group webapp --kind Guestbook --to Guest"},
	"upgrade":    {from: "out-of-date", line: "upgrade"},
	"doctor":     {from: "out-of-date", line: "doctor --fix --check generated,roles"},
	"generate":   {from: "out-of-date", line: "generate"},
	"manifests":  {from: "out-of-date", line: "manifests"},
	"gen":        {from: "out-of-date", line: "gen object crd rbac:roleName=manager-role paths=./..."},
	"migrate":    {from: "kubebuilder", line: "migrate"},
}

// eachWriter calls test for each writing command, with the command's outcome without a fault.
func eachWriter(t *testing.T, test func(t *testing.T, w *workbench, c *writer, done outcome)) {
	w := newWorkbench(t)
	for name, c := range writers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.once.Do(func() { c.done = w.measure(t, c) })
			if c.done.steps < 10 {
				t.Fatalf("kctrl %s: %d steps", c.line, c.done.steps)
			}
			test(t, w, c, c.done)
		})
	}
}

// measure runs a command without a fault.
func (w *workbench) measure(t *testing.T, c *writer) outcome {
	t.Helper()
	dir, counted, start := w.copy(t, c.from), filepath.Join(t.TempDir(), "steps"), time.Now()
	if code, said := w.run(t, dir, c.line, stepsVariable+"="+counted); code != 0 {
		t.Fatalf("kctrl %s: exit code %d\n%s", c.line, code, said)
	}
	took := time.Since(start)
	text, err := os.ReadFile(counted)
	steps, convertErr := strconv.Atoi(string(text))
	if err := cmp.Or(err, convertErr); err != nil {
		t.Fatal(err)
	}
	return outcome{contents(t, dir), steps, took}
}

// eachOf calls test with the item first of n, unless first is negative, and with a random item for each fresh seed.
// With at least n fresh seeds it calls test with every item.
func eachOf(t *testing.T, n, first int, test func(t *testing.T, i int)) {
	t.Helper()
	fresh, err := strconv.Atoi(os.Getenv(seeds.FreshVariable))
	if err == nil && fresh >= n && os.Getenv(seeds.OnlyVariable) == "" {
		for i := range n {
			t.Run(fmt.Sprint("item=", i), func(t *testing.T) { test(t, i) })
		}
		return
	}
	fixed := 1
	if first < 0 {
		fixed = 0
	}
	seeds.Each(t, fixed, func(t *testing.T, seed uint64) {
		i := first
		if seed > uint64(fixed) {
			i = rand.New(rand.NewPCG(seed, 0)).IntN(n)
		}
		test(t, i)
	})
}

// eachStep calls test with several steps of each writing command: the third last step, at which almost everything is
// written, and random steps.
func eachStep(t *testing.T, test func(t *testing.T, w *workbench, c *writer, done outcome, at int)) {
	eachWriter(t, func(t *testing.T, w *workbench, c *writer, done outcome) {
		eachOf(t, done.steps, done.steps-3, func(t *testing.T, i int) { test(t, w, c, done, i+1) })
	})
}

// TestKilledCommandsAreRolledBackByTheNext kills commands before a write step and runs them again, which must roll back
// the first run and complete the tree.
func TestKilledCommandsAreRolledBackByTheNext(t *testing.T) {
	eachStep(t, func(t *testing.T, w *workbench, c *writer, done outcome, at int) {
		dir := w.copy(t, c.from)
		code, said := w.run(t, dir, c.line, fmt.Sprintf("%s=%d %d", faultVariable, syscall.SIGKILL, at))
		if code != -1 {
			t.Fatalf("step %d: exit code %d, want a death\n%s", at, code, said)
		}
		isGen := strings.HasPrefix(c.line, "gen ")
		if code, said := w.run(t, dir, c.line+" --dry-run"); !isGen && code == 0 && strings.Contains(said, "only part") {
			t.Errorf("step %d: a dry run passes over half written files", at)
		}
		w.checkAgain(t, dir, c, done, fmt.Sprint("step ", at))
	})
}

// checkAgain runs an interrupted command again, and checks that the tree is complete.
func (w *workbench) checkAgain(t *testing.T, dir string, c *writer, done outcome, when string) {
	t.Helper()
	code, said := w.run(t, dir, c.line)
	if rolledBack := strings.Contains(said, "kctrl: rolled back"); code != 0 && (rolledBack || !isDone(said)) {
		t.Errorf("%s: the next command ends with %d\n%s", when, code, said)
	}
	if diff := difference(done.tree, contents(t, dir)); diff != "" {
		t.Errorf("%s: after the next command the tree differs:\n%s\n%s", when, diff, said)
	}
}

// isDone reports whether a command fails because its changes already exist.
func isDone(said string) bool {
	reasons := []string{"exists", "already", "there is no kind"}
	return slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(said, reason) })
}

// checkWholeTree checks that a directory has either the previous tree or the complete new one.
func checkWholeTree(t *testing.T, dir string, before map[string]string, done outcome, when string) {
	t.Helper()
	after := contents(t, dir)
	if undone, incomplete := difference(before, after), difference(done.tree, after); undone != "" && incomplete != "" {
		t.Errorf("%s: the tree is neither as it was\n%s\nnor as it should be\n%s", when, undone, incomplete)
	}
}

// TestSignalsEndCommandsWithoutATrace sends a terminating signal before a step, and checks that the tree is then either
// the previous or the complete new one.
func TestSignalsEndCommandsWithoutATrace(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM}
	eachStep(t, func(t *testing.T, w *workbench, c *writer, done outcome, at int) {
		dir, signal := w.copy(t, c.from), signals[at%len(signals)]
		before := contents(t, dir)
		code, said := w.run(t, dir, c.line, fmt.Sprintf("%s=%d %d", faultVariable, signal, at))
		// A process that has already ended receives no signal.
		if code != 128+int(signal) && code != 0 {
			t.Errorf("step %d, %v: exit code %d\n%s", at, signal, code, said)
		}
		checkWholeTree(t, dir, before, done, fmt.Sprintf("step %d, %v", at, signal))
	})
}

// TestASecondSignalEndsCommandsAtOnce sends a second signal during the rollback, which must end the command
// immediately. The next command completes the rollback.
func TestASecondSignalEndsCommandsAtOnce(t *testing.T) {
	eachStep(t, func(t *testing.T, w *workbench, c *writer, done outcome, at int) {
		dir := w.copy(t, c.from)
		code, said := w.run(t, dir, c.line, fmt.Sprintf("%s=%d %d again", faultVariable, syscall.SIGINT, at))
		// A command that had written everything when the first signal arrived has no further step for a second signal. After
		// its last step, it may end before it receives the first signal.
		ended := (code == 128+int(syscall.SIGINT) || code == 0) && difference(done.tree, contents(t, dir)) == ""
		if code != -1 && !ended {
			t.Errorf("step %d: exit code %d, want a death\n%s", at, code, said)
		}
		w.checkAgain(t, dir, c, done, fmt.Sprint("step ", at))
	})
}

// TestSignalsAtAnyTimeLeaveOneOfTwoTrees sends a terminating signal at a random time, while a command reads, compiles
// or writes. Afterwards the tree is the previous or the complete new one. After a kill, this holds once the command has
// run again.
func TestSignalsAtAnyTimeLeaveOneOfTwoTrees(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}
	eachWriter(t, func(t *testing.T, w *workbench, c *writer, done outcome) {
		seeds.Each(t, 1, func(t *testing.T, seed uint64) {
			r := rand.New(rand.NewPCG(seed, 1))
			dir, signal, after := w.copy(t, c.from), signals[r.IntN(len(signals))], time.Duration(r.Int64N(int64(done.took)))
			when := fmt.Sprintf("%v after %v", signal, after)
			before := contents(t, dir)
			cmd := exec.CommandContext(t.Context(), w.kctrl, strings.Fields(c.line)...)
			cmd.Dir, cmd.Env = dir, w.env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(signal) }) // the process may have ended
			_ = cmd.Wait()                                                            // the trees show the result
			timer.Stop()
			if code := cmd.ProcessState.ExitCode(); signal != syscall.SIGKILL {
				// A signal ends a process that does not handle it yet.
				if code != 0 && code != 128+int(signal) && code != -1 {
					t.Errorf("%s: exit code %d", when, code)
				}
				checkWholeTree(t, dir, before, done, when)
			}
			w.checkAgain(t, dir, c, done, when)
		})
	})
}

// TestMigrateThatIsDisturbedLeavesTheProject disturbs a migration while it completes go.mod, by a signal or by a
// concurrent change of go.mod. The migration then writes nothing and removes its temporary directory.
func TestMigrateThatIsDisturbedLeavesTheProject(t *testing.T) {
	w := newWorkbench(t)
	add := func(name string) func(dir string, _ *os.Process) error {
		return func(dir string, _ *os.Process) error {
			file, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			_, err = file.WriteString("// mine\n")
			return errors.Join(err, file.Close())
		}
	}
	for name, test := range map[string]struct {
		disturb func(dir string, process *os.Process) error
		code    int
		says    string
	}{
		"interrupt":   {func(_ string, p *os.Process) error { return p.Signal(syscall.SIGINT) }, 130, ""},
		"termination": {func(_ string, p *os.Process) error { return p.Signal(syscall.SIGTERM) }, 143, ""},
		"go.mod":      {add("go.mod"), 1, "go.mod: has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, scratch := w.copy(t, "kubebuilder"), t.TempDir()
			code, said := w.migrate(t, dir, scratch, test.disturb)
			if code != test.code || !strings.Contains(said, test.says) {
				t.Errorf("exit code %d, want %d\n%s", code, test.code, said)
			}
			before, after := contents(t, w.project(t, "kubebuilder")), contents(t, dir)
			for name, text := range after {
				isNew := before[name] == "" && strings.HasSuffix(text, "// mine\n")
				if old, _, _ := strings.Cut(text, "// mine\n"); old == before[name] || isNew {
					delete(before, name)
					delete(after, name)
				}
			}
			if diff := difference(before, after); diff != "" {
				t.Errorf("the project has changed:\n%s", diff)
			}
			if left, err := filepath.Glob(filepath.Join(scratch, "kctrl-migrate-*")); err != nil || len(left) > 0 {
				t.Errorf("%v is left over, %v", left, err)
			}
		})
	}
}

// migrate runs a migration that completes go.mod in a directory below scratch, and calls disturb when that begins.
func (w *workbench) migrate(t *testing.T, dir, scratch string, disturb func(string, *os.Process) error) (int, string) {
	t.Helper()
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	if err := watcher.Add(scratch); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(t.Context(), w.kctrl, "migrate")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(slices.Clone(w.env), "TMPDIR="+scratch), &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the exit code shows the result
	}()
	for copied := false; !copied; {
		select {
		case event := <-watcher.Events:
			copied = event.Has(fsnotify.Create) && strings.Contains(event.Name, "kctrl-migrate-")
		case <-ended:
			t.Fatalf("it has completed nothing:\n%s", output.String())
		}
	}
	err = disturb(dir, cmd.Process)
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), output.String()
}

// TestTwoCommandsAtOnceGiveWhatOneAfterTheOtherGives runs random pairs of commands concurrently, as make -j2 does, and
// checks that the result equals the result of a sequential run.
func TestTwoCommandsAtOnceGiveWhatOneAfterTheOtherGives(t *testing.T) {
	w := newWorkbench(t)
	lines := []string{
		"create api --group webapp --version v1 --kind Apple",
		"create api --group webapp --version v1 --kind Banana --namespaced=false",
		"delete api --group webapp --kind Guestbook", "edit --project-name library", "edit --multigroup", "upgrade",
		"doctor --fix --check generated,roles",
		"rename kind --group webapp --kind Guestbook --to Guest", "rename group --group webapp --to web",
		"create webhook --group webapp --version v1 --kind Guestbook --defaulting --failure-policy ignore",
		"create api --group webapp --version v2 --kind Guestbook",
		"create controller --group apps --version v1 --kind Deployment",
		"delete controller --group webapp --version v1 --kind Guestbook", "edit --api-module",
		"edit --license none --enable prometheus",
		"rename version --group webapp --version v1 --to v1beta1",
		"generate", "generate --year 2001", "manifests", "manifests --crd-max-desc-len 0", "manifests --output-crd-dir out",
		"gen object paths=./...", "gen crd:maxDescLen=0 paths=./... output:crd:dir=out",
	}
	seeds.Each(t, 2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		a, b := lines[r.IntN(len(lines))], lines[r.IntN(len(lines))]
		if a == b {
			b = "generate --year 2002"
		}
		// As in a sequential run, a command may not find files that the other command deleted. Exit codes are therefore part
		// of the result.
		ends := func(dir string, codes map[string]int) map[string]string {
			tree := contents(t, dir)
			tree["exit codes"] = fmt.Sprint(codes)
			return tree
		}
		var serial []map[string]string
		for _, order := range [][]string{{a, b}, {b, a}} {
			dir, codes := w.copy(t, "out-of-date"), map[string]int{}
			for _, line := range order {
				codes[line], _ = w.run(t, dir, line)
			}
			if codes[order[0]] != 0 {
				t.Fatalf("%s: exit code %d", order[0], codes[order[0]])
			}
			serial = append(serial, ends(dir, codes))
		}
		dir, codes, other := w.copy(t, "out-of-date"), map[string]int{}, make(chan int)
		go func() {
			code, _ := w.run(t, dir, b)
			other <- code
		}()
		codes[a], _ = w.run(t, dir, a)
		codes[b] = <-other
		got := ends(dir, codes)
		first, second := difference(serial[0], got), difference(serial[1], got)
		if first != "" && second != "" {
			t.Errorf("%s beside %s gives another tree than the one after the other\n%s\nand\n%s", a, b, first, second)
		}
	})
}
