package render

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/register"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/scaffold/versions"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"golang.org/x/mod/module"
)

// kindParts collects the files of a kind that the project defines.
func kindParts(c *partList, o Kind) {
	if !o.API {
		return
	}
	ofKind := o.first(func(r project.Resource) bool { return r.APIGroup() == o.APIGroup() && r.Kind == o.Kind })
	types, sample := templates.Types(), templates.Sample()
	c.add(File{Path: types.Path(o.View), ID: types.ID + " " + o.id()},
		func(r *Rendering) error { return r.writeTypes(o) })
	ofPackage := []templates.Template[templates.VersionView]{templates.VersionRegister(), templates.Version()}
	if _, migrated := layout.MigratedDir(o.project, o.Resource); migrated {
		ofPackage = ofPackage[:1]
	}
	for _, t := range ofPackage { // which the registration of the project writes
		c.add(File{
			Path: t.Path(o.View.VersionView),
			ID: t.ID + " " + o.first(func(r project.Resource) bool {
				return r.APIGroup() == o.APIGroup() &&
					r.Version == o.Version
			}),
		}, nil)
	}
	crd, object := o.View.CRDBase, o.View.SampleFile
	c.add(File{
		Path: path.Join(layout.CRDDir, crd), ID: "generate/crd " + ofKind,
		Listings: []Listing{{layout.CRDDir, "resources", crd}},
	}, nil)
	c.add(File{
		Path: path.Join(layout.SamplesDir, object), ID: sample.ID + " " + o.id(),
		Listings: []Listing{{layout.SamplesDir, "resources", object}},
	}, func(r *Rendering) error { return r.writeSample(o) })
	for _, t := range templates.Roles() {
		name := t.Path(o.View)
		c.add(File{
			Path: name, ID: t.ID + " " + ofKind, Listings: []Listing{{layout.RBACDir, "resources", path.Base(name)}},
		}, func(r *Rendering) error { return templated.Render(r.Plan, t, o.View, r.force) })
	}
	lists := func(r *Rendering) error { return templated.WriteLists(r.Plan, r.project) }
	c.add(File{
		Path: path.Join(layout.CRDDir, "kustomization.yaml"), ID: "list of CRDs", Kustomization: true,
		Listings: []Listing{{layout.DefaultDir, "resources", "../crd"}},
	}, lists)
	c.add(File{Path: path.Join(layout.SamplesDir, "kustomization.yaml"), ID: "list of samples", Kustomization: true},
		lists)
}

// WriteKind writes the types, the sample and the roles of a kind that the project defines.
func (r *Rendering) WriteKind(o Kind) error { return r.write(kindParts, o) }

// kindFiles renders a kind that the project defines, with the controller that create api adds.
func kindFiles(o Kind) []featureFiles {
	if !o.API {
		return nil
	}
	drop := func(r *project.Resource) { r.API, r.Controller = false, false }
	flags := func(r *project.Resource) *[]string { return &r.APIFlags }
	return []featureFiles{{kindFeature, flags, drop, func(r *Rendering) error { return renderKind(r, o) }}}
}

func kindPromises(o Kind) []promise {
	return []promise{{o.API, "api", "true", "false", o.View.TypesFile(), o.View.Kind}}
}

// registerKind registers the Go types of a kind, if the project uses them, in the manager's scheme.
func registerKind(r *register.Registration, o Kind) {
	if o.API || o.Path != "" && layout.UsesTypes(o.Resource) {
		r.AddAPI(o.View.ImportPath, o.View.Alias)
	}
}

// maxCRDName limits the length of <plural>.<group>, so that file systems accept the file name <group>_<plural>.yaml.
const maxCRDName = 250

// CheckServed rejects a kind that API servers would reject, or whose package path Go would reject.
func CheckServed(proj *project.Project, r project.Resource) error {
	group := r.APIGroup()
	message, hint := "", ""
	switch {
	case !strings.Contains(group, "."):
		message = fmt.Sprintf("the API group %q has no dot, and API servers refuse such groups", group)
		hint = "add --group webapp"
	case strings.Contains(r.Domain, ".") && strings.HasSuffix("."+r.Group, "."+r.Domain):
		message = fmt.Sprintf("the group %q ends in the domain of the project, which is added to it", r.Group)
		hint = "use --group " + cmp.Or(strings.TrimSuffix(strings.TrimSuffix(r.Group, r.Domain), "."), "webapp")
	case project.YAMLProblem(group) != "":
		message = fmt.Sprintf("invalid API group %q: %s", group, project.YAMLProblem(group))
		hint = "use --group webapp"
	case len(r.Plural)+len(".")+len(group) > maxCRDName:
		message = fmt.Sprintf("the CRD's name, %s.%s, is longer than %d characters", r.Plural, group, maxCRDName)
		hint = "use a shorter group or kind"
	case proj.MultiGroup && slices.Contains([]string{"internal", "testdata", "vendor"}, r.Group):
		message = fmt.Sprintf("the group %q would be a directory whose packages cannot be imported", r.Group)
		hint = "use another group"
	case proj.MultiGroup && r.Group != "" && module.CheckImportPath(r.Group) != nil:
		message = fmt.Sprintf("the group %q would be a directory name that Windows reserves and the go command rejects",
			r.Group)
		hint = "use another group"
	default:
		return nil
	}
	return diagnostic.Usage(message, hint)
}

// controllerParts collects the files of the controllers of a kind.
func controllerParts(c *partList, o Kind) {
	for _, controller := range layout.ControllersOf(o.project, o.Resource, "") {
		name := ""
		if slices.Contains(o.Controllers, controller.ControllerName) {
			name = controller.ControllerName
		}
		o.View = controller
		controllerPart(c, o, name)
	}
}

// controllerPart collects the files of one controller. The view of o has the controller's names.
func controllerPart(c *partList, o Kind, name string) {
	list, whose := templates.FurtherController(), strings.TrimSpace(o.id()+" "+name)
	switch {
	case !o.API || name != "":
	case o.View.Operand.Label != "":
		list = templates.Operand()
	default:
		list = templates.Controller()
	}
	addEach(c, list, o.View, whose)
	if o.Path != "" && !strings.HasPrefix(o.Path, "k8s.io/api/") {
		addEach(c, []templates.Template[templates.KindView]{templates.StandIn(o.View.ControllerFolder)}, o.View, o.id())
	}
}

// controllerFiles renders all controllers except the one that create api writes with the kind.
func controllerFiles(o Kind) []featureFiles {
	names := slices.Clone(o.Controllers)
	if o.Controller && !o.API {
		names = append(names, "")
	}
	var all []featureFiles
	for _, name := range names {
		drop := func(r *project.Resource) {
			r.Controller = r.Controller && name != ""
			r.Controllers = slices.DeleteFunc(slices.Clone(r.Controllers), func(n string) bool { return n == name })
		}
		all = append(all, featureFiles{"controller " + name, noFlags, drop,
			func(r *Rendering) error { return r.Controller(o, name) }})
	}
	return all
}

func controllerPromises(o Kind) []promise {
	all := []promise{{o.Controller, "controller", "true", "false", o.View.ControllerFile(".go"), o.View.Reconciler}}
	for _, c := range layout.ControllersOf(o.project, o.Resource, "") {
		if c.ControllerName != o.View.ControllerName {
			all = append(all, promise{true, "controllers", "[" + c.ControllerName + "]", "[]", c.ControllerFile(".go"),
				c.Reconciler})
		}
	}
	return all
}

func registerControllers(r *register.Registration, o Kind) {
	for _, c := range layout.ControllersOf(o.project, o.Resource, o.View.Header) {
		r.SetUp(c.ControllerImportPath, c.ControllerAlias, c.Reconciler)
	}
}

// admissionParts collects the files of the webhooks and the policy of a kind. For an external kind it includes the
// objects that the tests send.
func admissionParts(c *partList, o Kind) {
	for _, a := range layout.AdmissionsOf(o.Resource) {
		admissionPart(c, o, a, templates.AdmissionView{KindView: o.View, Foreign: !o.API})
	}
}

// admissionPart collects the files of one webhook or policy.
func admissionPart(c *partList, o Kind, a layout.Admission, view templates.AdmissionView) {
	ofGroup := o.first(func(r project.Resource) bool { return r.APIGroup() == o.APIGroup() })
	addEach(c, []templates.Template[templates.KindView]{templates.WebhookDoc()}, o.View, ofGroup)
	if a.Suffix == "" {
		c.add(File{
			Path: path.Join(layout.PoliciesDir, view.PolicyFile()), ID: a.Templates()[0].ID + " " + o.id(),
			Listings: []Listing{{layout.PoliciesDir, "resources", view.PolicyFile()}},
		}, func(r *Rendering) error { return templated.Render(r.Plan, a.Templates()[0], view, r.force) })
		c.add(File{
			Path: path.Join(layout.PoliciesDir, "kustomization.yaml"), ID: "list of policies", Kustomization: true,
			Listings: []Listing{{layout.DefaultDir, "resources", "../policy"}},
		}, func(r *Rendering) error {
			return templated.WriteList(r.Plan, layout.PoliciesDir, templates.PolicyKustomization(), []string{view.PolicyFile()})
		})
	}
	addEach(c, a.Templates(), view, o.id())
	if view.Foreign {
		addEach(c, []templates.Template[templates.AdmissionView]{templates.TestObject()}, view, o.id())
	}
	if view.Foreign && view.TestCRDs != "" {
		addEach(c, []templates.Template[templates.KindView]{templates.StandIn(view.WebhookFolder)}, o.View,
			o.id()+" of webhooks")
	}
}

// admissionFiles renders each webhook and policy.
func admissionFiles(o Kind) []featureFiles {
	var all []featureFiles
	for _, a := range layout.AdmissionsOf(o.Resource) {
		drop := func(r *project.Resource) { *a.Has(r), *a.Flags(r) = false, nil }
		all = append(all, featureFiles{a.File, a.Flags, drop, func(r *Rendering) error { return renderAdmission(r, o, a) }})
	}
	return all
}

func admissionPromises(o Kind) []promise {
	var all []promise
	for _, a := range layout.WebhooksOf(o.Resource) {
		all = append(all, promise{true, strings.TrimPrefix(a.Flag, "--"), "true", "false", o.View.WebhookFile(a.File, ".go"),
			o.View.Kind + a.Suffix})
	}
	return all
}

func registerWebhooks(r *register.Registration, o Kind) {
	for _, a := range layout.WebhooksOf(o.Resource) {
		r.SetUp(o.View.WebhookImportPath, o.View.WebhookAlias, o.View.Kind+a.Suffix)
	}
}

// WriteConversions plans the functions that convert versions of a kind to and from their hub.
func WriteConversions(p *plan.Plan, proj *project.Project, spokes []project.Resource, header string, force bool) error {
	for _, spoke := range spokes {
		hub, found := proj.Find(spoke.APIGroup(), spoke.Hub, spoke.Kind)
		if !found {
			return &diagnostic.Error{
				Message: fmt.Sprintf("%s has the hub %s, and there is no such version", spoke, spoke.Hub),
				Hint:    "kctrl create api --version " + spoke.Hub + " makes it",
			}
		}
		view, left, err := conversionView(p, proj, *hub, spoke, header)
		if err != nil {
			return err
		}
		if err := templated.RenderAll(p, templates.Conversion(), view, force); err != nil {
			return err
		}
		if left > 0 {
			p.Note(&diagnostic.Error{
				Message: fmt.Sprintf("%s lists the fields left to convert: %s and %s differ there",
					view.Spoke.ConversionFile(".go"), spoke.Version, hub.Version),
				Hint: "the test beside it passes once nothing is lost",
			})
		}
	}
	return nil
}

// conversionView returns the view of a conversion, and the number of fields that the user must convert.
func conversionView(p *plan.Plan, proj *project.Project, hub, spoke project.Resource,
	header string) (templates.ConversionView, int, error) {
	view := templates.NewConversion(header, layout.KindView(proj, spoke, header),
		layout.KindView(proj, hub, header))
	side := func(kind templates.KindView) (versions.Side, error) {
		pkg, err := readTypes(p, kind.Folder)
		return versions.Side{Package: pkg, Version: kind.Version, Alias: kind.Alias}, err
	}
	hubSide, err := side(view.Hub)
	spokeSide, failure := side(view.Spoke)
	taken, failed := gosource.Names(p, view.Spoke.ConversionFolder, view.Spoke.ConversionFile(".go"))
	if err := errors.Join(err, failure, failed); err != nil {
		return view, 0, err
	}
	functions := versions.Convert(spoke.Kind, view.Spoke.Variable, hubSide, spokeSide, taken)
	view.FromHubBody, view.ToHubBody, view.Helpers = functions.FromHub, functions.ToHub, functions.Helpers
	for _, name := range slices.SortedFunc(maps.Keys(functions.Imports), func(a, b string) int {
		return strings.Compare(functions.Imports[a], functions.Imports[b])
	}) {
		imported := templates.Import{Alias: name, Path: functions.Imports[name]}
		if name == path.Base(imported.Path) {
			imported.Alias = ""
		}
		view.Imports = append(view.Imports, imported)
	}
	return view, functions.Left, nil
}

// conversionParts collects the files of the conversion of a version to its hub.
func conversionParts(c *partList, o Kind) {
	if o.Hub != "" {
		addEach(c, templates.Conversion(), templates.ConversionView{Spoke: o.View}, o.id())
	}
}

// conversionFiles renders the conversions of all versions of a kind to its hub.
func conversionFiles(o Kind) []featureFiles {
	if len(layout.SpokesOf(o.project, o.Resource)) == 0 {
		return nil
	}
	return []featureFiles{{"conversion", noFlags, func(*project.Resource) {},
		func(r *Rendering) error { return renderConversion(r, o) }}}
}

func conversionPromises(o Kind) []promise {
	return []promise{{o.Hub != "", "hub", o.Hub, `""`, o.View.ConversionFile(".go"), o.View.Conversion}}
}

// registerConversions registers the conversions of a kind whose hub is o.
func registerConversions(r *register.Registration, o Kind) {
	spokes := layout.SpokesOf(o.project, o.Resource)
	if len(spokes) == 0 {
		return
	}
	api := r.Name(o.View.ImportPath, o.View.Alias)
	webhook := r.Name(layout.RuntimeModule+"/runtime/webhook", "webhook")
	conversion := r.Name(o.View.ConversionImportPath, o.View.ConversionAlias)
	var names []string
	for _, spoke := range spokes {
		names = append(names, conversion+"."+layout.KindView(o.project, spoke, "").Conversion)
	}
	r.Run(fmt.Sprintf("%s.For[*%s.%s](m).WithSpokes(%s).Complete()", webhook, api, o.Kind, strings.Join(names, ", ")))
}
