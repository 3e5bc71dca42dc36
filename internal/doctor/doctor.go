// Package doctor reports problems in kctrl and kubebuilder projects, and repairs them where that is safe. [Checks]
// lists the checks. A check only reads; its fixes are a plan, which the caller applies.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/kctrl-dev/kctrl/internal/access"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// Check detects one kind of problem.
type Check struct {
	// Name labels the findings, and selects the check on the command line.
	Name string
	// Help completes the sentence "looks for".
	Help string
	// Run returns the problems. Findings have a hint, and a position where possible.
	Run func(context.Context, *Project) []Finding
	// RunOurs is used instead of Run by checks of kctrl projects with a valid lock, for which it gets an empty plan.
	RunOurs func(*Project, *plan.Plan) []Finding
	// Fix plans the repair of all findings of the check. It is nil if the user has to repair them.
	Fix func(context.Context, *Project, *plan.Plan) error
}

// Finding is one problem, with the name of its check as code.
type Finding struct {
	*diagnostic.Error
	// Warning reports whether the project works despite the problem.
	Warning bool
	// Fixable reports whether the fix of its check repairs it.
	Fixable bool
	// byHand reports whether the user has to repair it although the check has a fix.
	byHand bool
}

// Project is the input of checks.
type Project struct {
	// Dir is the absolute path of the project, and FS its content.
	Dir string
	FS  fs.FS
	// Kctrl is the build of the running kctrl.
	Kctrl project.Build
	// GoVersion returns the version of the go command, such as go1.26.8.
	GoVersion func(context.Context) (string, error)
	// Compiled reports whether the control plane is in the user's cache. It is nil on systems without a control plane.
	Compiled func(context.Context) bool

	project  *project.Project // nil if PROJECT cannot be read
	loadErr  error
	once     sync.Once
	plan     *plan.Plan // with all generated files
	err      error
	warnings []lint.Finding

	analysis func() (*access.Result, error) // of the code, once
}

// Examine runs all checks, or the named ones. It sorts findings by check and position.
func Examine(ctx context.Context, p *Project, names ...string) ([]Finding, error) {
	p.load()
	var all []Finding
	for _, check := range Checks {
		if len(names) > 0 && !slices.Contains(names, check.Name) {
			continue
		}
		found := check.run(ctx, p)
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		for i := range found {
			e := *found[i].Error
			if e.Code == "" {
				e.Code = check.Name
			}
			found[i].Error, found[i].Fixable = &e, check.Fix != nil && !found[i].byHand
		}
		slices.SortStableFunc(found, func(a, b Finding) int { return diagnostic.ComparePosition(a.Pos, b.Pos) })
		all = append(all, found...)
	}
	return all, nil
}

func (c Check) run(ctx context.Context, p *Project) []Finding {
	if c.Run != nil {
		return c.Run(ctx, p)
	}
	if empty, err := p.emptyPlan(); err == nil && p.ours() {
		return c.RunOurs(p, empty)
	}
	return nil // checkProject and checkLock report it
}

// Fix plans the repair of findings that need no decision of the user.
func Fix(ctx context.Context, p *Project, found []Finding) (*plan.Plan, error) {
	p.load()
	fixes, err := p.emptyPlan()
	if err != nil {
		return nil, err
	}
	for _, check := range Checks {
		if check.Fix == nil || !slices.ContainsFunc(found, func(f Finding) bool { return f.Code == check.Name }) {
			continue
		}
		if err := check.Fix(ctx, p, fixes); err != nil {
			return nil, err
		}
	}
	return fixes, nil
}

// Names returns the names of all checks, in order.
func Names() []string {
	var names []string
	for _, check := range Checks {
		names = append(names, check.Name)
	}
	return names
}

func (p *Project) load() {
	if p.project != nil || p.loadErr != nil {
		return
	}
	p.project, p.loadErr = project.LoadForeign(p.FS, false)
}

// ours reports whether the project is readable and a kctrl project.
func (p *Project) ours() bool { return p.project != nil && !p.project.Foreign }

// emptyPlan returns a plan for the project. The plan for a kctrl project has a lock, which is new if the file is
// missing.
func (p *Project) emptyPlan() (*plan.Plan, error) {
	if p.ours() {
		return render.NewProjectPlan(p.FS, p.project, p.Kctrl)
	}
	return plan.NewWithoutLock(p.FS), nil
}

// generated returns a plan with all generated files, and the error that makes it incomplete.
func (p *Project) generated(ctx context.Context) (*plan.Plan, error) {
	p.once.Do(func() {
		if p.plan, p.err = p.emptyPlan(); p.err != nil {
			p.err = errTold
		} else {
			p.err = fixGenerated(ctx, p, p.plan)
		}
	})
	return p.plan, p.err
}

// fixGenerated adds the generated files to a plan.
func fixGenerated(ctx context.Context, p *Project, into *plan.Plan) error {
	if p.loadErr != nil {
		return nil // checkProject reports it
	}
	if _, err := fs.Stat(p.FS, "go.mod"); errors.Is(err, fs.ErrNotExist) {
		return errTold
	}
	if p.ours() {
		if unmet, _, err := gomod.CheckAPIModules(into, p.project); err != nil || len(unmet) > 0 {
			return cmp.Or(err, errTold)
		}
		if err := gomod.PlanRuntime(into, p.project); err != nil {
			return errTold
		}
		if err := render.PlanRegistration(into, p.project); err != nil {
			return err
		}
	}
	names := generate.Named(func(g generator.Generator) bool { return !g.GenOnly })
	p.warnings = nil
	return generate.Run(ctx, p.Dir, into, p.project, generate.Options{
		Generators: names, Warn: func(f lint.Finding) { p.warnings = append(p.warnings, f) },
	})
}

// analyzed returns the requests and the webhooks of the project's program.
func (p *Project) analyzed(ctx context.Context) (*access.Result, error) {
	if _, err := p.GoVersion(ctx); err != nil {
		return nil, errTold
	}
	if p.analysis == nil {
		p.analysis = sync.OnceValues(func() (*access.Result, error) {
			return access.Analyze(ctx, access.Config{Dir: p.Dir})
		})
	}
	return p.analysis()
}

// errTold means that the output is unknown for a reason that another check reports: the check of the lock, the API
// modules, the runtime or the go command.
var errTold = errors.New("nothing can be generated")

// byHand marks findings that the fix of their check does not repair.
func byHand(found []Finding) []Finding {
	for i := range found {
		found[i].byHand = true
	}
	return found
}

// problems converts errors to findings.
func problems(err error) []Finding {
	var found []Finding
	for _, single := range diagnostic.All(err) {
		e, ok := errors.AsType[*diagnostic.Error](single)
		if !ok {
			e = &diagnostic.Error{Message: single.Error(), Cause: single}
		}
		found = append(found, Finding{Error: e})
	}
	return found
}

// warnings converts notes to findings.
func warnings(notes ...*diagnostic.Error) []Finding {
	var found []Finding
	for _, note := range notes {
		found = append(found, Finding{Error: note, Warning: true})
	}
	return found
}
