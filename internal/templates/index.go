package templates

import (
	"path"

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
	same := func(file string, owner plan.Owner) Template[ProjectView] {
		return at[ProjectView]("project", file, owner)
	}
	emptyRole := same("config/rbac/role.yaml", plan.Generated)
	emptyRole.Generator = "generate/rbac"
	return []Template[ProjectView]{
		same(".dockerignore", plan.Shared),
		same(".gitattributes", plan.User),
		same(".github/workflows/lint.yml", plan.Shared),
		same(".github/workflows/test.yml", plan.Shared),
		same(".gitignore", plan.User),
		same(".golangci.yml", plan.Shared),
		same("AGENTS.md", plan.User),
		same("Dockerfile", plan.Shared),
		same("Makefile", plan.Shared),
		same("README.md", plan.User),
		same("cmd/main.go", plan.Shared),
		same("config/components/grafana/dashboard.json", plan.Shared),
		same("config/components/grafana/kustomization.yaml", plan.Shared),
		same("config/components/network-policy/allow_metrics.yaml", plan.Shared),
		same("config/components/network-policy/kustomization.yaml", plan.Shared),
		same("config/components/prometheus/alerts.yaml", plan.Shared),
		same("config/components/prometheus/kustomization.yaml", plan.Shared),
		same("config/components/prometheus/monitor.yaml", plan.Shared),
		same("config/default/kustomization.yaml", plan.Shared),
		same("config/default/metrics_service.yaml", plan.Shared),
		same("config/manager/kustomization.yaml", plan.Shared),
		same("config/manager/manager.yaml", plan.Shared),
		same("config/manager/namespace.yaml", plan.Shared),
		same("config/rbac/kustomization.yaml", plan.Shared),
		same("config/rbac/leader_election_role.yaml", plan.Shared),
		same("config/rbac/leader_election_role_binding.yaml", plan.Shared),
		same("config/rbac/metrics_auth_role.yaml", plan.Shared),
		same("config/rbac/metrics_auth_role_binding.yaml", plan.Shared),
		same("config/rbac/metrics_reader_role.yaml", plan.Shared),
		emptyRole,
		same("config/rbac/role_binding.yaml", plan.Shared),
		same("config/rbac/service_account.yaml", plan.Shared),
		same("internal/controller/doc.go", plan.User),
	}
}

// Modules returns go.mod and go.sum of a project that has the runtime in third_party/kctrl, and of that directory.
// `make golden` recomputes these templates from the root go.mod.
func Modules() []Template[ModuleView] {
	return []Template[ModuleView]{
		at[ModuleView]("bundled", "go.mod", plan.Shared),
		at[ModuleView]("bundled", "go.sum", plan.Shared),
		at[ModuleView]("bundled", "third_party/kctrl/go.mod", plan.Generated),
		at[ModuleView]("bundled", "third_party/kctrl/go.sum", plan.Generated),
	}
}

// DropInModule returns go.mod and go.sum of the module that replaces controller-runtime.
// `make golden` recomputes them from the requirements of the oldest controller-runtime that it replaces.
func DropInModule() []Template[ModuleView] {
	return []Template[ModuleView]{
		at[ModuleView]("dropin", "third_party/controller-runtime/go.mod", plan.Generated),
		at[ModuleView]("dropin", "third_party/controller-runtime/go.sum", plan.Generated),
	}
}

// PublishedModules returns go.mod and go.sum of a project that requires the published runtime.
func PublishedModules() []Template[ModuleView] {
	return []Template[ModuleView]{
		at[ModuleView]("module", "go.mod", plan.Shared),
		at[ModuleView]("module", "go.sum", plan.Shared),
	}
}

// ApplyConfigurationModules returns the lines that a project with apply configurations adds to its go.mod and go.sum.
// The templates are not files of a project. `make golden` recomputes them from the root go.mod.
func ApplyConfigurationModules() (mod, sum Template[ModuleView]) {
	mod = at[ModuleView]("applyconfiguration", "go.mod", plan.Generated)
	return mod, at[ModuleView]("applyconfiguration", "go.sum", plan.Generated)
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

// APIApplyConfigurationModules returns the lines that an API module with apply configurations adds to its go.mod and
// go.sum.
func APIApplyConfigurationModules() (mod, sum Template[ModuleView]) {
	mod = at[ModuleView]("apiapplyconfiguration", "go.mod", plan.Generated)
	return mod, at[ModuleView]("apiapplyconfiguration", "go.sum", plan.Generated)
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
	return []Template[KindView]{
		{ID: "kind/config/rbac/kind_admin_role.yaml", path: func(k KindView) string {
			return "config/rbac/" +
				k.roleFile("admin")
		}},
		{ID: "kind/config/rbac/kind_editor_role.yaml", path: func(k KindView) string {
			return "config/rbac/" +
				k.roleFile("editor")
		}},
		{ID: "kind/config/rbac/kind_viewer_role.yaml", path: func(k KindView) string {
			return "config/rbac/" +
				k.roleFile("viewer")
		}},
	}
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
func Controller() []Template[KindView] {
	return []Template[KindView]{
		{ID: "controller/internal/controller/kind_controller.go",
			path: func(k KindView) string { return k.ControllerFile(".go") }},
		{ID: "controller/internal/controller/kind_controller_test.go",
			path: func(k KindView) string { return k.ControllerFile("_test.go") }},
	}
}

// Operand returns the files of a controller that runs a Deployment for each object.
func Operand() []Template[KindView] {
	return []Template[KindView]{
		{ID: "controller/internal/controller/operand_controller.go",
			path: func(k KindView) string { return k.ControllerFile(".go") }},
		{ID: "controller/internal/controller/operand_controller_test.go",
			path: func(k KindView) string { return k.ControllerFile("_test.go") }},
	}
}

// FurtherController returns the files of a controller of an external kind, or of a second controller of a kind.
func FurtherController() []Template[KindView] {
	return []Template[KindView]{
		{ID: "controller/internal/controller/further_controller.go",
			path: func(k KindView) string { return k.ControllerFile(".go") }},
		{ID: "controller/internal/controller/further_controller_test.go",
			path: func(k KindView) string { return k.ControllerFile("_test.go") }},
	}
}

// StandIn returns the CRD of an external kind that is not built in. The tests in a directory install it.
func StandIn(folder string) Template[KindView] {
	return Template[KindView]{
		ID: "controller/internal/controller/testdata/kind_crd.yaml", Owner: plan.User,
		path: func(k KindView) string { return path.Join(folder, "testdata", k.standIn()) },
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
	const folder = "config/components/webhook/"
	of := func(who string, files ...string) []Template[WebhooksView] {
		var list []Template[WebhooksView]
		for _, file := range files {
			list = append(list, at[WebhooksView]("certificates/"+who, folder+file, plan.Generated))
		}
		return list
	}
	return map[string][]Template[WebhooksView]{
		"self-signed": of("self-signed", "kustomization.yaml", "manager.yaml", "rights.yaml"),
		"cert-manager": of("cert-manager", "kustomization.yaml", "manager.yaml", "certificates.yaml", "trust.yaml",
			"names/kustomization.yaml", "names/names.yaml"),
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
	var list []Template[AdmissionView]
	for _, end := range []string{".go", "_test.go"} {
		list = append(list, Template[AdmissionView]{
			ID:   "admission/internal/webhook/kind_" + what + end,
			path: func(v AdmissionView) string { return v.WebhookFile(what, end) },
		})
	}
	return list
}

// Policy returns the ValidatingAdmissionPolicy of one kind, and its test.
func Policy() []Template[AdmissionView] {
	return []Template[AdmissionView]{
		{ID: "policy/config/policy/kind_policy.yaml", path: func(v AdmissionView) string {
			return "config/policy/" +
				v.PolicyFile()
		}},
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
	list := []Template[ChartView]{
		at[ChartView]("chart", ".helmignore", plan.Shared),
		at[ChartView]("chart", "Chart.yaml", plan.User),
		at[ChartView]("chart", "templates/NOTES.txt", plan.Shared),
		at[ChartView]("chart", "templates/_helpers.tpl", plan.Shared),
	}
	for i := range list {
		list[i].Helm = true
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
func at[V any](folder, file string, owner plan.Owner) Template[V] {
	return Template[V]{ID: folder + "/" + file, Owner: owner, path: func(V) string { return file }}
}
