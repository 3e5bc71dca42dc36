package scaffold

import (
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// boilerplateFile holds the header of new Go files.
const boilerplateFile = "hack/boilerplate.go.txt"

// InitOptions are the choices of a new project.
type InitOptions struct {
	// Domain is what the API groups of the project end in. It is required.
	Domain string
	// Repo is the path of the Go module. Empty means that of a go.mod which is there already.
	Repo string
	// ProjectName prefixes everything the project deploys. Empty means the last element of Repo.
	ProjectName string
	// Owner holds the copyright. It may be empty.
	Owner string
	// License is "apache2" or "none"; empty means "apache2".
	License string
	// Year is that of the copyright.
	Year int
	// MultiGroup gives every group its own folders.
	MultiGroup bool
	// Namespaced limits the operator to the namespace it runs in.
	Namespaced bool
	// Runtime is where the runtime comes from. Empty means Module for a released kctrl and Bundled for any other.
	Runtime RuntimeMode
	// Kctrl is the kctrl that makes the project.
	Kctrl Build
}

// PlanInit plans a new project in the folder fsys, which holds nothing yet but what does not get in the way, such as
// .git, LICENSE and README.md. Everything that is wrong with the options and the folder is reported at once, joined from
// *diagnostic.Error.
func PlanInit(fsys fs.FS, opts InitOptions) (*plan.Plan, error) {
	if err := checkNewFolder(fsys); err != nil {
		return nil, err
	}
	existing, err := existingModule(fsys)
	if err != nil {
		return nil, err
	}
	project, err := newProject(opts, existing)
	if err != nil {
		return nil, err
	}
	p := plan.New(fsys)
	steps := []func() error{
		func() error { return writeBoilerplate(p, project, opts.Year) },
		func() error { return writeProjectFiles(p, project, opts.Kctrl) },
		func() error { return writeModules(p, project, opts.Kctrl, existing != "") },
		func() error { return writeRegistration(p, project) },
		func() error { return WriteProject(p, project) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, inTheWayOfInit(err)
		}
	}
	return p, nil
}

// inTheWayOfInit tells what to do about files that are in the way: init has no --force.
func inTheWayOfInit(err error) error {
	errs := diagnostic.All(err)
	for _, single := range errs {
		if e, ok := errors.AsType[*diagnostic.Error](single); ok && strings.Contains(e.Hint, "--force") {
			e.Hint = "move it away, then run the command again"
		}
	}
	return errors.Join(errs...)
}

// newProject checks the options and fills in what they leave out.
func newProject(opts InitOptions, existingModule string) (*Project, error) {
	if opts.Domain == "" {
		return nil, &diagnostic.Error{
			Message: "init needs the domain that the API groups end in",
			Hint:    "kctrl init --domain example.com --repo example.com/guestbook",
			Class:   diagnostic.ErrUsage,
		}
	}
	if opts.Repo == "" {
		opts.Repo = existingModule
	}
	if opts.Repo == "" {
		domain := orExample(opts.Domain, "example.com", accepts(ValidateDomain))
		return nil, &diagnostic.Error{
			Message: "init needs the path of the Go module",
			Hint:    "kctrl init --domain " + domain + " --repo " + domain + "/guestbook",
			Class:   diagnostic.ErrUsage,
		}
	}
	name := opts.ProjectName
	if name == "" {
		name = defaultProjectName(opts.Repo)
	}
	project := &Project{
		Domain:     opts.Domain,
		Repo:       opts.Repo,
		Name:       name,
		MultiGroup: opts.MultiGroup,
		Namespaced: opts.Namespaced,
		Runtime:    opts.Runtime,
		Owner:      opts.Owner,
		License:    opts.License,
		Kctrl:      opts.Kctrl.name(),
	}
	if project.License == "" {
		project.License = "apache2"
	}
	if project.Runtime == "" {
		project.Runtime = opts.Kctrl.defaultRuntime()
	}
	return project, errors.Join(
		ValidateDomain(project.Domain),
		ValidateModulePath(project.Repo),
		validateProjectName(project, opts.ProjectName != ""),
		validateLicense(project.License),
		validateOwner(project.Owner),
		validateRuntime(project.Runtime, opts.Kctrl),
		validateExistingModule(project.Repo, existingModule),
	)
}

// defaultProjectName is the last element of a module path that is not a major version.
func defaultProjectName(repo string) string {
	base := path.Base(repo)
	if parent := path.Dir(repo); parent != "." && isMajorVersion(base) {
		base = path.Base(parent)
	}
	return dnsCharacters(strings.ReplaceAll(base, ".", "-"), "-")
}

// validateProjectName checks the name of a project. One that nobody gave is as wrong as the module path it comes from.
func validateProjectName(project *Project, given bool) error {
	err := ValidateProjectName(project.Name)
	e, ok := errors.AsType[*diagnostic.Error](err)
	switch {
	case given || !ok:
		return err
	case ValidateModulePath(project.Repo) != nil:
		return nil
	}
	e.Message += ", and it comes from --repo"
	e.Hint = "add --project-name guestbook, or another name"
	return e
}

func isMajorVersion(element string) bool {
	digits, ok := strings.CutPrefix(element, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

func validateLicense(license string) error {
	if _, ok := templates.Licenses()[license]; ok {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("unknown license %q", license),
		Hint:    "use --license apache2 or --license none",
		Class:   diagnostic.ErrUsage,
	}
}

func writeBoilerplate(p *plan.Plan, project *Project, year int) error {
	return render(p, templates.Licenses()[project.License], templates.NewLicense(year, project.Owner), false)
}

func writeProjectFiles(p *plan.Plan, project *Project, kctrl Build) error {
	header, err := goHeader(p)
	if err != nil {
		return err
	}
	view := templates.NewProject(templates.ProjectNames{
		Name:         project.Name,
		Domain:       project.Domain,
		Repo:         project.Repo,
		Header:       header,
		MultiGroup:   project.MultiGroup,
		Namespaced:   project.Namespaced,
		Bundled:      project.Runtime != Module,
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
