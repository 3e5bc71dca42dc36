package generate

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/generators"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// write adds the outputs to the plan. It deletes files that the same generators wrote earlier and no longer generate.
func (g *generation) write() error {
	made := map[string]bool{}
	for _, o := range g.outputs {
		made[o.Path] = true
		if !g.foreign {
			if err := g.list(o.Path); err != nil {
				return err
			}
		}
		if err := g.writeFile(o); err != nil {
			return err
		}
	}
	if !g.options.complete() || g.foreign {
		return nil
	}
	if err := g.prune(made); err != nil {
		return err
	}
	for _, of := range g.generators {
		if of.Empty != nil && !g.hasMade(of) {
			if err := g.empty(of); err != nil {
				return err
			}
		}
	}
	return nil
}

// empty writes the placeholder files of a generator without output.
func (g *generation) empty(of chosen) error {
	read := func(name string) ([]byte, error) { return g.plan.Read(path.Join(of.dir(), name)) }
	files, err := of.Empty(of.settings.Value(), read)
	for _, single := range diagnostic.All(err) {
		if d, ok := errors.AsType[*diagnostic.Error](single); ok {
			d.Pos.Filename = path.Join(of.dir(), d.Pos.Filename)
		}
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		f.Path, f.Generator = path.Join(of.dir(), f.Path), of.template()
		if err := g.writeFile(f); err != nil {
			return err
		}
	}
	return nil
}

// writeFile plans an output. Like controller-gen, it also replaces files that PROJECT.lock does not record.
func (g *generation) writeFile(o artifact.File) error {
	return g.plan.WriteFile(plan.File{Path: o.Path, Content: o.Content, Template: o.Generator, Force: true})
}

// prune deletes files in the lock that an earlier run generated and this run did not. It keeps files that the user
// edited. It also keeps files behind a symbolic link, because these differ from the generated ones.
func (g *generation) prune(made map[string]bool) error {
	lock, err := project.LoadLock(os.DirFS(g.dir))
	if err != nil {
		return err
	}
	// Code is in the directories of the types. Manifests are in the output directory of this run: manifests in other
	// directories belong to runs with other flags. If a generator without output has placeholder files, empty writes
	// them.
	for entry := range lock.All() {
		ran := slices.ContainsFunc(g.generators, func(of chosen) bool {
			return of.template() == entry.Template && of.makes(entry.Path) && (of.Empty == nil || g.hasMade(of)) ||
				entry.Template == outputTemplate && !of.Code
		})
		if !ran || made[entry.Path] || g.isBehindLink(entry.Path) {
			continue
		}
		text, err := g.plan.Read(entry.Path)
		if err == nil && lock.Touched(entry.Path, text) {
			continue // now belongs to the user
		}
		// A kustomization that lists a deleted manifest cannot be built.
		if err := errors.Join(g.plan.Delete(entry.Path), g.editKustomization(entry.Path, edit.RemoveListItem)); err != nil {
			return err
		}
	}
	return nil
}

// hasMade reports whether a generator has made anything in this run.
func (g *generation) hasMade(of chosen) bool {
	return slices.ContainsFunc(g.outputs, func(o artifact.File) bool { return o.Generator == of.template() })
}

// isBehindLink reports whether a directory between the project and the file is a symbolic link.
func (g *generation) isBehindLink(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(dir)))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// list adds a new manifest to the kustomization of its directory, if the project has one.
func (g *generation) list(name string) error {
	if _, err := g.plan.Read(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return g.editKustomization(name, edit.EnsureListItem)
}

// editKustomization adds or removes a manifest in the kustomization of its directory, if the project has one.
func (g *generation) editKustomization(name string,
	edit func(src []byte, filename string, path []string, value string) ([]byte, error)) error {
	all := generators.All()
	i := slices.IndexFunc(all, func(of generator.Generator) bool {
		return of.Kustomization != "" && of.Dir.Default == path.Dir(name)
	})
	if i < 0 {
		return nil
	}
	kustomization, found, err := templated.Kustomization(g.plan, all[i].Kustomization)
	if err != nil || !found {
		return err
	}
	before, err := g.plan.Read(kustomization)
	if err != nil {
		return err
	}
	item := strings.TrimPrefix(name, path.Dir(kustomization)+"/")
	after, err := edit(before, kustomization, []string{"resources"}, item)
	if err != nil {
		return err
	}
	return g.plan.Edit(kustomization, after)
}
