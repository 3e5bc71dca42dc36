package upgrade

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// Options configure an upgrade.
type Options struct {
	// Base returns the contents from which edited files are merged.
	Base sync.History
	// Kctrl is the running kctrl, whose templates and runtime the project gets.
	Kctrl project.Build
}

// Plan plans the upgrade of a project to this kctrl. It replaces files without edits. It merges edited files from the
// content that kctrl once wrote, and writes git's conflict markers where both sides changed the same lines. It notes
// these conflicts with the class diagnostic.ErrDrift. It raises the bundled runtime and the required modules to the
// versions of this kctrl, but keeps newer versions, and supported versions of Kubernetes.
func Plan(fsys fs.FS, proj *project.Project, opts Options) (*plan.Plan, error) {
	p := plan.New(fsys)
	if err := render.RebuildLock(p, proj, opts.Kctrl); err != nil {
		return nil, err
	}
	header, err := p.ReadIfExists(layout.BoilerplateFile)
	if err != nil {
		return nil, err
	}
	u := &upgrade{plan: p, project: proj, options: opts}
	env, err := render.EnvOf(p, header, opts.Kctrl)
	if err != nil {
		return nil, err
	}
	if u.now, err = render.Render(proj, env); err != nil {
		return nil, err
	}
	if u.others, err = render.OthersDeployment(p); err != nil {
		return nil, err
	}
	if err := plan.InOrder(u.gone, u.files, u.noteForeignFiles, u.noteKept,
		func() error { return gomod.ReplaceRuntime(p, proj) }, u.modules, sync.NewBases(p, opts.Base).Drop); err != nil {
		return nil, err
	}
	proj.Kctrl = opts.Kctrl.Name()
	return p, errors.Join(render.DeployWebhooks(p, proj), render.WriteRegistration(p, proj),
		templated.WriteProject(p, proj), u.noteConflicts())
}

// noteConflicts notes the conflicts of this upgrade and of earlier ones.
func (u *upgrade) noteConflicts() error {
	found, err := templated.Conflicts(u.plan)
	for _, e := range found {
		e.Class = diagnostic.ErrDrift
		u.plan.Note(e)
	}
	return err
}

// upgrade is the state of a [Plan].
type upgrade struct {
	plan    *plan.Plan
	project *project.Project
	options Options
	now     render.Tree
	// others is set if the user or another tool wrote the deployment manifests.
	others bool
	// foreign are files at the paths of kctrl's own files that kctrl did not write. The user gets a note about them.
	foreign []string
}

// notedDir is the path prefix of lock entries for foreign files below config about which the user got a note. Entries
// under the real paths would mean that kctrl wrote the deployment manifests.
const notedDir = ".kctrl/noted"

// noteForeign records a foreign file at a path where kctrl would write one. It does so once for each new content of the
// template.
func (u *upgrade) noteForeign(lock *project.Lock, now render.File) {
	name := now.Path
	if strings.HasPrefix(name, "config/") {
		name = path.Join(notedDir, name)
	}
	if lock.Touched(name, now.Content) {
		u.foreign = append(u.foreign, now.Path)
		lock.Record(name, now.Content, now.Template)
	}
}

// noteForeignFiles notes all foreign files in one message, because a migrated project has many of them.
func (u *upgrade) noteForeignFiles() error {
	if len(u.foreign) > 0 {
		u.note("", "files that kctrl did not write stay as they are; a new project has different files of these names: "+
			strings.Join(u.foreign, ", "), compareThemHint)
	}
	return nil
}

const compareHint = "compare it with the file in a new project, and copy the parts you need"

const compareThemHint = "compare them with the output of kctrl init and create in an empty directory, and copy the " +
	"parts you need"

func orDevel(version string) string {
	if version == "" {
		return "devel"
	}
	return version
}

func (u *upgrade) note(name, message, hint string) { u.plan.Note(diagnostic.In(name, message, hint)) }
