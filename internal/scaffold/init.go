package scaffold

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// InitOptions are the options of [PlanInit].
type InitOptions struct {
	// Domain is the suffix of the project's API groups. It is required.
	Domain string
	// Repo is the path of the Go module. Empty means the path in an existing go.mod.
	Repo string
	// ProjectName is the name prefix of everything that the project deploys. Empty means the last element of Repo.
	ProjectName string
	// Owner is the copyright holder. It may be empty.
	Owner string
	// License is "apache2" or "none"; empty means "apache2".
	License string
	// Year is the copyright year.
	Year int
	// MultiGroup gives every group its own directories.
	MultiGroup bool
	// Namespaced limits the operator to the namespace in which it runs.
	Namespaced bool
	// APIModule makes the directory of the API packages a separate Go module.
	APIModule bool
	// Runtime is the source of the runtime. Empty means Module if this kctrl is a release, and Bundled for other builds.
	Runtime project.RuntimeMode
	// Kctrl identifies the running kctrl.
	Kctrl project.Build
}

// PlanInit plans a new project in the directory fsys. The directory may have harmless files, such as .git, LICENSE and
// README.md. It may also be a Go module with code: PlanInit then adds the project to the module, keeps the content of
// go.mod and all existing files, and notes the existing files. It joins all errors about the options and the directory;
// each is a *diagnostic.Error.
func PlanInit(fsys fs.FS, opts InitOptions) (*plan.Plan, error) {
	existing, err := gomod.ExistingModule(fsys)
	if err != nil {
		return nil, errors.Join(projectExists(fsys), err)
	}
	if err := checkNewDir(fsys, existing); err != nil {
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
	return p, plan.WithoutForce(err)
}

// checkNewDir rejects a directory that already has a project. It also rejects a directory that is not a Go module and
// has files beside which a new project cannot start.
func checkNewDir(fsys fs.FS, existing gomod.GoModule) error {
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
		Message: "the directory is not empty: it has " + what,
		Hint:    "start in a new directory; or, if this is your code, run go mod init first: kctrl init adds to a Go module",
	}
}

// projectExists returns an error if the directory already has a project.
func projectExists(fsys fs.FS) error {
	text, err := fs.ReadFile(fsys, project.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	e := diagnostic.In(project.File, "this directory already has a kctrl project", "kctrl create api adds a kind to it")
	if err != nil {
		return diagnostic.AtFile(project.File, "cannot read", err)
	}
	if _, err := project.Parse(text); project.IsPeer(text) {
		e.Message = "this directory has a project of kubebuilder"
		e.Hint = "kctrl migrate converts it"
	} else if err != nil {
		e.Message = "this directory already has a project that this kctrl cannot read"
		e.Hint = "start in a new directory"
	}
	return e
}

// newProject checks the options and sets defaults.
func newProject(opts InitOptions, existingModule string) (*project.Project, error) {
	if opts.Domain == "" {
		return nil, diagnostic.Usage("init needs the domain that the API groups end in",
			"kctrl init --domain example.com --repo example.com/guestbook")
	}
	if opts.Repo == "" {
		opts.Repo = existingModule
	}
	if opts.Repo == "" {
		domain := project.ValidOr(opts.Domain, "example.com", project.ValidateDomain)
		return nil, diagnostic.Usage("init needs the path of the Go module",
			"kctrl init --domain "+domain+" --repo "+domain+"/guestbook")
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

// validateProjectName checks the name of a project. It reports no error about a name that comes from an invalid module
// path.
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
	return diagnostic.Usage(fmt.Sprintf("unknown license %q", license), "use --license apache2 or --license none")
}

// writeBoilerplate plans the header file of Go files, unless the file exists.
func writeBoilerplate(p *plan.Plan, proj *project.Project, year int) error {
	if _, err := p.Read(layout.BoilerplateFile); err == nil {
		return nil
	}
	return templated.Render(p, templates.Licenses()[proj.License], templates.NewLicense(year, proj.Owner), false)
}
