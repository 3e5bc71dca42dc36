package render

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// WriteProjectFiles plans the files that every project has. If beside is set, it keeps and notes the user's existing
// files on which the project does not depend.
func WriteProjectFiles(p *plan.Plan, proj *project.Project, kctrl project.Build, beside bool) error {
	view, err := ProjectView(p, proj, kctrl)
	if err != nil {
		return err
	}
	list := templates.Project()
	if proj.APIModule {
		list = append(list, templates.APIModuleDoc())
	}
	if beside {
		list = slices.DeleteFunc(slices.Clone(list), func(t templates.Template[templates.ProjectView]) bool {
			return keeps(p,
				t, view)
		})
	}
	return templated.RenderAll(p, list, view, false)
}

// ProjectView returns the data for the templates of a project.
func ProjectView(p *plan.Plan, proj *project.Project, kctrl project.Build) (templates.ProjectView, error) {
	header, err := templated.GoHeader(p)
	return templates.ProjectView{
		Name:         proj.Name,
		Domain:       proj.Domain,
		Repo:         proj.Repo,
		Header:       header,
		MultiGroup:   proj.MultiGroup,
		Namespaced:   proj.Namespaced,
		APIModule:    proj.APIModule,
		Bundled:      proj.Runtime != project.Module,
		KctrlVersion: kctrl.Installable(),
	}, err
}

// keeps reports whether the user has a different file at the path of an optional file, and adds a note about it.
func keeps(p *plan.Plan, t templates.Template[templates.ProjectView], view templates.ProjectView) bool {
	name := t.Path(view)
	there, err := p.Read(name)
	if err != nil || strings.HasPrefix(name, "config/") || path.Ext(name) == ".go" {
		return false
	}
	text, err := t.Render(view)
	if err != nil || bytes.Equal(text, there) || t.Owner == plan.User {
		return false
	}
	p.Lock().Offer(name, text, t.Source()) // so that upgrades do not note it again
	p.Note(diagnostic.In(name, "is yours, and is kept as it is",
		"run kctrl init in a new directory to compare, and copy the parts you need"))
	return true
}
