package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// writeOptions are the flags of all commands that write to the project.
type writeOptions struct {
	command string // the command in messages, such as "kctrl init"
	dryRun  bool
	diff    bool
	output  outputFormat
	check   bool // writes nothing, and returns an error if something would change
	quiet   bool // prints nothing if nothing changes
}

func (o *writeOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.dryRun, "dry-run", false, "list the changes, but do not write them")
	flags.BoolVar(&o.diff, "diff", false, "print the changes as a unified diff")
	addOutputFlag(flags, &o.output, outputText, outputJSON)
}

// result is the output of a writing command with -o json.
type result struct {
	DryRun      bool           `json:"dryRun"`
	Changes     []resultChange `json:"changes"`
	Diagnostics []finding      `json:"diagnostics,omitempty"`
	Next        []string       `json:"next,omitempty"`
}

type resultChange struct {
	Op       string `json:"op"`
	Path     string `json:"path"`
	Template string `json:"template,omitempty"`
}

// access is how a command uses a directory: it only reads it, or also writes to it.
type access bool

const (
	reads  access = false
	writes access = true
)

func (o *writeOptions) access() access { return access(!o.dryRun && !o.check) }

// addCheckFlag adds --check, which only some writing commands have.
func (o *writeOptions) addCheckFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&o.check, "check", false, checkUsage)
}

// change runs a writing command: it locks and opens the directory of the command, calls work to plan the changes,
// prints the notes of the plan, and applies the plan or, with --check, compares it with the project. It returns the
// notes of the class diagnostic.ErrDrift as errors.
func (s *streams) change(ctx context.Context, o writeOptions, load opener, work func(*openedProject) error) error {
	return s.locked(ctx, o.access(), load, func(p *openedProject) error {
		if err := work(p); err != nil {
			return err
		}
		var drift []error
		if p.print == nil {
			for _, note := range p.plan.Notes() {
				if errors.Is(note, diagnostic.ErrDrift) {
					drift = append(drift, note)
				} else {
					s.problem("warning: ", note)
				}
			}
		}
		if o.check {
			return errors.Join(append(drift, checkDrift(s, o, p.plan))...)
		}
		if p.print == nil {
			return cmp.Or(finishPlan(ctx, s, o, p.plan, p.next...), errors.Join(drift...))
		}
		if !o.dryRun {
			if err := applyPlan(ctx, s.dir, o.command, p.plan); err != nil {
				return err
			}
		}
		return p.print()
	})
}

// locked calls work with the project in the directory of the command, while it holds the lock of the directory.
func (s *streams) locked(ctx context.Context, a access, load opener, work func(*openedProject) error) error {
	release, err := begin(ctx, s, s.dir, a)
	if err != nil {
		return err
	}
	defer release()
	project, err := s.open(load)
	if err != nil {
		return err
	}
	defer project.Close()
	return work(project)
}

// begin locks the directory of a command before the command reads it, so that concurrent commands run one after the
// other. If an earlier command was killed while it wrote, begin rolls back its changes, or returns an error if the new
// command only reads.
func begin(ctx context.Context, s *streams, dir string, a access) (release func(), err error) {
	if _, err := s.absolute(); err != nil {
		return nil, err
	}
	waiting := func() { fmt.Fprintln(s.err, "kctrl: waiting for another kctrl command in this directory") }
	if release, err = transaction.Acquire(ctx, dir, a == reads, waiting); err != nil {
		return nil, err
	}
	if err := recoverDir(s, dir, a); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func recoverDir(s *streams, dir string, a access) error {
	folder, err := transaction.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if a == writes {
		command, n, err := transaction.Recover(folder.WithOutside())
		if n > 0 {
			fmt.Fprintf(s.err, "kctrl: rolled back %s of an interrupted %s\n", plural(n, "file"), command)
		}
		return err
	}
	command, n, err := transaction.Find(folder)
	if n > 0 {
		return diagnostic.New(
			fmt.Sprintf("an interrupted %s may have written only part of %s", command, plural(n, "file")),
			"a writing command rolls this back: run this one without --dry-run or --check")
	}
	return err
}

// changes are the changes that a command makes: a *plan.Plan, or the output of kctrl gen.
type changes interface {
	Changes() iter.Seq[plan.Change]
	Len() int
	Diff() string
}

// finishPlan applies the plan to the project directory, unless this is a dry run. It prints the changes, and next, the
// commands that the user can type afterwards.
func finishPlan(ctx context.Context, s *streams, o writeOptions, plan *plan.Plan, next ...string) error {
	if !o.dryRun {
		if err := applyPlan(ctx, s.dir, o.command, plan); err != nil {
			return err
		}
	}
	return printDone(s, o, plan, next...)
}

// printDone prints the changes that the command made or, in a dry run, would make.
func printDone(s *streams, o writeOptions, done changes, next ...string) error {
	if o.quiet && done.Len() == 0 {
		return nil
	}
	if o.output == outputJSON {
		return printJSON(s, resultOf(o, done, next))
	}
	if o.diff {
		s.printf("%s", done.Diff())
	} else {
		printChanges(s, o.dryRun, done)
	}
	if !o.dryRun {
		printNext(s, next)
	}
	return nil
}

func applyPlan(ctx context.Context, dir, command string, p *plan.Plan) error {
	root, err := transaction.Open(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return p.Apply(ctx, root, command)
}

func resultOf(o writeOptions, done changes, next []string) result {
	r := result{DryRun: o.dryRun, Changes: []resultChange{}, Next: next}
	for change := range done.Changes() {
		r.Changes = append(r.Changes, resultChange{Op: change.Op.String(), Path: change.Path, Template: change.Template})
	}
	if p, ok := done.(*plan.Plan); ok {
		for _, note := range p.Notes() {
			severity := severityWarning
			if errors.Is(note, diagnostic.ErrDrift) {
				severity = severityError
			}
			r.Diagnostics = append(r.Diagnostics, newFinding(note, severity))
		}
	}
	return r
}

func printJSON(s *streams, value any) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// bundleDirs are the directories for which printChanges prints one line instead of a line for each file.
var bundleDirs = []string{"third_party/controller-runtime", "third_party/kctrl"}

// summarizedDir returns the directory above a file whose changes are printed as one line, or "".
func summarizedDir(name string) string {
	if dir, _, found := strings.Cut("/"+name, "/vendor/"); found {
		return strings.TrimPrefix(dir+"/vendor", "/")
	}
	for _, dir := range bundleDirs {
		if strings.HasPrefix(name, dir+"/") {
			return dir
		}
	}
	return ""
}

func printChanges(s *streams, dryRun bool, done changes) {
	verb := ""
	if dryRun {
		verb = "would "
	}
	dirs := map[string][]plan.Change{}
	for change := range done.Changes() {
		if dir := summarizedDir(change.Path); dir != "" {
			dirs[dir] = append(dirs[dir], change)
			continue
		}
		s.printf("%s%s %s\n", verb, change.Op, path.Clean(change.Path))
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		op, packages := "delete", map[string]bool{}
		for _, change := range dirs[dir] {
			if change.Op != plan.Delete {
				op = "write"
			}
			if path.Ext(change.Path) == ".go" {
				packages[path.Dir(change.Path)] = true
			}
		}
		size := plural(len(dirs[dir]), "file")
		if slices.Contains(bundleDirs, dir) {
			size = fmt.Sprintf("%d packages", len(packages))
		}
		s.printf("%s%s %s (%s)\n", verb, op, dir, size)
	}
	if done.Len() == 0 {
		s.printf("nothing to do\n")
	}
}

func printNext(s *streams, next []string) {
	if len(next) == 0 {
		return
	}
	s.printf("\nNext:\n")
	for _, command := range next {
		s.printf("  %s\n", command)
	}
}
