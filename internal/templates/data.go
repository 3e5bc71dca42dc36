package templates

import "strconv"

// LicenseView is what the header of source files is rendered from.
type LicenseView struct {
	// Copyright is the year, and the owner if one is known.
	Copyright string
}

// NewLicense returns the view of a header. The owner may be empty.
func NewLicense(year int, owner string) LicenseView {
	copyright := strconv.Itoa(year)
	if owner != "" {
		copyright += " " + owner
	}
	return LicenseView{Copyright: copyright}
}

// ModuleView is what go.mod and go.sum are rendered from.
type ModuleView struct {
	// Repo is the path of the project's Go module.
	Repo string
	// RuntimeVersion is the version of the published runtime. Empty for a bundled one.
	RuntimeVersion string
}

// ProjectView is what the files of a whole project are rendered from.
type ProjectView struct {
	// Name prefixes everything the project deploys.
	Name string
	// Repo is the path of the Go module.
	Repo string
	// Header opens every Go file: a comment and an empty line, or nothing.
	Header string
	// LeaderElectionID is the name of the lease that the manager holds.
	LeaderElectionID string
	// Namespace is where the manager runs.
	Namespace string
	// Namespaced says that the manager watches, and is allowed to read, its own namespace only.
	Namespaced bool
	// RoleKind is Role or ClusterRole: what holds the rights of the controllers.
	RoleKind string
	// Bundled says that the runtime is in third_party/kctrl.
	Bundled bool
	// KctrlVersion is the version of kctrl that CI installs. Empty means that CI is told by a variable.
	KctrlVersion string
	// APILayout and ControllerLayout are where code goes, for people.
	APILayout, ControllerLayout string
}

// ProjectNames are the choices that a project is made from. All are valid names.
type ProjectNames struct {
	Name, Domain, Repo              string
	Header                          string
	MultiGroup, Namespaced, Bundled bool
	// KctrlVersion is a version that go install finds, or empty for a development build.
	KctrlVersion string
}

// NewProject spells what the files of a project say.
func NewProject(n ProjectNames) ProjectView {
	v := ProjectView{
		Name:             n.Name,
		Repo:             n.Repo,
		Header:           n.Header,
		LeaderElectionID: n.Name + "." + n.Domain,
		Namespace:        Namespace(n.Name),
		Namespaced:       n.Namespaced,
		RoleKind:         "ClusterRole",
		Bundled:          n.Bundled,
		KctrlVersion:     n.KctrlVersion,
		APILayout:        "api/<version>",
		ControllerLayout: "internal/controller",
	}
	if n.Namespaced {
		v.RoleKind = "Role"
	}
	if n.MultiGroup {
		v.APILayout, v.ControllerLayout = "api/<group>/<version>", "internal/controller/<group>"
	}
	return v
}

// Namespace returns the namespace that the manager of a project runs in.
func Namespace(projectName string) string { return projectName + "-system" }

// ListView is what a kustomization that lists files is rendered from.
type ListView struct {
	// Files are relative to its folder.
	Files []string
}

// RegisterView is what the registration of kinds and controllers is rendered from.
type RegisterView struct {
	// Header opens the file: a comment and an empty line, or nothing.
	Header string
	// Imports are the packages of the project that the file uses, ordered by path.
	Imports []Import
	// APIs are the names of the API packages.
	APIs []string
	// Controllers are the reconciler types, with their package.
	Controllers []string
}

// Import is a Go import. Alias is empty for a package that is imported under its own name.
type Import struct{ Alias, Path string }
