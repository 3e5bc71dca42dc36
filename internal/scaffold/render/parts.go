package render

import (
	"errors"
	"path"

	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// Part is a file that a project has because of one of its kinds, or because it has any.
type Part struct {
	// Path is where it is in the layout of the project.
	Path string
	// ID says what it is in every layout: its template, and whose.
	ID string
	// Listings are what names it in kustomizations.
	Listings []listing
	// Common says that files of others in its folder need it too.
	Common bool
	// Generated says that nothing of a user's is in it.
	Generated bool
	// Kustomization says that it may have any of the names that kustomize knows.
	Kustomization bool
	// write plans its content. It is nil for files of generators, and for those that follow from the whole project.
	write func(*rendering) error
}

// listing is an item of a list in the kustomization of a folder.
type listing struct{ Folder, List, Item string }

// PartsOf returns the files that a project has because of its kinds, each once. Those that every project has are none
// of them.
func PartsOf(proj *project.Project) []Part {
	c := &partList{seen: map[string]bool{}}
	for _, o := range Owners(proj, "") {
		for _, made := range features() {
			made.parts(c, o)
		}
	}
	c.addWebhooks(proj)
	return c.parts
}

// isNew reports whether a part was never in the project.
func (p Part) isNew(of *plan.Plan) (bool, error) {
	if p.Kustomization {
		if _, found, err := templated.Kustomization(of, path.Dir(p.Path)); err != nil || found {
			return false, err
		}
	}
	return templated.IsNew(of, p.Path)
}

// addListings lists parts in kustomizations: all of a list at once.
func addListings(p *plan.Plan, added []Part) error {
	var lists []listing
	items := map[listing][]string{}
	for _, one := range added {
		for _, l := range one.Listings {
			list := listing{Folder: l.Folder, List: l.List}
			if items[list] == nil {
				lists = append(lists, list)
			}
			items[list] = append(items[list], l.Item)
		}
	}
	var errs []error
	for _, list := range lists {
		errs = append(errs, templated.AddItems(p, list.Folder, list.List, items[list]...))
	}
	return errors.Join(errs...)
}

// partList collects parts.
type partList struct {
	parts []Part
	seen  map[string]bool // by path
}

func (c *partList) add(p Part) {
	if !c.seen[p.Path] {
		c.seen[p.Path] = true
		c.parts = append(c.parts, p)
	}
}

// addEach adds the files of templates for one view, which belong to owner.
func addEach[V any](c *partList, list []templates.Template[V], view V, owner string) {
	for _, t := range list {
		base := path.Base(t.Path(view))
		c.add(Part{
			Path: t.Path(view), ID: t.ID + " " + owner,
			Common: base == "doc.go" || base == "groupversion_info.go", Generated: t.Ownership == templates.Generated,
			write: func(r *rendering) error {
				return templated.Render(r.Plan, t, view, r.force && t.Ownership != templates.Users)
			},
		})
	}
}

// addWebhooks adds what brings the webhooks of a project into a cluster.
func (c *partList) addWebhooks(proj *project.Project) {
	view, found := layout.WebhooksView(proj)
	if !found {
		return
	}
	for _, t := range templates.WebhookService() {
		p := Part{Path: t.Path(view), ID: t.Source()}
		if path.Base(p.Path) == "kustomization.yaml" {
			p.Kustomization, p.Listings = true, []listing{{layout.DefaultDir, "resources", "../webhook"}}
		} else {
			p.Listings = []listing{{layout.WebhookDir, "resources", path.Base(p.Path)}}
		}
		c.add(p)
	}
	if view.Mutating || view.Validating {
		c.add(Part{
			Path: path.Join(layout.WebhookDir, "manifests.yaml"), ID: "generate/webhook", Generated: true,
			Listings: []listing{{layout.WebhookDir, "resources", "manifests.yaml"}},
		})
	}
	list := templates.Webhooks()[layout.CertificatesOf(proj)]
	if len(view.CRDs) > 0 {
		list = append(list[:len(list):len(list)], templates.WebhookConversion())
	}
	for _, t := range list {
		p := Part{Path: t.Path(view), ID: t.Source(), Generated: true}
		if path.Base(p.Path) == "kustomization.yaml" {
			p.Listings = []listing{{layout.DefaultDir, "components", "../components/webhook"}}
		}
		c.add(p)
	}
	allow := templates.AllowWebhooks()
	c.add(Part{Path: allow.Path(view), ID: allow.Source(), Listings: []listing{{layout.PolicyDir, "resources", path.Base(allow.Path(view))}}})
}

// PartsLost returns the parts of one state of a project that another does not have.
func PartsLost(before, after *project.Project) []Part {
	kept := map[string]bool{}
	for _, p := range PartsOf(after) {
		kept[p.Path] = true
	}
	var lost []Part
	for _, p := range PartsOf(before) {
		if !kept[p.Path] {
			lost = append(lost, p)
		}
	}
	return lost
}
