package templates

import (
	"cmp"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/gobuffalo/flect"
)

// KindNames are the settings of a kind. All are valid names.
type KindNames struct {
	// ProjectName, Repo and Header are settings of the project.
	ProjectName, Repo, Header string
	// MultiGroup gives each group its own directories.
	MultiGroup bool
	// RestrictedTo is the namespace to which the controllers' permissions are limited. Empty means all namespaces.
	RestrictedTo string

	// Group is the API group without the domain. It may be empty.
	Group, Domain         string
	Version, Kind, Plural string
	// Namespaced makes the kind namespaced.
	Namespaced bool
	// Controller is the name of an additional controller of the kind. Empty means the controller with the name of the
	// kind.
	Controller string
	// Path is the import path of the Go type, for an external kind.
	Path string
	// APIFolder is the directory of the API package, if it differs from the project's layout.
	APIFolder string
}

// KindView has the data for the files of one kind and its controller.
type KindView struct {
	VersionView
	ProjectName string
	// Kind is the name of the Go type, and Plural the name of the resource.
	Kind, Plural string
	// Scope is Namespaced or Cluster.
	Scope          string
	NamespacedKind bool
	// Alias is the local name of the API package in other packages.
	Alias string
	// Variable is the name of a local variable of the kind's type. It shadows no name in the templates.
	Variable string
	// Reconciler is the Go type of the controller.
	Reconciler string
	// TestCRDs is the directory of the CRD that tests install. It is empty for built-in kinds.
	TestCRDs string
	// ControllerFolder is the directory of the controller's package, ControllerImportPath its import path, and
	// ControllerAlias its local name.
	ControllerFolder, ControllerImportPath, ControllerAlias string
	// ConversionFolder is the directory of the kind's conversions, ConversionImportPath its import path, and
	// ConversionAlias its local name. WebhookFolder and the following fields are the same for the kind's webhooks.
	ConversionFolder, ConversionImportPath, ConversionAlias string
	WebhookFolder, WebhookImportPath, WebhookAlias          string
	// MutatePath and ValidatePath are the URL paths of the defaulter and the validator. AdmissionName is the suffix of
	// both webhooks' names.
	MutatePath, ValidatePath, AdmissionName string
	// Root is the path from the directory of a controller or webhook to the directory of the project.
	Root string
	// Conversion is the variable that converts this version to and from the hub.
	Conversion string
	// ControllerName is unique among the controllers of the project.
	ControllerName string
	// FieldOwner is the field manager of the controller's server-side applies.
	FieldOwner string
	// RBACNamespace is the namespace argument of an RBAC marker for a Role; it is empty for a ClusterRole.
	RBACNamespace string
	// RolePrefix is the prefix of the roles for users of the kind.
	RolePrefix string
	// CRDBase is the file of the CRD, relative to config/crd.
	CRDBase string
	// CRDBases is the path from the controller's directory to the directory of the CRDs.
	CRDBases string
	// SampleFile is the file of the sample in config/samples, and SampleName the name of its object. SampleNamespace is
	// the namespace of the object. It is empty for a cluster-scoped kind, and if the sample belongs in the manager's
	// namespace.
	SampleFile, SampleName, SampleNamespace string
	// controller is the base name of the controller's files.
	controller string
	// Fields are the fields of the kind.
	Fields FieldsView
	// Operand is the workload that the controller runs for each object.
	Operand OperandView
	// Protected is set if the group belongs to the Kubernetes community, so that its CRDs require an approval annotation.
	Protected bool
}

// FieldsView has the data about a kind's fields and print columns. [NewKind] sets an example, which has the field
// message.
type FieldsView struct {
	// Imports are the packages of the types.
	Imports []Import
	// Spec and Status are the fields of the spec and the status as Go source. If Spec is empty, the example is used.
	Spec, Status string
	// Types are the declarations of the fields' types.
	Types string
	// ConditionsSay is a sentence that describes the conditions of the status.
	ConditionsSay string
	// Names are the marker arguments for short names and categories.
	Names string
	// Columns are the markers of the print columns, and Scale is the marker of the scale subresource.
	Columns []string
	Scale   string
	// Sample is the spec of the sample, as indented YAML.
	Sample string
	// Test is the spec of a test object, as a composite literal without its type. TestChange is a statement that changes
	// this spec.
	Test, TestChange string
	// FromSample makes the test load its object from the sample.
	FromSample bool
	// TestImports are the imports that only Test and TestChange need.
	TestImports []string
}

// OperandView describes the Deployment that the controller of a kind runs for each object.
type OperandView struct {
	// Label is the name of the containers. Key is the key of the label that selects Pods, and the name of the finalizer.
	Label, Key string
	// Port is the port of the Service. 0 means that there is no Service.
	Port int
	// Finalizer is set if the controller cleans up deleted objects.
	Finalizer bool
}

// WithOperand returns the view of a kind whose controller runs Deployments. Its names do not clash with the packages
// that such a controller imports.
func (k KindView) WithOperand(port int, finalizer bool) KindView {
	lower := strings.ToLower(k.Kind)
	k.Operand = OperandView{Label: lower, Key: k.QualifiedGroup + "/" + lower, Port: port, Finalizer: finalizer}
	if k.Alias == "appsv1" || k.Alias == "corev1" {
		k.Alias = "api" + k.Alias
	}
	return k
}

// These are the default print columns.
const (
	ReadyColumn = `+kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"`
	// AvailableColumn is for kinds whose controller runs Deployments.
	AvailableColumn = `+kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"`

	AgeColumn = `+kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"`
)

// exampleFields returns the example fields of a kind that is created without flags for fields.
func exampleFields(v KindView) FieldsView {
	return FieldsView{
		Imports:       []Import{{Alias: "metav1", Path: "k8s.io/apimachinery/pkg/apis/meta/v1"}},
		ConditionsSay: "Ready is True when the actual state matches the spec of observedGeneration.",
		Columns:       []string{ReadyColumn, AgeColumn},
		Sample:        "  message: Hello from " + v.SampleName + "\n",
		Test:          `{Message: "hello"}`,
		TestChange:    v.Variable + `.Spec.Message = "hello again"`,
	}
}

// VersionView has the data for an API package.
type VersionView struct {
	Header string
	// QualifiedGroup is the full API group, and Version the API version.
	QualifiedGroup, Version string
	// The name of the Go package, its directory in the project, and its import path.
	Package, Folder, ImportPath string
	// Objects are the sorted names of the Go types to register, which are the kinds of the package and their lists.
	Objects []string
}

// NewKind returns the view of a kind.
func NewKind(n KindNames) KindView {
	lower := strings.ToLower(n.Kind)
	v := KindView{
		VersionView:      newVersion(n),
		ProjectName:      n.ProjectName,
		Kind:             n.Kind,
		Plural:           n.Plural,
		Scope:            "Cluster",
		NamespacedKind:   n.Namespaced,
		Alias:            apiAlias(n),
		Variable:         localVariable(n),
		Reconciler:       n.Kind + "Reconciler",
		controller:       lower,
		ControllerFolder: "internal/controller",
		ControllerAlias:  "controller",
		ControllerName:   lower,
		RolePrefix:       lower,
		SampleName:       lower + "-sample",
		CRDBases:         "../../config/crd/bases",
		ConversionFolder: "internal/conversion",
		ConversionAlias:  "conversion",
		WebhookFolder:    "internal/webhook",
		WebhookAlias:     "webhooks",
		Conversion:       n.Kind + strings.ToUpper(n.Version[:1]) + n.Version[1:],
	}
	if n.Namespaced {
		v.Scope = "Namespaced"
		if n.RestrictedTo == "" {
			v.SampleNamespace = "default"
		}
	}
	v.Protected = protected(v.QualifiedGroup)
	v.Root = "../.."
	if n.MultiGroup {
		for _, folder := range []*string{&v.ControllerFolder, &v.ConversionFolder, &v.WebhookFolder} {
			*folder = path.Join(*folder, n.Group)
		}
		for _, alias := range []*string{&v.ControllerAlias, &v.ConversionAlias, &v.WebhookAlias} {
			*alias = apiPrefix(identifier(n.Group)) + *alias
		}
		v.ControllerName = shortGroup(n) + "-" + lower
		v.RolePrefix = v.ControllerName
		if n.Group != "" {
			v.Root, v.CRDBases = "../"+v.Root, "../"+v.CRDBases
		}
	}
	switch {
	case n.Path == "":
		v.TestCRDs = v.CRDBases
	case !strings.HasPrefix(n.Path, "k8s.io/api/"):
		v.TestCRDs = "testdata"
	}
	if n.Controller != "" {
		v.ControllerName, v.controller = n.Controller, strings.ReplaceAll(n.Controller, "-", "_")
		v.Reconciler = flect.Pascalize(v.controller) + "Reconciler"
	}
	v.ControllerImportPath = path.Join(n.Repo, v.ControllerFolder)
	admission := "-" + strings.ReplaceAll(v.QualifiedGroup, ".", "-") + "-" + n.Version + "-" + lower
	v.MutatePath, v.ValidatePath = "/mutate"+admission, "/validate"+admission
	v.AdmissionName = lower + "." + n.Version + "." + cmp.Or(v.QualifiedGroup, "core")
	v.ConversionImportPath = path.Join(n.Repo, v.ConversionFolder)
	v.WebhookImportPath = path.Join(n.Repo, v.WebhookFolder)
	v.FieldOwner = v.ControllerName + "-controller"
	if n.RestrictedTo != "" {
		v.RBACNamespace = "namespace=" + n.RestrictedTo + ","
	}
	v.CRDBase = "bases/" + v.QualifiedGroup + "_" + n.Plural + ".yaml"
	v.SampleFile = shortGroup(n) + "_" + n.Version + "_" + lower + ".yaml"
	v.Fields = exampleFields(v)
	return v
}

func newVersion(n KindNames) VersionView {
	v := VersionView{
		Header:         n.Header,
		QualifiedGroup: strings.Trim(n.Group+"."+n.Domain, "."),
		Version:        n.Version,
		Package:        n.Version,
		Folder:         path.Join("api", n.Version),
	}
	if n.MultiGroup {
		v.Folder = path.Join("api", n.Group, n.Version)
	}
	if n.APIFolder != "" {
		v.Folder = n.APIFolder
	}
	v.ImportPath = path.Join(n.Repo, v.Folder)
	if n.Path != "" {
		v.ImportPath, v.Folder, v.Package = n.Path, "", path.Base(n.Path)
	}
	return v
}

// TypesFile returns the path of the file that declares the Go type.
func (k KindView) TypesFile() string {
	return path.Join(k.Folder, strings.ToLower(k.Kind)+"_types.go")
}

// roleFile returns the file of a role for users of the kind, in config/rbac.
func (k KindView) roleFile(role string) string {
	return strings.ReplaceAll(k.RolePrefix, "-", "_") + "_" + role + "_role.yaml"
}

// ControllerFile returns the path of the controller's file, or of its test if end is _test.go.
func (k KindView) ControllerFile(end string) string {
	return path.Join(k.ControllerFolder, k.controller+"_controller"+end)
}

// standIn returns the file name of the CRD that tests install for an external kind that is not built in.
func (k KindView) standIn() string { return k.Plural + "." + k.QualifiedGroup + ".yaml" }

// ConversionFile returns the path of the file with the version's conversion, or of its test if end is _test.go.
func (k KindView) ConversionFile(end string) string {
	return path.Join(k.ConversionFolder, strings.ToLower(k.Kind)+"_"+k.Version+end)
}

// WebhookFile returns the path of the file with a defaulter or validator, or of its test if end is _test.go.
func (k KindView) WebhookFile(what, end string) string {
	return path.Join(k.WebhookFolder, strings.ToLower(k.Kind)+"_"+what+end)
}

// shortGroup returns the group without the domain. If that is empty, it returns the first part of the domain.
func shortGroup(n KindNames) string {
	if n.Group != "" {
		return n.Group
	}
	first, _, _ := strings.Cut(n.Domain, ".")
	return cmp.Or(first, "core")
}

// protected reports whether API servers require the annotation api-approved.kubernetes.io for CRDs of the group.
func protected(group string) bool {
	return strings.HasSuffix("."+group, ".k8s.io") || strings.HasSuffix("."+group, ".kubernetes.io")
}

// apiAlias returns the local name of an API package, such as webappv1. It is a Go identifier that clashes with no other
// import of a scaffolded file.
func apiAlias(n KindNames) string {
	alias := apiPrefix(identifier(shortGroup(n)) + n.Version)
	if alias == "metav1" {
		return "api" + alias
	}
	return alias
}

// Alias returns the local name for an API package outside the project's layout.
func Alias(importPath string) string {
	return apiPrefix(identifier(strings.ToLower(path.Base(path.Dir(importPath)) + path.Base(importPath))))
}

// apiPrefix prefixes a name that begins with a digit, so that it is an identifier.
func apiPrefix(name string) string {
	if name != "" && unicode.IsDigit(rune(name[0])) {
		return "api" + name
	}
	return name
}

// identifier returns the letters and digits of a DNS name.
func identifier(name string) string {
	return strings.NewReplacer(".", "", "-", "", "_", "", "~", "", "+", "").Replace(name)
}

// variable returns a name for a local variable with an object of the kind.
func variable(kind string) string {
	upper := strings.IndexFunc(kind, func(r rune) bool { return !unicode.IsUpper(r) })
	switch {
	case upper < 0:
		upper = len(kind)
	case upper > 1 && unicode.IsLower(rune(kind[upper])):
		upper-- // the last capital letter begins the next word, as in HTTPRoute
	}
	name := strings.ToLower(kind[:upper]) + kind[upper:]
	if token.IsKeyword(name) || types.Universe.Lookup(name) != nil || slices.Contains(takenNames(), name) {
		return name + "Object"
	}
	return name
}

// localVariable is like [variable], for code that may import API packages of the kind's group in any version.
func localVariable(n KindNames) string {
	name := variable(n.Kind)
	version, ok := strings.CutPrefix(name, apiPrefix(identifier(shortGroup(n)))+"v")
	if ok && version != "" && unicode.IsDigit(rune(version[0])) {
		return name + "Object"
	}
	return name
}

// takenNames returns the names of imports and local variables in the controller and webhook templates.
func takenNames() []string {
	return []string{
		"about", "admission", "apierrors", "appsv1", "available", "before", "c", "cancel", "changed", "client", "condition",
		"context", "controller", "controllerutil",
		"corev1", "ctx", "d", "defaulted", "degraded", "deployment", "desired", "env", "equality", "err", "errors", "errs",
		"events", "failed", "failure",
		"field", "fmt", "inmemory", "intstr", "labelled", "labels", "live", "log", "logger", "longest", "m", "manager",
		"meta", "metav1", "name", "object", "os", "other",
		"ours", "owner", "partOf", "progressing", "r", "reconcile", "reconciler", "req", "resource", "result", "sample",
		"selector", "selectors", "service",
		"sha256", "slices", "status", "stop", "stopped", "strings", "t", "taken", "testenv", "testing", "theirs", "time", "v",
		"value",
		"wanted", "webhook", "wrong", "yaml",
	}
}
