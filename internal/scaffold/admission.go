package scaffold

import (
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// admission is what can decide about the objects of a kind.
type admission struct {
	// file is what its files are named after, suffix what its Go type ends in. A policy has none: API servers decide by themselves.
	file, suffix string
	// flag is what create and delete call it, has and flags are what PROJECT says of it.
	flag      string
	has       func(*project.Resource) *bool
	flags     func(*project.Resource) *[]string
	templates func() []templates.Template[templates.AdmissionView]
}

var (
	defaulting = admission{
		"defaulter", "Defaulter", "--defaulting", func(r *project.Resource) *bool { return &r.Defaulting },
		func(r *project.Resource) *[]string { return &r.DefaultingFlags }, templates.Defaulter,
	}
	validation = admission{
		"validator", "Validator", "--validation", func(r *project.Resource) *bool { return &r.Validation },
		func(r *project.Resource) *[]string { return &r.ValidationFlags }, templates.Validator,
	}
	policy = admission{
		"policy", "", "--policy", func(r *project.Resource) *bool { return &r.Policy },
		func(r *project.Resource) *[]string { return &r.PolicyFlags }, templates.Policy,
	}
)

// admissionsOf returns what decides about the objects of a kind.
func admissionsOf(r project.Resource) []admission {
	return slices.DeleteFunc([]admission{defaulting, validation, policy}, func(a admission) bool { return !*a.has(&r) })
}

// webhooksOf returns the webhooks that a kind has.
func webhooksOf(r project.Resource) []admission {
	return slices.DeleteFunc(admissionsOf(r), func(a admission) bool { return a.suffix == "" })
}

// admissionParts collects what the webhooks and the policy of a kind consist of, and what their tests send for a kind that is not the
// project's own.
func admissionParts(c *partList, o owner) {
	for _, a := range admissionsOf(o.Resource) {
		admissionPart(c, o, a, templates.AdmissionView{KindView: o.kind, Foreign: !o.API})
	}
}

// admissionPart collects the files of one webhook or policy.
func admissionPart(c *partList, o owner, a admission, view templates.AdmissionView) {
	ofGroup := o.first(func(r project.Resource) bool { return r.APIGroup() == o.APIGroup() })
	addEach(c, []templates.Template[templates.KindView]{templates.WebhookDoc()}, o.kind, ofGroup)
	if a.suffix == "" {
		c.add(part{
			path: path.Join(policiesFolder, view.PolicyFile()), id: a.templates()[0].ID + " " + o.id(),
			listings: []listing{{policiesFolder, "resources", view.PolicyFile()}},
			write:    func(r *rendering) error { return render(r.plan, a.templates()[0], view, r.force) },
		})
		c.add(part{
			path: path.Join(policiesFolder, "kustomization.yaml"), id: "list of policies", kustomization: true,
			listings: []listing{{defaultFolder, "resources", "../policy"}},
			write: func(r *rendering) error {
				return writeList(r.plan, policiesFolder, templates.PolicyKustomization(), []string{view.PolicyFile()})
			},
		})
	}
	addEach(c, a.templates(), view, o.id())
	if view.Foreign {
		addEach(c, []templates.Template[templates.AdmissionView]{templates.TestObject()}, view, o.id())
	}
	if view.Foreign && view.TestCRDs != "" {
		addEach(c, []templates.Template[templates.KindView]{templates.StandIn(view.WebhookFolder)}, o.kind, o.id()+" of webhooks")
	}
}

// admissionFiles are those of each webhook and policy.
func admissionFiles(o owner) []featureFiles {
	var all []featureFiles
	for _, a := range admissionsOf(o.Resource) {
		drop := func(r *project.Resource) { *a.has(r), *a.flags(r) = false, nil }
		all = append(all, featureFiles{a.file, a.flags, drop, func(r *rendering) error { return renderAdmission(r, o, a) }})
	}
	return all
}

func admissionPromises(o owner) []promise {
	var all []promise
	for _, a := range webhooksOf(o.Resource) {
		all = append(all, promise{true, strings.TrimPrefix(a.flag, "--"), "true", "false", o.kind.WebhookFile(a.file, ".go"), o.kind.Kind + a.suffix})
	}
	return all
}

func registerWebhooks(r *registration, o owner) {
	for _, a := range webhooksOf(o.Resource) {
		r.setUp(o.kind.WebhookImportPath, o.kind.WebhookAlias, o.kind.Kind+a.suffix)
	}
}
