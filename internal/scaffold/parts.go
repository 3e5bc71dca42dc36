package scaffold

import (
	"errors"
	"path"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// part is a file that a project has because of one of its kinds, or because it has any.
type part struct {
	// path is where it is in the layout of the project.
	path string
	// id says what it is in every layout: its template, and whose.
	id string
	// listings are what names it in kustomizations.
	listings []listing
	// common says that files of others in its folder need it too.
	common bool
	// generated says that nothing of a user's is in it.
	generated bool
	// kustomization says that it may have any of the names that kustomize knows.
	kustomization bool
	// write plans its content. It is nil for files of generators, and for those that follow from the whole project.
	write func(*rendering) error
}

// listing is an item of a list in the kustomization of a folder.
type listing struct{ folder, list, item string }

// partsOf returns the files that a project has because of its kinds, each once. Those that every project has are none of them.
func partsOf(proj *project.Project) []part {
	c := &partList{seen: map[string]bool{}}
	for _, o := range owners(proj, "") {
		for _, made := range features() {
			made.parts(c, o)
		}
	}
	c.addWebhooks(proj)
	return c.parts
}

// isNew reports whether a part was never in the project.
func (p part) isNew(of *plan.Plan) (bool, error) {
	if p.kustomization {
		if _, found, err := Kustomization(of, path.Dir(p.path)); err != nil || found {
			return false, err
		}
	}
	return isNew(of, p.path)
}

// addListings lists parts in kustomizations: all of a list at once.
func addListings(p *plan.Plan, added []part) error {
	var lists []listing
	items := map[listing][]string{}
	for _, one := range added {
		for _, l := range one.listings {
			list := listing{folder: l.folder, list: l.list}
			if items[list] == nil {
				lists = append(lists, list)
			}
			items[list] = append(items[list], l.item)
		}
	}
	var errs []error
	for _, list := range lists {
		errs = append(errs, addItems(p, list.folder, list.list, items[list]...))
	}
	return errors.Join(errs...)
}

// partList collects parts.
type partList struct {
	parts []part
	seen  map[string]bool // by path
}

func (c *partList) add(p part) {
	if !c.seen[p.path] {
		c.seen[p.path] = true
		c.parts = append(c.parts, p)
	}
}

// addEach adds the files of templates for one view, which belong to owner.
func addEach[V any](c *partList, list []templates.Template[V], view V, owner string) {
	for _, t := range list {
		base := path.Base(t.Path(view))
		c.add(part{
			path: t.Path(view), id: t.ID + " " + owner,
			common: base == "doc.go" || base == "groupversion_info.go", generated: t.Ownership == templates.Generated,
			write: func(r *rendering) error { return render(r.plan, t, view, r.force && t.Ownership != templates.Users) },
		})
	}
}

// addWebhooks adds what brings the webhooks of a project into a cluster.
func (c *partList) addWebhooks(proj *project.Project) {
	view, found := webhooksView(proj)
	if !found {
		return
	}
	for _, t := range templates.WebhookService() {
		p := part{path: t.Path(view), id: t.Source()}
		if path.Base(p.path) == "kustomization.yaml" {
			p.kustomization, p.listings = true, []listing{{defaultFolder, "resources", "../webhook"}}
		} else {
			p.listings = []listing{{webhookFolder, "resources", path.Base(p.path)}}
		}
		c.add(p)
	}
	if view.Mutating || view.Validating {
		c.add(part{
			path: path.Join(webhookFolder, "manifests.yaml"), id: "generate/webhook", generated: true,
			listings: []listing{{webhookFolder, "resources", "manifests.yaml"}},
		})
	}
	list := templates.Webhooks()[certificatesOf(proj)]
	if len(view.CRDs) > 0 {
		list = append(list[:len(list):len(list)], templates.WebhookConversion())
	}
	for _, t := range list {
		p := part{path: t.Path(view), id: t.Source(), generated: true}
		if path.Base(p.path) == "kustomization.yaml" {
			p.listings = []listing{{defaultFolder, "components", "../components/webhook"}}
		}
		c.add(p)
	}
	allow := templates.AllowWebhooks()
	c.add(part{path: allow.Path(view), id: allow.Source(), listings: []listing{{policyFolder, "resources", path.Base(allow.Path(view))}}})
}

// certificatesOf returns who makes the certificates of the webhooks of a project.
func certificatesOf(proj *project.Project) string {
	if proj.Certificates == "" {
		return project.SelfSigned
	}
	return proj.Certificates
}

// setCertificates sets who makes the certificates of the webhooks of a project. The default is what a project has that says nothing, so that
// a choice and its opposite leave no trace.
func setCertificates(proj *project.Project, by string) {
	if by == project.SelfSigned {
		by = ""
	}
	proj.Certificates = by
}

// partsLost returns the parts of one state of a project that another does not have.
func partsLost(before, after *project.Project) []part {
	kept := map[string]bool{}
	for _, p := range partsOf(after) {
		kept[p.path] = true
	}
	var lost []part
	for _, p := range partsOf(before) {
		if !kept[p.path] {
			lost = append(lost, p)
		}
	}
	return lost
}
