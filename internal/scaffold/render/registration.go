package render

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/register"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// WriteRegistration plans the generated Go files that register the kinds and controllers of the project in its manager.
// It never overwrites files that kctrl did not write.
func WriteRegistration(p *plan.Plan, proj *project.Project) error {
	return plan.WithoutForce((&Rendering{Plan: p, project: proj}).Register())
}

// Register plans the same files as [WriteRegistration].
func (r *Rendering) Register() error {
	p, proj := r.Plan, r.project
	header, err := templated.GoHeader(p)
	if err != nil {
		return err
	}
	g, err := register.FindProgram(p)
	if err != nil {
		return err
	}
	if err := checkDeclared(p, proj); err != nil {
		return err
	}
	versions, others, err := register.Registrations(p, proj, header, g)
	if err != nil {
		return err
	}
	view, err := registerView(g, proj, header, others)
	if err != nil {
		return err
	}
	isKnown := g.IsKnown(p)
	if err := templated.Render(p, templates.Register(), view, r.force); err != nil {
		return err
	}
	for _, view := range versions {
		if err := templated.Render(p, templates.VersionRegister(), view, r.force); err != nil {
			return err
		}
	}
	if c, err := p.Lookup(templates.Register().Path(view)); err != nil {
		return err
	} else if c.Op != 0 {
		if err := gomod.CheckRegistration(p, proj); err != nil {
			return err
		}
	}
	return errors.Join(g.EnsureRegistered(p), g.Follow(p, isKnown))
}

// registerView returns the manager's registration. It has each API package, controller and webhook once, in the order
// of PROJECT, followed by the API packages that PROJECT does not list.
func registerView(g register.Program, proj *project.Project, header string,
	others []string) (templates.RegisterView, error) {
	r := register.NewRegistration(g, header)
	for _, o := range Kinds(proj, header) {
		for _, made := range features() {
			made.setUp(r, o)
		}
	}
	for _, path := range others {
		r.AddAPI(path, templates.Alias(path)) // PROJECT may already have added it
	}
	return r.Result()
}

// PlanRegistration plans the generated Go files that register the kinds and controllers of the project in its manager,
// and checks that the program uses them. It plans nothing for a project without kinds and without these files, or if
// the program runs controller-runtime's manager. Errors are *diagnostic.Error.
func PlanRegistration(p *plan.Plan, proj *project.Project) error {
	if gomod.ReplacesControllerRuntime(p) {
		if g, err := register.FindProgram(p); err != nil || !g.StartsManager() {
			return err
		}
	}
	if len(proj.Resources) == 0 {
		g, err := register.FindProgram(p)
		if err != nil {
			return err
		}
		if _, err := p.Read(g.RegisterFile()); errors.Is(err, fs.ErrNotExist) && !g.UsesRegister() {
			return nil
		}
	}
	return WriteRegistration(p, proj)
}

// promise is a Go declaration that a field of PROJECT requires.
type promise struct {
	listed            bool
	field, value      string // of PROJECT
	without           string // the value without it
	file, declaration string
}

// check returns an error if the declaration is missing.
func (c promise) check(p *plan.Plan, o Kind) error {
	err := gosource.CheckDeclares(p, c.file, c.declaration)
	missing, ok := errors.AsType[*gosource.UndeclaredError](err)
	if !ok {
		return err
	}
	return diagnostic.At(o.project.Position(o.at, c.field),
		fmt.Sprintf("%s is listed with %s: %s, but %s", o, c.field, c.value, missing),
		fmt.Sprintf("bring back %s, or write %s: %s", c.declaration, c.field, c.without))
}

// checkDeclared rejects a project with a kind or a controller that no Go file declares, because the registration would
// not compile.
func checkDeclared(p *plan.Plan, proj *project.Project) error {
	var errs []error
	for _, o := range Kinds(proj, "") {
		for _, made := range features() {
			for _, c := range made.promises(o) {
				if c.listed {
					errs = append(errs, c.check(p, o))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// checkTypes rejects a kind if another file of the API package already declares one of its Go types.
func checkTypes(p *plan.Plan, kind templates.KindView) error {
	names := []string{kind.Kind, kind.Kind + "Spec", kind.Kind + "Status", kind.Kind + "List"}
	return gosource.CheckUndeclared(p, kind.Folder, kind.TypesFile(), names)
}

// checkReconciler rejects a controller if another file of its package already declares its Go type.
func checkReconciler(p *plan.Plan, kind templates.KindView) error {
	return gosource.CheckUndeclared(p, kind.ControllerFolder, kind.ControllerFile(".go"), []string{kind.Reconciler})
}
