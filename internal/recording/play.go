package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// separator ends the output of each command.
const separator = "@@ end of command @@\n"

// step is a line of the script.
type step struct {
	command string
	hidden  bool
	fails   bool   // the command fails, and the session continues
	last    int    // how many lines of the output to show; 0 for all
	prefix  string // prefix of the lines to show
}

func parse(script string) (steps []step, err error) {
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "hide":
			steps = append(steps, step{command: rest, hidden: true})
		case "last":
			fields := strings.SplitN(rest, " ", 3)
			if len(fields) < 3 {
				return nil, fmt.Errorf("%q: want last NUMBER PREFIX COMMAND", line)
			}
			n, err := strconv.Atoi(fields[0])
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			steps = append(steps, step{command: fields[2], last: n, prefix: fields[1]})
		case "fails":
			steps = append(steps, step{command: rest, fails: true})
		default:
			steps = append(steps, step{command: line})
		}
	}
	return steps, nil
}

// play runs the commands of a script in one shell, in a new directory, and returns the session.
func play(ctx context.Context, script string) (string, error) {
	steps, err := parse(script)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "recording-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	var lines strings.Builder
	lines.WriteString("set -eu\n")
	for _, s := range steps {
		if lines.WriteString(s.command); s.fails {
			lines.WriteString(" || true")
		}
		fmt.Fprintf(&lines, "\nprintf '%s'\n", strings.ReplaceAll(separator, "\n", `\n`))
	}
	shell := exec.CommandContext(ctx, "sh", "-c", lines.String())
	shell.Dir = dir
	output, err := shell.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return session(steps, strings.Split(string(output), separator)), nil
}

// session joins commands and their outputs.
func session(steps []step, outputs []string) string {
	var text strings.Builder
	for i, s := range steps {
		if s.hidden {
			continue
		}
		fmt.Fprintf(&text, "$ %s\n", s.command)
		text.WriteString(s.shown(outputs[i]))
	}
	return text.String()
}

// shown returns the lines of the output that the recording shows.
func (s step) shown(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, s.prefix) && strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	if s.last > 0 && len(lines) > s.last {
		lines = append([]string{"...\n"}, lines[len(lines)-s.last:]...)
	}
	return strings.Join(lines, "")
}
