package templated

import (
	"errors"
	"go/token"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// GoHeader returns the header for a new Go file: the project's boilerplate with the year and an empty line, or "".
func GoHeader(p *plan.Plan) (string, error) {
	text, err := p.ReadIfExists(layout.BoilerplateFile)
	if err == nil {
		text, err = Dated(p, text)
	}
	if err != nil {
		return "", err
	}
	header := strings.TrimSpace(string(edit.Plain(text)))
	if header == "" {
		return "", nil
	}
	header += "\n\n"
	return header, diagnostic.CodeHeader(layout.BoilerplateFile, header)
}

func RenderAll[V any](p *plan.Plan, list []templates.Template[V], view V, force bool) error {
	var errs []error
	for _, t := range list {
		errs = append(errs, Render(p, t, view, force))
	}
	return errors.Join(errs...)
}

// RenderUnlessEdited plans a file that is not the subject of the command. It keeps a file that the user edited.
func RenderUnlessEdited[V any](p *plan.Plan, t templates.Template[V], view V) error {
	if there, err := p.Read(t.Path(view)); err == nil && p.Lock().Touched(t.Path(view), there) {
		return nil
	}
	return Render(p, t, view, false)
}

// Render plans one file. force replaces the user's edits.
func Render[V any](p *plan.Plan, t templates.Template[V], view V, force bool) error {
	content, err := t.Render(view)
	if err != nil {
		return err
	}
	return p.WriteFile(plan.File{Path: t.Path(view), Content: content, Template: t.Source(), Owner: t.Owner, Force: force})
}

// WriteProject plans the PROJECT file. The lock does not record this file, because users may edit it at any time.
func WriteProject(p *plan.Plan, proj *project.Project) error {
	text, err := proj.Marshal()
	if err != nil {
		return err
	}
	return p.Edit(project.File, text)
}

// Conflicts returns an error for each conflict, with git's markers, in the files that kctrl wrote. It omits generated
// files, which kctrl overwrites.
func Conflicts(p *plan.Plan) (found []*diagnostic.Error, err error) {
	for entry := range p.Lock().All() {
		if templates.OwnerOf(entry.Template) == plan.Generated {
			continue
		}
		text, err := p.ReadIfExists(entry.Path)
		if err != nil {
			return nil, err
		}
		for _, line := range edit.Conflicts(text) {
			found = append(found, diagnostic.At(token.Position{Filename: entry.Path, Line: line},
				"has a conflict: you and kctrl have changed the same lines",
				"choose between the lines, and remove the markers"))
		}
	}
	return found, nil
}
