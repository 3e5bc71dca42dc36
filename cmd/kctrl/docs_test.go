package main

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCommandReference compares docs/cli with the output of kctrl docs markdown. With -update it writes the files.
func TestCommandReference(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "cli")
	pages := manuals[0].pages(newRootCommand(newStreams(strings.NewReader(""), io.Discard, io.Discard)))
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		for name, page := range pages {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if _, ok := pages[entry.Name()]; !ok {
			t.Errorf("docs/cli/%s is of a command that is gone", entry.Name())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(string(have), string(pages[name])); diff != "" {
			t.Errorf("docs/cli/%s is out of date; run go test ./cmd/kctrl -run TestCommandReference -update (-file "+
				"+written):\n%s", name, diff)
		}
	}
}

// TestManualPagesHaveNoStrayRequests rejects lines that troff would treat as requests, and unknown escapes.
func TestManualPagesHaveNoStrayRequests(t *testing.T) {
	requests := regexp.MustCompile(`^\.(TH|SH|B|PP|TP|EX|EE)\b`)
	escapes := regexp.MustCompile(`\\[^e&(fB-]`)
	for name, page := range manuals[1].pages(newRootCommand(newStreams(strings.NewReader(""), io.Discard, io.Discard))) {
		for line := range strings.Lines(string(page)) {
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\fR`, "")
			if (strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'")) && !requests.MatchString(line) ||
				escapes.MatchString(line) {
				t.Errorf("%s: troff would not print %q", name, line)
			}
		}
	}
	if got := roff(".a\n'b\\c-d"); got != "\\&.a\n\\(aqb\\ec\\-d" {
		t.Errorf("got %q", got)
	}
}

// TestExamplesRun runs the examples of all help texts in one project, in the order of the help. Examples that need
// servers or git revisions, or that take minutes, are only parsed.
func TestExamplesRun(t *testing.T) {
	dir := t.TempDir()
	kctrl := func(args ...string) (code int, said string) {
		var out bytes.Buffer
		code = run(t.Context(), append([]string{"-C", dir}, args...), newStreams(strings.NewReader(""), &out, &out))
		return code, out.String()
	}
	for _, args := range []string{
		"init --domain example.com --repo example.com/guestbook",
		"create api --group webapp --version v1 --kind Guestbook --resource --controller",
	} {
		if code, said := kctrl(strings.Fields(args)...); code != exitOK {
			t.Fatalf("kctrl %s: exit code %d\n%s", args, code, said)
		}
	}
	root := newRootCommand(newStreams(strings.NewReader(""), io.Discard, io.Discard))
	for _, cmd := range documented(root) {
		for line := range strings.Lines(cmd.Example) {
			args, ok := commandOf(line)
			if !ok || slices.Contains([]string{"init", "env", "diff", "sim", "chaos", "migrate"}, args[0]) {
				checkExample(t, root, args)
				continue
			}
			code, said := kctrl(args...)
			if code != exitOK && !(code == exitDrift && slices.Contains(args, "--check")) {
				t.Errorf("%s: exit code %d\n%s", strings.TrimSpace(line), code, said)
			}
		}
	}
}

// commandOf returns the arguments of kctrl in a line that runs it, without the rest of the pipe.
func commandOf(line string) (args []string, ok bool) {
	line, _, _ = strings.Cut(line, " | ")
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s]+`).FindAllString(line, -1) {
		args = append(args, strings.Trim(word, `'"`))
	}
	if len(args) < 2 || args[0] != "kctrl" {
		return nil, false
	}
	return args[1:], true
}

// checkExample fails the test unless the command and its flags exist.
func checkExample(t *testing.T, root *cobra.Command, args []string) {
	t.Helper()
	if args == nil {
		return
	}
	cmd, rest, err := root.Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("kctrl %s: %v", strings.Join(args, " "), err)
	}
}

// TestFromKubebuilder checks that the tables of docs/from-kubebuilder.md list all features of kubebuilder, and that the
// replacements exist.
func TestFromKubebuilder(t *testing.T) {
	repository := filepath.Join("..", "..")
	surface, err := os.ReadFile(filepath.Join(repository, "testdata", "kubebuilder", "surface.txt"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(repository, "docs", "from-kubebuilder.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := tableRows(string(page))
	want := map[string]bool{}
	for line := range strings.Lines(string(surface)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			want[line] = true
			if rows[line] == "" {
				t.Errorf("docs/from-kubebuilder.md has no row for the %s", line)
			}
		}
	}
	root := newRootCommand(newStreams(strings.NewReader(""), io.Discard, io.Discard))
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		if !want[row] {
			t.Errorf("docs/from-kubebuilder.md has a row for the %s, which kubebuilder does not have", row)
		}
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(rows[row], -1) {
			checkNamed(t, root, repository, row, code[1])
		}
	}
}

// tableRows returns the second cells of all rows, by the heading above them, in lower-case singular, and by each code
// in the first cell.
func tableRows(page string) map[string]string {
	rows := map[string]string{}
	kind := ""
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			kind = strings.ToLower(strings.TrimSuffix(strings.Fields(title)[0], "s"))
		}
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 2 {
			continue
		}
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			rows[kind+" "+code[1]] = strings.TrimSuffix(strings.TrimSpace(cells[1]), " |")
		}
	}
	return rows
}

// checkNamed fails the test if a named command, flag, make target or file does not exist.
func checkNamed(t *testing.T, root *cobra.Command, repository, row, named string) {
	t.Helper()
	golden := func(file string) string { return filepath.Join(repository, "testdata", "project", file) }
	words := strings.Fields(named)
	switch {
	case words[0] == "kctrl":
		checkExample(t, root, words[1:])
	case words[0] == "make" && len(words) > 1:
		text, err := os.ReadFile(golden("Makefile"))
		if err != nil || !regexp.MustCompile(`(?m)^`+words[1]+":").Match(text) {
			t.Errorf("%s: there is no %s: %v", row, named, err)
		}
	case strings.Contains(named, "/") && filepath.Ext(named) != "" && !strings.ContainsAny(named, " +*<"):
		_, first := os.Stat(golden(named))
		_, second := os.Stat(golden(filepath.Join("..", "project-multigroup", named)))
		if first != nil && second != nil {
			t.Errorf("%s: no golden project has %s", row, named)
		}
	case strings.HasPrefix(named, "config/"), strings.HasPrefix(named, "internal/"), strings.HasPrefix(named, "api/"):
		single := matchesGolden(t, filepath.Join(repository, "testdata", "project"), named)
		if !single && !matchesGolden(t, filepath.Join(repository, "testdata", "project-multigroup"), named) {
			t.Errorf("%s: no golden project has a file like %s", row, named)
		}
	}
}

// matchesGolden reports whether a project has a file whose path matches pattern, where <word> matches anything.
func matchesGolden(t *testing.T, dir, pattern string) bool {
	t.Helper()
	pattern = regexp.MustCompile(`<[a-z]+>`).ReplaceAllString(pattern, "*")
	matches, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	return len(matches) > 0
}
