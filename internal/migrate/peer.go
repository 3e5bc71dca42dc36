package migrate

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/semver"

	"github.com/gobuffalo/flect"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// peer is a project of kubebuilder or operator-sdk, as its PROJECT file tells of it.
type peer struct {
	Version     string         `yaml:"version"`
	Domain      string         `yaml:"domain"`
	Repo        string         `yaml:"repo"`
	ProjectName string         `yaml:"projectName"`
	MultiGroup  bool           `yaml:"multigroup"`
	Namespaced  bool           `yaml:"namespaced"`
	Resources   []peerResource `yaml:"resources"`

	// unlisted says that there is no PROJECT file: what it would say is told by the code.
	unlisted bool
	// mainFile is the file with the main function, empty if kctrl would not find it.
	mainFile string
	// runtime is the version of controller-runtime that go.mod asks for, if that is known; required says that it asks for one.
	runtime  string
	required bool
}

type peerResource struct {
	Group    string  `yaml:"group"`
	Domain   *string `yaml:"domain"`
	Version  string  `yaml:"version"`
	Kind     string  `yaml:"kind"`
	Plural   string  `yaml:"plural"`
	Path     string  `yaml:"path"`
	External bool    `yaml:"external"`
	Core     bool    `yaml:"core"`
	API      *struct {
		Namespaced bool `yaml:"namespaced"`
	} `yaml:"api"`
}

// The main files that are looked for. The old one moves to the place of the new one.
const (
	mainFile    = "cmd/main.go"
	oldMainFile = "main.go"
)

// readPeer reads the PROJECT file, in version 2 or 3. A program on controller-runtime may have none.
func readPeer(fsys fs.FS) (*peer, error) {
	text, err := fs.ReadFile(fsys, project.File)
	if errors.Is(err, fs.ErrNotExist) {
		return unlistedPeer(fsys, err)
	}
	if err != nil {
		return nil, diagnostic.AtFile(project.File, "cannot read", err)
	}
	p := &peer{}
	if err := yaml.Unmarshal(text, p); err != nil {
		return nil, diagnostic.YAML(project.File, text, err, "repair it, then run the command again")
	}
	if p.Version == project.Version {
		return nil, atProject("this is a project of kctrl already", "kctrl create api adds a kind to it")
	}
	if version, _, _ := strings.Cut(p.Version, "-"); version != "2" && version != "3" {
		return nil, atProject(fmt.Sprintf("version %s of PROJECT is not one that can be migrated", diagnostic.Quote(p.Version)), "kctrl migrate takes projects of version 2 and 3; one whose PROJECT nothing reads any more can go without it, and gets one made from its code")
	}
	return p, p.complete(fsys)
}

func atProject(message, hint string) error {
	return &diagnostic.Error{Pos: token.Position{Filename: project.File}, Message: message, Hint: hint}
}

// complete fills in what the file leaves to others.
func (p *peer) complete(fsys fs.FS) error {
	text, err := fs.ReadFile(fsys, "go.mod")
	if errors.Is(err, fs.ErrNotExist) {
		return &diagnostic.Error{
			Pos: token.Position{Filename: "go.mod"}, Message: "the file is missing", Cause: err,
			Hint: "kctrl migrates Go modules: name the folder of go.mod with -C where that is above this one; a project of Ansible or Helm has no code to migrate",
		}
	}
	if err != nil {
		return diagnostic.AtFile("go.mod", "cannot read", err)
	}
	file, err := moduleOf(text)
	if err != nil {
		return err
	}
	if file.Module != nil {
		p.Repo = file.Module.Mod.Path
	}
	for _, r := range file.Require {
		if r.Mod.Path == peerModule {
			p.required, p.runtime = true, r.Mod.Version
		}
	}
	for _, r := range file.Replace {
		if r.Old.Path == peerModule {
			p.runtime = r.New.Version // of a folder nothing is known
		}
	}
	if p.ProjectName == "" {
		p.ProjectName = project.DefaultName(p.Repo)
	}
	if p.Domain == "" {
		p.Domain = "my.domain" // as kubebuilder has it
	}
	for _, name := range []string{mainFile, oldMainFile} {
		if source, err := fs.ReadFile(fsys, name); err == nil && isMain(source) {
			p.mainFile = name
			break
		}
	}
	if p.mainFile == oldMainFile && !aloneInRoot(fsys) {
		p.mainFile = ""
	}
	return nil
}

// oldestRuntime is the oldest version of controller-runtime whose code can be rewritten: reconcilers have a context since then.
const oldestRuntime = "v0.7.0"

// tooOld says what to upgrade before the Go code can be rewritten, if anything.
func (p *peer) tooOld() error {
	if p.runtime == "" || semver.Compare(p.runtime, oldestRuntime) >= 0 {
		return nil
	}
	return &diagnostic.Error{
		Pos:     token.Position{Filename: "go.mod"},
		Message: fmt.Sprintf("controller-runtime %s is too old: reconcilers have no context there, and can be rewritten from %s on", p.runtime, oldestRuntime),
		Hint:    "upgrade it first, with go get sigs.k8s.io/controller-runtime@" + oldestRuntime + " or newer and what the code must change for; or add --keep-runtime",
	}
}

// isMain reports whether a file is of a program, and can be moved.
func isMain(source []byte) bool {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	return err == nil && parsed.Name.Name == "main"
}

// aloneInRoot reports whether main.go is the only Go file of its folder, embeds nothing, and can be in cmd, where no other package is.
func aloneInRoot(fsys fs.FS) bool {
	names, err := fs.Glob(fsys, "*.go")
	others, _ := fs.Glob(fsys, path.Dir(mainFile)+"/*.go")
	source, _ := fs.ReadFile(fsys, oldMainFile)
	return err == nil && len(names) == 1 && !strings.Contains(string(source), "//go:embed") && len(others) == 0
}

// target returns where a Go file goes.
func (p *peer) target(name string) string {
	if name == oldMainFile && p.mainFile == oldMainFile {
		return mainFile
	}
	return name
}

// project returns the project as kctrl will know it. Its kinds keep the registration that they have: they are listed with their path. declared
// are those that the code shows, whose groups stand over what PROJECT says.
func (p *peer) project(fsys fs.FS, kctrl project.Build, declared []foundKind) *project.Project {
	proj := &project.Project{
		Domain: p.Domain, Repo: p.Repo, Name: p.ProjectName, MultiGroup: p.MultiGroup, Namespaced: p.Namespaced, License: "none", Runtime: project.Bundled, Kctrl: kctrl.Name(),
	}
	for _, r := range p.Resources {
		if r.Version == "" || r.Kind == "" {
			continue
		}
		resource := project.Resource{Group: r.Group, Version: r.Version, Kind: r.Kind, Plural: r.Plural, Domain: p.Domain, Path: r.Path}
		if r.Domain != nil {
			resource.Domain = *r.Domain
		} else if r.Core {
			resource.Domain = ""
		}
		if r.Core && r.Group == "core" {
			resource.Group = ""
		}
		if resource.Plural == "" {
			resource.Plural = strings.ToLower(flect.Pluralize(r.Kind))
		}
		if r.API != nil {
			resource.Namespaced = r.API.Namespaced
		}
		if resource.Path == "" {
			resource.Path = p.apiPath(fsys, r)
		}
		if i := slices.IndexFunc(declared, func(k foundKind) bool { return k.path == resource.Path && k.kind == resource.Kind }); i >= 0 {
			resource.Group, resource.Domain = declared[i].groupBelow(p.Domain)
		}
		_, listed := proj.Find(resource.APIGroup(), resource.Version, resource.Kind)
		if resource.Path != "" && resource.APIGroup() != "" && !listed {
			proj.Resources = append(proj.Resources, resource)
		}
	}
	return proj
}

// apiPath finds the API package of a kind where PROJECT does not name it.
func (p *peer) apiPath(fsys fs.FS, r peerResource) string {
	for _, folder := range []string{"api/" + r.Version, "apis/" + r.Group + "/" + r.Version, "api/" + r.Group + "/" + r.Version} {
		if info, err := fs.Stat(fsys, folder); err == nil && info.IsDir() {
			return path.Join(p.Repo, folder)
		}
	}
	return ""
}

// writeProject plans PROJECT, the runtime, and the registration of what kctrl will create.
func (m *migration) writeProject(context.Context) error {
	if m.opts.KeepRuntime {
		return nil
	}
	declared, err := kindsIn(m.plan.FS(), m.peer.Repo)
	if err != nil {
		return err
	}
	proj := m.peer.project(m.plan.FS(), m.opts.Kctrl, declared)
	m.reportUnlisted(proj)
	text, err := proj.Marshal()
	if err != nil {
		return err
	}
	if err := m.plan.Edit(project.File, text); err != nil {
		return err
	}
	if err := errors.Join(gomod.AdoptRuntime(m.plan, proj), m.adoptModules()); err != nil {
		return err
	}
	if m.peer.mainFile == "" || !m.registered {
		m.report.Left = append(m.report.Left, Left{File: project.File, Reason: "what kctrl create api will make is registered by a function in cmd/main.go, which is not there: call register(m) where the manager is set up", Rewritten: true})
		return nil
	}
	return render.PlanRegistration(m.plan, proj)
}
