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

// PlanLists plans what follows from generated files for those that name them: the list of the CRDs where it is
// missing, the role that is listed and that the manager is bound to, and the modules that apply configurations need.
// What a kustomization lists and is not there is noted, and so is what is generated to no effect.
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
