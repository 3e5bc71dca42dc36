package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// compareTests runs the tests of both modules. It returns cells of the table: how many packages with tests pass before
// and after, and how long both take. The error names the packages that pass only before, with their output.
func (c comparison) compareTests(ctx context.Context, original, migrated string) (string, error) {
	start := time.Now()
	before, err := runTests(ctx, original, "KUBEBUILDER_ASSETS="+c.assets)
	if err != nil {
		return "", err
	}
	middle := time.Now()
	after, err := runTests(ctx, migrated, "KCTRL="+c.kctrl)
	if err != nil {
		return "", err
	}
	cells := fmt.Sprintf("\t%d of %d\t%d of %d\t%.0f and %.0f", before.passing(), len(before), after.passing(), len(after),
		middle.Sub(start).Seconds(), time.Since(middle).Seconds())
	var lost []error
	for _, pkg := range before.names() {
		switch {
		case !before[pkg].passed:
			fmt.Fprintf(os.Stderr, "%s: in the original this fails: %s\n%s", c.repository, pkg, before[pkg].tail())
		case after[pkg] == nil || !after[pkg].passed:
			lost = append(lost, fmt.Errorf("tests that passed before: %s\n%s", pkg, after[pkg].tail()))
		}
	}
	return cells, errors.Join(lost...)
}

// suites has the tests of each package, by import path.
type suites map[string]*suite

// suite is the result of the tests of one package.
type suite struct {
	passed bool
	output []string
}

func (s suites) names() []string {
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s suites) passing() (n int) {
	for _, suite := range s {
		if suite.passed {
			n++
		}
	}
	return n
}

// tail returns the last lines of the output.
func (s *suite) tail() string {
	if s == nil {
		return "the package has no tests any more\n"
	}
	return strings.Join(s.output[max(0, len(s.output)-60):], "")
}

// runTests runs the tests of all packages of a module, without go vet, one package at a time: suites that start API
// servers exceed their deadlines if too many run at once.
func runTests(ctx context.Context, dir string, env ...string) (suites, error) {
	args := []string{"test", "-json", "-vet=off", "-count", "1", "-p", "1", "-timeout", "10m", "./..."}
	test := exec.CommandContext(ctx, "go", args...)
	test.Dir = dir
	test.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	var stderr bytes.Buffer
	test.Stderr = &stderr
	stdout, err := test.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := test.Start(); err != nil {
		return nil, err
	}
	found := suites{}
	for events := json.NewDecoder(stdout); ; {
		var event struct{ Action, Package, ImportPath, Test, Output string }
		if err := events.Decode(&event); err != nil {
			break
		}
		// The go command names a package that does not compile as "PATH [PATH.test]".
		pkg, _, _ := strings.Cut(event.Package+event.ImportPath, " ")
		switch {
		case event.Output != "":
			found.add(pkg, event.Output)
		case event.Test == "" && (event.Action == "pass" || event.Action == "fail"):
			found.add(pkg, "")
			found[pkg].passed = event.Action == "pass"
		case event.Test == "" && event.Action == "skip":
			delete(found, pkg) // it has no tests
		}
	}
	if err := test.Wait(); len(found) == 0 {
		return nil, fmt.Errorf("go test in %s: %w\n%s", filepath.Base(dir), err, &stderr)
	}
	return found, ctx.Err()
}

// add appends output of a package.
func (s suites) add(pkg, output string) {
	if s[pkg] == nil {
		s[pkg] = &suite{}
	}
	s[pkg].output = append(s[pkg].output, output)
}
