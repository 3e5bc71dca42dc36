package templates

import (
	"io/fs"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// Template is a file that kctrl can scaffold, rendered from a view of type V.
type Template[V any] struct {
	// ID is the path of the template below files/, without ".tmpl". PROJECT.lock records it.
	ID string
	// Generator is the name of the generator that later writes the file. PROJECT.lock records it instead of the ID.
	Generator string
	// Owner determines whether commands may replace the file.
	Owner plan.Owner

	// Helm is set if the output is itself a Helm template. The actions of this template are then in square brackets.
	Helm bool

	path func(V) string
}

// Path returns the path of the file in the project that view describes.
func (t Template[V]) Path(view V) string { return t.path(view) }

// Project returns the files of every new project, except the files of [Modules].
func Project() []Template[ProjectView] {
	list := inDir[ProjectView]("project", plan.Shared)
	for i := range list {
		switch t := &list[i]; t.Path(ProjectView{}) {
		case ".gitattributes", ".gitignore", "AGENTS.md", "README.md", "internal/controller/doc.go":
			t.Owner = plan.User
		case "config/rbac/role.yaml":
			t.Owner, t.Generator = plan.Generated, "generate/rbac"
		}
	}
	return list
}

// Modules returns go.mod and go.sum of a project that has the runtime in third_party/kctrl, and of that directory.
// `make golden` recomputes these templates from the root go.mod.
func Modules() []Template[ModuleView] {
	list := inDir[ModuleView]("bundled", plan.Shared)
	for i, t := range list {
		if path.Dir(t.Path(ModuleView{})) != "." {
			list[i].Owner = plan.Generated
		}
	}
	return list
}

// DropInModule returns go.mod and go.sum of the module that replaces controller-runtime.
// `make golden` recomputes them from the requirements of the oldest controller-runtime that it replaces.
func DropInModule() []Template[ModuleView] { return inDir[ModuleView]("dropin", plan.Generated) }

// PublishedModules returns go.mod and go.sum of a project that requires the published runtime.
func PublishedModules() []Template[ModuleView] { return inDir[ModuleView]("module", plan.Shared) }

// ApplyConfigurationModules returns the lines that a project with apply configurations adds to its go.mod and go.sum.
// ofAPI selects the lines for a separate module of API packages. The templates are not files of a project. `make
// golden` recomputes them from the root go.mod.
func ApplyConfigurationModules(ofAPI bool) (mod, sum Template[ModuleView]) {
	dir := "applyconfiguration"
	if ofAPI {
		dir = "apiapplyconfiguration"
	}
	return at[ModuleView](dir, "go.mod", plan.Generated), at[ModuleView](dir, "go.sum", plan.Generated)
}

// APIModule returns go.mod and go.sum of a project's API packages, if these are a separate module. `make golden`
// recomputes the templates from go.mod and go.sum of a project.
func APIModule() []Template[ModuleView] {
	return []Template[ModuleView]{at[ModuleView]("apimodule", "api/go.mod", plan.Shared),
		at[ModuleView]("apimodule", "api/go.sum", plan.Shared)}
}

// APIModuleDoc returns a package for an API module that has no types yet, because go vet fails for a module without
// packages.
func APIModuleDoc() Template[ProjectView] {
	return at[ProjectView]("apimodule", "api/doc.go", plan.User)
}

// Licenses returns the headers of source files by license name.
func Licenses() map[string]Template[LicenseView] {
	const file = "hack/boilerplate.go.txt"
	return map[string]Template[LicenseView]{
		"apache2": at[LicenseView]("license/apache2", file, plan.Shared),
		"none":    at[LicenseView]("license/none", file, plan.Shared),
	}
}

// Version returns the file that declares the group and version of an API package.
func Version() Template[VersionView] { return inPackage("groupversion_info.go", plan.User) }

// VersionRegister returns the file that registers the kinds of an API package in a scheme.
func VersionRegister() Template[VersionView] {
	return inPackage("zz_generated.register.go", plan.Generated)
}

// Types returns the file of the Go type of a kind.
func Types() Template[KindView] {
	return Template[KindView]{ID: "kind/api/version/kind_types.go", Owner: plan.API, path: KindView.TypesFile}
}

// Sample returns the sample object of a kind.
func Sample() Template[KindView] {
	return Template[KindView]{
		ID: "kind/config/samples/group_version_kind.yaml", Owner: plan.API,
		path: func(k KindView) string { return "config/samples/" + k.SampleFile },
	}
}

// Roles returns the roles that grant users access to a kind.
func Roles() []Template[KindView] {
	var list []Template[KindView]
	for _, role := range []string{"admin", "editor", "viewer"} {
		list = append(list, Template[KindView]{
			ID:   "kind/config/rbac/kind_" + role + "_role.yaml",
			path: func(k KindView) string { return "config/rbac/" + k.roleFile(role) },
		})
	}
	return list
}

// CRDKustomization returns the kustomization of the CRDs.
func CRDKustomization() Template[ListView] {
	return at[ListView]("kind", "config/crd/kustomization.yaml", plan.User)
}

// SamplesKustomization returns the kustomization of the samples.
func SamplesKustomization() Template[ListView] {
	return at[ListView]("kind", "config/samples/kustomization.yaml", plan.User)
}

// Controller returns the files of the controller of one kind.
func Controller() []Template[KindView] { return controller("kind") }

// Operand returns the files of a controller that runs a Deployment for each object.
func Operand() []Template[KindView] { return controller("operand") }

// FurtherController returns the files of a controller of an external kind, or of a second controller of a kind.
func FurtherController() []Template[KindView] { return controller("further") }

func controller(what string) []Template[KindView] {
	return withTest("controller/internal/controller/"+what+"_controller", KindView.ControllerFile)
}

// withTest returns the templates of a Go file and its test. file returns the path of a file with the given end.
func withTest[V any](id string, file func(view V, end string) string) []Template[V] {
	var list []Template[V]
	for _, end := range []string{".go", "_test.go"} {
		list = append(list, Template[V]{ID: id + end, path: func(view V) string { return file(view, end) }})
	}
	return list
}

// StandIn returns the CRD of an external kind that is not built in. The tests in a directory install it.
func StandIn(dir string) Template[KindView] {
	return Template[KindView]{
		ID: "controller/internal/controller/testdata/kind_crd.yaml", Owner: plan.User,
		path: func(k KindView) string { return path.Join(dir, "testdata", k.standIn()) },
	}
}

// Conversion returns the files of the conversion of one version of a kind.
func Conversion() []Template[ConversionView] {
	of := func(file, end string) Template[ConversionView] {
		return Template[ConversionView]{
			ID: "conversion/internal/conversion/" + file, Owner: plan.API,
			path: func(v ConversionView) string { return v.Spoke.ConversionFile(end) },
		}
	}
	doc := of("doc.go", "")
	doc.Owner = plan.User
	doc.path = func(v ConversionView) string { return path.Join(v.Spoke.ConversionFolder, "doc.go") }
	return []Template[ConversionView]{doc, of("kind_version.go", ".go"), of("kind_version_test.go", "_test.go")}
}

// Webhooks returns the files of the component that deploys the webhooks of a project, by the issuer of the
// certificates. kctrl overwrites all of them when the webhooks change.
func Webhooks() map[string][]Template[WebhooksView] {
	return map[string][]Template[WebhooksView]{
		"self-signed":  inDir[WebhooksView]("certificates/self-signed", plan.Generated),
		"cert-manager": inDir[WebhooksView]("certificates/cert-manager", plan.Generated),
	}
}

// WebhookConversion returns the patch for the CRDs whose versions the manager converts.
func WebhookConversion() Template[WebhooksView] {
	return at[WebhooksView]("webhook", "config/components/webhook/conversion.yaml", plan.Generated)
}

// WebhookReferences returns the configuration of kustomize's names for the component of the webhooks.
func WebhookReferences() Template[WebhooksView] {
	return at[WebhooksView]("webhook", "config/components/webhook/references.yaml", plan.Generated)
}

// WebhookService returns the Service of the webhooks and its kustomization.
func WebhookService() []Template[WebhooksView] {
	return []Template[WebhooksView]{
		at[WebhooksView]("webhook", "config/webhook/kustomization.yaml", plan.User),
		at[WebhooksView]("webhook", "config/webhook/service.yaml", plan.Shared),
	}
}

// AllowWebhooks returns the network policy that allows requests from API servers to webhooks.
func AllowWebhooks() Template[WebhooksView] {
	return at[WebhooksView]("webhook", "config/components/network-policy/allow_webhooks.yaml", plan.Shared)
}

// Defaulter returns the files of the defaulter of one kind.
func Defaulter() []Template[AdmissionView] { return admission("defaulter") }

// Validator returns the files of the validator of one kind.
func Validator() []Template[AdmissionView] { return admission("validator") }

func admission(what string) []Template[AdmissionView] {
	return withTest("admission/internal/webhook/kind_"+what,
		func(v AdmissionView, end string) string { return v.WebhookFile(what, end) })
}

// Policy returns the ValidatingAdmissionPolicy of one kind, and its test.
func Policy() []Template[AdmissionView] {
	return []Template[AdmissionView]{
		{ID: "policy/config/policy/kind_policy.yaml",
			path: func(v AdmissionView) string { return "config/policy/" + v.PolicyFile() }},
		{ID: "policy/internal/webhook/kind_policy_test.go",
			path: func(v AdmissionView) string { return v.WebhookFile("policy", "_test.go") }},
	}
}

// PolicyKustomization returns the kustomization of the policies.
func PolicyKustomization() Template[ListView] {
	return at[ListView]("policy", "config/policy/kustomization.yaml", plan.User)
}

// TestObject returns the object that tests of webhooks send for an external kind.
func TestObject() Template[AdmissionView] {
	return Template[AdmissionView]{ID: "admission/internal/webhook/testdata/kind.yaml", Owner: plan.User,
		path: AdmissionView.testObject}
}

// WebhookDoc returns the package documentation of the webhooks.
func WebhookDoc() Template[KindView] {
	return Template[KindView]{
		ID: "admission/internal/webhook/doc.go", Owner: plan.User,
		path: func(k KindView) string { return path.Join(k.WebhookFolder, "doc.go") },
	}
}

// Register returns the file beside the main function that registers the kinds and controllers of a project in its
// manager.
func Register() Template[RegisterView] {
	return Template[RegisterView]{
		ID: "register/cmd/zz_generated.register.go", Owner: plan.Generated,
		path: func(v RegisterView) string { return path.Join(v.Folder, "zz_generated.register.go") },
	}
}

// Chart returns the fixed files of a Helm chart, without values and object templates. Paths are relative to the chart.
func Chart() []Template[ChartView] {
	list := inDir[ChartView]("chart", plan.Shared)
	for i := range list {
		list[i].Helm = true
		if list[i].Path(ChartView{}) == "Chart.yaml" {
			list[i].Owner = plan.User
		}
	}
	return list
}

// Source returns the source of the file that PROJECT.lock records.
func (t Template[V]) Source() string {
	if t.Generator != "" {
		return t.Generator
	}
	return t.ID
}

// inPackage returns the template of a file in every API package.
func inPackage(file string, owner plan.Owner) Template[VersionView] {
	return Template[VersionView]{
		ID:    "version/api/version/" + file,
		Owner: owner,
		path:  func(v VersionView) string { return path.Join(v.Folder, file) },
	}
}

// at returns the template of a file with the same path in every project.
func at[V any](dir, file string, owner plan.Owner) Template[V] {
	return Template[V]{ID: dir + "/" + file, Owner: owner, path: func(V) string { return file }}
}

// inDir returns the templates in a directory of files/, ordered by path. Their files have the same paths in every
// project.
func inDir[V any](dir string, owner plan.Owner) []Template[V] {
	var list []Template[V]
	_ = fs.WalkDir(files, "files/"+dir, func(name string, entry fs.DirEntry, err error) error { // of embedded files
		if file, ok := strings.CutSuffix(name, ".tmpl"); ok {
			list = append(list, at[V](dir, strings.TrimPrefix(file, "files/"+dir+"/"), owner))
		}
		return err
	})
	return list
}
