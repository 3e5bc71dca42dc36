// Package layout names the parts of a project: its directories and files, the Go names of its kinds, and the versions,
// controllers and webhooks that PROJECT lists for each kind. It reads only PROJECT.
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
	// RuntimeModule is the Go module of the runtime.
	RuntimeModule = "github.com/kctrl-dev/kctrl"
	// BundleDir holds the runtime in projects that do not require the published module.
	BundleDir = "third_party/kctrl"
)

const GoModFile = "go.mod"

const (
	// WorkFile is the file of a Go workspace.
	WorkFile = "go.work"
	// Unpublished is the required version of modules that a directory replaces.
	Unpublished = "v0.0.0"
	// TypesModule is the module that all API packages import.
	TypesModule = "k8s.io/apimachinery"
)

// BoilerplateFile contains the license header for new Go files.
const BoilerplateFile = "hack/boilerplate.go.txt"

// RegisterName is the file name of the generated registrations: the registration of all kinds next to the main
// function, and the registration in each API package.
const RegisterName = "zz_generated.register.go"

const (
	// MainDir is the directory of the operator's program, and MainFile is the file with its main function.
	MainDir  = "cmd"
	MainFile = MainDir + "/main.go"
	// ManagerPackage is the package that starts the manager.
	ManagerPackage = RuntimeModule + "/runtime/manager"
	// ControllerPackage has the Manager interface that setup functions accept.
	ControllerPackage = RuntimeModule + "/runtime/controller"
)

// The directories whose kustomizations commands update.
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
	// PoliciesDir has the admission policies that API servers evaluate.
	PoliciesDir = "config/policy"
)

// DirOf returns the directory of an import path, and whether the import path is in the project's module.
func DirOf(repo, importPath string) (folder string, inside bool) {
	if importPath == repo {
		return ".", true
	}
	folder, inside = strings.CutPrefix(importPath, repo+"/")
	return folder, inside && !strings.HasPrefix(folder, BundleDir+"/")
}

// KindNames returns the names from which the templates of a resource derive further names.
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

// KindView returns the values for the templates of a resource.
func KindView(proj *project.Project, r project.Resource, header string) templates.KindView {
	return templates.NewKind(KindNames(proj, r, header))
}

// MigratedDir returns the directory of a version whose kinds PROJECT lists with a path, as in migrated projects.
func MigratedDir(proj *project.Project, r project.Resource) (folder string, found bool) {
	for _, other := range proj.Resources {
		if other.Path != "" && other.APIGroup() == r.APIGroup() && other.Version == r.Version {
			return DirOf(proj.Repo, other.Path)
		}
	}
	return "", false
}

// UsesTypes reports whether project code uses the Go types of a kind. Policies do not use them, because API servers
// evaluate policies.
func UsesTypes(r project.Resource) bool {
	return r.Controller || len(r.Controllers)+len(WebhooksOf(r)) > 0
}

// VersionBefore returns the oldest version of r's kind in the project, unless that is r itself.
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

// WebhooksView returns the values for the manifests of the project's webhooks. found is false if the project has no
// webhooks.
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

// CertificatesOf returns the issuer of the project's webhook certificates.
func CertificatesOf(proj *project.Project) string {
	if proj.Certificates == "" {
		return project.SelfSigned
	}
	return proj.Certificates
}

// SetCertificates sets the issuer of the project's webhook certificates. It leaves the field unset for the default
// issuer, so that setting and resetting the issuer does not change PROJECT.
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
