package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/testing/seeds"
)

// wrongValues are values that are invalid for every flag.
var wrongValues = []string{
	"", " ", "garbage!", "-1", "99999999999999999999999", "Grüße 世界", "a\x00\x1b[31mb\nc\rd", "\xff\xfe", `a"b,"`, "../..",
	strings.Repeat("long", 50_000),
}

// internalWords are words of Go and its libraries that have no meaning for users.
var internalWords = regexp.MustCompile(`strconv\.|unmarshal|\b(scaffold|generate|markers|controlplane|diagnostic|pflag|cobra|json|yaml)\.[A-Z]|invalid argument "|parse error on line|%!|goroutine|runtime error|\(MISSING\)|<nil>`)

// kctrlIn runs a command line in a directory.
func kctrlIn(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems bytes.Buffer
	s := newStreams(strings.NewReader(""), &out, &problems)
	code = run(t.Context(), append([]string{"-C", dir}, args...), s)
	return code, out.String(), problems.String()
}

// checkPlain checks the format of an error message.
func checkPlain(t *testing.T, what string, code int, stderr string) {
	t.Helper()
	if code != exitError && code != exitUsage {
		t.Errorf("%s: exit code %d", what, code)
	}
	if internalWords.MatchString(stderr) || !utf8.ValidString(stderr) || len(stderr) > 20_000 ||
		strings.ContainsFunc(stderr, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
		t.Errorf("%s: says %.2000q", what, stderr)
	}
	for line := range strings.Lines(stderr) {
		if !slices.ContainsFunc([]string{"kctrl: ", "hint: ", "usage: "},
			func(p string) bool { return strings.HasPrefix(line, p) }) {
			t.Errorf("%s: a line that is no error and no hint: %.200q", what, line)
		}
	}
	if !strings.Contains(stderr, "\nhint: ") {
		t.Errorf("%s: no hint in %.500q", what, stderr)
	}
}

// eachFlag calls visit with every flag of every command.
func eachFlag(cmd *cobra.Command, visit func(words []string, flag *pflag.Flag)) {
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) { visit(strings.Fields(cmd.CommandPath())[1:], flag) })
	for _, sub := range cmd.Commands() {
		eachFlag(sub, visit)
	}
}

// TestWrongValuesOfFlagsGetPlainErrors sets each flag of each command to a random invalid value, in an empty directory
// and without external tools, and checks the error message.
func TestWrongValuesOfFlagsGetPlainErrors(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBEBUILDER_ASSETS", filepath.Join(t.TempDir(), "none"))
	seeds.Each(t, 2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		eachFlag(newRootCommand(newStreams(nil, nil, nil)), func(words []string, flag *pflag.Flag) {
			value := wrongValues[r.IntN(len(wrongValues))]
			dir := t.TempDir()
			code, _, stderr := kctrlIn(t, dir, append(slices.Clone(words), "--"+flag.Name+"="+value)...)
			if code != exitOK {
				what := strings.Join(words, " ") + " --" + flag.Name + "=" + value[:min(len(value), 40)]
				checkPlain(t, what, code, stderr)
			} else if stderr != "" {
				t.Errorf("%v --%s=%.40q succeeds, and says %q", words, flag.Name, value, stderr)
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 0 && code != exitOK {
				t.Errorf("%v --%s=%.40q fails, and writes %v", words, flag.Name, value, entries)
			}
		})
	})
}

// TestBrokenProjectFilesGetPlainErrors breaks files of a project in random ways, one at a time, and checks the error
// messages.
func TestBrokenProjectFilesGetPlainErrors(t *testing.T) {
	useOwnCache(t)
	good := t.TempDir()
	mustGenerate := func() {
		t.Helper()
		if code, _, stderr := kctrlIn(t, good, "generate"); code != exitOK {
			t.Fatalf("the project is not as it was: %s", stderr)
		}
	}
	for _, args := range [][]string{
		{"init", "--domain", "example.com", "--repo", "example.com/guestbook"},
		{"create", "api", "--group", "webapp", "--version", "v1", "--kind", "Guestbook"},
	} {
		if code, _, stderr := kctrlIn(t, good, args...); code != exitOK {
			t.Fatalf("%v: %d\n%s", args, code, stderr)
		}
	}
	files := []string{
		"PROJECT", "PROJECT.lock", "go.mod", "config/crd/kustomization.yaml", "hack/boilerplate.go.txt",
		"api/v1/guestbook_types.go",
	}
	seeds.Each(t, 2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		for _, file := range files {
			name := filepath.Join(good, filepath.FromSlash(file))
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			contents := brokenContents(text)
			ways := slices.Sorted(maps.Keys(contents))
			way := ways[r.IntN(len(ways))]
			if err := os.WriteFile(name, contents[way], 0o600); err != nil {
				t.Fatal(err)
			}
			checkBroken(t, good, file+" "+way)
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
			mustGenerate()
		}
	})
}

// checkBroken checks that commands in a project with a broken file either succeed, or report a plain error and write
// nothing.
func checkBroken(t *testing.T, dir, what string) {
	t.Helper()
	before := snapshot(t, dir)
	for _, args := range [][]string{
		{"generate"}, {"create", "api", "--group", "webapp", "--version", "v1", "--kind", "Shelf", "--dry-run"},
	} {
		code, _, stderr := kctrlIn(t, dir, args...)
		if code == exitOK {
			continue // kctrl does not read the file, or it belongs to the user
		}
		checkPlain(t, what+": "+args[0], code, stderr)
		if code != exitError {
			t.Errorf("%s: %s exits %d, and no command line would help", what, args[0], code)
		}
		if !sameFiles(before, snapshot(t, dir)) {
			t.Errorf("%s: %s fails, and writes", what, args[0])
		}
	}
}

func brokenContents(text []byte) map[string][]byte {
	conflict := slices.Concat([]byte("<<<<<<< HEAD\n"), text, []byte("=======\n"), text, []byte(">>>>>>> other\n"))
	return map[string][]byte{
		"empty": {}, "zeroes": make([]byte, 100), "binary": []byte("\xff\xfe\x00\x01\x80"), "cut off": text[:len(text)*2/3],
		"a list": []byte("- a\n"),
		"a word": []byte("word"), "twice": slices.Concat(text, text),
		"tabs":        bytes.ReplaceAll(text, []byte("  "), []byte("\t")),
		"other types": regexp.MustCompile(`(?m): .*$`).ReplaceAll(text, []byte(": [1, {a: b}]")), "a conflict": conflict,
		"an alias": []byte("a: *b\n"),
		"a cycle":  []byte("a: &a [*a]\n"), "large": slices.Concat(text, bytes.Repeat([]byte("# more\n"), 300_000)),
	}
}

// snapshot returns the contents of all files of a directory that kctrl could write.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameFiles(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, content := range a {
		if other, ok := b[name]; !ok || other != content {
			return false
		}
	}
	return true
}

// TestHintsNameWhatThereIs checks that kctrl has the commands and flags that the hints for other tools name.
func TestHintsNameWhatThereIs(t *testing.T) {
	root := newRootCommand(newStreams(nil, nil, nil))
	flags := map[string]bool{}
	eachFlag(root, func(_ []string, flag *pflag.Flag) { flags[flag.Name] = true })
	check := func(asked, hint string) {
		for _, words := range regexp.MustCompile(`kctrl ((?:[a-z]+ ?){1,2})`).FindAllStringSubmatch(hint, -1) {
			first := strings.Fields(words[1])
			if slices.Contains([]string{"always", "has", "only", "then", "uses", "writes"}, first[0]) {
				continue
			}
			if cmd, _, err := root.Find(first[:1]); err != nil || cmd == root {
				t.Errorf("the hint for %s names kctrl %s, which there is not", asked, first[0])
			}
		}
		rest := regexp.MustCompile(`^remove --[a-z-]+`).ReplaceAllString(hint, "") // kctrl does not have this flag
		for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(rest, -1) {
			if !flags[flag[1]] {
				t.Errorf("the hint for %s names --%s, which there is not", asked, flag[1])
			}
		}
	}
	for name, hint := range peerCommands {
		check(name, hint)
		if cmd, rest, err := root.Find(strings.Fields(name)); err == nil && cmd != root && len(rest) == 0 && hint != genHint {
			t.Errorf("kctrl has %s, and a row that says it has not", name)
		}
	}
	for name, hint := range peerFlags {
		check("--"+name, hint)
		if flags[name] {
			t.Errorf("kctrl has --%s, and a row that says it has not", name)
		}
	}
}

// TestGenHintsAreArguments checks that kctrl, called with controller-gen's arguments, shows the hint to use kctrl gen,
// and that kctrl gen accepts the arguments.
func TestGenHintsAreArguments(t *testing.T) {
	for _, arg := range []string{"crd", "object", "webhook", "rbac:roleName=manager-role", "applyconfiguration",
		"schemapatch:manifests=config"} {
		code, _, stderr := kctrlIn(t, t.TempDir(), arg, "paths=./...")
		if code != exitUsage || !strings.Contains(stderr, genHint) {
			t.Errorf("kctrl %s: %d %s", arg, code, stderr)
		}
		if _, err := compat.Parse([]string{arg, "paths=./..."}); err != nil {
			t.Errorf("kctrl gen %s: %v", arg, err)
		}
	}
}

func TestCommandLineByName(t *testing.T) {
	for name, gen := range map[string]bool{
		"kctrl": false, "/usr/bin/kctrl": false, "controller-gen": true, "/p/bin/controller-gen": true,
		`C:\bin\controller-gen.exe`:  true,
		"bin/controller-gen-v0.20.1": true, "controller-genius": false, "my-controller-gen": false,
		"Controller-Gen.EXE": true,
	} {
		got := commandLine([]string{name, "crd", "-w"})
		if want := slices.Contains(got, "gen"); want != gen || !slices.Equal(got[len(got)-2:], []string{"crd", "-w"}) {
			t.Errorf("called %s: %q", name, got)
		}
	}
	if got := commandLine(nil); got != nil {
		t.Errorf("called without a name: %q", got)
	}
}

// fullWriter rejects all writes.
type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestLostResultsAreFailures checks that commands fail if their output cannot be written. It runs every command that
// prints without a project, and prints the help of all commands.
func TestLostResultsAreFailures(t *testing.T) {
	lines := [][]string{
		{"version"}, {"version", "-o", "json"}, {"explain"}, {"explain", "--all"}, {"explain", "MinLength", "-o", "json"},
		{"completion", "fish"}, {"help"},
		{"gen", "--version"}, {"gen", "-h"}, {"gen", "crd", "-wwww"},
		{"init", "--dry-run", "-o", "json", "--domain", "example.com", "--repo", "example.com/x"},
	}
	var addHelp func(cmd *cobra.Command)
	addHelp = func(cmd *cobra.Command) {
		lines = append(lines, append(strings.Fields(cmd.CommandPath())[1:], "--help"))
		for _, sub := range cmd.Commands() {
			addHelp(sub)
		}
	}
	addHelp(newRootCommand(newStreams(nil, nil, nil)))
	for _, args := range lines {
		var problems bytes.Buffer
		code := run(context.Background(), append([]string{"-C", t.TempDir()}, args...),
			newStreams(strings.NewReader(""), fullWriter{}, &problems))
		if code != exitError ||
			!strings.Contains(problems.String(), "cannot write to standard output: no space left on device") {
			t.Errorf("%v: %d %s", args, code, problems.String())
		}
	}
}

func TestCompletionOffersValues(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	project := "version: kctrl/v1\ndomain: example.com\nrepo: example.com/guestbook\nprojectName: " +
		"guestbook\nresources:\n" +
		"  - group: webapp\n    domain: example.com\n    version: v1\n    kind: Guestbook\n    plural: guestbooks\n    " +
		"namespaced: true\n"
	if err := os.WriteFile(filepath.Join(dir, "PROJECT"), []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"init --license ": "apache2 none", "init --runtime b": "bundled", "init -o ": "json text",
		"generate -o ":     "json sarif text",
		"env down --name ": "default", "env get ": "guestbooks", "env get g": "guestbooks", "env get guestbooks ": "",
		"create api --group ": "webapp", "create api --version ": "v1", "create api --kind G": "Guestbook",
		"explain --format m": "markdown",
		"init --multigroup=": "false true", "init --domain ": "",
	} {
		code, stdout, stderr := kctrlIn(t, dir, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		offered, _, _ := strings.Cut(stdout, ":")
		var words []string
		for line := range strings.Lines(offered) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			words = append(words, word)
		}
		if got := strings.Join(words, " "); code != exitOK || got != want {
			t.Errorf("kctrl %s<TAB> offers %q, want %q (%d, %s)", line, got, want, code, stderr)
		}
	}
}
