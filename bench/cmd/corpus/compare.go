package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/bench/corpus"
)

// compareAll compares every project, prints the table, and reports whether all files are identical.
func compareAll(ctx context.Context, out io.Writer, o options) (bool, error) {
	work, err := workDir(o.work)
	if err != nil {
		return false, err
	}
	if !o.keep {
		defer os.RemoveAll(work)
	}
	peer, err := corpus.ControllerGen(ctx, work)
	if err != nil {
		return false, err
	}
	kctrl, err := corpus.Kctrl(ctx, o.kctrl, filepath.Join(work, "cache"))
	if err != nil {
		return false, err
	}
	projects := corpus.Projects()
	if o.tools != "" {
		if projects, err = corpus.TestData(o.tools); err != nil {
			return false, err
		}
	}
	var t table
	var errs []error
	for _, project := range projects {
		if !strings.Contains(project.Name, o.project) {
			continue
		}
		fmt.Fprintln(os.Stderr, "+", project.Name)
		c := &comparison{project: project, work: work, peer: peer, kctrl: kctrl, repeat: o.repeat, compile: o.compile}
		if err := c.run(ctx, &t); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", project.Name, err))
		}
		if !o.keep {
			errs = append(errs, os.RemoveAll(c.copyFor(peer)), os.RemoveAll(c.copyFor(kctrl)))
		}
		if ctx.Err() != nil {
			break
		}
	}
	t.print(out)
	return t.same(), errors.Join(errs...)
}

// workDir returns an absolute path of a directory, which it creates.
func workDir(name string) (string, error) {
	if name == "" {
		return os.MkdirTemp("", "corpus-")
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return name, os.MkdirAll(name, 0o755)
}

// comparison compares both tools on one project.
type comparison struct {
	project corpus.Project
	work    string
	peer    corpus.Tool
	kctrl   corpus.Tool
	repeat  int
	compile bool
}

// copyFor returns the directory that the tool works in.
func (c *comparison) copyFor(tool corpus.Tool) string {
	return filepath.Join(c.work, tool.Name+"-"+strings.ReplaceAll(c.project.Name, "/", "-"))
}

// run makes every call of the project with both tools.
func (c *comparison) run(ctx context.Context, t *table) error {
	for _, tool := range []corpus.Tool{c.peer, c.kctrl} {
		if err := os.RemoveAll(c.copyFor(tool)); err != nil {
			return err
		}
		if err := c.project.Fetch(ctx, c.copyFor(tool)); err != nil {
			return err
		}
	}
	if err := c.project.Prepare(ctx, c.copyFor(c.peer)); err != nil {
		return err
	}
	for _, call := range c.project.All() {
		if err := c.compare(ctx, t, call); err != nil {
			return err
		}
	}
	return nil
}

// compare makes one call with both tools. It removes the files of controller-gen before and after kctrl runs, so that
// old files do not count as output.
func (c *comparison) compare(ctx context.Context, t *table, call []string) error {
	want, failed, err := c.outputs(ctx, c.peer, call)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		t.count(c.project.Name, name, want[name])
	}
	for range c.repeat {
		if err := errors.Join(c.remove(want), os.RemoveAll(filepath.Join(c.work, "cache"))); err != nil {
			return err
		}
		got, refused, err := c.outputs(ctx, c.kctrl, call)
		if err != nil {
			return err
		}
		t.exit(c.project.Name, call, failed, refused)
		for _, name := range slices.Sorted(maps.Keys(union(want, got))) {
			t.add(c.project.Name, name, lookup(want, name), lookup(got, name))
		}
		if c.compile {
			if err := c.project.Compile(ctx, c.copyFor(c.kctrl), slices.Sorted(maps.Keys(got))); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove deletes the files that controller-gen wrote from kctrl's directory.
func (c *comparison) remove(written map[string]string) error {
	for name := range written {
		err := os.Remove(filepath.Join(c.copyFor(c.kctrl), filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// standardOutput is the file name for output on standard output.
const standardOutput = "standard output"

// outputs makes a call. It returns the written files, and the failure if the tool failed.
func (c *comparison) outputs(ctx context.Context, tool corpus.Tool,
	call []string) (map[string]string, *corpus.Failed, error) {
	dir := c.copyFor(tool)
	_, printed, err := tool.Run(ctx, filepath.Join(dir, c.project.Dir), call)
	failed, _ := errors.AsType[*corpus.Failed](err)
	if err != nil && failed == nil {
		return nil, nil, err
	}
	written, err := corpus.Written(dir)
	if err != nil {
		return nil, nil, err
	}
	if printed.Stdout != "" {
		written[standardOutput] = printed.Stdout
	}
	names := slices.DeleteFunc(slices.Collect(maps.Keys(written)),
		func(name string) bool { return name == standardOutput })
	return written, failed, corpus.Accept(dir, names...)
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// lookup returns the content of a file, or nil if the tool did not write it.
func lookup(files map[string]string, name string) *string {
	if content, ok := files[name]; ok {
		return &content
	}
	return nil
}
