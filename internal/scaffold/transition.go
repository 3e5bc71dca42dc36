package scaffold

import (
	"errors"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/refactor"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// transition changes a project between two states that have the same kinds in the same order, under different names or
// paths. It finds the changes by comparing the files that kctrl writes for both states.
type transition struct {
	plan          *plan.Plan
	before, after *project.Project
	// force writes conflicts with git's conflict markers. history returns former contents of files.
	force   bool
	history sync.History
	kctrl   project.Build
}

// apply plans the transition. old and header are the headers of Go files before and after it.
func (t transition) apply(old, header []byte) error {
	was, becomes, err := t.trees(old, header)
	if err != nil {
		return err
	}
	if err := t.plan.Edit(layout.BoilerplateFile, header); err != nil {
		return err
	}
	r, err := refactor.Find(t.plan, t.before, t.after, was, becomes)
	if err != nil {
		return err
	}
	conflicts, err := sync.Sync(t.plan, was, becomes, sync.Options{
		Moved: r.Moved(), Rewrite: r.Rewrite, Force: t.force, History: t.history,
		Labels: edit.Labels{Ours: "yours", Base: "kctrl, before", Theirs: "kctrl"},
	})
	if err := errors.Join(err, noteConflicts(t.plan, conflicts)); err != nil {
		return err
	}
	return plan.InOrder(
		r.Write,
		func() error { return render.DeployWebhooks(t.plan, t.after) },
		func() error { return render.WriteRegistration(t.plan, t.after) },
		func() error { return templated.WriteProject(t.plan, t.after) },
		sync.NewBases(t.plan, t.history).Drop,
	)
}

// trees renders the project in both states. It treats the files of features that fail in the first state as the user's
// code in both states. A feature that fails only in the second state is an error, because its files would be lost. If a
// feature fails because of its flags, trees renders it without them.
func (t transition) trees(old, header []byte) (was, becomes render.Tree, err error) {
	before, after := t.before.Unloaded(), t.after.Unloaded()
	env, err := render.EnvOf(t.plan, old, t.kctrl)
	if err != nil {
		return was, becomes, err
	}
	for forgotten := true; forgotten; {
		if was, err = render.Render(before, env); err != nil {
			return was, becomes, err
		}
		forgotten = false
		for _, f := range was.Failed {
			if flags := f.Flags(&before.Resources[f.Resource]); flags != nil {
				forgotten = forgotten || len(*flags) > 0
				*flags, *f.Flags(&after.Resources[f.Resource]) = nil, nil
			}
		}
	}
	if env, err = render.EnvOf(t.plan, header, t.kctrl); err != nil {
		return was, becomes, err
	}
	env.Skip = was.Failed
	if becomes, err = render.Render(after, env); err != nil {
		return was, becomes, err
	}
	var errs []error
	for _, f := range becomes.Failed {
		errs = append(errs, f.Err)
	}
	return was, becomes, errors.Join(errs...)
}

// noteConflicts adds notes about conflicts whose files are kept, and returns the other conflicts as errors.
func noteConflicts(p *plan.Plan, conflicts []sync.Conflict) error {
	var errs []error
	for _, c := range conflicts {
		if c.Kept {
			p.Note(c.Error)
		} else {
			errs = append(errs, c.Error)
		}
	}
	return errors.Join(errs...)
}
