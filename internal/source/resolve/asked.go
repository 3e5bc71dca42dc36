package resolve

import (
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// Asked contains the facts about modules that the go command needs before it can find packages in them.
type Asked struct {
	fsys  FS
	env   *Environment
	local []moduleDir // modules that are not in the module cache
	err   error       // a fact that cannot be read
}

// Ask asks fsys all questions that the go command has about the main module in a directory. A caller that records the
// answers can detect when the result of the go command would change. If some facts cannot be determined, the error is
// an [*UnusualError].
func Ask(fsys FS, e *Environment, dir string) (*Asked, error) {
	if err := e.holdsIn(dir); err != nil {
		return nil, err
	}
	a := &Asked{fsys: fsys, env: e}
	work, err := (&modules{fsys: fsys, env: e}).findWorkspace(dir)
	if err != nil {
		return nil, err
	}
	a.main(dir)
	if work != "" {
		a.workspace(work)
	}
	return a, a.err
}

// fits records an error if another toolchain would run, which has its own build constraints and directories.
func (a *Asked) fits(line *modfile.Go, toolchain *modfile.Toolchain) {
	if err := (&modules{env: a.env}).checkGo(line, toolchain); err != nil && a.err == nil {
		a.err = err
	}
}

func (a *Asked) main(dir string) {
	a.vendor(dir)
	_, _ = a.fsys.ReadFile(a.env.sumFile(dir))
	file, ok := a.module(dir, a.env.ModFile(dir))
	if !ok {
		return
	}
	a.fits(file.Go, file.Toolchain)
	a.replacements(file.Replace, dir)
}

// module asks about the module in a directory, with its go.mod file.
func (a *Asked) module(dir, name string) (*modfile.File, bool) {
	content, err := a.fsys.ReadFile(name)
	if err != nil {
		return nil, false
	}
	file, err := modfile.Parse(name, content, nil)
	if err != nil {
		// ParseLax accepts the go.mod of a dependency that is invalid for a main module.
		file, err = modfile.ParseLax(name, content, nil)
	}
	if err != nil || file.Module == nil {
		return nil, false
	}
	a.local = append(a.local, moduleDir{file.Module.Mod.Path, dir, true})
	return file, true
}

// replacements asks about modules that are directories. Their packages have the path of the replaced module.
func (a *Asked) replacements(replace []*modfile.Replace, dir string) {
	for _, r := range replace {
		if r.New.Version != "" || r.New == (module.Version{}) {
			continue
		}
		folder := in(dir, r.New.Path)
		a.fsys.IsDir(folder)
		if file, ok := a.module(folder, filepath.Join(folder, "go.mod")); ok {
			a.fits(file.Go, nil)
		}
		a.local = append(a.local, moduleDir{r.Old.Path, folder, true})
	}
}

func (a *Asked) vendor(dir string) {
	if vendor := filepath.Join(dir, "vendor"); a.fsys.IsDir(vendor) {
		_, _ = a.fsys.ReadFile(filepath.Join(vendor, "modules.txt"))
	}
}

func (a *Asked) workspace(name string) {
	dir := filepath.Dir(name)
	a.vendor(dir)
	_, _ = a.fsys.ReadFile(name + ".sum")
	content, err := a.fsys.ReadFile(name)
	if err != nil {
		return
	}
	work, err := modfile.ParseWork(name, content, nil)
	if err != nil {
		return
	}
	a.fits(work.Go, work.Toolchain)
	a.replacements(work.Replace, dir)
	for _, use := range work.Use {
		a.main(in(dir, use.Path))
	}
}

// Package asks about each directory in which the package with an import path could be.
func (a *Asked) Package(importPath string) {
	for _, m := range a.local {
		rest, ok := strings.CutPrefix(importPath+"/", m.path+"/")
		if !ok {
			continue
		}
		dir := filepath.Join(m.dir, filepath.FromSlash(path.Clean(rest)))
		_, _ = a.fsys.GoNames(dir)
		for ; len(dir) > len(m.dir); dir = filepath.Dir(dir) {
			a.fsys.Exists(filepath.Join(dir, "go.mod"))
		}
	}
}
