package scaffold

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// noSuchKind returns the error for an unknown kind. The hint lists the known kinds.
func noSuchKind(proj *project.Project, wanted project.Resource) error {
	e := diagnostic.Usage(
		fmt.Sprintf("there is no kind %s in the project", strings.Replace(wanted.String(), "/.", "/*.", 1)),
		"the project has no kinds")
	if r := notMade(proj, wanted); r != nil {
		e.Message = fmt.Sprintf("kctrl create api did not create %s, whose types are in %s", r, r.Path)
		e.Hint = "kctrl renames and deletes only what it wrote: change the code, then run kctrl generate and kctrl manifests"
		return e
	}
	var all []string
	for _, r := range proj.Resources {
		all = append(all, r.String())
		if r.Kind == wanted.Kind {
			e.Hint = "use " + namesOf(r, true)
			return e
		}
	}
	if len(all) > 0 {
		e.Hint = "the kinds of the project are " + strings.Join(all, ", ")
	}
	return e
}

// notMade returns the wanted kind if PROJECT lists it but kctrl did not create it, as in a migrated project.
func notMade(proj *project.Project, wanted project.Resource) *project.Resource {
	same := func(a, b string) bool { return a == b || a == "" || a == "*" }
	for i, r := range proj.Resources {
		group := wanted.Group == r.Group || wanted.APIGroup() == r.APIGroup()
		if r.Path != "" && group && same(wanted.Version, r.Version) && same(wanted.Kind, r.Kind) {
			return &proj.Resources[i]
		}
	}
	return nil
}

// namesOf returns the flags that name a kind.
func namesOf(r project.Resource, version bool) string {
	group := r.Group
	if group == "" && strings.HasPrefix(r.Path, "k8s.io/api/") {
		group = "core"
	}
	flags := ""
	if group != "" {
		flags = "--group " + group + " "
	}
	if version {
		flags += "--version " + r.Version + " "
	}
	return flags + "--kind " + r.Kind
}

func controllerHint(r project.Resource) string {
	switch {
	case len(r.Controllers) > 0:
		return "its controllers have the names " + strings.Join(r.Controllers, ", ")
	case r.Controller:
		return "omit --controller-name"
	}
	return "kctrl create controller " + namesOf(r, true) + " makes one"
}

// webhookHint lists the webhooks of a kind.
func webhookHint(proj *project.Project, r project.Resource) string {
	if flags := webhookFlags(proj, r); flags != "" {
		return "use " + flags
	}
	if r.Hub != "" {
		return "use --conversion --version " + r.Hub
	}
	return "it has no webhooks"
}

// webhookFlags returns the flags for all webhooks of a kind.
func webhookFlags(proj *project.Project, r project.Resource) string {
	var flags []string
	for _, a := range layout.AdmissionsOf(r) {
		flags = append(flags, a.Flag)
	}
	if len(layout.SpokesOf(proj, r)) > 0 {
		flags = append(flags, "--conversion")
	}
	return strings.Join(flags, " ")
}

// kindHint names an existing kind, or the command that creates the missing one.
func kindHint(proj *project.Project, wanted project.Resource) string {
	for _, r := range proj.Resources {
		if r.Kind == wanted.Kind && r.API {
			return fmt.Sprintf("use --group %s --version %s --kind %s", r.Group, r.Version, r.Kind)
		}
	}
	return fmt.Sprintf("kctrl create api --group %s --version %s --kind %s makes it", cmp.Or(wanted.Group, "webapp"),
		wanted.Version, wanted.Kind)
}

func existsError(what string) error {
	return diagnostic.Usage(what+" exists", "--force overwrites its files")
}
