package render

import (
	"errors"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"github.com/spf13/afero"
)

// Env has the inputs of a rendering in addition to PROJECT.
type Env struct {
	// Header is the project's hack/boilerplate.go.txt, with a year. Empty means that Go files have no header.
	Header []byte
	// GoMod is the project's go.mod. The rendered go.mod keeps its requirements for the Go types of external kinds. It may
	// be nil.
	GoMod []byte
	// Skip are features to omit, such as those in [Tree.Failed].
	Skip []Failed
	// Kctrl identifies the kctrl that renders.
	Kctrl project.Build
}

// Failed is a feature of a kind that cannot be rendered.
type Failed struct {
	// Resource is the index of the kind in the project, and Feature is the name of the feature.
	Resource int
	Feature  string
	Err      error
	Flags    func(*project.Resource) *[]string
}

func (f Failed) is(resource int, name string) bool {
	return f.Resource == resource && f.Feature == name
}

// Render returns all files that kctrl writes for a project, except the files of generators. The result depends only on
// the arguments. The types of a second or later version are copied from the types that Render writes for the first
// version, whereas commands that add a version copy the user's types.
func Render(proj *project.Project, env Env) (Tree, error) {
	memory := afero.NewMemMapFs()
	if err := afero.WriteFile(memory, layout.BoilerplateFile, env.Header, 0o644); err != nil {
		return Tree{}, err
	}
	r := &Rendering{Plan: plan.New(afero.NewIOFS(memory)), project: proj.Unloaded()}
	err := errors.Join(WriteProjectFiles(r.Plan, r.project, env.Kctrl, false),
		gomod.WriteModules(r.Plan, r.project, env.Kctrl, false), gomod.RequireForeign(r.Plan, env.GoMod, r.project))
	if err != nil {
		return Tree{}, err
	}
	if r.Header, err = templated.GoHeader(r.Plan); err != nil {
		return Tree{}, err
	}
	failed := r.features(env.Skip)
	if err := plan.InOrder(r.storage, r.Finish); err != nil {
		return Tree{}, err
	}
	return r.tree(proj, failed), nil
}

// Rendering writes features into the plan of an empty directory or of a command.
type Rendering struct {
	Plan    *plan.Plan
	project *project.Project // without the features that failed
	Header  string           // of Go files
	force   bool             // replaces edits of the user
}

// Kind returns a kind of the project.
func (r *Rendering) Kind(of project.Resource) Kind {
	return Kind{Resource: of, project: r.project, at: r.project.Index(of),
		View: layout.KindView(r.project, of, r.Header)}
}

// write plans the files that collect returns for a kind. It adds only files that are new to the project to
// kustomizations, because the user removed older files that are not listed.
func (r *Rendering) write(collect func(*partList, Kind), o Kind) error {
	c := &partList{seen: map[string]bool{}}
	collect(c, o)
	var added []part
	for _, p := range c.parts {
		is, err := p.isNew(r.Plan)
		if err == nil && p.write != nil {
			err = p.write(r)
		}
		if err != nil {
			return err
		}
		if _, err := r.Plan.Read(p.Path); is && (p.Owner == plan.Generated || err == nil) {
			added = append(added, p)
		}
	}
	return addListings(r.Plan, added)
}

// Finish plans the files that depend on all features of the project.
func (r *Rendering) Finish() error {
	return plan.InOrder(
		r.deployWebhooks,
		r.Register,
		func() error { return templated.WriteProject(r.Plan, r.project) },
	)
}

// features renders the features of all kinds, and returns those that fail.
func (r *Rendering) features(skip []Failed) []Failed {
	var failed []Failed
	broken := map[int]error{} // why the types of a kind failed
	all := Kinds(r.project, r.Header)
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

// storage marks the storage version of each kind with several versions.
func (r *Rendering) storage() error {
	var errs []error
	for _, v := range r.project.Resources {
		if _, further := layout.VersionBefore(r.project, v); v.API && further {
			errs = append(errs, MarkStored(r.Plan, r.project, v, false))
		}
	}
	return errors.Join(errs...)
}

// EnvOf returns the environment of a project on disk.
func EnvOf(p *plan.Plan, header []byte, kctrl project.Build) (Env, error) {
	header, err := templated.Dated(p, header)
	if err != nil {
		return Env{}, err
	}
	text, err := p.Read(layout.GoModFile)
	if err != nil {
		text = nil // other checks report it
	}
	return Env{Header: header, GoMod: text, Kctrl: kctrl}, nil
}

// renderKind renders the types, the sample and the roles of a kind that the project defines, and the controller that
// create api adds.
func renderKind(r *Rendering, o Kind) error {
	opts := KindOptions{}
	if err := opts.setFlags(o.APIFlags); err != nil {
		return err
	}
	if err := opts.Operand.Validate(true, o.Controller, o.Namespaced); err != nil {
		return err
	}
	o, err := o.Shape(r.Plan, opts, true)
	if err != nil {
		return err
	}
	return plan.InOrder(
		func() error { return CheckServed(r.project, o.Resource) },
		func() error { return r.write(kindParts, o) },
		func() error {
			if !o.Controller {
				return nil
			}
			return r.Controller(o, "")
		},
		func() error { return gomod.RequireForTypes(r.Plan, r.project, o.View.Folder) },
	)
}

// Controller writes a controller of a kind. The name is empty for the controller with the name of the kind.
func (r *Rendering) Controller(o Kind, name string) error {
	if name != "" || !o.API { // it does not depend on the kind's fields
		names := layout.KindNames(r.project, o.Resource, r.Header)
		names.Controller = name
		o.View = templates.NewKind(names)
	}
	return plan.InOrder(
		func() error { return gomod.RequirePackage(r.Plan, o.Path, "") },
		func() error { return checkReconciler(r.Plan, o.View) },
		func() error {
			switch {
			case o.View.Operand.Label != "":
				return gomod.RequireDirectly(r.Plan, "k8s.io/api")
			case o.View.Fields.FromSample:
				return gomod.RequireDirectly(r.Plan, "sigs.k8s.io/yaml")
			}
			return nil
		},
		func() error { return r.write(func(c *partList, o Kind) { controllerPart(c, o, name) }, o) },
		func() error { return gomod.RequireDirectly(r.Plan, layout.TypesModule) },
	)
}

// renderAdmission renders a webhook or a policy of a kind.
func renderAdmission(r *Rendering, o Kind, a layout.Admission) error {
	opts := AdmissionOptions{}
	if err := opts.SetFlags(a, *a.Flags(&o.Resource)); err != nil {
		return err
	}
	return r.Admission(o, a, opts)
}

// Admission writes a webhook or a policy of a kind.
func (r *Rendering) Admission(o Kind, a layout.Admission, opts AdmissionOptions) error {
	webhook, policy, err := opts.Requests.view(o.View, !o.API)
	if err != nil {
		return err
	}
	view := opts.At(a, webhook)
	if a.Suffix == "" {
		view = policy
		if view.Rules, err = opts.policyRules(policy.Verbs); err != nil {
			return err
		}
	}
	var steps []func() error
	if layout.UsesTypes(o.Resource) {
		steps = append(steps, func() error { return gomod.RequirePackage(r.Plan, o.Path, "") })
	}
	if a.Suffix != "" {
		steps = append(steps, func() error {
			return gosource.CheckUndeclared(r.Plan, o.View.WebhookFolder, o.View.WebhookFile(a.File, ".go"),
				[]string{o.View.Kind + a.Suffix})
		})
	}
	return plan.InOrder(append(steps,
		func() error { return r.write(func(c *partList, o Kind) { admissionPart(c, o, a, view) }, o) },
		func() error { return gomod.RequireDirectly(r.Plan, "sigs.k8s.io/yaml") },
		func() error { return gomod.RequireDirectly(r.Plan, layout.TypesModule) },
	)...)
}

// renderConversion renders the conversions of a kind's other versions to and from its hub.
func renderConversion(r *Rendering, o Kind) error {
	if err := WriteConversions(r.Plan, r.project, layout.SpokesOf(r.project, o.Resource), r.Header, false); err != nil {
		return err
	}
	return gomod.RequireDirectly(r.Plan, layout.TypesModule)
}
