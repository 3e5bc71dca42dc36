//go:build unix

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// The variables by which tests have kctrl end in the middle: a signal that it sends itself before a step, and a file that
// it writes the number of its steps to.
const (
	faultVariable = "KCTRL_TEST_FAULT" // "SIGNAL STEP", both numbers; "SIGNAL STEP again" for a second one before the next step
	stepsVariable = "KCTRL_TEST_STEPS"
)

// runFaulty is main, with a fault that a test asks for.
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
			for range 1 << 20 { // until kctrl no more listens, and this process ends
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

// bench is a folder with trees to copy, and an environment for commands.
type workbench struct {
	env    []string
	kctrl  string
	folder string
}

func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	w := &workbench{folder: t.TempDir()}
	path, err := exec.LookPath("kctrl")
	if err != nil {
		t.Fatal("testscript.Main puts kctrl into the path: ", err)
	}
	w.kctrl = path
	w.env = append(slices.Clone(os.Environ()), goEnvironment(t)...)
	w.env = append(w.env, "XDG_CACHE_HOME="+filepath.Join(w.folder, "cache"))
	return w
}

// run runs kctrl in a folder and returns its exit code, -1 if a signal ended it, and what it says.
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

func (w *workbench) mustRun(t *testing.T, dir, line string, env ...string) string {
	t.Helper()
	code, said := w.run(t, dir, line, env...)
	if code != 0 {
		t.Fatalf("kctrl %s: exit code %d\n%s", line, code, said)
	}
	return said
}

// copy returns a new folder with what is in another; "" is an empty one.
func (w *workbench) copy(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	err := os.Mkdir(dir, 0o755)
	if from != "" {
		err = os.CopyFS(dir, os.DirFS(from))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents is everything in a folder: contents, modes and folders.
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

// difference names what differs, and how contents differ that are not too long.
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

const initLine = "init --domain example.com --repo example.com/guestbook"

// kindBeside is a type with everything that generators make something of.
const kindBeside = `package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:rbac:groups=webapp.example.com,resources=visitors,verbs=get

// Visitor comes.
type Visitor struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `
}
`

// trees makes the folders that the commands under test start from: empty, with a project, and with a project where all
// generators have something to do.
func (w *workbench) trees(t *testing.T) (project, outOfDate string) {
	t.Helper()
	project = w.copy(t, "")
	w.mustRun(t, project, initLine)
	outOfDate = w.copy(t, project)
	w.mustRun(t, outOfDate, "create api --group webapp --version v1 --kind Guestbook")
	err := errors.Join(
		os.WriteFile(filepath.Join(outOfDate, "api", "v1", "visitor.go"), []byte(kindBeside), 0o644),
		os.WriteFile(filepath.Join(outOfDate, "config", "rbac", "role.yaml"), []byte("# old\n"), 0o640),
		os.Remove(filepath.Join(outOfDate, "cmd", "zz_generated.register.go")),
	)
	if err != nil {
		t.Fatal(err)
	}
	return project, outOfDate
}

// peer makes a folder with a project of kubebuilder, that of a script.
func (w *workbench) peer(t *testing.T) string {
	t.Helper()
	script, err := txtar.ParseFile(filepath.Join("..", "..", "testdata", "script", "migrate_layouts.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := w.copy(t, "")
	for _, f := range script.Files {
		name, found := strings.CutPrefix(f.Name, "v3/")
		if !found {
			continue
		}
		target := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, f.Data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit := exec.CommandContext(t.Context(), "go", "mod", "edit", "-module=example.com/guestbook", "-require=sigs.k8s.io/controller-runtime@v0.0.0",
		"-replace=sigs.k8s.io/controller-runtime="+repository+"/internal/migrate/testdata/controller-runtime",
		"-require=gomodules.xyz/jsonpatch/v2@v2.5.0", "-replace=gomodules.xyz/jsonpatch/v2="+repository+"/internal/migrate/testdata/jsonpatch",
		"-require=go.uber.org/zap@v1.99.0", "-replace=go.uber.org/zap="+repository+"/internal/migrate/testdata/zap")
	edit.Dir = dir
	if out, err := edit.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestKilledCommandsAreTakenBackByTheNext kills commands before one step of their writing after another, and runs them
// again. See faultsVariable for how many.
func TestKilledCommandsAreTakenBackByTheNext(t *testing.T) {
	eachFault(t, func(t *testing.T, w *workbench, from, line string, want map[string]string, at int) {
		dir := w.copy(t, from)
		code, said := w.run(t, dir, line, fmt.Sprintf("%s=%d %d", faultVariable, syscall.SIGKILL, at))
		if code != -1 {
			t.Fatalf("step %d: exit code %d, want a death\n%s", at, code, said)
		}
		if code, said := w.run(t, dir, line+" --dry-run"); !strings.HasPrefix(line, "gen ") && code == 0 && strings.Contains(said, "half written") {
			t.Errorf("step %d: a dry run passes over what is half written", at)
		}
		code, said = w.run(t, dir, line)
		takenBack := strings.Contains(said, "was interrupted here")
		if code != 0 && (takenBack || !saysDone(said)) {
			t.Errorf("step %d: the next command ends with %d\n%s", at, code, said)
		}
		if diff := difference(want, contents(t, dir)); diff != "" {
			t.Errorf("step %d: after the next command the tree differs:\n%s\n%s", at, diff, said)
		}
	})
}

// TestSignalsEndCommandsWithoutATrace sends a signal that asks to end.
func TestSignalsEndCommandsWithoutATrace(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM}
	eachFault(t, func(t *testing.T, w *workbench, from, line string, want map[string]string, at int) {
		dir, signal := w.copy(t, from), signals[at%len(signals)]
		before := contents(t, dir)
		code, said := w.run(t, dir, line, fmt.Sprintf("%s=%d %d", faultVariable, signal, at))
		// Nobody hears of a signal to a process that has ended by then.
		if code != 128+int(signal) && code != 0 {
			t.Errorf("step %d, %v: exit code %d\n%s", at, signal, code, said)
		}
		after := contents(t, dir)
		if undone, done := difference(before, after), difference(want, after); undone != "" && done != "" {
			t.Errorf("step %d, %v: the tree is neither as it was\n%s\nnor as it should be\n%s", at, signal, undone, done)
		}
	})
}

// TestASecondSignalEndsCommandsAtOnce sends one while what was written is taken back: the next command goes on with that.
func TestASecondSignalEndsCommandsAtOnce(t *testing.T) {
	eachFault(t, func(t *testing.T, w *workbench, from, line string, want map[string]string, at int) {
		dir := w.copy(t, from)
		code, said := w.run(t, dir, line, fmt.Sprintf("%s=%d %d again", faultVariable, syscall.SIGINT, at))
		// One that had written all when the first signal came has no step left for a second one.
		ended := code == 128+int(syscall.SIGINT) && difference(want, contents(t, dir)) == ""
		if code != -1 && !ended {
			t.Errorf("step %d: exit code %d, want a death\n%s", at, code, said)
		}
		if code, said := w.run(t, dir, line); code != 0 && (strings.Contains(said, "was interrupted here") || !saysDone(said)) {
			t.Errorf("step %d: the next command ends with %d\n%s", at, code, said)
		}
		if diff := difference(want, contents(t, dir)); diff != "" {
			t.Errorf("step %d: after the next command the tree differs:\n%s", at, diff)
		}
	})
}

// TestSignalsAtAnyTimeLeaveOneOfTwoTrees sends each signal that ends a process at a random time of a command, while it reads, compiles or
// writes: the tree is as it was or as it should be, at once or, after a kill, once the command has run again; which then has done all.
func TestSignalsAtAnyTimeLeaveOneOfTwoTrees(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}
	eachCommand(t, func(t *testing.T, w *workbench, from, line string, want map[string]string, took time.Duration) {
		for i := range faults(40, 2) {
			dir, signal, after := w.copy(t, from), signals[(i+rand.IntN(2)*2)%len(signals)], rand.N(took)
			before := contents(t, dir)
			cmd := exec.CommandContext(t.Context(), w.kctrl, strings.Fields(line)...)
			cmd.Dir, cmd.Env = dir, w.env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(signal) }) // which may be over by then
			_ = cmd.Wait()                                                            // the trees say more
			timer.Stop()
			if code := cmd.ProcessState.ExitCode(); signal != syscall.SIGKILL {
				got := contents(t, dir)
				// A process that has not come to listen yet ends by the signal itself.
				if code != 0 && code != 128+int(signal) && code != -1 {
					t.Errorf("%v after %v: exit code %d", signal, after, code)
				}
				if undone, done := difference(before, got), difference(want, got); undone != "" && done != "" {
					t.Errorf("%v after %v: the tree is neither as it was\n%s\nnor as it should be\n%s", signal, after, undone, done)
				}
			}
			if code, said := w.run(t, dir, line); code != 0 && (strings.Contains(said, "was interrupted here") || !saysDone(said)) {
				t.Errorf("%v after %v: the command ends with %d the next time\n%s", signal, after, code, said)
			}
			if diff := difference(want, contents(t, dir)); diff != "" {
				t.Errorf("%v after %v: after the next command the tree differs:\n%s", signal, after, diff)
			}
		}
	})
}

// saysDone reports whether a command refuses because what it would do is done.
func saysDone(said string) bool {
	return slices.ContainsFunc([]string{"exists", "already", "there is no kind"}, func(text string) bool { return strings.Contains(said, text) })
}

// eachFault calls test for steps of each command that writes.
func eachFault(t *testing.T, test func(t *testing.T, w *workbench, from, line string, want map[string]string, at int)) {
	eachCommand(t, func(t *testing.T, w *workbench, from, line string, want map[string]string, _ time.Duration) {
		counted := filepath.Join(t.TempDir(), "steps")
		w.mustRun(t, w.copy(t, from), line, stepsVariable+"="+counted)
		text, err := os.ReadFile(counted)
		steps, convertErr := strconv.Atoi(string(text))
		if err := cmp.Or(err, convertErr); err != nil || steps < 10 {
			t.Fatalf("%d steps, %v", steps, err)
		}
		for _, at := range chosenSteps(steps) {
			test(t, w, from, line, want, at)
		}
	})
}

// eachCommand calls test for each command that writes, with what it starts from and what comes of it, and how long it takes.
func eachCommand(t *testing.T, test func(t *testing.T, w *workbench, from, line string, want map[string]string, took time.Duration)) {
	w := newWorkbench(t)
	project, outOfDate := w.trees(t)
	for name, command := range map[string]struct{ from, line string }{
		"init":       {"", initLine},
		"create api": {project, "create api --group webapp --version v1 --kind Guestbook"},
		"delete api": {outOfDate, "delete api --group webapp --kind Guestbook"},
		"edit":       {outOfDate, "edit --multigroup --namespaced"},
		"rename":     {outOfDate, "rename kind --group webapp --kind Guestbook --to Guest"},
		"upgrade":    {outOfDate, "upgrade"},
		"doctor":     {outOfDate, "doctor --fix --check generated,roles"},
		"generate":   {outOfDate, "generate"},
		"manifests":  {outOfDate, "manifests"},
		"gen":        {outOfDate, "gen object crd rbac:roleName=manager-role paths=./..."},
		"migrate":    {w.peer(t), "migrate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := w.copy(t, command.from)
			start := time.Now()
			w.mustRun(t, done, command.line)
			took := time.Since(start)
			test(t, w, command.from, command.line, contents(t, done), took)
		})
	}
}

// TestMigrateThatIsDisturbedLeavesTheProject sends a signal to a migration, or changes the project beside it, while it compiles the
// result: nothing is written, and the copy in which it is compiled is gone. See faultsVariable for how many are tried.
func TestMigrateThatIsDisturbedLeavesTheProject(t *testing.T) {
	w := newWorkbench(t)
	project := w.peer(t)
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
	type disturbance struct {
		disturb func(dir string, process *os.Process) error
		code    int
		says    string
	}
	disturbances := map[string]disturbance{
		"interrupt":   {func(_ string, p *os.Process) error { return p.Signal(syscall.SIGINT) }, 130, ""},
		"termination": {func(_ string, p *os.Process) error { return p.Signal(syscall.SIGTERM) }, 143, ""},
		"an edit":     {add("controllers/guestbook_controller.go"), 1, "controllers/guestbook_controller.go: has changed while"},
		"a new file":  {add("controllers/shelf_controller.go"), 1, "controllers/shelf_controller.go: has changed while"},
		"go.mod":      {add("go.mod"), 1, "go.mod: has changed"},
		"a Makefile":  {add("Makefile"), 1, "Makefile: "},
	}
	names := slices.Collect(maps.Keys(disturbances)) // in a random order
	for _, name := range names[:faults(len(names), 2)] {
		test := disturbances[name]
		t.Run(name, func(t *testing.T) {
			dir, scratch := w.copy(t, project), t.TempDir()
			watcher, err := fsnotify.NewWatcher()
			if err != nil {
				t.Fatal(err)
			}
			defer watcher.Close()
			if err := watcher.Add(scratch); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			cmd := exec.CommandContext(t.Context(), w.kctrl, "migrate")
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(slices.Clone(w.env), "TMPDIR="+scratch), &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait() // its exit code says more
			}()
			for copied := false; !copied; {
				select {
				case event := <-watcher.Events:
					copied = event.Has(fsnotify.Create) && strings.Contains(event.Name, "kctrl-migrate-")
				case <-ended:
					t.Fatalf("it has compiled nothing:\n%s", said.String())
				}
			}
			err = test.disturb(dir, cmd.Process)
			<-ended
			if err != nil {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(said.String(), test.says) {
				t.Errorf("exit code %d, want %d\n%s", code, test.code, said.String())
			}
			before, after := contents(t, project), contents(t, dir)
			for name := range after {
				if text, _, _ := strings.Cut(after[name], "// mine\n"); text == before[name] || before[name] == "" && strings.HasSuffix(after[name], "// mine\n") {
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

// faultsVariable is how many steps of each command are tried, and how many pairs of commands; or "all" steps, and 60 pairs.
const faultsVariable = "KCTRL_TEST_FAULTS"

// faults returns how many faults to try: all there are, or what was asked for, or a few.
func faults(all, few int) int {
	text := os.Getenv(faultsVariable)
	if text == "all" {
		return all
	}
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return min(n, all)
	}
	return few
}

// chosenSteps returns steps: as many as are asked for, from all parts of a run, and the first and the last but one, of which without being asked
// it is one.
func chosenSteps(steps int) []int {
	n := faults(steps, 1)
	if n == steps {
		chosen := make([]int, steps)
		for i := range chosen {
			chosen[i] = i + 1
		}
		return chosen
	}
	chosen := []int{1, steps - 2}
	if n == 1 {
		chosen = chosen[rand.IntN(2):][:1]
	}
	for i := range n {
		from, to := 1+i*steps/n, 1+(i+1)*steps/n
		chosen = append(chosen, from+rand.IntN(max(to-from, 1)))
	}
	slices.Sort(chosen)
	return slices.Compact(chosen)
}

// TestTwoCommandsAtOnceGiveWhatOneAfterTheOtherGives runs random pairs, as make -j2 does.
func TestTwoCommandsAtOnceGiveWhatOneAfterTheOtherGives(t *testing.T) {
	w := newWorkbench(t)
	_, project := w.trees(t)
	lines := []string{
		"create api --group webapp --version v1 --kind Apple",
		"create api --group webapp --version v1 --kind Banana --namespaced=false",
		"delete api --group webapp --kind Guestbook", "edit --project-name library", "edit --multigroup", "upgrade", "doctor --fix --check generated,roles",
		"rename kind --group webapp --kind Guestbook --to Guest", "rename group --group webapp --to web",
		"create webhook --group webapp --version v1 --kind Guestbook --defaulting --failure-policy ignore",
		"create api --group webapp --version v2 --kind Guestbook", "create controller --group apps --version v1 --kind Deployment",
		"delete controller --group webapp --version v1 --kind Guestbook", "edit --api-module", "edit --license none --enable prometheus",
		"rename version --group webapp --version v1 --to v1beta1",
		"generate", "generate --year 2001", "manifests", "manifests --crd-max-desc-len 0", "manifests --output-crd-dir out",
		"gen object paths=./...", "gen crd:maxDescLen=0 paths=./... output:crd:dir=out",
	}
	for range faults(60, 4) {
		a, b := lines[rand.IntN(len(lines))], lines[rand.IntN(len(lines))]
		if a == b {
			b = "generate --year 2002"
		}
		// What one has taken away the other may miss, as it would if it came later.
		codes := func(of map[string]int) string { return fmt.Sprint(of) }
		var serial []map[string]string
		for _, order := range [][]string{{a, b}, {b, a}} {
			dir, ended := w.copy(t, project), map[string]int{}
			for _, line := range order {
				ended[line], _ = w.run(t, dir, line)
			}
			if ended[order[0]] != 0 {
				t.Fatalf("%s: exit code %d", order[0], ended[order[0]])
			}
			tree := contents(t, dir)
			tree["exit codes"] = codes(ended)
			serial = append(serial, tree)
		}
		dir, ended := w.copy(t, project), map[string]int{}
		other := make(chan int)
		go func() {
			code, _ := w.run(t, dir, b)
			other <- code
		}()
		ended[a], _ = w.run(t, dir, a)
		ended[b] = <-other
		got := contents(t, dir)
		got["exit codes"] = codes(ended)
		first, second := difference(serial[0], got), difference(serial[1], got)
		if first != "" && second != "" {
			t.Errorf("%s beside %s gives another tree than the one after the other\n%s\nand\n%s", a, b, first, second)
		}
	}
}

// TestTwoMigrationsAtOnceAreOne starts two in one project: one of them does it, and the other finds a project of kctrl.
func TestTwoMigrationsAtOnceAreOne(t *testing.T) {
	w := newWorkbench(t)
	project := w.peer(t)
	alone := w.copy(t, project)
	w.mustRun(t, alone, "migrate")
	want := contents(t, alone)
	dir := w.copy(t, project)
	type end struct {
		code int
		said string
	}
	ends := make(chan end)
	for range 2 {
		go func() {
			code, said := w.run(t, dir, "migrate")
			ends <- end{code, said}
		}()
	}
	one, other := <-ends, <-ends
	if one.code > other.code {
		one, other = other, one
	}
	if one.code != 0 || other.code != 1 || !strings.Contains(other.said, "this is a project of kctrl already") {
		t.Errorf("they end with %d and %d\n%s\n%s", one.code, other.code, one.said, other.said)
	}
	if diff := difference(want, contents(t, dir)); diff != "" {
		t.Errorf("the tree is not that of one migration:\n%s", diff)
	}
}

// TestCommandsBesideAMigration start in a project of kubebuilder while it is migrated: each refuses the one or works on either, and
// the tree is that of the migration alone, or of both in one of two orders.
func TestCommandsBesideAMigration(t *testing.T) {
	w := newWorkbench(t)
	project := w.peer(t)
	lines := []string{
		"create api --group webapp --version v1 --kind Apple", "upgrade", "edit --project-name library", "doctor --fix", "generate",
		"delete api --group webapp --kind Guestbook",
	}
	rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for _, line := range lines[:faults(len(lines), 1)] {
		dir := w.copy(t, project)
		type end struct {
			code int
			said string
		}
		other := make(chan end)
		go func() {
			code, said := w.run(t, dir, line)
			other <- end{code, said}
		}()
		code, said := w.run(t, dir, "migrate")
		beside := <-other
		got := contents(t, dir)
		var differences []string
		for _, order := range [][]string{{"migrate"}, {"migrate", line}, {line, "migrate"}} {
			serial := w.copy(t, project)
			for _, each := range order {
				w.run(t, serial, each)
			}
			diff := difference(contents(t, serial), got)
			if diff == "" {
				differences = nil
				break
			}
			differences = append(differences, diff)
		}
		if code != 0 || differences != nil {
			t.Errorf("migrate beside %s ends with %d\n%s\nand that with %d\n%s\n%s", line, code, said, beside.code, beside.said, strings.Join(differences, "\nand\n"))
		}
	}
}
