// Package layout names what a project consists of: its directories and files, what Go calls its kinds, and which
// versions, controllers and webhooks PROJECT lists for each. It reads PROJECT alone.
package layout

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

const (
	// RuntimeModule is the Go module that the runtime is part of.
	RuntimeModule = "github.com/kctrl-dev/kctrl"
	// BundleDir is where a project has the runtime when it does not require the published module.
	BundleDir = "third_party/kctrl"
)

const GoModFile = "go.mod"

const (
	// WorkFile is that of a workspace.
	WorkFile = "go.work"
	// Unpublished is the version that is required of a module which a folder stands for.
	Unpublished = "v0.0.0"
	// TypesModule is what all API packages import.
	TypesModule = "k8s.io/apimachinery"
)

// BoilerplateFile holds the header of new Go files.
const BoilerplateFile = "hack/boilerplate.go.txt"

// RegisterName is the name of the generated registrations: that of all kinds beside the main function, and that of an
// API package.
const RegisterName = "zz_generated.register.go"

const (
	// MainDir is where init puts the operator's program, and mainFile its main function.
	MainDir  = "cmd"
	MainFile = MainDir + "/main.go"
	// ManagerPackage is what starts it.
	ManagerPackage = RuntimeModule + "/runtime/manager"
	// ControllerPackage has the interface of managers that functions take which set up.
	ControllerPackage = RuntimeModule + "/runtime/controller"
)

// The folders with a kustomization that commands look after.
const (
	CRDDir     = "config/crd"
	DefaultDir = "config/default"
	RBACDir    = "config/rbac"
	SamplesDir = "config/samples"
	WebhookDir = "config/webhook"
)

const (
	ComponentDir = "config/components/webhook"
	PolicyDir    = "config/components/network-policy"
	// PoliciesDir has the policies that API servers decide by.
	PoliciesDir = "config/policy"
)

// DirOf returns the folder of an import path in the module of a project.
func DirOf(repo, importPath string) (folder string, inside bool) {
	if importPath == repo {
		return ".", true
	}
	folder, inside = strings.CutPrefix(importPath, repo+"/")
	return folder, inside && !strings.HasPrefix(folder, BundleDir+"/")
}

// KindNames are the names that the templates of a resource are spelled from.
func KindNames(proj *project.Project, r project.Resource, header string) templates.KindNames {
	names := templates.KindNames{
		ProjectName: proj.Name,
		Repo:        proj.Repo,
		Header:      header,
		MultiGroup:  proj.MultiGroup,
		Group:       r.Group,
		Domain:      r.Domain,
		Version:     r.Version,
		Kind:        r.Kind,
		Plural:      r.Plural,
		Namespaced:  r.Namespaced,
		Path:        r.Path,
	}
	if r.Path == "" {
		names.APIFolder, _ = MigratedDir(proj, r)
	}
	if proj.Namespaced {
		names.RestrictedTo = templates.Namespace(proj.Name)
	}
	return names
}

// MigratedDir returns the folder of a version that the project has by kinds which PROJECT lists with their path:
// those of a project that was migrated.
func MigratedDir(proj *project.Project, r project.Resource) (folder string, found bool) {
	for _, other := range proj.Resources {
		if other.Path != "" && other.APIGroup() == r.APIGroup() && other.Version == r.Version {
			return DirOf(proj.Repo, other.Path)
		}
	}
	return "", false
}

// UsesTypes reports whether code of the project uses the Go types of a kind: API servers decide by a policy without
// them.
func UsesTypes(r project.Resource) bool {
	return r.Controller || len(r.Controllers)+len(WebhooksOf(r)) > 0
}

// VersionBefore returns the version of the kind of r that the project has had longest, if it is not r itself.
func VersionBefore(proj *project.Project, r project.Resource) (project.Resource, bool) {
	for _, other := range proj.Resources {
		if other.APIGroup() != r.APIGroup() || other.Kind != r.Kind || !other.API {
			continue
		}
		return other, other.Version != r.Version
	}
	return project.Resource{}, false
}

func Derefs(list []*project.Resource) []project.Resource {
	var all []project.Resource
	for _, r := range list {
		all = append(all, *r)
	}
	return all
}

func HasOthers(proj *project.Project, r project.Resource) bool {
	return slices.ContainsFunc(proj.Versions(r), func(v *project.Resource) bool { return v.API })
}

// SpokesOf returns the versions whose hub is r, in the order of the project.
func SpokesOf(proj *project.Project, r project.Resource) []project.Resource {
	return slices.DeleteFunc(Derefs(proj.Versions(r)), func(v project.Resource) bool { return v.Hub != r.Version })
}

// ControllersOf returns the controllers of a kind.
func ControllersOf(proj *project.Project, r project.Resource, header string) []templates.KindView {
	var all []templates.KindView
	names := KindNames(proj, r, header)
	if r.Controller {
		all = append(all, templates.NewKind(names))
	}
	for _, name := range r.Controllers {
		names.Controller = name
		all = append(all, templates.NewKind(names))
	}
	return all
}

// WebhooksView is what the project deploys for its webhooks; found is false if it has none.
func WebhooksView(proj *project.Project) (view templates.WebhooksView, found bool) {
	view = templates.WebhooksView{Name: proj.Name, Namespace: templates.Namespace(proj.Name)}
	for _, r := range proj.Resources {
		view.Mutating = view.Mutating || r.Defaulting
		view.Validating = view.Validating || r.Validation
		if r.Hub != "" {
			view.CRDs = append(view.CRDs, r.Plural+"."+r.APIGroup())
		}
	}
	slices.Sort(view.CRDs)
	view.CRDs = slices.Compact(view.CRDs)
	return view, view.Mutating || view.Validating || len(view.CRDs) > 0
}

// CertificatesOf returns who makes the certificates of the webhooks of a project.
func CertificatesOf(proj *project.Project) string {
	if proj.Certificates == "" {
		return project.SelfSigned
	}
	return proj.Certificates
}

// SetCertificates sets who makes the certificates of the webhooks of a project. The default is what a project has
// that says nothing, so that a choice and its opposite leave no trace.
func SetCertificates(proj *project.Project, by string) {
	if by == project.SelfSigned {
		by = ""
	}
	proj.Certificates = by
}

func MissingFile(name string, err error, hint string) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e := diagnostic.AtFile(name, "cannot read", err)
	e.Message, e.Hint = "the file is missing", hint
	return e
}
