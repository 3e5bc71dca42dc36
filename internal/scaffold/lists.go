package scaffold

import (
	"errors"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// PlanLists plans the changes that generated files require: a missing list of CRDs, the file and name of the manager's
// role, and the modules that apply configurations need. It notes listed files that do not exist, and generated files
// that have no effect.
func PlanLists(p *plan.Plan, proj *project.Project) error {
	crds, err := templated.GeneratedCRDs(p)
	if err != nil {
		return err
	}
	return errors.Join(
		templated.WriteList(p, layout.CRDDir, templates.CRDKustomization(), crds),
		templated.FollowRole(p),
		gomod.RequireApplyConfigurations(p, proj),
		templated.NoteLists(p),
	)
}
