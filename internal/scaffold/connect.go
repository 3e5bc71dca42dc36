package scaffold

import (
	"fmt"
	"go/token"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// hubOf returns the version from and to which the other versions of a kind are converted: the current hub, or else the
// newest version.
func hubOf(proj *project.Project, r project.Resource) string {
	newest := ""
	for _, v := range append(layout.Derefs(proj.Versions(r)), r) {
		if v.Hub != "" {
			return v.Hub
		}
		if v.API && (newest == "" || apiversion.CompareKubeAwareVersionStrings(v.Version, newest) > 0) {
			newest = v.Version
		}
	}
	return newest
}

// connect sets the hub of the given versions of a kind, and returns the versions that had no hub before.
func connect(proj *project.Project, r project.Resource, hub string, spokes []string) []project.Resource {
	var connected []project.Resource
	for i := range proj.Resources {
		v := &proj.Resources[i]
		if v.APIGroup() != r.APIGroup() || v.Kind != r.Kind || v.Version == hub || !slices.Contains(spokes, v.Version) ||
			v.Hub != "" {
			continue
		}
		v.Hub = hub
		connected = append(connected, *v)
	}
	return connected
}

// connectVersions makes all versions of r's kind convertible, and returns those that were not convertible before.
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

// addConversion makes r the hub of the spokes in opts, and returns them.
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
		return nil, diagnostic.Usage(fmt.Sprintf("%s is the only version of its kind: there is nothing to convert", r),
			fmt.Sprintf("kctrl create api --group %s --version v2 --kind %s adds one, with the conversion", r.Group, r.Kind))
	}
	for _, version := range spokes {
		at := slices.IndexFunc(others, func(v *project.Resource) bool { return v.Version == version && v.API })
		switch {
		case at < 0:
			return nil, diagnostic.Usage(fmt.Sprintf("%s has no version %s to convert", r.Kind, diagnostic.Quote(version)),
				fmt.Sprintf("kctrl create api --group %s --version %s --kind %s adds it", r.Group,
					project.ValidOr(version, "v2", project.ValidateVersion), r.Kind))
		case others[at].Hub != "" && (others[at].Hub != r.Version || !opts.Force):
			return nil, existsError(fmt.Sprintf("the conversion of %s to %s", others[at], others[at].Hub))
		}
		others[at].Hub = ""
	}
	if r.Hub != "" {
		return nil, diagnostic.Usage(fmt.Sprintf("%s is converted to %s, so it is not a hub", r, r.Hub),
			"use --version "+r.Hub)
	}
	return connect(proj, *r, r.Version, spokes), nil
}

// checkCertified rejects a certificate issuer for a project without webhooks.
func checkCertified(proj *project.Project) error {
	if _, found := layout.WebhooksView(proj); found {
		return nil
	}
	return diagnostic.Usage("--certificates sets the issuer of webhook certificates, and the project has no webhooks",
		"omit it, and pass it to kctrl create webhook with --defaulting, --validation or --conversion")
}

// checkStored rejects the deletion of the storage version of a kind that has other versions.
func checkStored(p *plan.Plan, before, after *project.Project) error {
	for _, r := range before.Resources {
		if _, stays := after.Find(r.APIGroup(), r.Version, r.Kind); stays || !r.API || !layout.HasOthers(after, r) {
			continue
		}
		name, text, err := render.TypeFile(p, before, r)
		if err != nil || !edit.HasMarker(text, "", r.Kind, render.StorageMarker) {
			continue // the type is already deleted
		}
		return &diagnostic.Error{
			Pos:     token.Position{Filename: name},
			Message: fmt.Sprintf("%s is the version that API servers store", r),
			Hint: fmt.Sprintf("move // %s to the type of another version, rewrite the stored objects, and then delete it",
				render.StorageMarker),
			Class: diagnostic.ErrUsage,
		}
	}
	return nil
}

// unmarkStored removes the storage version marker from a kind of which one version remains.
func unmarkStored(p *plan.Plan, before, after *project.Project) error {
	for _, r := range after.Resources {
		// its types are kept because other code needs them
		stays := slices.ContainsFunc(before.Versions(r), func(v *project.Resource) bool {
			_, _, err := render.TypeFile(p, before, *v)
			return err == nil && v.API
		})
		if !r.API || layout.HasOthers(after, r) || !layout.HasOthers(before, r) || stays {
			continue
		}
		name, text, err := render.TypeFile(p, after, r)
		if err != nil {
			return err
		}
		if text, err = edit.RemoveMarker(text, name, r.Kind, render.StorageMarker); err != nil {
			return err
		}
		if err := p.Edit(name, text); err != nil {
			return err
		}
	}
	return nil
}
