//go:build unix

package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/plugin"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// behaviour is the variable that makes the program of the tests a plugin, and says of which kind.
const behaviour = "SAMPLE_PLUGIN"

// TestMain is the plugin, if it is asked to be.
func TestMain(m *testing.M) {
	if how := os.Getenv(behaviour); how != "" {
		os.Exit(samplePlugin(how))
	}
	os.Exit(m.Run())
}

// message is a request or a response of kubebuilder's protocol, with everything that pkg/plugin/external of kubebuilder v4 has.
type message struct {
	APIVersion  string            `json:"apiVersion"`
	Command     string            `json:"command"`
	Args        []string          `json:"args,omitempty"`
	Universe    map[string]string `json:"universe"`
	PluginChain []string          `json:"pluginChain,omitempty"`
	Config      map[string]any    `json:"config,omitempty"`
	Metadata    struct {
		Description string
		Examples    string
	} `json:"metadata"`
	Error     bool          `json:"error,omitempty"`
	ErrorMsgs []string      `json:"errorMsgs,omitempty"`
	Flags     []plugin.Flag `json:"flags,omitempty"`
	Files     []string      `json:"files,omitempty"`
}

// samplePlugin answers one request, as kubebuilder's sample plugin does: with all that it was sent, and what it adds.
func samplePlugin(how string) int {
	var request message
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	answer := message{APIVersion: "v1alpha1", Command: request.Command, Universe: request.Universe}
	switch request.Command {
	case "flags":
		if how == "old" {
			fmt.Fprintln(os.Stderr, "unknown command flags")
			return 1
		}
		if slices.Contains(request.Args, "--edit") {
			answer.Flags = []plugin.Flag{{Name: "namespace", Type: "string", Default: "monitoring", Usage: "where Prometheus is"}, {Name: "quiet", Type: "bool"}}
		}
		answer.Files = []string{"config/*.yaml", "*.bin"}
	case "metadata":
		answer.Metadata.Description, answer.Metadata.Examples = "Adds a monitor ("+strings.Join(request.Args, " ")+").", "  kctrl plugin sample/v1\n"
	default:
		fmt.Fprintln(os.Stderr, "sample is asked to", request.Command)
		if code, err := strconv.Atoi(how); err == nil {
			return code
		}
		if act, ok := behaviours[how]; ok {
			return act(request, answer)
		}
		answer.Universe["monitor.txt"] = fmt.Sprintf("%s of %s for %v\n", strings.Join(request.Args, ","), request.Config["projectName"], request.PluginChain)
	}
	return say(answer)
}

func say(answer message) int {
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		return 1
	}
	return 0
}

// behaviours are what else a plugin may do, on purpose or not.
var behaviours = map[string]func(request, answer message) int{
	"echo": func(_, answer message) int { return say(answer) },
	"sent": func(request, answer message) int {
		names := strings.Join(slices.Sorted(maps.Keys(request.Universe)), " ")
		answer.Universe = map[string]string{"sent.txt": names}
		return say(answer)
	},
	"refuses": func(_, _ message) int { return say(message{Error: true, ErrorMsgs: []string{"no", "two\nlines"}}) },
	"garbage": func(_, _ message) int { fmt.Println("hello"); return 0 },
	"empty":   func(_, _ message) int { return 0 },
	"half":    func(_, _ message) int { fmt.Print(`{"universe":{"a":"b`); return 0 },
	"two":     func(_, answer message) int { say(answer); return say(answer) },
	"numbers": func(_, _ message) int { fmt.Print(`{"universe":{"a":1}}`); return 0 },
	"null":    func(_, _ message) int { fmt.Print(`null`); return 0 },
	"endless": func(_, _ message) int { return endless() },
	"escapes": func(_, answer message) int {
		answer.Universe = map[string]string{os.Getenv("SAMPLE_PATH"): "escaped"}
		return say(answer)
	},
	"writes": func(_, answer message) int { _ = os.WriteFile("own.txt", []byte("x"), 0o600); return say(answer) },
	"in case": func(_, answer message) int {
		answer.Universe = map[string]string{"a.txt": "1", "./a.txt": "2"}
		return say(answer)
	},
	"replaces": func(_, answer message) int { answer.Universe["config/a.yaml"] = "a: 2\n"; return say(answer) },
	"adds": func(_, answer message) int {
		answer.Universe = map[string]string{"Makefile": "all:\n"}
		return say(answer)
	},
	"hangs": func(_, _ message) int {
		child, err := os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
		if err != nil {
			return 1
		}
		fmt.Fprintln(os.Stderr, "hanging", os.Getpid(), child.Pid)
		for {
			time.Sleep(time.Hour)
		}
	},
}

func endless() int {
	line := []byte(strings.Repeat("x", 1<<16))
	for {
		if _, err := os.Stdout.Write(line); err != nil {
			return 1
		}
	}
}

// sample is a project with the plugin beside it.
type sample struct {
	*testing.T
	plugin plugin.Plugin
	said   *said
	files  fstest.MapFS
	proj   *project.Project
}

// said keeps what the plugin says on standard error, and tells of it.
type said struct {
	text  bytes.Buffer
	lines chan string
}

// Write tells.
func (s *said) Write(p []byte) (int, error) {
	s.lines <- string(p)
	return s.text.Write(p)
}

func newSample(t *testing.T, how string) *sample {
	t.Helper()
	t.Setenv(behaviour, how)
	t.Setenv("TMPDIR", t.TempDir())
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &sample{
		T: t, said: &said{lines: make(chan string, 1000)},
		files: fstest.MapFS{
			"config/a.yaml": {Data: []byte("a: 1 # <&>\n")}, "config/b.yaml": {Data: []byte("b: \"\u2028\"\n")}, "Makefile": {Data: []byte("test:\n")},
			"logo.bin": {Data: []byte{0xff, 0xfe, 0}}, "config/deep/c.yaml": {Data: []byte("c: 1\n")}, ".git/config": {Data: []byte("[core]\n")},
			"third_party/kctrl/x.go": {Data: []byte("package x\n")},
		},
		proj: &project.Project{Name: "sample", Domain: "example.com", Repo: "example.com/sample"},
	}
	s.plugin = plugin.Plugin{Name: "sample/v1", Path: program, Log: s.said}
	return s
}

// ask returns the files that the plugin changes.
func (s *sample) ask(ctx context.Context, run plugin.Run) (map[string]string, error) {
	s.Helper()
	if run.Command == "" {
		run.Command = "edit"
	}
	p := plan.NewWithoutLock(s.files)
	err := s.plugin.Plan(ctx, p, s.proj, run)
	changed := map[string]string{}
	for c := range p.Changes() {
		changed[c.Path] = string(c.After)
	}
	left, globErr := filepath.Glob(filepath.Join(os.TempDir(), "kctrl-plugin-*"))
	if len(left) > 0 || globErr != nil {
		s.Errorf("the folders %v are left: %v", left, globErr)
	}
	return changed, err
}

// TestPluginsAreAskedAsKubebuilderAsks sends flags and what it knows of the project, and takes what is new.
func TestPluginsAreAskedAsKubebuilderAsks(t *testing.T) {
	s := newSample(t, "good")
	for _, command := range plugin.Commands() {
		run := plugin.Run{Command: command}
		if command == "edit" {
			run.Args = []string{"--namespace", "observed", "--quiet"}
		}
		if command == "create api" {
			run.Args = []string{"--group=webapp", "--version=v1", "--kind=Guestbook"}
		}
		got, err := s.ask(t.Context(), run)
		want := map[string]string{"monitor.txt": strings.Join(run.Args, ",") + " of sample for [sample/v1]\n"}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: got %q and %v, want %q", command, got, err, want)
		}
		if !strings.HasSuffix(s.said.text.String(), "sample is asked to "+command+"\n") {
			t.Errorf("%s: what the plugin says is %q", command, s.said.text.String())
		}
	}
	for _, arg := range []string{"--namespaces", "--group=webapp"} {
		_, err := s.ask(t.Context(), plugin.Run{Args: []string{arg}})
		if e, ok := errors.AsType[*diagnostic.Error](err); !ok || !errors.Is(err, diagnostic.ErrUsage) || !strings.Contains(e.Message, "has no flag --") {
			t.Errorf("%s: got %v, want it refused", arg, err)
		}
	}
}

// TestPluginsDescribeThemselves reads metadata and flags, and does without those that there are not.
func TestPluginsDescribeThemselves(t *testing.T) {
	s := newSample(t, "good")
	got, err := s.plugin.Describe(t.Context(), "create webhook")
	if err != nil || got.Description != "Adds a monitor (--webhook)." || !strings.Contains(got.Examples, "kctrl plugin") || len(got.Flags) > 0 {
		t.Errorf("got %+v and %v", got, err)
	}
	got, err = s.plugin.Describe(t.Context(), "edit")
	if err != nil || len(got.Flags) != 2 || got.Flags[0] != (plugin.Flag{Name: "namespace", Type: "string", Default: "monitoring", Usage: "where Prometheus is"}) {
		t.Errorf("got %+v and %v", got, err)
	}
	t.Setenv(behaviour, "old")
	if got, err := s.plugin.Describe(t.Context(), "edit"); err != nil || len(got.Flags) > 0 {
		t.Errorf("one that has no flags: got %+v and %v", got, err)
	}
	if _, err := s.ask(t.Context(), plugin.Run{Args: []string{"--anything"}}); err != nil {
		t.Errorf("one that has no flags takes any: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.plugin.Describe(ctx, "edit"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

// TestPluginsGetWhatTheyAskFor sends texts that patterns match, and no others; what comes back as it was is no change.
func TestPluginsGetWhatTheyAskFor(t *testing.T) {
	s := newSample(t, "sent")
	for _, test := range []struct{ read, want string }{
		{"", "config/a.yaml config/b.yaml"},
		{"Makefile", "Makefile config/a.yaml config/b.yaml"},
		{"**", "Makefile config/a.yaml config/b.yaml config/deep/c.yaml"},
		{"config/**", "config/a.yaml config/b.yaml config/deep/c.yaml"},
	} {
		var read []string
		if test.read != "" {
			read = []string{test.read}
		}
		got, err := s.ask(t.Context(), plugin.Run{Read: read})
		if err != nil || got["sent.txt"] != test.want {
			t.Errorf("--read %q: got %q and %v, want %q", test.read, got["sent.txt"], err, test.want)
		}
	}
	t.Setenv(behaviour, "echo")
	if got, err := s.ask(t.Context(), plugin.Run{Read: []string{"**"}}); err != nil || len(got) > 0 {
		t.Errorf("what comes back as it was is a change: %q, %v", got, err)
	}
}

// TestPluginsWriteWhatTheyHaveSeen lets a plugin replace what it was sent, and nothing else without force.
func TestPluginsWriteWhatTheyHaveSeen(t *testing.T) {
	s := newSample(t, "replaces")
	if got, err := s.ask(t.Context(), plugin.Run{}); err != nil || !maps.Equal(got, map[string]string{"config/a.yaml": "a: 2\n"}) {
		t.Errorf("got %q and %v", got, err)
	}
	t.Setenv(behaviour, "adds")
	if got, err := s.ask(t.Context(), plugin.Run{}); err == nil || len(got) > 0 {
		t.Errorf("a file that it has not seen: got %q, want it refused", got)
	}
	if got, err := s.ask(t.Context(), plugin.Run{Force: true}); err != nil || got["Makefile"] != "all:\n" {
		t.Errorf("with force: got %q and %v", got, err)
	}
	t.Setenv(behaviour, "writes")
	if got, err := s.ask(t.Context(), plugin.Run{}); err != nil || len(got) > 0 {
		t.Errorf("what it writes itself is not the project's: got %q and %v", got, err)
	}
	t.Setenv(behaviour, "in case")
	if _, err := s.ask(t.Context(), plugin.Run{}); err == nil || !strings.Contains(err.Error(), "in two ways") {
		t.Errorf("a file twice: got %v", err)
	}
}

// TestPluginsStayInTheProject refuses every path that leads out of it, or to what is kctrl's and git's: those that are known, and random ones.
func TestPluginsStayInTheProject(t *testing.T) {
	s := newSample(t, "escapes")
	paths := []string{
		"../x", "/tmp/x", "a/../../x", "..", ".", "", "/", "config", "./../x", "a/b/../../../x", "PROJECT", "project.lock", "./PROJECT", ".git/hooks/x", ".GIT/config",
		"x/../.git/config", "third_party/kctrl/x.go", "Third_Party/kctrl/y",
	}
	r := rand.New(rand.NewPCG(15, 4))
	for range 12 {
		parts := []string{".."}
		for range r.IntN(4) {
			parts = append([]string{[]string{"a", ".", "config", ".."}[r.IntN(4)]}, parts...)
		}
		for len(parts) > 0 && filepath.IsLocal(strings.Join(parts, "/")) {
			parts = append(parts, "..")
		}
		paths = append(paths, strings.Join(append(parts, "x"), "/"))
	}
	for _, name := range paths {
		t.Setenv("SAMPLE_PATH", name)
		got, err := s.ask(t.Context(), plugin.Run{Force: true})
		if _, ok := errors.AsType[*diagnostic.Error](err); !ok || len(got) > 0 {
			t.Errorf("%q: got %q and %v, want it refused", name, got, err)
		}
	}
}

// TestPluginsThatFailSayOneLine is about everything that is no answer.
func TestPluginsThatFailSayOneLine(t *testing.T) {
	for how, want := range map[string]string{
		"refuses": "the plugin sample/v1 refuses edit: no; two; lines", "garbage": "does not answer in JSON: ", "empty": "does not answer in JSON: ", "half": "does not answer in JSON: ",
		"two": "does not answer in JSON: ", "numbers": "does not answer in JSON: ", "endless": "has failed: ", "1": "has failed: exit status 1", "42": "has failed: exit status 42",
	} {
		got, err := newSample(t, how).ask(t.Context(), plugin.Run{})
		e, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || !strings.Contains(e.Message, want) || strings.Contains(e.Message, "\n") || e.Hint == "" || len(got) > 0 {
			t.Errorf("%s: got %v and %q, want %q", how, err, got, want)
		}
	}
	if got, err := newSample(t, "null").ask(t.Context(), plugin.Run{}); err != nil || len(got) > 0 {
		t.Errorf("null: got %q and %v, want nothing to do", got, err)
	}
	s := newSample(t, "good")
	s.plugin.Path = filepath.Join(t.TempDir(), "gone")
	if _, err := s.ask(t.Context(), plugin.Run{}); err == nil || !strings.Contains(err.Error(), "has failed: ") {
		t.Errorf("one that is gone: got %v", err)
	}
}

// TestPluginsThatHangEndWithTheCommand interrupts one that waits for ever, and has started a program that holds its output.
func TestPluginsThatHangEndWithTheCommand(t *testing.T) {
	s := newSample(t, "hangs")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := s.ask(ctx, plugin.Run{})
		ended <- err
	}()
	var pid, child int
	for pid == 0 {
		select {
		case line := <-s.said.lines:
			_, _ = fmt.Sscanf(line[strings.LastIndex(line, "hanging")+len("hanging"):], "%d %d", &pid, &child)
		case err := <-ended:
			t.Fatalf("it ended with %v", err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	for _, id := range []int{pid, child} {
		for deadline := time.Now().Add(10 * time.Second); alive(id); {
			if time.Now().After(deadline) {
				t.Errorf("process %d is left", id)
				break
			}
		}
	}
}

// alive reports whether a process runs. One that has ended, and that nobody has waited for, does not.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(status, []byte(") Z ")) || err != nil && !errors.Is(err, fs.ErrNotExist)
}
