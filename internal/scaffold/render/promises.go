package render

import (
	"errors"
	"fmt"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

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
