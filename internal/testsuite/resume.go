package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// progress is a directory with the results of a run, from which the next run continues. It contains the costs, the
// packages that passed in each step, and the CPU seconds of all runs.
type progress struct {
	dir  string
	done map[string]bool // "step package"; the package is empty for a step with a command
}

// openProgress reads dir, which it creates, and drops the costs of packages that did not pass.
func openProgress(dir string) (*progress, error) {
	dir, err := filepath.Abs(dir) // a test binary runs in the directory of its package
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	p := &progress{dir: dir, done: map[string]bool{}}
	text, err := os.ReadFile(p.file("done"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		p.done[strings.TrimSpace(line)] = true
	}
	costs, err := readCosts(p.file("costs"))
	if err != nil {
		return nil, err
	}
	var kept strings.Builder
	for _, c := range costs {
		if !p.has(c.Step, c.Package) {
			continue
		}
		line, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		kept.Write(append(line, '\n'))
	}
	return p, os.WriteFile(p.file("costs"), []byte(kept.String()), 0o644)
}

func (p *progress) file(name string) string { return filepath.Join(p.dir, name) }

func (p *progress) has(step int, pkg string) bool { return p.done[entry(step, pkg)] }

func entry(step int, pkg string) string { return strings.TrimSpace(fmt.Sprint(step, " ", pkg)) }

// add records that a package passed in a step.
func (p *progress) add(step int, pkg string) error {
	file, err := os.OpenFile(p.file("done"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, entry(step, pkg))
	return errors.Join(err, file.Close())
}

// spend adds the CPU seconds of this run, and returns the sum of all runs.
func (p *progress) spend(seconds float64) (float64, error) {
	text, err := os.ReadFile(p.file("cpu"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if before, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil {
		seconds += before
	}
	return seconds, os.WriteFile(p.file("cpu"), fmt.Appendf(nil, "%.1f\n", seconds), 0o644)
}
