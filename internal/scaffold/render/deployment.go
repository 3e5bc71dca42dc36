package render

import (
	"errors"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// DeployWebhooks plans the manifests that deploy the project's webhooks, and adds new manifests to kustomizations. It
// does not add items again that the user removed from a list. It never overwrites files that kctrl did not write.
func DeployWebhooks(p *plan.Plan, proj *project.Project) error {
	return plan.WithoutForce((&Rendering{Plan: p, project: proj}).deployWebhooks())
}

func (r *Rendering) deployWebhooks() error {
	view, found := layout.WebhooksView(r.project)
	if !found {
		return nil
	}
	if others, err := OthersWebhooks(r.Plan); err != nil || others {
		return err
	}
	if err := r.write(func(c *partList, _ Kind) { c.addWebhooks(r.project) }, Kind{}); err != nil {
		return err
	}
	return dropUnused(r.Plan, templates.Webhooks()[layout.CertificatesOf(r.project)], view)
}

// OthersDeployment reports whether the user or another tool wrote the deployment manifests, as in a migrated project.
// kctrl then does not change the lists of the kustomizations.
func OthersDeployment(p *plan.Plan) (bool, error) {
	name, found, err := templated.Kustomization(p, layout.DefaultDir)
	if err != nil || !found {
		return false, err
	}
	_, ours := p.Lock().Entry(name)
	return !ours, nil
}

// OthersWebhooks reports whether the user or another tool wrote the manifests that deploy webhooks, as in a migrated
// project. kctrl then adds neither certificates nor webhook manifests.
func OthersWebhooks(p *plan.Plan) (bool, error) {
	service := path.Join(layout.WebhookDir, "service.yaml")
	if _, ours := p.Lock().Entry(service); ours {
		return false, nil
	}
	for name, there := range map[string]bool{service: true, path.Join(layout.ComponentDir, "kustomization.yaml"): false} {
		text, err := p.ReadIfExists(name)
		if err != nil || there != (text != nil) {
			return false, err
		}
	}
	return true, nil
}

// dropUnused plans the deletion of files that kctrl wrote and that only other certificate issuers need.
func dropUnused(p *plan.Plan, used []templates.Template[templates.WebhooksView], view templates.WebhooksView) error {
	var err error
	for _, list := range templates.Webhooks() {
		for _, t := range list {
			name := t.Path(view)
			isUsed := slices.ContainsFunc(used, func(u templates.Template[templates.WebhooksView]) bool {
				return u.Path(view) == name
			})
			if _, known := p.Lock().Entry(name); known && !isUsed {
				err = errors.Join(err, p.Delete(name))
			}
		}
	}
	return err
}

// AllowWebhooks plans the network policy that allows requests of API servers, if the project has network policies. It
// returns the file name if the file is new.
func AllowWebhooks(p *plan.Plan, view templates.WebhooksView) ([]string, error) {
	if _, found, err := templated.Kustomization(p, layout.PolicyDir); err != nil || !found {
		return nil, err
	}
	t := templates.AllowWebhooks()
	isNew, err := templated.IsNew(p, t.Path(view))
	if err != nil || !isNew {
		return nil, err
	}
	return []string{path.Base(t.Path(view))}, templated.Render(p, t, view, false)
}
