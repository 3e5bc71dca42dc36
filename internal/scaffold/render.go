package scaffold

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// Env is what the files of a project follow from beside PROJECT.
type Env struct {
	// Header is hack/boilerplate.go.txt of the project, with a year. Empty means that Go files have no header.
	Header []byte
	// GoMod is go.mod of the project: the Go types of external kinds need what it requires for them. It may be nil.
	GoMod []byte
	// Skip are features that are not rendered, as [Tree.Failed] has them.
	Skip []Failed
	// Kctrl is the kctrl that renders.
	Kctrl Build
}

// Tree is a project as kctrl writes it, without the output of generators.
type Tree struct {
	fs.FS
	lock *project.Lock
	// Failed are the features that this kctrl cannot render. The tree has no files of them.
	Failed []Failed
}

// Failed is a feature of a kind that cannot be rendered.
type Failed struct {
	// Resource is the index of the kind in the project, Feature the name of the feature.
	Resource int
	Feature  string
	Err      error
	flags    func(*project.Resource) *[]string
}

func (f Failed) is(resource int, name string) bool {
	return f.Resource == resource && f.Feature == name
}

// Render returns all files that kctrl writes for a project, except those of generators. It depends on its arguments alone. The types of
// a further version are a copy of those that Render gives the first one: commands that add a version copy what the user has instead.
func Render(proj *project.Project, env Env) (Tree, error) {
	memory := afero.NewMemMapFs()
	if err := afero.WriteFile(memory, boilerplateFile, env.Header, 0o644); err != nil {
		return Tree{}, err
	}
	blank := proj.Blank()
	blank.Resources = slices.Clone(proj.Resources)
	r := &rendering{plan: plan.New(afero.NewIOFS(memory)), project: blank}
	err := errors.Join(writeProjectFiles(r.plan, blank, env.Kctrl, false), writeModules(r.plan, blank, env.Kctrl, false), requireForeign(r.plan, env.GoMod, blank))
	if err != nil {
		return Tree{}, err
	}
	if r.header, err = goHeader(r.plan); err != nil {
		return Tree{}, err
	}
	failed := r.features(env.Skip)
	if err := inOrder(r.storage, r.finish); err != nil {
		return Tree{}, err
	}
	return r.tree(failed)
}

// rendering writes features into a plan: one of an empty directory, or that of the command which adds them to a project.
type rendering struct {
	plan    *plan.Plan
	project *project.Project // without the features that failed
	header  string           // of Go files
	force   bool             // replaces what the user has edited
}

// owner returns a kind of the project.
func (r *rendering) owner(of project.Resource) owner {
	at := slices.IndexFunc(r.project.Resources, func(o project.Resource) bool {
		return o.APIGroup() == of.APIGroup() && o.Version == of.Version && o.Kind == of.Kind
	})
	return owner{Resource: of, project: r.project, at: at, kind: templates.NewKind(kindNames(r.project, of, r.header))}
}

// write plans the files that collect gives for a kind. Kustomizations then list those that were never part of the project: what is not
// listed of the others the user has taken off.
func (r *rendering) write(collect func(*partList, owner), o owner) error {
	c := &partList{seen: map[string]bool{}}
	collect(c, o)
	var added []part
	for _, p := range c.parts {
		is, err := p.isNew(r.plan)
		if err == nil && p.write != nil {
			err = p.write(r)
		}
		if err != nil {
			return err
		}
		if _, err := r.plan.Read(p.path); is && (p.generated || err == nil) {
			added = append(added, p)
		}
	}
	return addListings(r.plan, added)
}

// finish plans what follows from all features of the project.
func (r *rendering) finish() error {
	return inOrder(
		func() error { return deployWebhooks(r.plan, r.project) },
		func() error { return writeRegistration(r.plan, r.project) },
		func() error { return writeProject(r.plan, r.project) },
	)
}

// features renders the features of all kinds, and returns those that fail.
func (r *rendering) features(skip []Failed) []Failed {
	var failed []Failed
	broken := map[int]error{} // why a kind of the project's own has no types
	all := owners(r.project, r.header)
	for _, f := range features() {
		for _, o := range all {
			for _, one := range f.files(o) {
				if slices.ContainsFunc(skip, func(s Failed) bool { return s.is(o.at, one.name) }) {
					one.drop(&r.project.Resources[o.at])
					continue
				}
				err := broken[o.at]
				if err == nil {
					err = one.render(r)
				}
				if err == nil {
					continue
				}
				failed = append(failed, Failed{o.at, one.name, err, one.flags})
				one.drop(&r.project.Resources[o.at])
				if one.name == kindFeature {
					broken[o.at] = err
				}
			}
		}
	}
	return failed
}

// storage marks the version that API servers store, of kinds that have several.
func (r *rendering) storage() error {
	var errs []error
	for _, v := range r.project.Resources {
		if _, further := versionBefore(r.project, v); v.API && further {
			errs = append(errs, markStored(r.plan, r.project, v, false))
		}
	}
	return errors.Join(errs...)
}

// tree returns what was rendered.
func (r *rendering) tree(failed []Failed) (Tree, error) {
	memory := afero.NewMemMapFs()
	for c := range r.plan.Files() {
		if c.After == nil {
			continue
		}
		if err := afero.WriteFile(memory, c.Path, c.After, 0o644); err != nil {
			return Tree{}, err
		}
	}
	lock, _, err := r.plan.Lock()
	return Tree{afero.NewIOFS(memory), lock, failed}, err
}

// envOf returns what a project is rendered with where it is.
func envOf(p *plan.Plan, header []byte, kctrl Build) (Env, error) {
	header, err := dated(p, header)
	if err != nil {
		return Env{}, err
	}
	text, err := p.Read(goModFile)
	if err != nil {
		text = nil // who edits go.mod complains of it
	}
	return Env{Header: header, GoMod: text, Kctrl: kctrl}, nil
}

// renderKind renders the types, the sample and the roles of a kind of the project's own, and the controller that comes with it.
func renderKind(r *rendering, o owner) error {
	opts := APIOptions{Resource: true, Controller: o.Controller, Namespaced: o.Namespaced}
	if err := opts.setFlags(o.APIFlags); err != nil {
		return err
	}
	if err := opts.Operand.validate(opts); err != nil {
		return err
	}
	o, err := o.shape(r.plan, opts)
	if err != nil {
		return err
	}
	return inOrder(
		func() error { return checkServed(r.project, o.Resource) },
		func() error { return r.write(kindParts, o) },
		func() error {
			if !o.Controller {
				return nil
			}
			return r.controller(o, "")
		},
		func() error { return requireForTypes(r.plan, r.project, o.kind.Folder) },
	)
}

// controller writes the controller of a kind that has a name, or the one without.
func (r *rendering) controller(o owner, name string) error {
	if name != "" || !o.API { // about the fields of its kind it says nothing
		names := kindNames(r.project, o.Resource, r.header)
		names.Controller = name
		o.kind = templates.NewKind(names)
	}
	return inOrder(
		func() error { return requirePackage(r.plan, o.Path, "") },
		func() error { return checkReconciler(r.plan, o.kind) },
		func() error {
			switch {
			case o.kind.Operand.Label != "":
				return requireDirectly(r.plan, "k8s.io/api")
			case o.kind.Fields.FromSample:
				return requireDirectly(r.plan, "sigs.k8s.io/yaml")
			}
			return nil
		},
		func() error { return r.write(func(c *partList, o owner) { controllerPart(c, o, name) }, o) },
		func() error { return requireDirectly(r.plan, typesModule) },
	)
}

// renderAdmission renders a webhook or a policy of a kind.
func renderAdmission(r *rendering, o owner, a admission) error {
	opts := WebhookOptions{}
	if err := opts.setFlags(a, *a.flags(&o.Resource)); err != nil {
		return err
	}
	return r.admission(o, a, opts)
}

// admission writes a webhook or a policy of a kind.
func (r *rendering) admission(o owner, a admission, opts WebhookOptions) error {
	webhook, policy, err := opts.Requests.view(o.kind, !o.API)
	if err != nil {
		return err
	}
	view := opts.at(a, webhook)
	if a.suffix == "" {
		view = policy
		if view.Rules, err = opts.policyRules(policy.Verbs); err != nil {
			return err
		}
	}
	var steps []func() error
	if usesTypes(o.Resource) {
		steps = append(steps, func() error { return requirePackage(r.plan, o.Path, "") })
	}
	if a.suffix != "" {
		steps = append(steps, func() error {
			return checkUndeclared(r.plan, o.kind.WebhookFolder, o.kind.WebhookFile(a.file, ".go"), []string{o.kind.Kind + a.suffix})
		})
	}
	return inOrder(append(steps,
		func() error { return r.write(func(c *partList, o owner) { admissionPart(c, o, a, view) }, o) },
		func() error { return requireDirectly(r.plan, "sigs.k8s.io/yaml") },
		func() error { return requireDirectly(r.plan, typesModule) },
	)...)
}

// renderConversion renders what converts the other versions of a kind to and from its hub.
func renderConversion(r *rendering, o owner) error {
	if err := writeConversions(r.plan, r.project, spokesOf(r.project, o.Resource), r.header, false); err != nil {
		return err
	}
	return requireDirectly(r.plan, typesModule)
}
