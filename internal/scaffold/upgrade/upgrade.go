package upgrade

import (
	"errors"
	"go/token"
	"io/fs"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// Options say how to bring a project to the templates and the runtime of this kctrl.
type Options struct {
	// Base has what edits are merged from.
	Base sync.History
	// Kctrl is the kctrl whose templates and runtime the project gets.
	Kctrl project.Build
}

// Plan plans that a project has what this kctrl writes: files that nobody has edited become those of today, edited
// ones are merged from what kctrl wrote once, with the conflict markers of git where both have changed the same
// lines, and noted; the bundled runtime and the modules that kctrl pins become those of this kctrl, unless they are
// newer.
func Plan(fsys fs.FS, proj *project.Project, opts Options) (*plan.Plan, error) {
	p := plan.New(fsys)
	if err := render.RebuildLock(p, proj, opts.Kctrl); err != nil {
		return nil, err
	}
	header, err := p.Read(layout.BoilerplateFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	if err := plan.InOrder(u.gone, u.files, u.tellOfForeign, u.setups, u.tellOfKept, u.runtime, u.modules, sync.NewBases(p, opts.Base).Drop); err != nil {
		return nil, err
	}
	proj.Kctrl = opts.Kctrl.Name()
	return p, errors.Join(render.DeployWebhooks(p, proj), render.WriteRegistration(p, proj), templated.WriteProject(p, proj))
}

// upgrade brings a project to the files of now.
type upgrade struct {
	plan    *plan.Plan
	project *project.Project
	options Options
	now     render.Tree
	// others says that the project is deployed by what somebody else has written.
	others bool
	// foreign are files of somebody else where kctrl would write others, of which the user is to be told.
	foreign []string
}

// toldFolder begins the paths under which the lock has what kctrl would write over files of somebody else below
// config, once a user was told. Under their own paths it has nothing of them: that tells that somebody else deploys
// the project.
const toldFolder = ".kctrl/told"

// noteForeign remembers that a file of somebody else is where kctrl would write one: once for each content that it
// would write.
func (u *upgrade) noteForeign(lock *project.Lock, now render.File) {
	name := now.Path
	if strings.HasPrefix(name, "config/") {
		name = path.Join(toldFolder, name)
	}
	if lock.Touched(name, now.Content) {
		u.foreign = append(u.foreign, now.Path)
		lock.Record(name, now.Content, now.Template)
	}
}

// tellOfForeign notes which files are somebody else's, all at once: a project that was migrated has many.
func (u *upgrade) tellOfForeign() error {
	if len(u.foreign) > 0 {
		u.note("", 0, "files that kctrl did not write stay as they are, and a new project has others of these names: "+strings.Join(u.foreign, ", "), compareThemHint)
	}
	return nil
}

const compareHint = "compare it with what kctrl writes in a new project, and take over what you want"

const compareThemHint = "compare them with what kctrl init and create write in an empty folder, and take over what you want"

func orDevel(version string) string {
	if version == "" {
		return "devel"
	}
	return version
}

func (u *upgrade) note(name string, line int, message, hint string) {
	u.plan.Note(&diagnostic.Error{Pos: token.Position{Filename: name, Line: line}, Message: message, Hint: hint})
}
