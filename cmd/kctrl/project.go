package main

import (
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// openedProject is the project in the folder that a command was given. Its owner closes it.
type openedProject struct {
	io.Closer
	*scaffold.Project
	fsys fs.FS
	dir  string // absolute
}

// openProject loads the project of the folder, and warns of what in its PROJECT file kctrl does not know.
func openProject(s *streams) (*openedProject, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	root, closer, err := plan.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	fsys := afero.NewIOFS(root)
	project, err := scaffold.LoadProject(fsys)
	if err != nil {
		closer.Close()
		return nil, err
	}
	for _, warning := range project.Warnings() {
		s.problem("warning: ", warning)
	}
	return &openedProject{Closer: closer, Project: project, fsys: fsys, dir: dir}, nil
}
