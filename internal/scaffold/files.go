package scaffold

import (
	"bytes"
	"errors"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// boilerplateFile holds the header of new Go files.
const boilerplateFile = "hack/boilerplate.go.txt"

// writeProjectFiles plans what every project has. With beside, what is there of a name that people have files under for all sorts of
// programs is kept and noted.
func writeProjectFiles(p *plan.Plan, proj *project.Project, kctrl Build, beside bool) error {
	view, err := projectView(p, proj, kctrl)
	if err != nil {
		return err
	}
	list := templates.Project()
	if proj.APIModule {
		list = append(list, templates.APIModuleDoc())
	}
	if beside {
		list = slices.DeleteFunc(slices.Clone(list), func(t templates.Template[templates.ProjectView]) bool { return keeps(p, t, view) })
	}
	return renderAll(p, list, view, false)
}

// projectView is what templates of a whole project are made from.
func projectView(p *plan.Plan, proj *project.Project, kctrl Build) (templates.ProjectView, error) {
	header, err := goHeader(p)
	return templates.NewProject(templates.ProjectNames{
		Name:         proj.Name,
		Domain:       proj.Domain,
		Repo:         proj.Repo,
		Header:       header,
		MultiGroup:   proj.MultiGroup,
		Namespaced:   proj.Namespaced,
		APIModule:    proj.APIModule,
		Bundled:      proj.Runtime != project.Module,
		KctrlVersion: kctrl.installable(),
	}), err
}

// keeps reports whether a file of a user's own is in the place of one that a project does without, and notes it.
func keeps(p *plan.Plan, t templates.Template[templates.ProjectView], view templates.ProjectView) bool {
	name := t.Path(view)
	there, err := p.Read(name)
	if err != nil || strings.HasPrefix(name, "config/") || path.Ext(name) == ".go" {
		return false
	}
	text, err := t.Render(view)
	if err != nil || bytes.Equal(text, there) || t.Ownership == templates.Users {
		return false
	}
	if lock, _, err := p.Lock(); err == nil {
		lock.Offer(name, text, t.Source()) // so that no upgrade says it again
	}
	p.Note(&diagnostic.Error{
		Pos: token.Position{Filename: name}, Message: "is yours, and is kept as it is",
		Hint: "kctrl init in a new folder shows what kctrl would write; take over what you want",
	})
	return true
}

// goHeader returns what opens a new Go file: the boilerplate of the project, with a year, and an empty line, or nothing.
func goHeader(p *plan.Plan) (string, error) {
	text, err := p.Read(boilerplateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if text, err = dated(p, text); err != nil {
		return "", err
	}
	header := strings.TrimSpace(string(plain(text)))
	if header == "" {
		return "", nil
	}
	header += "\n\n"
	return header, diagnostic.CodeHeader(boilerplateFile, header)
}

func renderAll[V any](p *plan.Plan, list []templates.Template[V], view V, force bool) error {
	var errs []error
	for _, t := range list {
		errs = append(errs, render(p, t, view, force))
	}
	return errors.Join(errs...)
}

// renderUnlessEdited plans files that are no command's subject: what the user made of them stays.
func renderUnlessEdited[V any](p *plan.Plan, list []templates.Template[V], view V) error {
	lock, _, err := p.Lock()
	if err != nil {
		return err
	}
	for _, t := range list {
		there, err := p.Read(t.Path(view))
		if err == nil && lock.Touched(t.Path(view), there) {
			continue
		}
		if err := render(p, t, view, false); err != nil {
			return err
		}
	}
	return nil
}

// render plans one file. With force, what the user made of it is replaced.
func render[V any](p *plan.Plan, t templates.Template[V], view V, force bool) error {
	content, err := t.Render(view)
	if err != nil {
		return err
	}
	policy := policyOf(t.Ownership)
	if force {
		policy = policy.Forced()
	}
	return p.WriteFile(plan.File{Path: t.Path(view), Content: content, Template: t.Source(), Policy: policy})
}

func policyOf(o templates.Ownership) plan.Policy {
	switch o {
	case templates.Generated:
		return plan.Own
	case templates.Users:
		return plan.Once
	}
	return plan.Guarded
}

// writeProject plans the PROJECT file. It is not recorded in the lock: users may edit it at any time.
func writeProject(p *plan.Plan, proj *project.Project) error {
	text, err := proj.Marshal()
	if err != nil {
		return err
	}
	return p.WriteFile(plan.File{Path: project.File, Content: text, Policy: plan.Edit})
}
