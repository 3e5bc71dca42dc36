package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// WebhookOptions are the options of [PlanWebhook].
type WebhookOptions struct {
	// Group, Version, Kind and Plural name the kind. Path, Domain, Module, Namespaced and Types describe an external kind,
	// as in [ControllerOptions].
	Group, Version, Kind, Plural string
	Path, Domain, Module         string
	Namespaced                   bool
	Types                        Types
	// Defaulting, Validation and Conversion request the webhook of that name, and Policy a ValidatingAdmissionPolicy,
	// which API servers evaluate without a webhook. At least one must be set.
	Defaulting, Validation, Conversion, Policy bool
	// DefaultingPath and ValidationPath are the URL paths of the webhooks. Empty means the default paths for the kind.
	DefaultingPath, ValidationPath string
	// Rules are the rules of the policy, in the form message=expression. The CEL expression must be true. Empty means an
	// example rule.
	Rules []string
	// Requests select the requests that the webhooks and the policy handle. They do not apply to conversion.
	Requests render.Requests
	// Spokes are the versions that are converted to and from Version, which becomes the hub. Empty means all other
	// versions.
	Spokes []string
	// Certificates is the issuer of certificates: project.SelfSigned or project.CertManager. Empty keeps the current
	// issuer.
	Certificates string
	// Force overwrites the files of existing webhooks, including the user's edits.
	Force bool
	// Kctrl identifies the running kctrl.
	Kctrl project.Build
}

// PlanWebhook adds webhooks to a kind of project and plans their files, as [PlanAPI] does for a kind.
func PlanWebhook(fsys fs.FS, proj *project.Project, opts WebhookOptions) (*plan.Plan, error) {
	resource, spokes, err := addWebhooks(proj, opts)
	if err != nil {
		return nil, err
	}
	w, err := render.BeginWork(fsys, proj, opts.Kctrl, opts.Force)
	if err != nil {
		return nil, err
	}
	o := w.Kind(*resource)
	var steps []func() error
	if layout.UsesTypes(*resource) {
		steps = append(steps, func() error { return gomod.RequirePackage(w.Plan, resource.Path, opts.Module) })
	}
	for _, a := range layout.AdmissionsOf(opts.asked()) {
		steps = append(steps, func() error { return w.Admission(o, a, opts.admission()) })
	}
	steps = append(steps,
		func() error { return render.WriteConversions(w.Plan, proj, spokes, w.Header, opts.Force) },
		func() error { return gomod.RequireDirectly(w.Plan, layout.TypesModule) },
		w.Finish,
	)
	return w.Plan, plan.InOrder(steps...)
}

// admission returns the options that PROJECT records.
func (o WebhookOptions) admission() render.AdmissionOptions {
	return render.AdmissionOptions{
		DefaultingPath: o.DefaultingPath, ValidationPath: o.ValidationPath, Rules: o.Rules, Requests: o.Requests,
	}
}

// asked returns a resource with only the features that the options request.
func (o WebhookOptions) asked() project.Resource {
	return project.Resource{Defaulting: o.Defaulting, Validation: o.Validation, Policy: o.Policy}
}

// checkPaths rejects invalid paths, and paths of webhooks that are not requested.
func (o WebhookOptions) checkPaths() error {
	for _, path := range []struct {
		flag, value string
		served      bool
		needs       string
	}{{"--defaulting-path", o.DefaultingPath, o.Defaulting, "--defaulting"},
		{"--validation-path", o.ValidationPath, o.Validation, "--validation"}} {
		switch {
		case path.value == "":
		case !path.served:
			return diagnostic.Usage(path.flag+" requires its webhook", "add "+path.needs)
		case !webhookPath.MatchString(path.value):
			return render.WrongOption(path.flag, path.value, "want a path", "write "+path.flag+"=/mine")
		}
	}
	return nil
}

// webhookPath matches paths that need no escaping in markers, Go and webhook configurations.
var webhookPath = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)

// decidedKind returns the kind that the options name: a kind of the project, a built-in kind, or an external kind,
// which it adds to the project.
func decidedKind(proj *project.Project, opts WebhookOptions) (*project.Resource, error) {
	named := ControllerOptions{
		Group: opts.Group, Version: opts.Version, Kind: opts.Kind, Plural: opts.Plural,
		Path: opts.Path, Domain: opts.Domain, Namespaced: opts.Namespaced, Types: opts.Types,
	}
	own := project.Resource{Group: opts.Group, Domain: proj.Domain, Version: opts.Version, Kind: opts.Kind}
	r, err := findKind(proj, named, diagnostic.Usage(fmt.Sprintf("there is no kind %s to write webhooks for", own),
		kindHint(proj, own)))
	if err == nil && opts.Conversion && !r.API {
		return nil, diagnostic.Usage(fmt.Sprintf("%s is an external kind, whose owner converts its versions", r),
			"omit --conversion")
	}
	return r, err
}

// addWebhooks adds the webhooks of the options to the project. It returns the kind, and the versions with a new
// conversion.
func addWebhooks(proj *project.Project, opts WebhookOptions) (*project.Resource, []project.Resource, error) {
	if err := validateWebhook(proj, opts); err != nil {
		return nil, nil, err
	}
	r, err := decidedKind(proj, opts)
	if err != nil {
		return nil, nil, err
	}
	asked := layout.AdmissionsOf(opts.asked())
	if len(asked) > 0 { // conversions have their own files
		if err := checkNamesakes(proj, *r); err != nil {
			return nil, nil, err
		}
	}
	for _, a := range asked {
		if *a.Has(r) && !opts.Force {
			return nil, nil, existsError(fmt.Sprintf("the %s of %s", a.File, r))
		}
		for _, other := range proj.Versions(*r) {
			if *a.Has(other) {
				return nil, nil, diagnostic.Usage(fmt.Sprintf("%s has a %s already, and API servers call it for all versions of "+
					"the kind, after a conversion", other, a.File),
					"write the rules of "+r.Version+" there")
			}
		}
		*a.Has(r), *a.Flags(r) = true, opts.admission().Flags(a)
	}
	var spokes []project.Resource
	if opts.Conversion {
		if spokes, err = addConversion(proj, r, opts); err != nil {
			return nil, nil, err
		}
	}
	if opts.Certificates != "" {
		layout.SetCertificates(proj, opts.Certificates)
		err = checkCertified(proj)
	}
	return r, spokes, errors.Join(err, checkServedOnce(proj))
}

// conversionPath is the URL path of the conversion webhook, which all kinds share.
const conversionPath = "/convert"

// checkServedOnce rejects two webhooks with the same path, because the manager would not start.
func checkServedOnce(proj *project.Project) error {
	served := map[string]string{conversionPath: "what converts objects"}
	for _, r := range proj.Resources {
		kind := layout.KindView(proj, r, "")
		for _, a := range layout.WebhooksOf(r) {
			opts := render.AdmissionOptions{}
			if opts.SetFlags(a, *a.Flags(&r)) != nil {
				continue // flags of another kctrl
			}
			at := opts.At(a, templates.AdmissionView{KindView: kind})
			name, path, flag := fmt.Sprintf("the %s of %s", a.File, r), at.MutatePath, "--defaulting-path"
			if a.Suffix == layout.Validation.Suffix {
				path, flag = at.ValidatePath, "--validation-path"
			}
			if other, taken := served[path]; taken {
				return diagnostic.Usage(fmt.Sprintf("%s and %s would both be served at %s", other, name, path),
					"give one of them another "+flag)
			}
			served[path] = name
		}
	}
	return nil
}

// checkNamesakes rejects a kind whose files would have the same paths as the files of another group's kind with the
// same name.
func checkNamesakes(proj *project.Project, r project.Resource) error {
	file := func(r project.Resource) string {
		return layout.KindView(proj, r, "").WebhookFile("", "")
	}
	for _, other := range proj.Resources {
		if other.APIGroup() != r.APIGroup() && len(layout.AdmissionsOf(other)) > 0 && file(other) == file(r) {
			return diagnostic.Usage(
				fmt.Sprintf("%s has webhooks or a policy, and this layout has no place for those of %s", other, r),
				"write the rules into the files of the other one, or run kctrl edit --multigroup first")
		}
	}
	return nil
}

func validateWebhook(proj *project.Project, opts WebhookOptions) error {
	names := APIOptions{Group: opts.Group, Version: opts.Version, Kind: opts.Kind, Plural: opts.Plural, Resource: true}
	err := cmp.Or(checkNames("create webhook", names, "webapp", "Guestbook", " --defaulting --validation"),
		validateAPI(names))
	if err != nil {
		return err
	}
	switch {
	case !opts.Conversion && len(layout.AdmissionsOf(opts.asked())) == 0:
		return diagnostic.Usage("no webhook or policy selected", "add --defaulting, --validation, --conversion or --policy")
	case !opts.Requests.IsZero() && len(layout.AdmissionsOf(opts.asked())) == 0:
		return diagnostic.Usage("conversion applies to all objects of its kind, and ignores options that select requests",
			"omit --verbs, --failure-policy, --timeout, --match-condition and the selectors")
	case opts.Requests.Timeout > 0 && len(layout.WebhooksOf(opts.asked())) == 0:
		return diagnostic.Usage("API servers evaluate a policy themselves, so it has no timeout", "omit --timeout")
	case opts.Defaulting && len(opts.Requests.Verbs) > 0 && !slices.Contains(opts.Requests.Verbs, "create") &&
		!slices.Contains(opts.Requests.Verbs, "update"):
		return diagnostic.Usage("a defaulter requires creations or updates, and --verbs has neither",
			"add create or update to --verbs, or omit --defaulting")
	case len(opts.Rules) > 0 && !opts.Policy:
		return diagnostic.Usage("--rule requires --policy", "add --policy")
	case len(opts.Spokes) > 0 && !opts.Conversion:
		return diagnostic.Usage("--spoke requires --conversion", "add --conversion")
	}
	if err := errors.Join(opts.Requests.Validate(), opts.checkPaths()); err != nil {
		return err
	}
	probe := project.Project{Domain: proj.Domain, Repo: proj.Repo, Name: proj.Name, Certificates: opts.Certificates}
	return probe.Validate()
}
