package templates

import (
	"strconv"
	"strings"
)

// LicenseView has the data for the header of source files.
type LicenseView struct {
	// Copyright is the year, followed by the owner if it is known.
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

// ModuleView has the data for go.mod and go.sum.
type ModuleView struct {
	// Repo is the path of the project's Go module.
	Repo string
	// RuntimeVersion is the version of the published runtime. It is empty if the runtime is bundled.
	RuntimeVersion string
}

// ProjectView has the data for the files of a whole project. All names are valid.
type ProjectView struct {
	// Name is the prefix of the names of all objects that the project deploys, and Domain is the suffix of its groups.
	Name, Domain string
	// Repo is the path of the Go module.
	Repo string
	// Header begins every Go file: a comment and an empty line, or nothing.
	Header string
	// MultiGroup gives each group its own directories.
	MultiGroup bool
	// Namespaced restricts the manager's watches and permissions to its own namespace.
	Namespaced bool
	// APIModule is set if api is a separate Go module.
	APIModule bool
	// Bundled is set if the runtime is in third_party/kctrl.
	Bundled bool
	// KctrlVersion is the version of kctrl that CI installs. Empty means that CI reads it from a variable.
	KctrlVersion string
}

// LeaderElectionID is the name of the lease that the manager holds.
func (v ProjectView) LeaderElectionID() string { return v.Name + "." + v.Domain }

// Namespace is the namespace of the manager.
func (v ProjectView) Namespace() string { return Namespace(v.Name) }

// RoleKind is the kind of the controllers' role.
func (v ProjectView) RoleKind() string {
	if v.Namespaced {
		return "Role"
	}
	return "ClusterRole"
}

// APILayout describes the directories of the types in documentation.
func (v ProjectView) APILayout() string { return "api/" + v.ofGroup() + "<version>" }

// ControllerLayout describes the directories of the controllers in documentation.
func (v ProjectView) ControllerLayout() string {
	return strings.TrimSuffix("internal/controller/"+v.ofGroup(), "/")
}

func (v ProjectView) ofGroup() string {
	if v.MultiGroup {
		return "<group>/"
	}
	return ""
}

// Namespace returns the namespace of the manager of a project.
func Namespace(projectName string) string { return projectName + "-system" }

// ListView has the data for a kustomization that lists files.
type ListView struct {
	// Files are relative to the kustomization.
	Files []string
}

// RegisterView has the data for the registration of kinds and controllers.
type RegisterView struct {
	// The directory of the program.
	Folder string
	// Header begins the file: a comment and an empty line, or nothing.
	Header string
	// Imports are the packages of the project that the file uses, ordered by path.
	Imports []Import
	// APIs are the names of the API packages.
	APIs []string
	// Setups are the expressions that set up the controllers and webhooks. Each returns an error.
	Setups []string
	// Fallible is set if a setup calls a function that returns an error.
	Fallible bool
}

// ConversionView has the data for the conversion of one version of a kind.
type ConversionView struct {
	// Header begins the files: a comment and an empty line, or nothing.
	Header string
	// Spoke is the version, and Hub the version that it is converted to and from.
	Spoke, Hub KindView
	// Imports are the imports of the functions, besides the two API packages.
	Imports []Import
	// FromHub and ToHub are the names of the functions, FromHubBody and ToHubBody their bodies, and Helpers the functions
	// that they call.
	FromHub, ToHub, FromHubBody, ToHubBody, Helpers string
}

// NewConversion returns the view of a conversion, without the bodies of its functions.
func NewConversion(header string, spoke, hub KindView) ConversionView {
	name := func(from, to KindView) string {
		return spoke.Variable + strings.TrimPrefix(from.Conversion, from.Kind) + "To" + strings.TrimPrefix(to.Conversion,
			to.Kind)
	}
	return ConversionView{Header: header, Spoke: spoke, Hub: hub, FromHub: name(hub, spoke), ToHub: name(spoke, hub)}
}

// Import is a Go import. Alias is empty if the local name is the name of the package.
type Import struct{ Alias, Path string }

// WebhooksView has the data for the deployment of a project's webhooks.
type WebhooksView struct {
	// Name is the prefix of the names of all objects that the project deploys. Namespace is the namespace of the manager.
	Name, Namespace string
	// Mutating and Validating are set if the project has mutating and validating webhooks.
	Mutating, Validating bool
	// CRDs are the sorted names of the CRDs whose versions the manager converts.
	CRDs []string
}

// These are the names of generated webhook configurations, before a kustomization adds a prefix.
const (
	mutatingConfiguration   = "mutating-webhook-configuration"
	validatingConfiguration = "validating-webhook-configuration"
)

// Targets are the objects that call the webhooks, in the form of the manager's flag --webhook-targets. Environment
// variables have the names of the configurations, because kustomize can only replace whole values.
func (v WebhooksView) Targets() string {
	var targets []string
	if v.Mutating {
		targets = append(targets, "mutating/$(MUTATING_WEBHOOKS)")
	}
	if v.Validating {
		targets = append(targets, "validating/$(VALIDATING_WEBHOOKS)")
	}
	for _, name := range v.CRDs {
		targets = append(targets, "crd/"+name)
	}
	return strings.Join(targets, ",")
}

// MutatingConfigurations returns the name of the mutating webhook configuration, if there is one.
func (v WebhooksView) MutatingConfigurations() []string {
	return named(v.Mutating, mutatingConfiguration)
}

// ValidatingConfigurations returns the name of the validating webhook configuration, if there is one.
func (v WebhooksView) ValidatingConfigurations() []string {
	return named(v.Validating, validatingConfiguration)
}

func named(is bool, name string) []string {
	if !is {
		return nil
	}
	return []string{name}
}

// CRDPattern is a regular expression that matches exactly the names in CRDs.
func (v WebhooksView) CRDPattern() string {
	names := make([]string, len(v.CRDs))
	for i, name := range v.CRDs {
		names[i] = strings.ReplaceAll(name, ".", "[.]")
	}
	return strings.Join(names, "|")
}

// ChartView has the data for the fixed files of a Helm chart.
type ChartView struct {
	// Name is the name of the chart, and Version the version of the chart and its operator.
	Name, Version string
	// Prefix is the prefix of object names, without a hyphen.
	Prefix string
	// ServiceAccount is the name of the manager's service account, without the prefix.
	ServiceAccount string
	// Selector selects the manager's pods.
	Selector string
}
