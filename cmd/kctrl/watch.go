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

// watchProject generates now and whenever the project changes, until ctx ends. It reports findings and continues; only
// a wrong command line and a directory without a project end it.
func watchProject(ctx context.Context, s *streams, o generateOptions) error {
	if o.write.output == outputSARIF {
		return usageError("-o sarif and --watch cannot be combined")
	}
	if err := checkWatch(o.write.check); err != nil {
		return err
	}
	quiet := &streams{in: s.in, out: io.Discard, err: io.Discard, dir: s.dir}
	project, err := quiet.open(foreign(len(o.Paths) > 0))
	if err != nil {
		return err
	}
	project.Close()
	o.watch, o.write.quiet = false, true
	return watchFolder(ctx, s, project.dir, func(ctx context.Context, s *streams, inputs func(source.Inputs)) error {
		o.Inputs = inputs
		return runGenerate(ctx, s, o)
	})
}

// checkWatch rejects --watch with --check.
func checkWatch(check bool) error {
	if check {
		return usageError("--check and --watch cannot be combined")
	}
	return nil
}

// generation generates once. It records the files that it reads in inputs.
type generation func(ctx context.Context, s *streams, inputs func(source.Inputs)) error

// watchFolder generates now, and whenever something in dir changes, which is absolute, or what was read outside of it.
func watchFolder(ctx context.Context, s *streams, dir string, generate generation) error {
	w := &watcher{streams: s, generate: generate, dir: dir}
	return watch.Run(ctx, watch.Options{Folders: []string{dir}, Run: w.run})
}

// watcher is a command with --watch.
type watcher struct {
	streams  *streams
	generate generation
	dir      string // absolute
	runs     int
	problems string // what was wrong in the last run
}

// run generates once. It reports findings if they are new, or if it wrote files.
func (w *watcher) run(ctx context.Context) (watch.More, error) {
	var out, problems bytes.Buffer
	inner := &streams{in: w.streams.in, out: &out, err: &problems, dir: w.streams.dir}
	var inputs source.Inputs
	stop := showProgress(w.streams.err)
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
		fmt.Fprintln(w.streams.err, "kctrl: nothing is wrong any more")
	case problems != w.problems || out != "":
		fmt.Fprint(w.streams.err, problems)
	}
	w.problems = problems
	if w.runs == 0 {
		fmt.Fprintln(w.streams.err, "kctrl: watching for changes; Ctrl-C ends it")
	}
}

// outside returns the inputs that are not in dir: directories, such as those of modules that replace others, and files,
// such as a go.work that could be anywhere up to the root.
func outside(dir string, inputs source.Inputs) watch.More {
	var more watch.More
	for _, input := range inputs {
		rel, err := filepath.Rel(dir, input.Name)
		switch {
		case err == nil && filepath.IsLocal(rel):
		case input.Question == source.AskContent, input.Question == source.AskExists:
			more.Files = append(more.Files, input.Name)
		default:
			more.Folders = append(more.Folders, input.Name)
		}
	}
	slices.Sort(more.Files)
	slices.Sort(more.Folders)
	return watch.More{Folders: slices.Compact(more.Folders), Files: slices.Compact(more.Files)}
}

// showProgress writes a line to out, if that is a terminal, while something takes longer than a second. The function it
// returns ends that and takes the line away.
func showProgress(out io.Writer) (stop func()) {
	if !terminal(out) {
		return func() {}
	}
	return progressLine(out)
}

// progressLine is what showProgress does on a terminal. The cursor stays at the begin of the line, so that what others
// write replaces it.
func progressLine(out io.Writer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(ended)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		shown := false
		for {
			select {
			case <-done:
				if shown {
					fmt.Fprint(out, "\x1b[K")
				}
				return
			case <-ticker.C:
				fmt.Fprintf(out, "\x1b[Kkctrl: reading packages and generating, %d s\r", int(time.Since(start).Seconds()))
				shown = true
			}
		}
	}()
	return func() { close(done); <-ended }
}
