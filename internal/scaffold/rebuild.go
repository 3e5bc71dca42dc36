package scaffold

import (
	"io/fs"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// NewProjectPlan returns an empty plan for a project, as [plan.New] does. If PROJECT.lock is gone, the plan makes it anew: it
// then holds every file that is as kctrl would write it, and what the plan writes.
func NewProjectPlan(fsys fs.FS, proj *project.Project, kctrl Build) (*plan.Plan, error) {
	p := plan.New(fsys)
	return p, rebuildLock(p, proj, kctrl)
}

// rebuildLock makes a lock for a project that has lost its own: it holds every file that is as kctrl would write it now,
// but for those of generators, which record theirs when they run.
func rebuildLock(p *plan.Plan, proj *project.Project, kctrl Build) error {
	lock, onDisk, err := p.Lock()
	if err != nil || onDisk {
		return err
	}
	again, err := scaffoldAgain(p, proj, kctrl)
	if err != nil {
		return err
	}
	for e := range again.All() {
		// What cannot be read is not known to be kctrl's.
		if c, err := p.Lookup(e.Path); err == nil && c.Before != nil && !again.Touched(e.Path, c.Before) {
			lock.Add(e)
		}
	}
	return nil
}
