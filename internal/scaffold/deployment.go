package scaffold

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// webhooksView is what the project deploys for its webhooks; found is false if it has none.
func webhooksView(proj *project.Project) (view templates.WebhooksView, found bool) {
	view = templates.WebhooksView{Name: proj.Name, Namespace: templates.Namespace(proj.Name)}
	for _, r := range proj.Resources {
		view.Mutating = view.Mutating || r.Defaulting
		view.Validating = view.Validating || r.Validation
		if r.Hub != "" {
			view.CRDs = append(view.CRDs, r.Plural+"."+r.APIGroup())
		}
	}
	slices.Sort(view.CRDs)
	view.CRDs = slices.Compact(view.CRDs)
	return view, view.Mutating || view.Validating || len(view.CRDs) > 0
}

// checkCertified refuses who is to make certificates for a project that has no webhooks, so that PROJECT says so as long as it has some.
func checkCertified(proj *project.Project) error {
	if _, found := webhooksView(proj); found {
		return nil
	}
	return &diagnostic.Error{
		Message: "--certificates says who makes the certificates of webhooks, and the project has none",
		Hint:    "leave it out, and give it to kctrl create webhook with --defaulting, --validation or --conversion",
		Class:   diagnostic.ErrUsage,
	}
}

// deployWebhooks plans what brings the webhooks of the project into a cluster, and lists what is new of it where kustomize looks.
// What the user took off a list stays off it.
func deployWebhooks(p *plan.Plan, proj *project.Project) error {
	view, found := webhooksView(proj)
	if !found {
		return nil
	}
	if others, err := othersWebhooks(p); err != nil || others {
		return err
	}
	services, err := newOf(p, webhookFolder, "service.yaml")
	if err != nil {
		return err
	}
	var called []string
	if view.Mutating || view.Validating {
		if called, err = newOf(p, webhookFolder, "manifests.yaml"); err != nil {
			return err
		}
	}
	components, err := newOf(p, componentFolder, "kustomization.yaml")
	if err != nil {
		return err
	}
	allowed, err := allowWebhooks(p, view)
	if err != nil {
		return err
	}
	list := slices.Clone(templates.Webhooks()[cmp.Or(proj.Certificates, project.SelfSigned)])
	if len(view.CRDs) > 0 {
		list = append(list, templates.WebhookConversion())
	}
	if err := errors.Join(renderUnlessEdited(p, templates.WebhookService(), view), renderAll(p, list, view, true)); err != nil {
		return err
	}
	if err := errors.Join(dropUnused(p, list, view), addResources(p, webhookFolder, called...), addResources(p, policyFolder, allowed...)); err != nil {
		return err
	}
	for range services {
		err = errors.Join(err, addResources(p, defaultFolder, "../webhook"))
	}
	for range components {
		err = errors.Join(err, addItems(p, defaultFolder, "components", "../components/webhook"))
	}
	return err
}

// othersDeployment reports whether a project is deployed by what somebody else than kctrl has written, as one that was migrated: what
// its kustomizations list is for them to say.
func othersDeployment(p *plan.Plan) (bool, error) {
	name, found, err := Kustomization(p, defaultFolder)
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

// othersWebhooks reports whether the webhooks of a project are deployed by what somebody else than kctrl has written, as in one that
// was migrated: what makes their certificates and has them called is not mixed with kctrl's.
func othersWebhooks(p *plan.Plan) (bool, error) {
	lock, _, err := p.Lock()
	if err != nil {
		return false, err
	}
	service := path.Join(webhookFolder, "service.yaml")
	if _, ours := lock.Entry(service); ours {
		return false, nil
	}
	for name, there := range map[string]bool{service: true, path.Join(componentFolder, "kustomization.yaml"): false} {
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
				err = errors.Join(err, p.Delete(name, plan.Own))
			}
		}
	}
	return err
}

// allowWebhooks plans the network policy that lets API servers in, where there are others, and returns it if it is new.
func allowWebhooks(p *plan.Plan, view templates.WebhooksView) ([]string, error) {
	if _, found, err := Kustomization(p, policyFolder); err != nil || !found {
		return nil, err
	}
	t := templates.AllowWebhooks()
	added, err := newOf(p, policyFolder, path.Base(t.Path(view)))
	if err != nil || len(added) == 0 {
		return nil, err
	}
	return added, render(p, t, view, false)
}
