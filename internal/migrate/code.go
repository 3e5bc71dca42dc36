package migrate

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/migrate/rewrite"
	"github.com/kctrl-dev/kctrl/internal/migrate/rules"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// Report has the results of step two.
type Report struct {
	// Files is the number of Go files that change.
	Files int `json:"files"`
	// References and Left are the numbers of references to controller-runtime before and after the step.
	References int `json:"references"`
	Left       int `json:"left"`
	// Names are the names to which the remaining references refer, the most frequent one first.
	Names []Name `json:"names"`
	// Configurations are the build configurations besides the default for which the module was type-checked.
	Configurations []string `json:"configurations"`
	// Skipped are files that were not rewritten: generated files, and files that were not type-checked.
	Skipped []rewrite.Skipped `json:"skipped"`
	// Dropped are groups of rules that were not applied to a package.
	Dropped []rewrite.Dropped `json:"dropped"`
}

// Name is a name of controller-runtime with the number of its references.
type Name struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Code plans step two for the packages that match patterns, such as ./internal/controller. Without patterns it plans
// the step for all packages of the module. Code for which no rule exists keeps using controller-runtime's API. Errors
// are *diagnostic.Error; it is also an error if the module does not compile before or after the step.
// step, which may be nil, reports the progress.
func Code(
	ctx context.Context, dir string, fsys fs.FS, patterns []string, step func(message string),
) (*plan.Plan, *Report, error) {
	dir, err := absolute(dir)
	if err != nil {
		return nil, nil, err
	}
	p := plan.New(fsys)
	if err := adopted(p); err != nil {
		return nil, nil, err
	}
	if err := CheckWorkspace(ctx, dir); err != nil {
		return nil, nil, err
	}
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	// The overlay contains all runtime packages that rules can use, because the packages that are needed are known only
	// afterwards.
	complete := p.Clone()
	if err := gomod.AddRuntime(complete, rules.Packages()...); err != nil {
		return nil, nil, err
	}
	module := rewrite.Module{Dir: dir, Overlay: complete.Overlay(dir), Step: step}
	result, err := rewrite.Packages(ctx, module, patterns, rules.All)
	if err != nil {
		return nil, nil, err
	}
	for name, content := range result.Files {
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return nil, nil, err
		}
		if err := replace(p, filepath.ToSlash(rel), result.Sources[name], content); err != nil {
			return nil, nil, err
		}
	}
	report := reportOf(result)
	if report.Files == 0 {
		return p, report, nil
	}
	err = plan.InOrder(
		func() error { return gomod.RequireDirectly(p, layout.RuntimeModule) },
		func() error { return gomod.AddRuntime(p) },
		func() error { return writeRecord(p, stepCode) },
	)
	return p, report, err
}

// Adopted reports whether step one is done in a project.
func Adopted(fsys fs.FS) (bool, error) {
	if err := checkModule(fsys); err != nil {
		return false, err
	}
	return gomod.ReplacesControllerRuntime(plan.New(fsys)), nil
}

// adopted returns an error unless step one is done. It also returns an error for a module with a vendor directory.
func adopted(p *plan.Plan) error {
	done, err := Adopted(p.FS())
	if err != nil {
		return err
	}
	if !done {
		if _, _, err := modulesOf(p.FS()); err != nil {
			return err // step one reports the same
		}
		return &diagnostic.Error{
			Pos:     token.Position{Filename: goMod},
			Message: controllerRuntime + " is not replaced by " + gomod.DropInDir,
			Hint:    "run kctrl migrate first, in the directory of the operator's module",
		}
	}
	if _, err := fs.Stat(p.FS(), path.Join(vendorDir, "modules.txt")); err == nil {
		return &diagnostic.Error{
			Pos:     token.Position{Filename: vendorDir},
			Message: "kctrl migrate code does not update vendored modules",
			Hint:    "remove the directory, run the command again, then go mod vendor",
		}
	}
	return nil
}

func reportOf(r *rewrite.Result) *Report {
	report := &Report{
		Files: len(r.Files), Names: []Name{},
		Configurations: append([]string{}, r.Configurations...),
		Skipped:        append([]rewrite.Skipped{}, r.Skipped...),
		Dropped:        append([]rewrite.Dropped{}, r.Dropped...),
	}
	for _, n := range r.Before {
		report.References += n
	}
	for name, n := range r.After {
		report.Left += n
		report.Names = append(report.Names, Name{name, n})
	}
	slices.SortFunc(report.Names, func(a, b Name) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return report
}

// printSkipped writes a line for each file that was not rewritten. Files that were not type-checked for the same reason
// share a line.
func (r *Report) printSkipped(w io.Writer) {
	unchecked := map[string]int{}
	for _, f := range r.Skipped {
		if !f.Checked {
			unchecked[f.Reason]++
		}
	}
	for _, f := range r.Skipped {
		switch n := unchecked[f.Reason]; {
		case f.Checked:
			fmt.Fprintf(w, "%s: not rewritten: %s\n", f.File, f.Reason)
		case n == 1:
			fmt.Fprintf(w, "%s: not type-checked: %s\n", f.File, f.Reason)
		case n > 1:
			fmt.Fprintf(w, "%s and other files (%d): not type-checked: %s\n", f.File, n-1, f.Reason)
			unchecked[f.Reason] = 0
		}
	}
}

// shownNames is the number of names that Print lists.
const shownNames = 10

// Print writes the report as text.
func (r *Report) Print(w io.Writer) {
	compiled := "all packages and tests compile"
	if len(r.Configurations) > 0 {
		compiled += ", also with " + strings.Join(r.Configurations, " and with ")
	}
	if slices.ContainsFunc(r.Skipped, func(f rewrite.Skipped) bool { return !f.Checked }) {
		compiled += "; some files are not type-checked"
	}
	fmt.Fprintf(w, "%d of %d references to controller-runtime rewritten in %d files; %s\n",
		r.References-r.Left, r.References, r.Files, compiled)
	r.printSkipped(w)
	for _, d := range r.Dropped {
		if d.Group == "" {
			fmt.Fprintf(w, "%s: not rewritten: %s\n", d.Package, d.Reason)
			continue
		}
		fmt.Fprintf(w, "%s: without the rules for %s: %s\n", d.Package, d.Group, d.Reason)
	}
	if len(r.Names) == 0 {
		return
	}
	fmt.Fprintf(w, "%d references stay on controller-runtime's API:\n", r.Left)
	for _, n := range r.Names[:min(shownNames, len(r.Names))] {
		fmt.Fprintf(w, "  %4d %s\n", n.Count, n.Name)
	}
	if more := len(r.Names) - shownNames; more > 0 {
		fmt.Fprintf(w, "       and %d other names\n", more)
	}
}
