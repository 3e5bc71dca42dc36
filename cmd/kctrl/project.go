package main

import (
	"io"
	"io/fs"
	"path/filepath"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/transaction"
	"github.com/spf13/afero"
)

// openedProject is the project in the folder that a command was given. Its owner closes it.
type openedProject struct {
	io.Closer
	*project.Project
	fsys fs.FS
	dir  string // absolute
}

// openProject loads the project of the folder, and warns of what in its PROJECT file kctrl does not know.
func openProject(s *streams) (*openedProject, error) { return openFolder(s, project.Load) }

// openForeign is openProject for commands that only generate, which work in projects of others too; named says whether they
// have been told which packages to look at.
func openForeign(s *streams, named bool) (*openedProject, error) {
	return openFolder(s, func(fsys fs.FS) (*project.Project, error) { return project.LoadForeign(fsys, named) })
}

// absolute returns the absolute path of the folder that a command was given.
func (s *streams) absolute() (string, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return "", &diagnostic.Error{
			Message: "the folder that kctrl was started in cannot be found",
			Hint:    "it may have been removed: go to another, or name one with -C by its whole path",
			Cause:   err,
		}
	}
	return dir, nil
}

func openFolder(s *streams, load func(fs.FS) (*project.Project, error)) (*openedProject, error) {
	dir, err := s.absolute()
	if err != nil {
		return nil, err
	}
	root, err := transaction.Open(s.dir)
	if err != nil {
		return nil, err
	}
	fsys := afero.NewIOFS(root)
	proj, err := load(fsys)
	if err != nil {
		root.Close()
		return nil, err
	}
	for _, warning := range proj.Warnings() {
		s.problem("warning: ", warning)
	}
	return &openedProject{Closer: root, Project: proj, fsys: fsys, dir: dir}, nil
}
