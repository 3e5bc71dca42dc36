package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kctrl-dev/kctrl/bench/corpus"
)

// measure measures every project and prints the tables.
func measure(ctx context.Context, out io.Writer, o options) error {
	work := o.work
	if work == "" {
		temporary, err := os.MkdirTemp("", "generation-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		work = temporary
	}
	b, err := newBench(ctx, work, o)
	if err != nil {
		return err
	}
	// The results measured before an error are printed as well.
	err = b.all(ctx)
	b.results.print(out, o.kinds)
	return err
}

// all measures every project.
func (b *bench) all(ctx context.Context) error {
	for _, project := range corpus.Projects() {
		if !strings.Contains(project.Name, b.project) {
			continue
		}
		if err := b.corpus(ctx, project); err != nil {
			return fmt.Errorf("%s: %w", project.Name, err)
		}
	}
	if b.kinds <= 0 {
		return nil
	}
	for _, kinds := range []int{fewKinds, b.kinds} {
		if err := b.generated(ctx, kinds); err != nil {
			return fmt.Errorf("%d kinds: %w", kinds, err)
		}
	}
	return nil
}

type bench struct {
	options
	work    string
	cache   string // of kctrl
	peer    corpus.Tool
	tool    corpus.Tool
	results results
}

func newBench(ctx context.Context, work string, o options) (*bench, error) {
	work, err := filepath.Abs(work)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	b := &bench{options: o, work: work, cache: filepath.Join(work, "cache")}
	if b.peer, err = corpus.ControllerGen(ctx, work); err != nil {
		return nil, err
	}
	b.tool, err = corpus.Kctrl(ctx, o.kctrl, b.cache)
	return b, err
}

// subject is a project that both tools work on, each in a copy of its own.
type subject struct {
	name        string
	calls       [][]string
	once        []string // all calls in one; nil if they cannot be merged
	edited      corpus.Type
	theirs      string // directories to call the tools in
	ours        string
	theirRoot   string // roots of the copies
	ourRoot     string
	environment []string
}

// corpus measures a project of the corpus.
func (b *bench) corpus(ctx context.Context, project corpus.Project) error {
	fmt.Fprintln(os.Stderr, "+", project.Name)
	s := &subject{name: project.Name, calls: project.Calls(), edited: project.Edited}
	if once, ok := project.Once(); ok {
		s.once = once
	}
	s.theirRoot, s.ourRoot = filepath.Join(b.work, "theirs"), filepath.Join(b.work, "ours")
	for _, dir := range []string{s.theirRoot, s.ourRoot} {
		if err := errors.Join(os.RemoveAll(dir), project.Fetch(ctx, dir)); err != nil {
			return err
		}
		if err := project.Prepare(ctx, dir); err != nil {
			return err
		}
	}
	s.theirs, s.ours = filepath.Join(s.theirRoot, project.Dir), filepath.Join(s.ourRoot, project.Dir)
	return b.subject(ctx, s)
}

// subject measures all scenarios of a project.
func (b *bench) subject(ctx context.Context, s *subject) error {
	for _, scenario := range []struct {
		name string
		runs int
		once bool
		// before prepares a run of either tool.
		before func(run int) error
	}{
		{everything, b.runs, false, func(int) error { return os.RemoveAll(b.cache) }},
		{nothing, b.runs, false, func(run int) error { return b.settle(ctx, s, run) }},
		{oneType, b.runs, false, s.edit},
		{inOneCall, b.runs, true, func(int) error { return os.RemoveAll(b.cache) }},
		{emptyBuildCache, b.cold, false, b.emptyCaches(s)},
	} {
		if scenario.once && s.once == nil {
			continue
		}
		var theirs, ours []corpus.Usage
		for run := range scenario.runs {
			if err := scenario.before(run); err != nil {
				return err
			}
			usage, err := makefile(ctx, b.peer, s.theirs, s.calls, s.environment)
			if err != nil {
				return err
			}
			theirs = append(theirs, usage)
			calls := s.calls
			if scenario.once {
				calls = [][]string{s.once}
			}
			if err := b.between(scenario.name); err != nil {
				return err
			}
			if usage, err = makefile(ctx, b.tool, s.ours, calls, s.environment); err != nil {
				return err
			}
			ours = append(ours, usage)
		}
		b.results.add(scenario.name, s.name, theirs, ours)
		if err := s.same(); err != nil {
			return fmt.Errorf("%s: %w", scenario.name, err)
		}
	}
	return nil
}

// settled is the age of files from which kctrl trusts their modification times.
const settled = 2 * time.Second

// settle runs before the first of several runs. It waits until kctrl trusts the modification times of all files, and
// then runs kctrl once so that kctrl records them.
func (b *bench) settle(ctx context.Context, s *subject, run int) error {
	if run > 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settled + settled/10):
	}
	_, err := makefile(ctx, b.tool, s.ours, s.calls, s.environment)
	return err
}

// between empties the Go build cache that controller-gen has filled.
func (b *bench) between(scenario string) error {
	if scenario != emptyBuildCache {
		return nil
	}
	return os.RemoveAll(b.buildCache())
}

func (b *bench) buildCache() string { return filepath.Join(b.work, "go-build") }

// emptyCaches gives the following runs an empty Go build cache.
func (b *bench) emptyCaches(s *subject) func(int) error {
	return func(int) error {
		s.environment = []string{"GOCACHE=" + b.buildCache()}
		return errors.Join(os.RemoveAll(b.buildCache()), os.RemoveAll(b.cache))
	}
}

// makefile makes the calls of a Makefile once.
func makefile(ctx context.Context, tool corpus.Tool, dir string, calls [][]string,
	environment []string) (corpus.Usage, error) {
	tool.Env = append(append([]string{}, tool.Env...), environment...)
	var total corpus.Usage
	for _, call := range calls {
		usage, _, err := tool.Run(ctx, dir, call)
		if err != nil {
			return total, err
		}
		total = total.Add(usage)
	}
	return total, nil
}

// edit adds a field to a type in both copies, with another name in each run.
func (s *subject) edit(run int) error {
	for _, dir := range []string{s.theirs, s.ours} {
		name := filepath.Join(dir, filepath.FromSlash(s.edited.File))
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		changed, err := withField(string(source), s.edited.Name, run)
		if err != nil {
			return fmt.Errorf("%s: %w", s.edited.File, err)
		}
		if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// withField returns the source with one more field at the top of a struct.
func withField(source, typeName string, number int) (string, error) {
	head := "type " + typeName + " struct {\n"
	before, after, found := strings.Cut(source, head)
	if !found {
		return "", fmt.Errorf("no struct %s", typeName)
	}
	field := fmt.Sprintf("\t// edited%d was added.\n\t// +optional\n\tEdited%d []string `json:\"edited%d,omitempty\"`\n",
		number, number, number)
	return before + head + field + after, nil
}

// same checks that both tools wrote identical files.
func (s *subject) same() error {
	written, err := corpus.Written(s.theirRoot)
	if err != nil {
		return err
	}
	for name, want := range written {
		got, err := os.ReadFile(filepath.Join(s.ourRoot, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if string(got) != want {
			return fmt.Errorf("%s differs", name)
		}
	}
	return nil
}
