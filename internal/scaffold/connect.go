package scaffold

import (
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"

	"fmt"
	"go/token"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// hubOf returns the version that the others of a kind are converted to: the one that it is for some of them, or else
// the newest, which has fields for most.
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

// connect says of each of the given versions of a kind that it is converted to and from the hub, and returns those of
// which that is new.
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

// connectVersions makes the versions of the kind of r that are of the project convertible, and returns those of which
// that is new.
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

// checkCertified refuses who is to make certificates for a project that has no webhooks, so that PROJECT says so as
// long as it has some.
func checkCertified(proj *project.Project) error {
	if _, found := layout.WebhooksView(proj); found {
		return nil
	}
	return &diagnostic.Error{
		Message: "--certificates says who makes the certificates of webhooks, and the project has none",
		Hint:    "leave it out, and give it to kctrl create webhook with --defaulting, --validation or --conversion",
		Class:   diagnostic.ErrUsage,
	}
}

// checkStored refuses to delete the version of a kind that API servers store while there are others.
func checkStored(p *plan.Plan, before, after *project.Project) error {
	for _, r := range before.Resources {
		if _, stays := after.Find(r.APIGroup(), r.Version, r.Kind); stays || !r.API || !layout.HasOthers(after, r) {
			continue
		}
		name, text, err := render.TypeFile(p, before, r)
		if err != nil || !edit.HasMarker(text, "", r.Kind, render.StorageMarker) {
			continue // a type that is gone already stores nothing
		}
		return &diagnostic.Error{
			Pos:     token.Position{Filename: name},
			Message: fmt.Sprintf("%s is the version that API servers store", r),
			Hint:    fmt.Sprintf("move // %s to the type of another version, have the stored objects written again, and delete it then", render.StorageMarker),
			Class:   diagnostic.ErrUsage,
		}
	}
	return nil
}

// unmarkStored takes the marker of the stored version off a kind that has one version left.
func unmarkStored(p *plan.Plan, before, after *project.Project) error {
	for _, r := range after.Resources {
		stays := slices.ContainsFunc(before.Versions(r), func(v *project.Resource) bool { // its types, which others need
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
