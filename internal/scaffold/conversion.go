package scaffold

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/versions"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// spokesOf returns the versions whose hub is r, in the order of the project.
func spokesOf(proj *project.Project, r project.Resource) []project.Resource {
	return slices.DeleteFunc(derefs(proj.Versions(r)), func(v project.Resource) bool { return v.Hub != r.Version })
}

// hubOf returns the version that the others of a kind are converted to: the one that it is for some of them, or else the newest,
// which has fields for most.
func hubOf(proj *project.Project, r project.Resource) string {
	newest := ""
	for _, v := range append(derefs(proj.Versions(r)), r) {
		if v.Hub != "" {
			return v.Hub
		}
		if v.API && (newest == "" || apiversion.CompareKubeAwareVersionStrings(v.Version, newest) > 0) {
			newest = v.Version
		}
	}
	return newest
}

// connect says of each of the given versions of a kind that it is converted to and from the hub, and returns those of which that
// is new.
func connect(proj *project.Project, r project.Resource, hub string, spokes []string) []project.Resource {
	var connected []project.Resource
	for i := range proj.Resources {
		v := &proj.Resources[i]
		if v.APIGroup() != r.APIGroup() || v.Kind != r.Kind || v.Version == hub || !slices.Contains(spokes, v.Version) || v.Hub != "" {
			continue
		}
		v.Hub = hub
		connected = append(connected, *v)
	}
	return connected
}

// connectVersions makes the versions of the kind of r that are of the project convertible, and returns those of which that is new.
func connectVersions(proj *project.Project, r project.Resource) []project.Resource {
	spokes := []string{r.Version}
	for _, other := range proj.Versions(r) {
		if other.API {
			spokes = append(spokes, other.Version)
		}
	}
	if len(spokes) == 1 {
		return nil
	}
	return connect(proj, r, hubOf(proj, r), spokes)
}

// writeConversions plans the functions that convert versions of a kind to and from their hub.
func writeConversions(p *plan.Plan, proj *project.Project, spokes []project.Resource, header string, force bool) error {
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
		if err := renderAll(p, templates.Conversion(), view, force); err != nil {
			return err
		}
		if left > 0 {
			p.Note(&diagnostic.Error{
				Message: fmt.Sprintf("%s says what is left to write: %s and %s differ there", view.Spoke.ConversionFile(".go"), spoke.Version, hub.Version),
				Hint:    "the test beside it passes once nothing is lost",
			})
		}
	}
	return nil
}

// conversionView writes what converts one version to and from the hub, and counts what it could not.
func conversionView(p *plan.Plan, proj *project.Project, hub, spoke project.Resource, header string) (templates.ConversionView, int, error) {
	view := templates.NewConversion(header, templates.NewKind(kindNames(proj, spoke, header)), templates.NewKind(kindNames(proj, hub, header)))
	side := func(kind templates.KindView) (versions.Side, error) {
		pkg, err := readTypes(p, kind.Folder)
		return versions.Side{Package: pkg, Version: kind.Version, Alias: kind.Alias}, err
	}
	hubSide, err := side(view.Hub)
	spokeSide, failure := side(view.Spoke)
	taken, failed := takenIn(p, view.Spoke)
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

// takenIn returns what the package of the conversions declares in other files.
func takenIn(p *plan.Plan, spoke templates.KindView) (map[string]bool, error) {
	files, err := goFiles(p, spoke.ConversionFolder)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(name string) bool { return name == spoke.ConversionFile(".go") })
	positions, _, err := declarations(p, files)
	taken := map[string]bool{}
	for name := range positions {
		taken[name] = true
	}
	return taken, err
}

// addConversion makes r the hub of the spokes that opts name, and returns them.
func addConversion(proj *project.Project, r *project.Resource, opts WebhookOptions) ([]project.Resource, error) {
	others := proj.Versions(*r)
	spokes := opts.Spokes
	if len(spokes) == 0 {
		for _, v := range others {
			if v.API {
				spokes = append(spokes, v.Version)
			}
		}
	}
	if len(spokes) == 0 {
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("%s is the only version of its kind: there is nothing to convert", r),
			Hint:    fmt.Sprintf("kctrl create api --group %s --version v2 --kind %s adds one, with the conversion", r.Group, r.Kind),
			Class:   diagnostic.ErrUsage,
		}
	}
	for _, version := range spokes {
		at := slices.IndexFunc(others, func(v *project.Resource) bool { return v.Version == version && v.API })
		switch {
		case at < 0:
			return nil, &diagnostic.Error{
				Message: fmt.Sprintf("%s has no version %s to convert", r.Kind, diagnostic.Quote(version)),
				Hint:    fmt.Sprintf("kctrl create api --group %s --version %s --kind %s adds it", r.Group, project.ValidOr(version, "v2", project.ValidateVersion), r.Kind),
				Class:   diagnostic.ErrUsage,
			}
		case others[at].Hub != "" && (others[at].Hub != r.Version || !opts.Force):
			return nil, existsError(fmt.Sprintf("the conversion of %s to %s", others[at], others[at].Hub))
		}
		others[at].Hub = ""
	}
	if r.Hub != "" {
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("%s is converted to %s, so it is no hub itself", r, r.Hub),
			Hint:    "use --version " + r.Hub,
			Class:   diagnostic.ErrUsage,
		}
	}
	return connect(proj, *r, r.Version, spokes), nil
}

// conversionParts collects the files of the conversion of a version to its hub.
func conversionParts(c *partList, o owner) {
	if o.Hub != "" {
		addEach(c, templates.Conversion(), templates.ConversionView{Spoke: o.kind}, o.id())
	}
}

// conversionFiles are those that convert all versions of a kind to its hub.
func conversionFiles(o owner) []featureFiles {
	if len(spokesOf(o.project, o.Resource)) == 0 {
		return nil
	}
	return []featureFiles{{"conversion", noFlags, func(*project.Resource) {}, func(r *rendering) error { return renderConversion(r, o) }}}
}

func conversionPromises(o owner) []promise {
	return []promise{{o.Hub != "", "hub", o.Hub, `""`, o.kind.ConversionFile(".go"), o.kind.Conversion}}
}

// registerConversions registers the conversions of a kind, which is their hub.
func registerConversions(r *registration, o owner) {
	spokes := spokesOf(o.project, o.Resource)
	if len(spokes) == 0 {
		return
	}
	api := r.name(o.kind.ImportPath, o.kind.Alias)
	webhook := r.name(runtimeModule+"/runtime/webhook", "webhook")
	conversion := r.name(o.kind.ConversionImportPath, o.kind.ConversionAlias)
	var names []string
	for _, spoke := range spokes {
		names = append(names, conversion+"."+templates.NewKind(kindNames(o.project, spoke, "")).Conversion)
	}
	r.view.Setups = append(r.view.Setups, fmt.Sprintf("%s.For[*%s.%s](m).WithSpokes(%s).Complete()", webhook, api, o.Kind, strings.Join(names, ", ")))
}
