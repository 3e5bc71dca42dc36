package scaffold

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// noSuchKind says that the project has no kind of a name, and which one it has.
func noSuchKind(proj *project.Project, wanted project.Resource) error {
	e := &diagnostic.Error{
		Message: fmt.Sprintf("there is no kind %s in the project", strings.Replace(wanted.String(), "/.", "/*.", 1)),
		Hint:    "the project has no kinds",
		Class:   diagnostic.ErrUsage,
	}
	if r := notMade(proj, wanted); r != nil {
		e.Message = fmt.Sprintf("kctrl create api has not made %s, whose types are in %s", r, r.Path)
		e.Hint = "what kctrl did not write it neither renames nor deletes: change the code, and kctrl generate and kctrl manifests follow"
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

// notMade returns the kind that is wanted if the project knows it and somebody else wrote it, as in a project that
// was migrated.
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
		return "leave --controller-name out"
	}
	return "kctrl create controller " + namesOf(r, true) + " makes one"
}

// webhookHint says which webhooks there are to delete.
func webhookHint(proj *project.Project, r project.Resource) string {
	if flags := webhookFlags(proj, r); flags != "" {
		return "it has what " + flags + " names"
	}
	if r.Hub != "" {
		return "its conversion goes with --conversion --version " + r.Hub
	}
	return "it has no webhooks"
}

// webhookFlags returns the flags that name all webhooks of a kind.
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

// kindHint names a kind that is there, or how to make the one that is not.
func kindHint(proj *project.Project, wanted project.Resource) string {
	for _, r := range proj.Resources {
		if r.Kind == wanted.Kind && r.API {
			return fmt.Sprintf("use --group %s --version %s --kind %s", r.Group, r.Version, r.Kind)
		}
	}
	return fmt.Sprintf("kctrl create api --group %s --version %s --kind %s makes it", cmp.Or(wanted.Group, "webapp"), wanted.Version, wanted.Kind)
}

func existsError(what string) error {
	return &diagnostic.Error{Message: what + " exists", Hint: "--force writes its files anew", Class: diagnostic.ErrUsage}
}
