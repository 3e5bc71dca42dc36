package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// limit is the maximum number of CPU seconds of one test in make test. Ordinary tests stay far below it, so that they
// do not exceed it on a slow machine.
const limit = 60

// goEnv returns a setting of the go command, or "" on an error.
func goEnv(name string) string {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// readCosts reads the results of a run.
func readCosts(file string) ([]cost, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []cost
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var c cost
		if err := dec.Decode(&c); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("read costs: %w", err)
		}
		all = append(all, c)
	}
}

// appendCosts appends costs to a file. Other processes append to it at the same time.
func appendCosts(file string, costs ...cost) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, c := range costs {
		if err := encoder.Encode(c); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("save costs: %w", err)
	}
	_, err = f.Write(text.Bytes())
	return errors.Join(err, f.Close())
}

// part is a package in a step, or a step with a command, whose package is empty.
type part struct {
	step int
	pkg  string
}

// openResults returns what passed in earlier runs with this file, and drops the costs of all other packages.
func openResults(file string) (passed map[part]bool, err error) {
	costs, err := readCosts(file)
	if err != nil {
		return nil, err
	}
	passed = map[part]bool{}
	for _, c := range costs {
		if c.Passed {
			passed[part{c.Step, c.Package}] = true
		}
	}
	costs = slices.DeleteFunc(costs, func(c cost) bool { return !passed[part{c.Step, c.Package}] })
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.RemoveAll(file)); err != nil {
		return nil, err
	}
	return passed, appendCosts(file, costs...)
}

// totalOf returns the CPU seconds of all runs.
func totalOf(costs []cost) (seconds float64) {
	for _, c := range costs {
		if c.Step == wholeRun {
			seconds += c.CPU
		}
	}
	return seconds
}

// tooExpensive returns an error for each test that uses more than limit and has no entry in expensive.
func tooExpensive(costs []cost) (errs []error) {
	for _, c := range costs {
		isListed := slices.ContainsFunc(expensive, func(e expense) bool { return e.pkg == c.Package && e.test == c.Test })
		if c.Test == "" || c.CPU <= limit || isListed {
			continue
		}
		errs = append(errs, fmt.Errorf("%s %s uses %.0f CPU seconds, more than %d: make it cheaper, or give a reason in "+
			"expensive (internal/testsuite/nightly.go)", c.Package, c.Test, c.CPU, limit))
	}
	return errs
}

const (
	tableBegin = "<!-- Costs: written by make test-costs -->\n"
	tableEnd   = "<!-- End of the costs -->\n"
	packageRow = "package"
	scriptRow  = "script"
)

// row is a line of the table: the CPU seconds in make test, and the additional ones in make test-all.
type row struct{ test, added float64 }

// writeTable updates the table of costs in a page. A run of make test writes the first column and keeps the second one;
// a run of make test-all writes the second one.
func writeTable(page string, costs []cost, total float64, all bool) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, rest, begins := strings.Cut(string(text), tableBegin)
	old, tail, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no markers for the table of costs", page)
	}
	rows := parseTable(old)
	set := func(key string, seconds float64) {
		r := rows[key]
		if all {
			r.added = max(0, seconds-r.test)
		} else {
			r.test = seconds
		}
		rows[key] = r
	}
	for key, seconds := range sums(costs, total) {
		set(key, seconds)
	}
	return os.WriteFile(page, []byte(head+tableBegin+formatTable(rows)+tableEnd+tail), 0o644)
}

const (
	totalKey     = "total|"
	compilingKey = "compiling and linking|"
)

// sums adds costs up, by row of the table.
func sums(costs []cost, total float64) map[string]float64 {
	found := map[string]float64{totalKey: total, compilingKey: total}
	for _, c := range costs {
		switch story, isScript := strings.CutPrefix(c.Test, "TestScript/"); {
		case c.Package == "":
		case c.Test == "":
			found[packageRow+"|"+c.Package] += c.CPU
			found[compilingKey] -= c.CPU
		case isScript:
			found[scriptRow+"|"+story] += c.CPU
		}
	}
	return found
}

func parseTable(text string) map[string]row {
	rows := map[string]row{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			continue
		}
		test, err := strconv.ParseFloat(strings.TrimSpace(cells[2]), 64)
		added, err2 := strconv.ParseFloat(strings.TrimSpace(cells[3]), 64)
		if err == nil && err2 == nil {
			rows[strings.TrimSpace(cells[0])+"|"+strings.Trim(cells[1], " `")] = row{test, added}
		}
	}
	return rows
}

// leastCost is the minimum number of CPU seconds of a row in the table.
const leastCost = 10

// formatTable formats the rows that cost at least leastCost, the most expensive ones first.
func formatTable(rows map[string]row) string {
	var text strings.Builder
	text.WriteString("\n| | | `make test` | `make test-all` adds |\n|---|---|---:|---:|\n")
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(rows[b].test, rows[a].test),
			cmp.Compare(rows[b].added, rows[a].added), cmp.Compare(a, b))
	})
	for _, key := range keys {
		kind, name, _ := strings.Cut(key, "|")
		if r := rows[key]; name == "" || r.test+r.added >= leastCost {
			if name != "" {
				name = "`" + name + "`"
			}
			fmt.Fprintf(&text, "| %s | %s | %.0f | %.0f |\n", kind, name, r.test, r.added)
		}
	}
	return text.String() + "\n"
}

// rank orders the kinds of rows.
func rank(key string) int {
	kind, _, _ := strings.Cut(key, "|")
	return slices.Index([]string{"total", "compiling and linking", packageRow, scriptRow}, kind)
}
