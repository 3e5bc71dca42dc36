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

// KindNames are the choices that a kind is made from. All are valid names.
type KindNames struct {
	// ProjectName, Repo and Header are those of the project.
	ProjectName, Repo, Header string
	// MultiGroup gives each group its own folders.
	MultiGroup bool
	// RestrictedTo is the namespace that the controllers' rights end at, empty when they do not.
	RestrictedTo string

	// Group is the API group without the domain. It may be empty.
	Group, Domain         string
	Version, Kind, Plural string
	// Namespaced says that objects of the kind live in namespaces.
	Namespaced bool
	// Controller is the name of a further controller of the kind; empty for the one that has its name.
	Controller string
	// Path is the import path of a Go type that is not the project's own.
	Path string
	// APIFolder is where the API package is, if that is not where the layout of the project has it.
	APIFolder string
}

// KindView is what the files of one kind, and of its controller, are rendered from.
type KindView struct {
	VersionView
	ProjectName string
	// Kind is the Go type, Plural the resource.
	Kind, Plural string
	// Scope is Namespaced or Cluster.
	Scope          string
	NamespacedKind bool
	// Alias is the name that other packages import the API package under.
	Alias string
	// Variable is a local variable of the kind's type that hides nothing the templates use.
	Variable string
	// Reconciler is the Go type of the controller.
	Reconciler string
	// TestCRDs is the folder of the CRD that tests install; empty for a kind that every API server has.
	TestCRDs string
	// ControllerPackage is the name of the controller's Go package.
	ControllerPackage string
	// ControllerFolder is the folder of that package, ControllerImportPath how Go imports it, under ControllerAlias.
	ControllerFolder, ControllerImportPath, ControllerAlias string
	// ConversionFolder is where the conversions of the kind are, ConversionImportPath how Go imports them, under ConversionAlias;
	// WebhookFolder and so on are the same for its defaulter and validator.
	ConversionFolder, ConversionImportPath, ConversionAlias string
	WebhookFolder, WebhookImportPath, WebhookAlias          string
	// MutatePath and ValidatePath are where the defaulter and the validator are served, AdmissionName what the names of both
	// webhooks end in.
	MutatePath, ValidatePath, AdmissionName string
	// Root is the path from the folder of a controller or webhook to that of the project.
	Root string
	// Conversion is the variable that converts this version to and from the hub.
	Conversion string
	// ControllerName tells the controller from all others of the project.
	ControllerName string
	// FieldOwner is who the API server records as the owner of what the controller applies.
	FieldOwner string
	// RBACNamespace is the part of an RBAC marker that makes it a rule of a Role; empty for a ClusterRole.
	RBACNamespace string
	// RolePrefix begins the names of the roles for users of the kind.
	RolePrefix string
	// CRDBase is the file of the CRD, relative to config/crd.
	CRDBase string
	// CRDBases is the path from the controller's folder to that of the CRDs.
	CRDBases string
	// SampleFile is the file of the sample in config/samples, SampleName the object in it. SampleNamespace is where it
	// lives: empty for a cluster scoped kind, and where only the namespace of the manager will do.
	SampleFile, SampleName, SampleNamespace string
	// controller is what the files of the controller are named after.
	controller string
	// Fields are the fields of the kind.
	Fields FieldsView
	// Operand is what runs the objects of the kind.
	Operand OperandView
	// Protected says that the group is the Kubernetes community's, whose kinds want to be approved.
	Protected bool
}

// FieldsView is what a kind says of its fields, and of how people see its objects. That of [NewKind] has a message for a field, as an
// example.
type FieldsView struct {
	// Imports are the packages of the types.
	Imports []Import
	// Spec and Status are the fields of the structs, as Go source. An empty Spec is that of the example.
	Spec, Status string
	// Types are the declarations of what they are made of.
	Types string
	// ConditionsSay is a sentence on the conditions of the status.
	ConditionsSay string
	// Names are the short names and categories, as parts of a marker.
	Names string
	// Columns are the markers of the print columns, and Scale is that of the scale subresource.
	Columns []string
	Scale   string
	// Sample is a spec as YAML, indented.
	Sample string
	// Test is the spec of an object in a test, a composite literal without its type, and TestChange a statement that changes it.
	Test, TestChange string
	// FromSample has the test read its object from the sample instead.
	FromSample bool
	// TestImports are the packages that these two name and no other line of the test.
	TestImports []string
}

// OperandView is what the controller of a kind runs for each object, in a Deployment.
type OperandView struct {
	// Label is what containers are named after; Key is that of the label which selects Pods, and the finalizer.
	Label, Key string
	// Port is that of a Service, or 0 for none.
	Port int
	// Finalizer says that objects are cleaned up after.
	Finalizer bool
}

// WithOperand returns the view of a kind whose objects are run by Deployments. Its files import the packages of these.
func (k KindView) WithOperand(port int, finalizer bool) KindView {
	lower := strings.ToLower(k.Kind)
	k.Operand = OperandView{Label: lower, Key: k.QualifiedGroup + "/" + lower, Port: port, Finalizer: finalizer}
	if k.Alias == "appsv1" || k.Alias == "corev1" {
		k.Alias = "api" + k.Alias
	}
	return k
}

// The columns of a kind that nobody said anything of.
const (
	ReadyColumn = `+kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"`
	// AvailableColumn is that of a kind whose objects are run by Deployments.
	AvailableColumn = `+kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"`

	AgeColumn = `+kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"`
)

// exampleFields are those of a kind whose fields nobody has named.
func exampleFields(v KindView) FieldsView {
	return FieldsView{
		Imports:       []Import{{Alias: "metav1", Path: "k8s.io/apimachinery/pkg/apis/meta/v1"}},
		ConditionsSay: "Ready is True when the world matches the spec of observedGeneration.",
		Columns:       []string{ReadyColumn, AgeColumn},
		Sample:        "  message: Hello from " + v.SampleName + "\n",
		Test:          `{Message: "hello"}`,
		TestChange:    v.Variable + `.Spec.Message = "hello again"`,
	}
}

// VersionView is what an API package is rendered from.
type VersionView struct {
	Header string
	// QualifiedGroup is the whole API group, Version the API version.
	QualifiedGroup, Version string
	// Package is the name of the Go package, Folder where it is in the project, ImportPath how Go imports it.
	Package, Folder, ImportPath string
	// Objects are the Go types that are registered: the kinds of the package and their lists, in order.
	Objects []string
}

// NewKind spells what the files of a kind say.
func NewKind(n KindNames) KindView {
	lower := strings.ToLower(n.Kind)
	v := KindView{
		VersionView:       newVersion(n),
		ProjectName:       n.ProjectName,
		Kind:              n.Kind,
		Plural:            n.Plural,
		Scope:             "Cluster",
		NamespacedKind:    n.Namespaced,
		Alias:             apiAlias(n),
		Variable:          localVariable(n),
		Reconciler:        n.Kind + "Reconciler",
		controller:        lower,
		ControllerPackage: "controller",
		ControllerFolder:  "internal/controller",
		ControllerAlias:   "controller",
		ControllerName:    lower,
		RolePrefix:        lower,
		SampleName:        lower + "-sample",
		CRDBases:          "../../config/crd/bases",
		ConversionFolder:  "internal/conversion",
		ConversionAlias:   "conversion",
		WebhookFolder:     "internal/webhook",
		WebhookAlias:      "webhooks",
		Conversion:        n.Kind + strings.ToUpper(n.Version[:1]) + n.Version[1:],
	}
	if n.Namespaced {
		v.Scope = "Namespaced"
	}
	if n.Namespaced && n.RestrictedTo == "" {
		v.SampleNamespace = "default"
	}
	v.Protected = protected(v.QualifiedGroup)
	if n.MultiGroup {
		v.ControllerFolder = path.Join(v.ControllerFolder, n.Group)
		v.ControllerAlias = apiPrefix(identifier(n.Group)) + v.ControllerAlias
		v.ConversionFolder = path.Join(v.ConversionFolder, n.Group)
		v.ConversionAlias = apiPrefix(identifier(n.Group)) + v.ConversionAlias
		v.WebhookFolder = path.Join(v.WebhookFolder, n.Group)
		v.WebhookAlias = apiPrefix(identifier(n.Group)) + v.WebhookAlias
		v.ControllerName = shortGroup(n) + "-" + lower
		v.RolePrefix = v.ControllerName
		if n.Group != "" {
			v.CRDBases = "../" + v.CRDBases
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
	v.Root = "../.."
	if n.MultiGroup && n.Group != "" {
		v.Root += "/.."
	}
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

// TypesFile returns where the Go type goes.
func (k KindView) TypesFile() string {
	return path.Join(k.Folder, strings.ToLower(k.Kind)+"_types.go")
}

// RoleFiles are the roles for users of the kind, relative to config/rbac.
func (k KindView) RoleFiles() []string {
	return []string{k.roleFile("admin"), k.roleFile("editor"), k.roleFile("viewer")}
}

func (k KindView) roleFile(role string) string {
	return strings.ReplaceAll(k.RolePrefix, "-", "_") + "_" + role + "_role.yaml"
}

// ControllerFile returns where the controller goes, or its test when end is _test.go.
func (k KindView) ControllerFile(end string) string {
	return path.Join(k.ControllerFolder, k.controller+"_controller"+end)
}

// standIn is the name of the file with the CRD that tests have for a kind that is neither the project's nor built in.
func (k KindView) standIn() string { return k.Plural + "." + k.QualifiedGroup + ".yaml" }

// ConversionFile returns where the conversion of the kind's version goes, or its test when end is _test.go.
func (k KindView) ConversionFile(end string) string {
	return path.Join(k.ConversionFolder, strings.ToLower(k.Kind)+"_"+k.Version+end)
}

// WebhookFile returns where a defaulter or validator goes, or its test when end is _test.go.
func (k KindView) WebhookFile(what, end string) string {
	return path.Join(k.WebhookFolder, strings.ToLower(k.Kind)+"_"+what+end)
}

// shortGroup returns the group without the domain, or what stands for it where there is none.
func shortGroup(n KindNames) string {
	if n.Group != "" {
		return n.Group
	}
	first, _, _ := strings.Cut(n.Domain, ".")
	return cmp.Or(first, "core")
}

// protected reports whether API servers take a CRD of the group only with the annotation api-approved.kubernetes.io.
func protected(group string) bool {
	return strings.HasSuffix("."+group, ".k8s.io") || strings.HasSuffix("."+group, ".kubernetes.io")
}

// apiAlias returns the import name of an API package, such as webappv1: a Go identifier that no other import of a
// scaffolded file has.
func apiAlias(n KindNames) string {
	alias := apiPrefix(identifier(shortGroup(n)) + n.Version)
	if alias == "metav1" {
		return "api" + alias
	}
	return alias
}

// Alias returns a name to import an API package under that the layout of a project does not know.
func Alias(importPath string) string {
	return apiPrefix(identifier(strings.ToLower(path.Base(path.Dir(importPath)) + path.Base(importPath))))
}

// apiPrefix makes a name that begins with a digit an identifier.
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

// variable returns a name for a local variable that holds an object of the kind.
func variable(kind string) string {
	upper := strings.IndexFunc(kind, func(r rune) bool { return !unicode.IsUpper(r) })
	switch {
	case upper < 0:
		upper = len(kind)
	case upper > 1 && unicode.IsLower(rune(kind[upper])):
		upper-- // the last capital begins the next word, as in HTTPRoute
	}
	name := strings.ToLower(kind[:upper]) + kind[upper:]
	if token.IsKeyword(name) || types.Universe.Lookup(name) != nil || slices.Contains(takenNames(), name) {
		return name + "Object"
	}
	return name
}

// localVariable is variable for a kind whose API packages, of whatever version, are imported where the variable is.
func localVariable(n KindNames) string {
	name := variable(n.Kind)
	version, ok := strings.CutPrefix(name, apiPrefix(identifier(shortGroup(n)))+"v")
	if ok && version != "" && unicode.IsDigit(rune(version[0])) {
		return name + "Object"
	}
	return name
}

// takenNames are the imports of the controller and webhook templates, and their local variables.
func takenNames() []string {
	return []string{
		"about", "admission", "apierrors", "appsv1", "available", "before", "c", "cancel", "changed", "client", "condition", "context", "controller", "controllerutil",
		"corev1", "ctx", "d", "defaulted", "degraded", "deployment", "desired", "env", "equality", "err", "errors", "errs", "events", "failed", "failure",
		"field", "fmt", "inmemory", "intstr", "labelled", "labels", "live", "log", "logger", "longest", "m", "manager", "meta", "metav1", "name", "object", "os", "other",
		"ours", "owner", "partOf", "progressing", "r", "reconcile", "reconciler", "req", "resource", "result", "sample", "selector", "selectors", "service",
		"sha256", "slices", "status", "stop", "stopped", "strings", "t", "taken", "testenv", "testing", "theirs", "time", "v", "value",
		"wanted", "webhook", "wrong", "yaml",
	}
}
