// Command migrate migrates copies of projects of kubebuilder and operator-sdk with kctrl, and prints a Markdown table of what became of
// them: how much was rewritten, what is left, whether the result compiles, in how many packages tests pass before and after, and whether
// the manifests that markers ask for stay the same, byte for byte. The arguments are folders of the projects. Run it from bench/.
//
// Tests of before that start an API server want KUBEBUILDER_ASSETS. Packages whose path has e2e in it are left out: they want a cluster.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	kctrl := flag.String("kctrl", "../bin/kctrl", "the kctrl binary")
	tests := flag.Bool("test", false, "run the tests before and after")
	keep := flag.Bool("keep", false, "leave the copies, and say where they are")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *kctrl, *tests, *keep, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
}

// migration is what kctrl migrate -o json prints.
type migration struct {
	Report struct {
		Files, Lines, Uses, UsesLeft int
		Checked                      bool
		Unchecked                    string
		Left                         []struct{ Rewritten, Broken bool }
	}
}

func run(ctx context.Context, out io.Writer, kctrl string, tests, keep bool, projects []string) error {
	kctrl, err := filepath.Abs(kctrl)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| project | references | rewritten | lines | left to do | compiles | tests | manifests |\n|---|---:|---:|---:|---:|---|---|---|")
	var errs []error
	for _, p := range projects {
		if ctx.Err() == nil {
			errs = append(errs, migrate(ctx, out, kctrl, tests, keep, p))
		}
	}
	return errors.Join(errs...)
}

// migrate migrates a copy of one project and prints its row.
func migrate(ctx context.Context, out io.Writer, kctrl string, tests, keep bool, project string) error {
	work, err := os.MkdirTemp("", "migrate-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Fprintln(os.Stderr, project, "is in", work)
	} else {
		defer os.RemoveAll(work)
	}
	if err := os.CopyFS(work, os.DirFS(project)); err != nil {
		return err
	}
	command := func(name string, args ...string) ([]byte, error) {
		c := exec.CommandContext(ctx, name, args...)
		c.Dir, c.Stderr = work, os.Stderr
		return c.Output()
	}
	if _, err := os.Stat(filepath.Join(work, "go.sum")); err != nil {
		if _, err := command("go", "mod", "tidy"); err != nil {
			return fmt.Errorf("%s: go mod tidy: %w", project, err)
		}
	}
	before, err := manifests(work)
	if err != nil {
		return err
	}
	var passed map[string]bool
	if tests {
		if passed, err = tested(ctx, work); err != nil {
			return fmt.Errorf("%s: tests before: %w", project, err)
		}
	}
	text, err := command(kctrl, "migrate", "-o", "json")
	if err != nil {
		return fmt.Errorf("%s: kctrl migrate: %w", project, err)
	}
	var m migration
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	r := m.Report
	open, compiles := 0, "yes"
	rewritten := fmt.Sprintf("%.1f %%", 100*float64(r.Uses-r.UsesLeft)/float64(max(1, r.Uses)))
	for _, l := range r.Left {
		if !l.Rewritten {
			open++
		}
		if l.Broken {
			compiles = "no"
		}
	}
	if !r.Checked {
		compiles, rewritten = r.Unchecked, "not counted"
	}
	compared := "not run"
	if tests {
		after, err := tested(ctx, work)
		if err != nil {
			return fmt.Errorf("%s: tests after: %w", project, err)
		}
		compared = compare(os.Stderr, passed, after)
	}
	same, err := unchanged(before, work)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| %s | %d | %s | %d | %d | %s | %s | %s |\n", filepath.Base(project), r.Uses, rewritten, r.Lines, open, compiles, compared, same)
	return nil
}

// tested runs the tests of the packages in dir and reports which pass, of those that have some.
func tested(ctx context.Context, dir string) (map[string]bool, error) {
	list := exec.CommandContext(ctx, "go", "list", "./...")
	list.Dir, list.Stderr = dir, os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, err
	}
	args := []string{"test"}
	for name := range strings.FieldsSeq(string(text)) {
		if !strings.Contains(name, "e2e") {
			args = append(args, name)
		}
	}
	test := exec.CommandContext(ctx, "go", args...)
	test.Dir, test.Stderr = dir, os.Stderr
	text, err = test.Output()
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	passed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		switch fields := strings.Split(strings.TrimSpace(line), "\t"); {
		case len(fields) < 2, strings.Contains(line, "[no tests to run]"):
		case strings.TrimSpace(fields[0]) == "ok":
			passed[fields[1]] = true
		case fields[0] == "FAIL":
			name, _, _ := strings.Cut(fields[1], " ")
			passed[name] = false
		}
	}
	return passed, nil
}

// compare says in how many packages tests pass before and after, and tells w of those in which they did and do not.
func compare(w io.Writer, before, after map[string]bool) string {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if before[name] && !after[name] {
			fmt.Fprintln(w, name, "passes before, and not after")
		}
	}
	return fmt.Sprintf("%s packages pass before, %s after", passing(before), passing(after))
}

// passing says how many of the packages pass.
func passing(packages map[string]bool) string {
	n := 0
	for _, passes := range packages {
		if passes {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, len(packages))
}

// manifests returns the files in config/crd/bases, config/rbac and config/webhook.
func manifests(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, folder := range []string{"config/crd/bases", "config/rbac", "config/webhook"} {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(name string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".yaml") {
				return err
			}
			files[name], err = os.ReadFile(name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// unchanged says how many of the manifests are as they were.
func unchanged(before map[string][]byte, dir string) (string, error) {
	after, err := manifests(dir)
	if err != nil {
		return "", err
	}
	same := 0
	for name, text := range before {
		if bytes.Equal(text, after[name]) {
			same++
		}
	}
	return fmt.Sprintf("%d of %d the same", same, len(before)), nil
}
