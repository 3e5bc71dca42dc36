package render

import (
	"cmp"
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
	services, err := templated.NewOf(p, layout.WebhookDir, "service.yaml")
	if err != nil {
		return err
	}
	var called []string
	if view.Mutating || view.Validating {
		if called, err = templated.NewOf(p, layout.WebhookDir, "manifests.yaml"); err != nil {
			return err
		}
	}
	components, err := templated.NewOf(p, layout.ComponentDir, "kustomization.yaml")
	if err != nil {
		return err
	}
	allowed, err := AllowWebhooks(p, view)
	if err != nil {
		return err
	}
	list := slices.Clone(templates.Webhooks()[cmp.Or(proj.Certificates, project.SelfSigned)])
	if len(view.CRDs) > 0 {
		list = append(list, templates.WebhookConversion())
	}
	if err := errors.Join(templated.RenderUnlessEdited(p, templates.WebhookService(), view), templated.RenderAll(p, list, view, true)); err != nil {
		return err
	}
	if err := errors.Join(dropUnused(p, list, view), templated.AddResources(p, layout.WebhookDir, called...), templated.AddResources(p, layout.PolicyDir, allowed...)); err != nil {
		return err
	}
	for range services {
		err = errors.Join(err, templated.AddResources(p, layout.DefaultDir, "../webhook"))
	}
	for range components {
		err = errors.Join(err, templated.AddItems(p, layout.DefaultDir, "components", "../components/webhook"))
	}
	return err
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
	added, err := templated.NewOf(p, layout.PolicyDir, path.Base(t.Path(view)))
	if err != nil || len(added) == 0 {
		return nil, err
	}
	return added, templated.Render(p, t, view, false)
}
