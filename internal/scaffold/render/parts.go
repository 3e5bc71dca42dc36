package render

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// part is a file that a project has because of its kinds.
type part struct {
	File
	// write plans the content. It is nil for files that generators write, and for files that depend on the whole project.
	write func(*Rendering) error
}

// Listing is an item in a list of a directory's kustomization.
type Listing struct{ Folder, List, Item string }

// partsOf returns the files that a project has because of its kinds, without duplicates. It omits the files that every
// project has.
func partsOf(proj *project.Project) []part {
	c := &partList{seen: map[string]bool{}}
	for _, o := range Kinds(proj, "") {
		for _, made := range features() {
			made.parts(c, o)
		}
	}
	c.addWebhooks(proj)
	return c.parts
}

// isNew reports whether the project never had a part.
func (p part) isNew(of *plan.Plan) (bool, error) {
	if p.Kustomization {
		if _, found, err := templated.Kustomization(of, path.Dir(p.Path)); err != nil || found {
			return false, err
		}
	}
	return templated.IsNew(of, p.Path)
}

// addListings adds files to kustomizations, with one edit per list.
func addListings(p *plan.Plan, added []part) error {
	var lists []Listing
	items := map[Listing][]string{}
	for _, one := range added {
		for _, l := range one.Listings {
			list := Listing{Folder: l.Folder, List: l.List}
			if items[list] == nil {
				lists = append(lists, list)
			}
			items[list] = append(items[list], l.Item)
		}
	}
	var errs []error
	for _, list := range lists {
		if list.List == transformers && !listsComponents(p, list.Folder, items[list]) {
			continue
		}
		errs = append(errs, templated.AddItems(p, list.Folder, list.List, items[list]...))
	}
	return errors.Join(errs...)
}

// transformers is the list for directories that copy names between the objects of the component in their parent
// directory.
const transformers = "transformers"

// listsComponents reports whether a kustomization lists the components of transformers. Without the objects of the
// component, kustomize would fail.
func listsComponents(p *plan.Plan, folder string, items []string) bool {
	name, _, err := templated.Kustomization(p, folder)
	if err != nil {
		return false // AddItems returned the error for the component
	}
	text, err := p.ReadIfExists(name)
	components := templated.ItemsOf(text, "components")
	return err == nil && !slices.ContainsFunc(items,
		func(item string) bool { return !slices.Contains(components, path.Dir(item)) })
}

// partList collects parts.
type partList struct {
	parts []part
	seen  map[string]bool // by path
}

// add adds a file unless the list has it. The ID of the file begins with the name of its template.
func (c *partList) add(f File, write func(*Rendering) error) {
	if !c.seen[f.Path] {
		c.seen[f.Path] = true
		f.Template, _, _ = strings.Cut(f.ID, " ")
		f.Owner = templates.OwnerOf(f.Template)
		c.parts = append(c.parts, part{f, write})
	}
}

// addEach adds the files that a list of templates renders for one view. owner is part of their IDs.
func addEach[V any](c *partList, list []templates.Template[V], view V, owner string) {
	for _, t := range list {
		c.add(File{Path: t.Path(view), ID: t.ID + " " + owner}, func(r *Rendering) error {
			return templated.Render(r.Plan, t, view, r.force && t.Owner != plan.User)
		})
	}
}

// addWebhooks adds the files that deploy the webhooks of a project.
func (c *partList) addWebhooks(proj *project.Project) {
	view, found := layout.WebhooksView(proj)
	if !found {
		return
	}
	for _, t := range templates.WebhookService() {
		f := File{Path: t.Path(view), ID: t.Source(), Kustomization: isKustomization(t.Path(view))}
		f.Listings = []Listing{{layout.WebhookDir, "resources", path.Base(f.Path)}}
		if f.Kustomization {
			f.Listings = []Listing{{layout.DefaultDir, "resources", "../webhook"}}
		}
		c.add(f, func(r *Rendering) error {
			_, found, err := templated.Kustomization(r.Plan, layout.WebhookDir)
			if err != nil || found && f.Kustomization {
				return err
			}
			return templated.RenderUnlessEdited(r.Plan, t, view)
		})
	}
	if view.Mutating || view.Validating {
		c.add(File{
			Path: path.Join(layout.WebhookDir, "manifests.yaml"), ID: "generate/webhook",
			Listings: []Listing{{layout.WebhookDir, "resources", "manifests.yaml"}},
		}, nil)
	}
	list := append(templates.Webhooks()[layout.CertificatesOf(proj)], templates.WebhookReferences())
	if len(view.CRDs) > 0 {
		list = append(list, templates.WebhookConversion())
	}
	for _, t := range list {
		f := File{Path: t.Path(view), ID: t.Source()}
		if isKustomization(f.Path) {
			list := "components"
			if path.Dir(f.Path) != layout.ComponentDir {
				list = transformers
			}
			item := "../" + strings.TrimPrefix(path.Dir(f.Path), "config/")
			f.Listings = []Listing{{layout.DefaultDir, list, item}}
		}
		c.add(f, func(r *Rendering) error { return templated.Render(r.Plan, t, view, r.force) })
	}
	allow := templates.AllowWebhooks()
	name := allow.Path(view)
	c.add(File{
		Path: name, ID: allow.Source(), Listings: []Listing{{layout.PolicyDir, "resources", path.Base(name)}},
	}, func(r *Rendering) error {
		_, err := AllowWebhooks(r.Plan, view)
		return err
	})
}
