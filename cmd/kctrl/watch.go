package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/watch"
)

// watchProject generates once, and again whenever the project changes, until ctx ends. It reports findings and
// continues. It returns early only if the command line is wrong or the directory has no project.
func watchProject(ctx context.Context, s *streams, o generateOptions) error {
	if o.write.output == outputSARIF {
		return usageError("-o sarif and --watch cannot be combined")
	}
	if o.write.check {
		return usageError("--check and --watch cannot be combined")
	}
	quiet := &streams{in: s.in, out: io.Discard, err: io.Discard, dir: s.dir}
	project, err := quiet.open(foreign(len(o.Paths) > 0))
	if err != nil {
		return err
	}
	project.Close()
	o.watch, o.write.quiet = false, true
	return watchDir(ctx, s, project.dir, func(ctx context.Context, s *streams, inputs func(source.Inputs)) error {
		o.Inputs = inputs
		return runGenerate(ctx, s, o)
	})
}

// generation generates once. It passes the files that it reads to inputs.
type generation func(ctx context.Context, s *streams, inputs func(source.Inputs)) error

// watchDir generates once, and again whenever a file in dir, an absolute path, or an input outside of dir changes.
func watchDir(ctx context.Context, s *streams, dir string, generate generation) error {
	w := &watcher{streams: s, generate: generate, dir: dir}
	return watch.Run(ctx, watch.Options{Dirs: []string{dir}, Run: w.run})
}

// watcher is a command with --watch.
type watcher struct {
	streams  *streams
	generate generation
	dir      string // absolute
	runs     int
	problems string // findings of the last run
}

// run generates once. It reports findings if they differ from the findings of the last run, or if it wrote files.
func (w *watcher) run(ctx context.Context) (watch.More, error) {
	var out, problems bytes.Buffer
	inner := &streams{in: w.streams.in, out: &out, err: &problems, dir: w.streams.dir}
	var inputs source.Inputs
	stop := showProgress(w.streams)
	err := w.generate(ctx, inner, func(in source.Inputs) { inputs = in })
	stop()
	if ctx.Err() != nil {
		return watch.More{}, ctx.Err()
	}
	if w.runs == 0 && errors.Is(err, diagnostic.ErrUsage) {
		return watch.More{}, err
	}
	for _, e := range diagnostic.All(err) {
		inner.problem("", e)
	}
	w.tell(out.String(), problems.String())
	w.runs++
	return outside(w.dir, inputs), nil
}

func (w *watcher) tell(out, problems string) {
	w.streams.printf("%s", out)
	switch {
	case problems == "" && w.problems != "":
		fmt.Fprintln(w.streams.err, "kctrl: all problems are fixed")
	case problems != w.problems || out != "":
		fmt.Fprint(w.streams.err, problems)
	}
	w.problems = problems
	if w.runs == 0 {
		fmt.Fprintln(w.streams.err, "kctrl: watching for changes; Ctrl-C ends it")
	}
}

// outside returns the inputs outside of dir: directories, for example of replaced modules, and files, for example a
// go.work file in a parent directory.
func outside(dir string, inputs source.Inputs) watch.More {
	var more watch.More
	for _, input := range inputs {
		rel, err := filepath.Rel(dir, input.Name)
		switch {
		case err == nil && filepath.IsLocal(rel):
		case input.Question == source.AskContent, input.Question == source.AskExists:
			more.Files = append(more.Files, input.Name)
		default:
			more.Dirs = append(more.Dirs, input.Name)
		}
	}
	slices.Sort(more.Files)
	slices.Sort(more.Dirs)
	return watch.More{Dirs: slices.Compact(more.Dirs), Files: slices.Compact(more.Files)}
}

// showProgress redraws a progress line on a terminal, from one second after the start on. The returned function removes
// the line and ends the updates.
func showProgress(s *streams) (stop func()) {
	p, start := progress(s), time.Now()
	if p.Columns == nil {
		p.Out = nil // only a terminal can redraw a line
	}
	return p.During(func() string {
		return fmt.Sprintf("reading packages and generating, %d s", int(time.Since(start).Seconds()))
	})
}
