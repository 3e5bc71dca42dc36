//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptConsole is `console FILE [PATTERN]`: it runs the commands of one of the repository's Markdown files in one
// shell. The commands of a sh block must succeed. A console block contains commands and their expected output, in which
// a line "..." matches any lines. With a pattern, only the commands of sh blocks that match it run.
func scriptConsole(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: console file [pattern]")
	}
	page := filepath.Join(ts.Getenv("REPOSITORY"), args[0])
	var steps []consoleStep
	if len(args) == 1 {
		steps = consoleSteps(ts, page)
	} else {
		steps = matchingSteps(ts, page, regexp.MustCompile(args[1]))
	}
	const marker = "\n@@ end of step\n"
	var script strings.Builder
	for _, step := range steps {
		fmt.Fprintf(&script, "%s\nprintf '%s'\n", step.command, strings.ReplaceAll(marker, "\n", `\n`))
	}
	dir := ts.MkAbs(".")
	shell := exec.Command("sh", "-c", script.String(), dir) // the guard of the script finds the shell by the directory
	shell.Dir = dir
	shell.Env = append(os.Environ(), "KCTRL=kctrl", "MAKEFLAGS=", "MAKELEVEL=0", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	// By default the go command uses a cache below XDG_CACHE_HOME.
	for _, name := range []string{
		"PATH", "XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "CGO_ENABLED", "GOTOOLCHAIN",
	} {
		shell.Env = append(shell.Env, name+"="+ts.Getenv(name))
	}
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.WaitDelay = time.Minute // if a program keeps running, which is a failure
	output, err := shell.CombinedOutput()
	_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
	ts.Logf("%s", output)
	ts.Check(err)
	for i, got := range strings.Split(strings.TrimSuffix(string(output), marker), marker) {
		if step := steps[i]; step.output != nil && !step.output.MatchString(steady(got)) {
			ts.Fatalf("%s says that %q prints\n%s\nbut it prints\n%s", args[0], step.command, step.says, got)
		}
	}
}

// consoleStep is a sh block, or a command of a console block with the output below it.
type consoleStep struct {
	command string
	says    string
	output  *regexp.Regexp // matches the output after steady; nil matches any output
}

func consoleSteps(ts *testscript.TestScript, file string) []consoleStep {
	text, err := os.ReadFile(file)
	ts.Check(err)
	var steps []consoleStep
	for _, block := range regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if block[1] == "sh" {
			steps = append(steps, consoleStep{command: "set -e\n" + block[2] + "set +e"})
			continue
		}
		for _, part := range strings.Split("\n"+block[2], "\n$ ")[1:] {
			command, says, _ := strings.Cut(part, "\n")
			pattern := regexp.QuoteMeta(strings.TrimSpace(steady(says)))
			pattern = regexp.MustCompile(`(?m)^\\\.\\\.\\\.$`).ReplaceAllString(pattern, `(?s:.*)`)
			steps = append(steps, consoleStep{command, says, regexp.MustCompile(`^\s*` + pattern + `\s*$`)})
		}
	}
	return steps
}

// matchingSteps returns the commands in the sh blocks of a page that match the pattern, and fails if none does.
func matchingSteps(ts *testscript.TestScript, page string, pattern *regexp.Regexp) (steps []consoleStep) {
	for _, step := range consoleSteps(ts, page) {
		if step.output != nil {
			continue
		}
		block := strings.ReplaceAll(step.command, "\\\n", " ")
		for line := range strings.SplitSeq(block, "\n") {
			if pattern.MatchString(line) {
				steps = append(steps, consoleStep{command: "set -e\n" + line + "\nset +e"})
			}
		}
	}
	if len(steps) == 0 {
		ts.Fatalf("no command of %s matches %s", page, pattern)
	}
	return steps
}

// steady replaces the parts of output that vary between runs.
func steady(output string) string {
	for _, varying := range []struct{ pattern, steady string }{
		{`127\.0\.0\.1:\d+`, "127.0.0.1:PORT"},
		{`=\S+/kctrl/env/`, "=CACHE/kctrl/env/"},
		{`\b(\d+m)?\d+(\.\d+)?[ms]\b`, "TIME"},
		{`\b\d+\.\d+%`, "PERCENT"},
		{`reconcileID=\w+`, "reconcileID=ID"},
		{`\(\d+ packages\)`, "(N packages)"},
	} {
		output = regexp.MustCompile(varying.pattern).ReplaceAllString(output, varying.steady)
	}
	return output
}
