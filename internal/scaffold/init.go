package scaffold

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

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
	// APIModule makes the folder of the API packages a Go module of its own.
	APIModule bool
	// Runtime is where the runtime comes from. Empty means Module for a released kctrl and Bundled for any other.
	Runtime project.RuntimeMode
	// Kctrl is the kctrl that makes the project.
	Kctrl project.Build
}

// PlanInit plans a new project in the folder fsys. That holds nothing yet but what does not get in the way, such as
// .git, LICENSE and README.md; or it is a Go module with code, to which the project is added: go.mod keeps what it
// says, and files that kctrl would write otherwise stay as they are, and are noted. Everything that is wrong with the
// options and the folder is reported at once, joined from *diagnostic.Error.
func PlanInit(fsys fs.FS, opts InitOptions) (*plan.Plan, error) {
	existing, err := gomod.ExistingModule(fsys)
	if err != nil {
		return nil, errors.Join(projectExists(fsys), err)
	}
	if err := checkNewFolder(fsys, existing); err != nil {
		return nil, err
	}
	proj, err := newProject(opts, existing.Path)
	if err != nil {
		return nil, err
	}
	p := plan.New(fsys)
	modules := func() error { return gomod.WriteModules(p, proj, opts.Kctrl, existing.Path != "") }
	if existing.Used {
		modules = func() error { return gomod.MergeModules(p, proj, opts.Kctrl) }
	}
	err = plan.InOrder(
		func() error { return writeBoilerplate(p, proj, opts.Year) },
		func() error { return render.WriteProjectFiles(p, proj, opts.Kctrl, existing.Used) },
		modules,
		func() error { return render.WriteRegistration(p, proj) },
		func() error { return templated.WriteProject(p, proj) },
	)
	return p, inTheWayOfInit(err)
}

// checkNewFolder refuses a folder that holds a project, and one that holds more than a new project can start beside
// and is no Go module.
func checkNewFolder(fsys fs.FS, existing gomod.GoModule) error {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return diagnostic.AtFile("", "cannot read the directory", err)
	}
	if err := projectExists(fsys); err != nil {
		return err
	}
	var strange []string
	for _, entry := range entries {
		if name := entry.Name(); !gomod.IsHarmless(name) {
			strange = append(strange, name)
		}
	}
	if len(strange) == 0 || existing.Used {
		return nil
	}
	what := strange[0]
	if more := len(strange) - 1; more > 0 {
		what = fmt.Sprintf("%s and %d more", what, more)
	}
	return &diagnostic.Error{
		Message: "the folder is not empty: it has " + what,
		Hint:    "start in a new folder; or, if this is your code, go mod init makes it a Go module, to which kctrl init adds",
	}
}

// projectExists says which project a folder holds already, if it does.
func projectExists(fsys fs.FS) error {
	text, err := fs.ReadFile(fsys, project.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	e := &diagnostic.Error{
		Pos:     token.Position{Filename: project.File},
		Message: "this folder holds a kctrl project already",
		Hint:    "kctrl create api adds a kind to it",
	}
	if err != nil {
		return diagnostic.AtFile(project.File, "cannot read", err)
	}
	if _, err := project.Parse(text); project.IsPeer(text) {
		e.Message = "this folder holds a project of kubebuilder"
		e.Hint = "kctrl migrate makes it one of kctrl"
	} else if err != nil {
		e.Message = "this folder holds a project already, which is not one of this kctrl"
		e.Hint = "start in a new folder"
	}
	return e
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
func newProject(opts InitOptions, existingModule string) (*project.Project, error) {
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
		domain := project.ValidOr(opts.Domain, "example.com", project.ValidateDomain)
		return nil, &diagnostic.Error{
			Message: "init needs the path of the Go module",
			Hint:    "kctrl init --domain " + domain + " --repo " + domain + "/guestbook",
			Class:   diagnostic.ErrUsage,
		}
	}
	name := opts.ProjectName
	if name == "" {
		name = project.DefaultName(opts.Repo)
	}
	proj := &project.Project{
		Domain:     opts.Domain,
		Repo:       opts.Repo,
		Name:       name,
		MultiGroup: opts.MultiGroup,
		Namespaced: opts.Namespaced,
		APIModule:  opts.APIModule,
		Runtime:    opts.Runtime,
		Owner:      opts.Owner,
		License:    opts.License,
		Kctrl:      opts.Kctrl.Name(),
	}
	if proj.License == "" {
		proj.License = "apache2"
	}
	if proj.Runtime == "" {
		proj.Runtime = opts.Kctrl.DefaultRuntime()
	}
	return proj, errors.Join(
		project.ValidateDomain(proj.Domain),
		project.ValidateModulePath(proj.Repo),
		validateProjectName(proj, opts.ProjectName != ""),
		validateLicense(proj.License),
		project.ValidateOwner(proj.Owner),
		gomod.ValidateRuntime(proj.Runtime, opts.Kctrl),
		gomod.ValidateExistingModule(proj.Repo, existingModule),
	)
}

// validateProjectName checks the name of a project. One that nobody gave is as wrong as the module path it comes from.
func validateProjectName(proj *project.Project, given bool) error {
	err := project.ValidateName(proj.Name)
	e, ok := errors.AsType[*diagnostic.Error](err)
	switch {
	case given || !ok:
		return err
	case project.ValidateModulePath(proj.Repo) != nil:
		return nil
	}
	e.Message += ", and it comes from --repo"
	e.Hint = "add --project-name guestbook, or another name"
	return e
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

// writeBoilerplate plans the header of Go files, unless there is one, which then is what they have.
func writeBoilerplate(p *plan.Plan, proj *project.Project, year int) error {
	if _, err := p.Read(layout.BoilerplateFile); err == nil {
		return nil
	}
	return templated.Render(p, templates.Licenses()[proj.License], templates.NewLicense(year, proj.Owner), false)
}
