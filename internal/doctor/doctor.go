// Package doctor says what is wrong with a project, of kctrl or of kubebuilder, and mends what is safe to. What it looks for is one
// list of checks, [Checks]; each of them only reads, and what mends its findings is a plan, which its caller applies.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// Check looks for one kind of trouble.
type Check struct {
	// Name is what findings are labelled with, and what a user names to run one check alone.
	Name string
	// Help says what is looked for, as the end of "looks for".
	Help string
	// Run returns what is wrong. Its findings have a position where there is one, and a hint.
	Run func(context.Context, *Project) []Finding
	// Fix plans what mends all findings of the check; nil if a user has to.
	Fix func(context.Context, *Project, *plan.Plan) error
}

// Finding is one thing that is wrong, with the name of its check as code.
type Finding struct {
	*diagnostic.Error
	// Warning says that the project works as it is.
	Warning bool
	// Fixable says that the fix of its check mends it.
	Fixable bool
	// byHand says that it does not, though the check has one.
	byHand bool
}

// Project is what checks look at.
type Project struct {
	// Dir is the absolute path of the project, FS what is in it.
	Dir string
	FS  fs.FS
	// Kctrl is the kctrl that looks.
	Kctrl project.Build
	// GoVersion returns the version of the go command, such as go1.26.8, or why there is none.
	GoVersion func(context.Context) (string, error)
	// Compiled reports whether the control plane is in the user's cache. Nil is for systems that cannot have one.
	Compiled func(context.Context) bool

	project  *project.Project // nil if PROJECT cannot be read
	loadErr  error
	once     sync.Once
	plan     *plan.Plan // with all that is generated
	err      error
	warnings []lint.Finding
}

// Examine runs checks: all, or those that are named. Findings are in the order of the list, and of their positions.
func Examine(ctx context.Context, p *Project, names ...string) ([]Finding, error) {
	p.load()
	var all []Finding
	for _, check := range Checks {
		if len(names) > 0 && !slices.Contains(names, check.Name) {
			continue
		}
		found := check.Run(ctx, p)
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

// Fix plans what mends findings, as far as that is safe without their user.
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

// ours reports whether the project is one of kctrl, and can be read.
func (p *Project) ours() bool { return p.project != nil && !p.project.Foreign }

// emptyPlan returns a plan for the project, with a lock if it is one of kctrl: made anew if it is gone.
func (p *Project) emptyPlan() (*plan.Plan, error) {
	if p.ours() {
		return render.NewProjectPlan(p.FS, p.project, p.Kctrl)
	}
	return plan.NewWithoutLock(p.FS), nil
}

// generated returns a plan with everything that follows from the project, and what kept it from being whole.
func (p *Project) generated(ctx context.Context) (*plan.Plan, error) {
	p.once.Do(func() {
		if p.plan, p.err = p.emptyPlan(); p.err != nil {
			p.err = errTold
		} else {
			p.err = p.generate(ctx, p.plan)
		}
	})
	return p.plan, p.err
}

// generate adds to a plan what follows from the project.
func (p *Project) generate(ctx context.Context, into *plan.Plan) error {
	if p.loadErr != nil {
		return nil // which a check of its own says
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

// errTold says that nobody knows what would be generated, for a reason that a check of its own tells: that of the lock, of the API modules,
// of the runtime or of the go command.
var errTold = errors.New("nothing can be generated")

// byHand returns findings that the fix of their check does not mend.
func byHand(found []Finding) []Finding {
	for i := range found {
		found[i].byHand = true
	}
	return found
}

// problems makes findings of errors.
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

// warningsOf makes findings of what keeps nobody from working.
func warningsOf(notes []*diagnostic.Error) []Finding {
	var found []Finding
	for _, note := range notes {
		found = append(found, Finding{Error: note, Warning: true})
	}
	return found
}
