// Package measure runs an operator on controller-runtime and on kctrl's runtime, with the same objects on the same API
// server, and compares their costs.
package measure

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/gocommand"
	"github.com/kctrl-dev/kctrl/internal/migrate"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// Options are the parameters of [Run].
type Options struct {
	// Dir is the directory of the operator's module, before or after kctrl migrate.
	Dir string
	// Main is the package of the program, such as ./cmd. Empty means the only main package that uses controller-runtime.
	Main string
	// Args are the arguments of the program.
	Args []string
	// Config and Samples are files, directories or kustomizations, relative to Dir. Config has the CRDs, and Samples has
	// the objects to copy. Empty means config/default and config/samples.
	Config, Samples string
	// Objects is the number of objects to create.
	Objects int
	// Quiet is the time without requests and events after which the program is at rest. Run fails if the program is not at
	// rest after Longest.
	Quiet, Longest time.Duration
	// Build identifies the running kctrl.
	Build project.Build
	// Start starts an API server, and returns its kubeconfig and a function that stops it.
	Start func(context.Context) (kubeconfig string, stop func(), err error)
	// Step is called when a step begins.
	Step func(text string)
}

// Figures are the costs of the operator on one runtime, from the start of its process until it is at rest.
type Figures struct {
	// Start is the time from the start of the process to its last request, response or event, in nanoseconds.
	Start time.Duration `json:"startNanoseconds"`
	// CPU is the user and system time of the process, in nanoseconds.
	CPU time.Duration `json:"cpuNanoseconds"`
	// PeakMemory is the largest resident memory, and Memory is the resident memory at rest, both in bytes.
	PeakMemory int64 `json:"peakMemoryBytes"`
	Memory     int64 `json:"memoryBytes"`
	// Requests is the number of requests to the API server, except lease renewals.
	Requests int64 `json:"requests"`
	// Binary is the size of the stripped program in bytes.
	Binary int64 `json:"binaryBytes"`
}

// Report has the costs on both runtimes.
type Report struct {
	Objects  int     `json:"objects"`
	Kinds    int     `json:"kinds"`
	Original Figures `json:"original"`
	Kctrl    Figures `json:"kctrl"`
}

// Run builds the operator on both runtimes, runs one build after the other, and returns the costs. It does not change
// the project. Errors are *diagnostic.Error.
func Run(ctx context.Context, o Options) (*Report, error) {
	adopted, err := migrate.Adopted(os.DirFS(o.Dir))
	if err != nil {
		return nil, err
	}
	if err := migrate.CheckWorkspace(ctx, o.Dir); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "kctrl-measure-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	manifests, err := readManifests(o)
	if err != nil {
		return nil, err
	}
	o.Step("preparing both modules")
	sides, err := prepare(ctx, o, work, adopted)
	if err != nil {
		return nil, err
	}
	for i := range sides {
		o.Step("compiling the operator on " + sides[i].name)
		if err := sides[i].build(ctx, o.Main, work); err != nil {
			return nil, err
		}
	}
	r := &Report{Objects: o.Objects, Kinds: manifests.kinds()}
	for i, figures := range []*Figures{&r.Original, &r.Kctrl} {
		if *figures, err = sides[i].measure(ctx, o, manifests, work); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// side is the operator on one of the two runtimes.
type side struct {
	name    string
	dir     string // of the module
	program string // path of the executable
}

// prepare returns copies of the operator on both runtimes, the original first. The builds use copies, because the go
// command can write files such as go.work.sum.
func prepare(ctx context.Context, o Options, work string, adopted bool) ([]side, error) {
	original := side{name: "controller-runtime", dir: filepath.Join(work, "original")}
	moved := side{name: "kctrl's runtime", dir: filepath.Join(work, "moved")}
	for _, s := range []side{original, moved} {
		if err := copyTree(s.dir, o.Dir); err != nil {
			return nil, err
		}
	}
	if !adopted {
		p, err := migrate.Adopt(ctx, moved.dir, os.DirFS(moved.dir), o.Build)
		if err != nil {
			return nil, err
		}
		return []side{original, moved}, write(moved.dir, p)
	}
	for adopted {
		p, err := migrate.Undo(os.DirFS(original.dir))
		if err == nil {
			err = write(original.dir, p)
		}
		if err == nil {
			adopted, err = migrate.Adopted(os.DirFS(original.dir))
		}
		if err != nil {
			return nil, err
		}
	}
	return []side{original, moved}, nil
}

// copyTree copies the files of a project, except files that no build reads.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case entry.IsDir() && (rel == "bin" || entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

// write applies a plan to a directory. It replaces symbolic links, so that it does not write to their targets.
func write(dir string, p *plan.Plan) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var errs []error
	for c := range p.Changes() {
		if err := root.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		if c.Op != plan.Delete {
			errs = append(errs, root.MkdirAll(path.Dir(c.Path), 0o755), root.WriteFile(c.Path, c.After, 0o644))
		}
	}
	return errors.Join(errs...)
}

// build compiles the program without symbols, as for a release.
func (s *side) build(ctx context.Context, pkg, work string) error {
	if pkg == "" {
		var err error
		if pkg, err = mainPackage(ctx, s.dir); err != nil {
			return err
		}
	}
	s.program = filepath.Join(work, strings.ReplaceAll(strings.ReplaceAll(s.name, " ", "-"), "'", ""))
	_, err := gocommand.Output(ctx, s.dir, "build", "-buildvcs=false", "-ldflags=-s -w", "-o", s.program, pkg)
	if err != nil {
		return &diagnostic.Error{
			Message: "the operator does not compile on " + s.name + ": " + err.Error(),
			Hint:    "repair what go build ./... reports; --main names the package of the program",
			Cause:   err,
		}
	}
	return nil
}

// mainPackage returns the only main package in a module that depends on controller-runtime's manager.
func mainPackage(ctx context.Context, dir string) (string, error) {
	const manager = "sigs.k8s.io/controller-runtime/pkg/manager"
	const format = `{{if eq .Name "main"}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{end}}`
	out, err := gocommand.Output(ctx, dir, "list", "-f", format, "./...")
	if err != nil {
		return "", &diagnostic.Error{
			Message: "cannot list the packages: " + err.Error(), Hint: "repair what go list ./... reports", Cause: err,
		}
	}
	var found []string
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 1 && slices.Contains(words[1:], manager) {
			found = append(found, words[0])
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	e := &diagnostic.Error{
		Pos: token.Position{Filename: "go.mod"}, Message: "no main package uses controller-runtime's manager",
		Hint: "name the package of the operator with --main",
	}
	if len(found) > 1 {
		names := strings.Join(found, ", ")
		e.Message = fmt.Sprintf("%d main packages use controller-runtime's manager: %s", len(found), names)
	}
	return "", e
}
