package scaffold

import (
	"errors"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// boilerplateFile holds the header of new Go files.
const boilerplateFile = "hack/boilerplate.go.txt"

func writeProjectFiles(p *plan.Plan, proj *project.Project, kctrl Build) error {
	header, err := goHeader(p)
	if err != nil {
		return err
	}
	view := templates.NewProject(templates.ProjectNames{
		Name:         proj.Name,
		Domain:       proj.Domain,
		Repo:         proj.Repo,
		Header:       header,
		MultiGroup:   proj.MultiGroup,
		Namespaced:   proj.Namespaced,
		Bundled:      proj.Runtime != project.Module,
		KctrlVersion: kctrl.installable(),
	})
	return renderAll(p, templates.Project(), view, false)
}

// goHeader returns what opens a new Go file: the boilerplate of the project and an empty line, or nothing.
func goHeader(p *plan.Plan) (string, error) {
	text, err := p.Read(boilerplateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	header := strings.TrimSpace(string(text))
	if header == "" {
		return "", nil
	}
	header += "\n\n"
	return header, checkHeader(header)
}

// checkHeader refuses a boilerplate that is no Go comment.
func checkHeader(header string) error {
	_, err := parser.ParseFile(token.NewFileSet(), boilerplateFile, header+"package p\n", parser.SkipObjectResolution)
	if list, ok := errors.AsType[scanner.ErrorList](err); ok {
		return &diagnostic.Error{
			Pos:     list[0].Pos,
			Message: "the text that Go files begin with is no comment",
			Hint:    "write it between /* and */, or in lines that begin with //",
			Cause:   err,
		}
	}
	return err
}

func renderAll[V any](p *plan.Plan, list []templates.Template[V], view V, force bool) error {
	var errs []error
	for _, t := range list {
		errs = append(errs, render(p, t, view, force))
	}
	return errors.Join(errs...)
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
