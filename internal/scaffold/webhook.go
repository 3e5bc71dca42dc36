package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

const (
	componentFolder = "config/components/webhook"
	policyFolder    = "config/components/network-policy"
	// policiesFolder has the policies that API servers decide by.
	policiesFolder = "config/policy"
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

// WebhookOptions say which webhooks to add to a kind.
type WebhookOptions struct {
	// Group, Version, Kind and Plural name the kind, and Path, Domain, Module, Namespaced and Types find one that is not the project's
	// own, as in [ControllerOptions].
	Group, Version, Kind, Plural string
	Path, Domain, Module         string
	Namespaced                   bool
	Types                        Types
	// Defaulting, Validation and Conversion ask for the webhook of that name, Policy for a ValidatingAdmissionPolicy, which API
	// servers decide by without asking anybody. One of them must be set.
	Defaulting, Validation, Conversion, Policy bool
	// DefaultingPath and ValidationPath are where the webhooks are served. Empty means the paths that their kind has.
	DefaultingPath, ValidationPath string
	// Rules are those of the policy: each a message, "=" and a CEL expression that has to be true. Empty means one to begin with.
	Rules []string
	// Requests are those that the webhooks and the policy are about, but for conversion.
	Requests Requests
	// Spokes are the versions that conversion turns into Version and back, which becomes the hub. Empty means all others.
	Spokes []string
	// Certificates is who makes the certificates: project.SelfSigned or project.CertManager. Empty leaves it as it is.
	Certificates string
	// Force writes the files of webhooks that are there already anew, whatever the user made of them.
	Force bool
	// Kctrl is the kctrl that adds the webhooks.
	Kctrl Build
}

// PlanWebhook adds webhooks to a kind of project and plans their files, as [PlanAPI] does for a kind.
func PlanWebhook(fsys fs.FS, proj *project.Project, opts WebhookOptions) (*plan.Plan, error) {
	resource, spokes, err := addWebhooks(proj, opts)
	if err != nil {
		return nil, err
	}
	p := plan.New(fsys)
	if err := rebuildLock(p, proj, opts.Kctrl); err != nil {
		return nil, err
	}
	if err := PlanRuntime(p, proj); err != nil {
		return nil, err
	}
	header, err := goHeader(p)
	if err != nil {
		return nil, err
	}
	names := kindNames(proj, *resource, header)
	if names.RealServer, err = hasOlderKubernetes(p, proj); err != nil {
		return nil, err
	}
	kind := templates.NewKind(names)
	webhookView, policyView, err := opts.Requests.view(kind, !resource.API)
	if err != nil {
		return nil, err
	}
	if policyView.Rules, err = opts.policyRules(policyView.Verbs); err != nil {
		return nil, err
	}
	var steps []func() error
	if usesTypes(*resource) {
		steps = append(steps, func() error { return requirePackage(p, resource.Path, opts.Module) })
	}
	for _, a := range admissionsOf(opts.asked()) {
		view := opts.at(a, webhookView)
		if a.suffix == "" {
			view = policyView
			steps = append(steps, func() error { return listPolicy(p, view) })
		} else {
			steps = append(steps, func() error {
				return checkUndeclared(p, kind.WebhookFolder, kind.WebhookFile(a.file, ".go"), []string{kind.Kind + a.suffix})
			})
		}
		steps = append(steps,
			func() error { return render(p, templates.WebhookDoc(), kind, false) },
			func() error { return renderAll(p, a.templates(), view, opts.Force) },
			func() error { return writeTestObject(p, view) },
			func() error { return requireInMemory(p, proj, kind) },
			func() error { return requireDirectly(p, "sigs.k8s.io/yaml") },
		)
	}
	steps = append(steps,
		func() error { return writeConversions(p, proj, spokes, header, opts.Force) },
		func() error { return requireDirectly(p, "k8s.io/apimachinery") },
		func() error { return deployWebhooks(p, proj) },
		func() error { return writeRegistration(p, proj) },
		func() error { return writeProject(p, proj) },
	)
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// asked returns a resource that has nothing but what opts ask for.
func (o WebhookOptions) asked() project.Resource {
	return project.Resource{Defaulting: o.Defaulting, Validation: o.Validation, Policy: o.Policy}
}

// at returns what a webhook is rendered from, at the path that was asked for.
func (o WebhookOptions) at(a admission, view templates.AdmissionView) templates.AdmissionView {
	switch {
	case a.suffix == defaulting.suffix && o.DefaultingPath != "":
		view.MutatePath, view.OwnPath = o.DefaultingPath, true
	case a.suffix == validation.suffix && o.ValidationPath != "":
		view.ValidatePath, view.OwnPath = o.ValidationPath, true
	}
	return view
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
			return wrongOption(path.flag, path.value, "want a path", "write "+path.flag+"=/mine")
		}
	}
	return nil
}

// webhookPath matches paths that markers, Go and webhook configurations take as they are.
var webhookPath = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)

// decidedKind returns the kind that opts name, as the project has it from now on: one of its own, built in, or somebody else's.
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

// addWebhooks records in the project what opts ask for. It returns the kind, and the versions of it whose conversion is new.
func addWebhooks(proj *project.Project, opts WebhookOptions) (*project.Resource, []project.Resource, error) {
	if err := validateWebhook(proj, opts); err != nil {
		return nil, nil, err
	}
	r, err := decidedKind(proj, opts)
	if err != nil {
		return nil, nil, err
	}
	if err := checkNamesakes(proj, *r); err != nil {
		return nil, nil, err
	}
	for _, a := range admissionsOf(opts.asked()) {
		if *a.has(r) && !opts.Force {
			return nil, nil, existsError(fmt.Sprintf("the %s of %s", a.file, r))
		}
		for _, other := range proj.Versions(*r) {
			if *a.has(other) {
				return nil, nil, &diagnostic.Error{
					Message: fmt.Sprintf("%s has a %s already, and API servers ask it about all versions of the kind, converted for it", other, a.file),
					Hint:    fmt.Sprintf("write the rules of %s there", r.Version),
					Class:   diagnostic.ErrUsage,
				}
			}
		}
		*a.has(r), *a.flags(r) = true, opts.flags(a)
	}
	if opts.Certificates != "" {
		proj.Certificates = opts.Certificates
	}
	if !opts.Conversion {
		return r, nil, nil
	}
	spokes, err := addConversion(proj, r, opts)
	return r, spokes, err
}

// checkNamesakes refuses a kind whose files another one of that name, in another group, has already.
func checkNamesakes(proj *project.Project, r project.Resource) error {
	file := func(r project.Resource) string { return templates.NewKind(kindNames(proj, r, "")).WebhookFile("", "") }
	for _, other := range proj.Resources {
		if other.APIGroup() != r.APIGroup() && len(admissionsOf(other)) > 0 && file(other) == file(r) {
			return &diagnostic.Error{
				Message: fmt.Sprintf("%s has webhooks or a policy, and this layout no place for those of %s", other, r),
				Hint:    "write the rules into the files of the other one, or use a project made by kctrl init --multigroup",
				Class:   diagnostic.ErrUsage,
			}
		}
	}
	return nil
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

func existsError(what string) error {
	return &diagnostic.Error{Message: what + " exists", Hint: "--force writes its files anew", Class: diagnostic.ErrUsage}
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
	case !opts.Conversion && len(admissionsOf(opts.asked())) == 0:
		return &diagnostic.Error{
			Message: "there is nothing to create without a kind of webhook",
			Hint:    "add --defaulting, --validation, --conversion or --policy",
			Class:   diagnostic.ErrUsage,
		}
	case !opts.Requests.isZero() && len(admissionsOf(opts.asked())) == 0:
		return &diagnostic.Error{
			Message: "conversion is asked about all objects of its kind, whatever selects requests",
			Hint:    "leave --verbs, --failure-policy, --timeout, --match-condition and the selectors out",
			Class:   diagnostic.ErrUsage,
		}
	case opts.Requests.Timeout > 0 && len(webhooksOf(opts.asked())) == 0:
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
	if err := errors.Join(opts.Requests.validate(), opts.checkPaths()); err != nil {
		return err
	}
	probe := project.Project{Domain: proj.Domain, Repo: proj.Repo, Name: proj.Name, Certificates: opts.Certificates}
	return probe.Validate()
}

// listPolicy lists a policy that is new where kustomize looks.
func listPolicy(p *plan.Plan, view templates.AdmissionView) error {
	added, err := newOf(p, policiesFolder, view.PolicyFile())
	if err != nil || len(added) == 0 {
		return err
	}
	if _, found, err := Kustomization(p, policiesFolder); err != nil {
		return err
	} else if !found {
		return errors.Join(writeList(p, policiesFolder, templates.PolicyKustomization(), added), addResources(p, defaultFolder, "../policy"))
	}
	return addResources(p, policiesFolder, added...)
}

// writeTestObject plans what the tests send to an API server for a kind that has no sample in the project.
func writeTestObject(p *plan.Plan, view templates.AdmissionView) error {
	if !view.Foreign {
		return nil
	}
	err := render(p, templates.TestObject(), view, false)
	if view.TestCRDs != "" {
		err = errors.Join(err, render(p, templates.StandIn(view.WebhookFolder), view.KindView, false))
	}
	return err
}

// webhooksView is what the project deploys for its webhooks; found is false if it has none.
func webhooksView(proj *project.Project) (view templates.WebhooksView, found bool) {
	view = templates.WebhooksView{Name: proj.Name, Namespace: templates.Namespace(proj.Name)}
	for _, r := range proj.Resources {
		view.Mutating = view.Mutating || r.Defaulting
		view.Validating = view.Validating || r.Validation
		if r.Hub != "" {
			view.CRDs = append(view.CRDs, r.Plural+"."+r.APIGroup())
		}
	}
	slices.Sort(view.CRDs)
	view.CRDs = slices.Compact(view.CRDs)
	return view, view.Mutating || view.Validating || len(view.CRDs) > 0
}

// deployWebhooks plans what brings the webhooks of the project into a cluster, and lists what is new of it where kustomize looks.
// What the user took off a list stays off it.
func deployWebhooks(p *plan.Plan, proj *project.Project) error {
	view, found := webhooksView(proj)
	if !found {
		return nil
	}
	if others, err := othersWebhooks(p); err != nil || others {
		return err
	}
	services, err := newOf(p, webhookFolder, "service.yaml")
	if err != nil {
		return err
	}
	var called []string
	if view.Mutating || view.Validating {
		if called, err = newOf(p, webhookFolder, "manifests.yaml"); err != nil {
			return err
		}
	}
	components, err := newOf(p, componentFolder, "kustomization.yaml")
	if err != nil {
		return err
	}
	allowed, err := allowWebhooks(p, view)
	if err != nil {
		return err
	}
	list := slices.Clone(templates.Webhooks()[cmp.Or(proj.Certificates, project.SelfSigned)])
	if len(view.CRDs) > 0 {
		list = append(list, templates.WebhookConversion())
	}
	if err := errors.Join(renderUnlessEdited(p, templates.WebhookService(), view), renderAll(p, list, view, true)); err != nil {
		return err
	}
	if err := errors.Join(dropUnused(p, list, view), addResources(p, webhookFolder, called...), addResources(p, policyFolder, allowed...)); err != nil {
		return err
	}
	for range services {
		err = errors.Join(err, addResources(p, defaultFolder, "../webhook"))
	}
	for range components {
		err = errors.Join(err, addItems(p, defaultFolder, "components", "../components/webhook"))
	}
	return err
}

// othersWebhooks reports whether the webhooks of a project are deployed by what somebody else than kctrl has written, as in one that
// was migrated: what makes their certificates and has them called is not mixed with kctrl's.
func othersWebhooks(p *plan.Plan) (bool, error) {
	lock, _, err := p.Lock()
	if err != nil {
		return false, err
	}
	service := path.Join(webhookFolder, "service.yaml")
	if _, ours := lock.Entry(service); ours {
		return false, nil
	}
	for name, there := range map[string]bool{service: true, path.Join(componentFolder, "kustomization.yaml"): false} {
		_, err := p.Read(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if there != (err == nil) {
			return false, nil
		}
	}
	return true, nil
}

// dropUnused plans that what another way to make certificates needed goes away.
func dropUnused(p *plan.Plan, used []templates.Template[templates.WebhooksView], view templates.WebhooksView) error {
	var err error
	for _, list := range templates.Webhooks() {
		for _, t := range list {
			name := t.Path(view)
			if !slices.ContainsFunc(used, func(u templates.Template[templates.WebhooksView]) bool { return u.Path(view) == name }) {
				err = errors.Join(err, p.Delete(name, plan.Own))
			}
		}
	}
	return err
}

// allowWebhooks plans the network policy that lets API servers in, where there are others, and returns it if it is new.
func allowWebhooks(p *plan.Plan, view templates.WebhooksView) ([]string, error) {
	if _, found, err := Kustomization(p, policyFolder); err != nil || !found {
		return nil, err
	}
	t := templates.AllowWebhooks()
	added, err := newOf(p, policyFolder, path.Base(t.Path(view)))
	if err != nil || len(added) == 0 {
		return nil, err
	}
	return added, render(p, t, view, false)
}
