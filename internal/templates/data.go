package templates

import (
	"strconv"
	"strings"
)

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
	// APIModule says that api is a Go module of its own.
	APIModule bool
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
	// APIModule makes api a Go module of its own.
	APIModule bool
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
		APIModule:        n.APIModule,
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
	// Folder is that of the program.
	Folder string
	// Header opens the file: a comment and an empty line, or nothing.
	Header string
	// Imports are the packages of the project that the file uses, ordered by path.
	Imports []Import
	// APIs are the names of the API packages.
	APIs []string
	// Setups are the expressions that set up the controllers and webhooks; each is an error.
	Setups []string
	// Fallible says that some of them come from functions which return an error.
	Fallible bool
}

// ConversionView is what the conversion of one version of a kind is rendered from.
type ConversionView struct {
	// Header opens the files: a comment and an empty line, or nothing.
	Header string
	// Spoke is the version, Hub the one it is converted to and from.
	Spoke, Hub KindView
	// Imports are what the functions name beside the packages of the two.
	Imports []Import
	// FromHub and ToHub are the names of the functions, FromHubBody and ToHubBody what they do, and Helpers what they call.
	FromHub, ToHub, FromHubBody, ToHubBody, Helpers string
}

// NewConversion spells the names in a conversion.
func NewConversion(header string, spoke, hub KindView) ConversionView {
	name := func(from, to KindView) string {
		return spoke.Variable + strings.TrimPrefix(from.Conversion, from.Kind) + "To" + strings.TrimPrefix(to.Conversion, to.Kind)
	}
	return ConversionView{Header: header, Spoke: spoke, Hub: hub, FromHub: name(hub, spoke), ToHub: name(spoke, hub)}
}

// Import is a Go import. Alias is empty for a package that is imported under its own name.
type Import struct{ Alias, Path string }

// WebhooksView is what the deployment of a project's webhooks is rendered from.
type WebhooksView struct {
	// Name prefixes everything the project deploys, Namespace is where the manager runs.
	Name, Namespace string
	// Mutating and Validating say that there are webhooks of that kind.
	Mutating, Validating bool
	// CRDs are the names of those whose versions the manager converts, in order.
	CRDs []string
}

// The names that generated webhook configurations have before a kustomization gives them a prefix.
const (
	mutatingConfiguration   = "mutating-webhook-configuration"
	validatingConfiguration = "validating-webhook-configuration"
)

// Targets are the objects that call the webhooks, as the manager's flag --webhook-targets takes them.
func (v WebhooksView) Targets() string {
	var targets []string
	for _, name := range v.MutatingConfigurations() {
		targets = append(targets, "mutating/"+name)
	}
	for _, name := range v.ValidatingConfigurations() {
		targets = append(targets, "validating/"+name)
	}
	for _, name := range v.CRDs {
		targets = append(targets, "crd/"+name)
	}
	return strings.Join(targets, ",")
}

// MutatingConfigurations are the names of the configurations of mutating webhooks in a cluster: one or none.
func (v WebhooksView) MutatingConfigurations() []string {
	return named(v.Mutating, v.Name, mutatingConfiguration)
}

// ValidatingConfigurations are the names of the configurations of validating webhooks in a cluster: one or none.
func (v WebhooksView) ValidatingConfigurations() []string {
	return named(v.Validating, v.Name, validatingConfiguration)
}

func named(is bool, prefix, name string) []string {
	if !is {
		return nil
	}
	return []string{prefix + "-" + name}
}

// CRDPattern is a regular expression that only the names of CRDs match.
func (v WebhooksView) CRDPattern() string {
	names := make([]string, len(v.CRDs))
	for i, name := range v.CRDs {
		names[i] = strings.ReplaceAll(name, ".", "[.]")
	}
	return strings.Join(names, "|")
}

// ChartView is what the frame of a Helm chart is rendered from.
type ChartView struct {
	// Name is that of the chart, and Version that of it and of the operator in it.
	Name, Version string
	// Prefix begins the names of objects, without a hyphen.
	Prefix string
	// ServiceAccount is the name of the manager's, without the prefix.
	ServiceAccount string
	// Selector selects the manager's pods.
	Selector string
}
