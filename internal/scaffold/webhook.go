package scaffold

import (
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

// WebhookOptions say which webhooks to add to a kind.
type WebhookOptions struct {
	// Group, Version, Kind and Plural name the kind, and Path, Domain, Module, Namespaced and Types find one that is not
	// the project's own, as in [ControllerOptions].
	Group, Version, Kind, Plural string
	Path, Domain, Module         string
	Namespaced                   bool
	Types                        Types
	// Defaulting, Validation and Conversion ask for the webhook of that name, Policy for a ValidatingAdmissionPolicy,
	// which API servers decide by without asking anybody. One of them must be set.
	Defaulting, Validation, Conversion, Policy bool
	// DefaultingPath and ValidationPath are where the webhooks are served. Empty means the paths that their kind has.
	DefaultingPath, ValidationPath string
	// Rules are those of the policy: each a message, "=" and a CEL expression that has to be true. Empty means one to
	// begin with.
	Rules []string
	// Requests are those that the webhooks and the policy are about, but for conversion.
	Requests render.Requests
	// Spokes are the versions that conversion turns into Version and back, which becomes the hub. Empty means all others.
	Spokes []string
	// Certificates is who makes the certificates: project.SelfSigned or project.CertManager. Empty leaves it as it is.
	Certificates string
	// Force writes the files of webhooks that are there already anew, whatever the user made of them.
	Force bool
	// Kctrl is the kctrl that adds the webhooks.
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

// admission returns what PROJECT keeps of the options.
func (o WebhookOptions) admission() render.AdmissionOptions {
	return render.AdmissionOptions{
		DefaultingPath: o.DefaultingPath, ValidationPath: o.ValidationPath, Rules: o.Rules, Requests: o.Requests,
	}
}

// asked returns a resource that has nothing but what opts ask for.
func (o WebhookOptions) asked() project.Resource {
	return project.Resource{Defaulting: o.Defaulting, Validation: o.Validation, Policy: o.Policy}
}

// checkPaths refuses paths that are none, or that nothing is served at.
func (o WebhookOptions) checkPaths() error {
	for _, path := range []struct {
		flag, value string
		served      bool
		needs       string
	}{{"--defaulting-path", o.DefaultingPath, o.Defaulting, "--defaulting"}, {"--validation-path", o.ValidationPath, o.Validation, "--validation"}} {
		switch {
		case path.value == "":
		case !path.served:
			return &diagnostic.Error{Message: path.flag + " is of a webhook that is not asked for", Hint: "add " + path.needs, Class: diagnostic.ErrUsage}
		case !webhookPath.MatchString(path.value):
			return render.WrongOption(path.flag, path.value, "want a path", "write "+path.flag+"=/mine")
		}
	}
	return nil
}

// webhookPath matches paths that markers, Go and webhook configurations take as they are.
var webhookPath = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)

// decidedKind returns the kind that opts name, as the project has it from now on: one of its own, built in, or
// somebody else's.
func decidedKind(proj *project.Project, opts WebhookOptions) (*project.Resource, error) {
	named := ControllerOptions{
		Group: opts.Group, Version: opts.Version, Kind: opts.Kind, Plural: opts.Plural,
		Path: opts.Path, Domain: opts.Domain, Namespaced: opts.Namespaced, Types: opts.Types,
	}
	own := project.Resource{Group: opts.Group, Domain: proj.Domain, Version: opts.Version, Kind: opts.Kind}
	foreign := foreignKind(named)
	known := slices.ContainsFunc([]project.Resource{own, foreign}, func(r project.Resource) bool {
		_, found := proj.Find(r.APIGroup(), r.Version, r.Kind)
		return found
	})
	if !known && foreign.Path == "" {
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("there is no kind %s to write webhooks for", own),
			Hint:    kindHint(proj, own),
			Class:   diagnostic.ErrUsage,
		}
	}
	r, err := findKind(proj, named)
	if err == nil && opts.Conversion && !r.API {
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("%s is not the project's own, and its versions are converted by those who define it", r),
			Hint:    "leave --conversion out",
			Class:   diagnostic.ErrUsage,
		}
	}
	return r, err
}

// addWebhooks records in the project what opts ask for. It returns the kind, and the versions of it whose conversion
// is new.
func addWebhooks(proj *project.Project, opts WebhookOptions) (*project.Resource, []project.Resource, error) {
	if err := validateWebhook(proj, opts); err != nil {
		return nil, nil, err
	}
	r, err := decidedKind(proj, opts)
	if err != nil {
		return nil, nil, err
	}
	asked := layout.AdmissionsOf(opts.asked())
	if len(asked) > 0 { // conversions have files of their own
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
				return nil, nil, &diagnostic.Error{
					Message: fmt.Sprintf("%s has a %s already, and API servers ask it about all versions of the kind, converted for it", other, a.File),
					Hint:    fmt.Sprintf("write the rules of %s there", r.Version),
					Class:   diagnostic.ErrUsage,
				}
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

// conversionPath is where the manager converts objects of all kinds.
const conversionPath = "/convert"

// checkServedOnce refuses two webhooks at one path, with which the manager does not start.
func checkServedOnce(proj *project.Project) error {
	served := map[string]string{conversionPath: "what converts objects"}
	for _, r := range proj.Resources {
		kind := templates.NewKind(layout.KindNames(proj, r, ""))
		for _, a := range layout.WebhooksOf(r) {
			opts := render.AdmissionOptions{}
			if opts.SetFlags(a, *a.Flags(&r)) != nil {
				continue // of another kctrl
			}
			at := opts.At(a, templates.AdmissionView{KindView: kind})
			name, path, flag := fmt.Sprintf("the %s of %s", a.File, r), at.MutatePath, "--defaulting-path"
			if a.Suffix == layout.Validation.Suffix {
				path, flag = at.ValidatePath, "--validation-path"
			}
			if other, taken := served[path]; taken {
				return &diagnostic.Error{
					Message: fmt.Sprintf("%s and %s would both be served at %s", other, name, path), Hint: "give one of them another " + flag, Class: diagnostic.ErrUsage,
				}
			}
			served[path] = name
		}
	}
	return nil
}

// checkNamesakes refuses a kind whose files another one of that name, in another group, has already.
func checkNamesakes(proj *project.Project, r project.Resource) error {
	file := func(r project.Resource) string {
		return templates.NewKind(layout.KindNames(proj, r, "")).WebhookFile("", "")
	}
	for _, other := range proj.Resources {
		if other.APIGroup() != r.APIGroup() && len(layout.AdmissionsOf(other)) > 0 && file(other) == file(r) {
			return &diagnostic.Error{
				Message: fmt.Sprintf("%s has webhooks or a policy, and this layout no place for those of %s", other, r),
				Hint:    "write the rules into the files of the other one, or run kctrl edit --multigroup first",
				Class:   diagnostic.ErrUsage,
			}
		}
	}
	return nil
}

func validateWebhook(proj *project.Project, opts WebhookOptions) error {
	names := APIOptions{Group: opts.Group, Version: opts.Version, Kind: opts.Kind, Plural: opts.Plural, Resource: true}
	if missing := missingNames(names); missing != "" {
		return &diagnostic.Error{
			Message: "create webhook needs " + missing,
			Hint: fmt.Sprintf("kctrl create webhook --group %s --version %s --kind %s --defaulting --validation",
				project.ValidOr(opts.Group, "webapp", project.ValidateGroup),
				project.ValidOr(opts.Version, "v1", project.ValidateVersion),
				project.ValidOr(opts.Kind, "Guestbook", project.ValidateKind)),
			Class: diagnostic.ErrUsage,
		}
	}
	if err := validateAPI(names); err != nil {
		return err
	}
	switch {
	case !opts.Conversion && len(layout.AdmissionsOf(opts.asked())) == 0:
		return &diagnostic.Error{
			Message: "there is nothing to create without a kind of webhook",
			Hint:    "add --defaulting, --validation, --conversion or --policy",
			Class:   diagnostic.ErrUsage,
		}
	case !opts.Requests.IsZero() && len(layout.AdmissionsOf(opts.asked())) == 0:
		return &diagnostic.Error{
			Message: "conversion is asked about all objects of its kind, whatever selects requests",
			Hint:    "leave --verbs, --failure-policy, --timeout, --match-condition and the selectors out",
			Class:   diagnostic.ErrUsage,
		}
	case opts.Requests.Timeout > 0 && len(layout.WebhooksOf(opts.asked())) == 0:
		return &diagnostic.Error{
			Message: "API servers decide by a policy themselves, and wait for nobody",
			Hint:    "leave --timeout out",
			Class:   diagnostic.ErrUsage,
		}
	case opts.Defaulting && len(opts.Requests.Verbs) > 0 && !slices.Contains(opts.Requests.Verbs, "create") && !slices.Contains(opts.Requests.Verbs, "update"):
		return &diagnostic.Error{
			Message: "a defaulter changes what is created or updated, and is asked about neither",
			Hint:    "add create or update to --verbs, or leave --defaulting out",
			Class:   diagnostic.ErrUsage,
		}
	case len(opts.Rules) > 0 && !opts.Policy:
		return &diagnostic.Error{
			Message: "rules in CEL are those of a policy, which is not asked for",
			Hint:    "add --policy",
			Class:   diagnostic.ErrUsage,
		}
	case len(opts.Spokes) > 0 && !opts.Conversion:
		return &diagnostic.Error{
			Message: "spokes are versions that are converted, and no conversion is asked for",
			Hint:    "add --conversion",
			Class:   diagnostic.ErrUsage,
		}
	}
	if err := errors.Join(opts.Requests.Validate(), opts.checkPaths()); err != nil {
		return err
	}
	probe := project.Project{Domain: proj.Domain, Repo: proj.Repo, Name: proj.Name, Certificates: opts.Certificates}
	return probe.Validate()
}
