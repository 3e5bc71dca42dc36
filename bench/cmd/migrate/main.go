// Command migrate migrates copies of projects of kubebuilder and operator-sdk with kctrl, and prints a Markdown table of what became of
// them: how much was rewritten, what is left, whether the result compiles, whether its tests pass, and whether the manifests that markers
// ask for stay the same, byte for byte. The arguments are folders of the projects. Run it from bench/.
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
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	kctrl := flag.String("kctrl", "../bin/kctrl", "the kctrl binary")
	tests := flag.Bool("test", false, "run the tests of what was migrated")
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
	for _, l := range r.Left {
		if !l.Rewritten {
			open++
		}
		if l.Broken {
			compiles = "no"
		}
	}
	if !r.Checked {
		compiles = r.Unchecked
	}
	tested := "not run"
	if tests {
		if _, err := command("sh", "-c", "go test $(go list ./... | grep -v /e2e)"); err != nil {
			tested = "fail"
		} else {
			tested = "pass"
		}
	}
	same, err := unchanged(before, work)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| %s | %d | %.1f %% | %d | %d | %s | %s | %s |\n", filepath.Base(project), r.Uses, 100*float64(r.Uses-r.UsesLeft)/float64(max(1, r.Uses)), r.Lines, open, compiles, tested, same)
	return nil
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
