// Command postprocess compares kctrl gen with the scripts with which well-known operators edit and copy
// controller-gen's output. It runs kctrl gen with a kctrl.gen.yaml in place of the scripts, and compares the files byte
// for byte with those that the operators have committed. It prints a Markdown table and fails on a difference. Run it
// from bench/.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kctrl-dev/kctrl/bench/corpus"
	"github.com/kctrl-dev/kctrl/bench/postprocess"
)

type options struct {
	kctrl, repositories, project string
}

func main() {
	var o options
	flag.StringVar(&o.kctrl, "kctrl", "../bin/kctrl", "path of kctrl")
	flag.StringVar(&o.repositories, "repositories", "", "directory with clones, as OWNER/NAME")
	flag.StringVar(&o.project, "project", "", "only projects whose name contains this text")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "postprocess:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) error {
	work, err := os.MkdirTemp("", "postprocess-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	kctrl, err := corpus.Kctrl(ctx, o.kctrl, filepath.Join(work, "cache"))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| project | lines of kctrl.gen.yaml | files | bytes | identical |\n|---|---:|---:|---:|---:|")
	var errs []error
	for _, p := range postprocess.Projects {
		if strings.Contains(p.Name, o.project) && ctx.Err() == nil {
			c := comparison{p, filepath.Join(work, p.Name), kctrl}
			errs = append(errs, c.run(ctx, out, filepath.Join(o.repositories, filepath.FromSlash(p.Repository))))
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// comparison compares the files of one project, in its own directory.
type comparison struct {
	postprocess.Project
	dir   string
	kctrl corpus.Tool
}

func (c comparison) run(ctx context.Context, out io.Writer, clone string) error {
	if err := c.extract(ctx, clone); err != nil {
		return fmt.Errorf("%s: %w\nclone https://github.com/%s into %s", c.Name, err, c.Repository, clone)
	}
	want, err := c.take()
	if err != nil {
		return err
	}
	declaration, err := postprocess.Declarations.ReadFile(c.Name + ".yaml")
	if err != nil {
		return err
	}
	target := filepath.Join(c.dir, filepath.FromSlash(c.Dir))
	if err := os.WriteFile(filepath.Join(target, "kctrl.gen.yaml"), declaration, 0o644); err != nil {
		return err
	}
	if _, _, err := c.kctrl.Run(ctx, target, c.Args); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return c.compare(out, want, bytes.Count(declaration, []byte("\n")))
}

// extract copies the relevant paths of the project.
func (c comparison) extract(ctx context.Context, clone string) error {
	archive := exec.CommandContext(ctx, "git", append([]string{"-C", clone, "archive", "--output=" + c.dir + ".tar",
		c.Commit, "--"}, c.Paths...)...)
	if text, err := archive.CombinedOutput(); err != nil {
		return fmt.Errorf("git archive: %w: %s", err, text)
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return err
	}
	if text, err := exec.CommandContext(ctx, "tar", "-xf", c.dir+".tar", "-C", c.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w: %s", err, text)
	}
	return nil
}

// take removes the committed files of the project and returns them by path.
func (c comparison) take() (map[string][]byte, error) {
	made := map[string][]byte{}
	for _, pattern := range c.Made {
		names, err := filepath.Glob(filepath.Join(c.dir, filepath.FromSlash(pattern)))
		if err != nil || len(names) == 0 {
			return nil, errors.Join(err, fmt.Errorf("%s: no file matches %s", c.Name, pattern))
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(c.dir, name)
			if err != nil {
				return nil, err
			}
			made[filepath.ToSlash(rel)] = content
			if err := os.Remove(name); err != nil {
				return nil, err
			}
		}
	}
	return made, nil
}

// compare prints the row of the project.
func (c comparison) compare(out io.Writer, want map[string][]byte, lines int) error {
	var errs []error
	size, identical := 0, 0
	for name, content := range want {
		size += len(content)
		got, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(name)))
		switch newer := slices.Contains(c.Newer, path.Clean(name)); {
		case err != nil:
			errs = append(errs, err)
		case bytes.Equal(got, content) == newer:
			errs = append(errs, fmt.Errorf("%s: %s: identical: %v", c.Name, name, newer))
		case !newer:
			identical++
		}
	}
	fmt.Fprintf(out, "| %s | %d | %d | %d | %d |\n", c.Name, lines, len(want), size, identical)
	return errors.Join(errs...)
}
