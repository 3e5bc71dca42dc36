package render

import (
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// DeployWebhooks plans what brings the webhooks of the project into a cluster, and lists what is new of it where
// kustomize looks. What the user took off a list stays off it.
func DeployWebhooks(p *plan.Plan, proj *project.Project) error {
	view, found := layout.WebhooksView(proj)
	if !found {
		return nil
	}
	if others, err := OthersWebhooks(p); err != nil || others {
		return err
	}
	r := &Rendering{Plan: p, project: proj}
	err := r.write(func(c *partList, _ Kind) { c.addWebhooks(proj) }, Kind{})
	return errors.Join(err, dropUnused(p, templates.Webhooks()[layout.CertificatesOf(proj)], view))
}

// OthersDeployment reports whether a project is deployed by what somebody else than kctrl has written, as one that
// was migrated: what its kustomizations list is for them to say.
func OthersDeployment(p *plan.Plan) (bool, error) {
	name, found, err := templated.Kustomization(p, layout.DefaultDir)
	if err != nil || !found {
		return false, err
	}
	lock, _, err := p.Lock()
	if err != nil {
		return false, err
	}
	_, ours := lock.Entry(name)
	return !ours, nil
}

// OthersWebhooks reports whether the webhooks of a project are deployed by what somebody else than kctrl has written,
// as in one that was migrated: what makes their certificates and has them called is not mixed with kctrl's.
func OthersWebhooks(p *plan.Plan) (bool, error) {
	lock, _, err := p.Lock()
	if err != nil {
		return false, err
	}
	service := path.Join(layout.WebhookDir, "service.yaml")
	if _, ours := lock.Entry(service); ours {
		return false, nil
	}
	for name, there := range map[string]bool{service: true, path.Join(layout.ComponentDir, "kustomization.yaml"): false} {
		_, err := p.Read(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if there != (err == nil) {
			return false, nil
		}
	}
	return true, nil
}

// dropUnused plans that what another way to make certificates needed goes away.
func dropUnused(p *plan.Plan, used []templates.Template[templates.WebhooksView], view templates.WebhooksView) error {
	var err error
	for _, list := range templates.Webhooks() {
		for _, t := range list {
			name := t.Path(view)
			if !slices.ContainsFunc(used, func(u templates.Template[templates.WebhooksView]) bool { return u.Path(view) == name }) {
				err = errors.Join(err, p.Delete(name))
			}
		}
	}
	return err
}

// AllowWebhooks plans the network policy that lets API servers in, where there are others, and returns it if it is new.
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
