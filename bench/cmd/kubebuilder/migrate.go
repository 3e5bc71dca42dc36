package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// samples are the projects that [migrateSamples] migrates, relative to a clone of kubebuilder.
var samples = []string{
	"testdata/project-v4",
	"testdata/project-v4-multigroup",
	"testdata/project-v4-with-plugins",
	"docs/book/src/cronjob-tutorial/testdata/project",
	"docs/book/src/multiversion-tutorial/testdata/project",
	"docs/book/src/getting-started/testdata/project",
}

// migrateSamples runs all suites of each sample on the original, after kctrl migrate and after kctrl migrate code. Then
// it undoes both steps and compares the tree. It prints a row of a Markdown table for each sample.
func migrateSamples(ctx context.Context, out io.Writer, o options) error {
	kctrl, err := filepath.Abs(o.kctrl)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| sample | suites | after step one | after step two | references rewritten | after both undone |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---|---|")
	var errs []error
	for _, name := range samples {
		if strings.Contains(name, o.only) && ctx.Err() == nil {
			if err := migrateSample(ctx, out, kctrl, filepath.Join(o.checkout, name), name); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	return errors.Join(append(errs, ctx.Err())...)
}

var rewritten = regexp.MustCompile(`(?m)^(\d+ of \d+) references`)

func migrateSample(ctx context.Context, out io.Writer, kctrl, source, name string) error {
	work, err := os.MkdirTemp("", "sample-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	project := sample{kctrl: kctrl, dir: filepath.Join(work, "project"), assets: filepath.Join(work, "assets")}
	if err := os.CopyFS(project.dir, os.DirFS(source)); err != nil {
		return err
	}
	project.run(ctx, kctrl, "env", "assets", "--in-memory", project.assets)
	project.run(ctx, "go", "mod", "tidy") // kubebuilder commits no go.sum of the samples
	project.run(ctx, "git", "init", "-q")
	project.run(ctx, "git", "add", "--all", "--force")
	project.run(ctx, "git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-qm", "original")
	before := project.suites(ctx)
	project.run(ctx, kctrl, "migrate")
	stepOne := project.suites(ctx)
	project.run(ctx, "git", "add", "--all", "--force")
	code := project.run(ctx, kctrl, "migrate", "code")
	stepTwo := project.suites(ctx)
	references := rewritten.FindStringSubmatch(code)
	if references == nil {
		references = []string{"", "none"}
	}
	if project.run(ctx, "git", "diff", "--name-only") != "" {
		project.run(ctx, kctrl, "migrate", "--undo")
	}
	project.run(ctx, kctrl, "migrate", "--undo")
	project.run(ctx, "git", "reset", "-q")
	if changed := project.run(ctx, "git", "status", "--porcelain", "--ignored"); changed != "" {
		project.err = errors.Join(project.err, fmt.Errorf("after kctrl migrate --undo:\n%s", changed))
	}
	if project.err != nil {
		return project.err
	}
	fmt.Fprintf(out, "| %s | %d | %d | %d | %s | clean |\n", name, before, stepOne, stepTwo, references[1])
	return nil
}

// sample is the copy of a sample. After the first error, commands do nothing.
type sample struct {
	kctrl, dir, assets string
	err                error
}

// run runs a command in the project and returns its output.
func (s *sample) run(ctx context.Context, name string, args ...string) string {
	out, err := s.command(ctx, name, args...)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (s *sample) command(ctx context.Context, name string, args ...string) ([]byte, error) {
	if s.err != nil {
		return nil, nil
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "KCTRL="+s.kctrl, "KUBEBUILDER_ASSETS="+s.assets)
	return cmd.CombinedOutput()
}

// suites runs all tests of the project and returns the number of packages that pass.
func (s *sample) suites(ctx context.Context) int {
	return bytes.Count([]byte(s.run(ctx, "go", "test", "-count", "1", "./...")), []byte("ok  \t"))
}
