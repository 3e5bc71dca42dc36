package generate

import (
	"errors"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// write puts the outputs into the plan, and takes out of the project what the same generators made earlier and make no
// more.
func (g *generation) write() error {
	made := map[string]bool{}
	for _, o := range g.outputs {
		made[o.Path] = true
		if err := g.list(o); err != nil {
			return err
		}
		if err := g.writeFile(o); err != nil {
			return err
		}
	}
	if !g.complete() {
		return nil
	}
	if err := g.prune(made); err != nil {
		return err
	}
	for _, of := range g.generators {
		if of.leave == nil {
			continue
		}
		if err := of.leave(g, made); err != nil {
			return err
		}
	}
	return nil
}

func (g *generation) writeFile(o output) error {
	return g.plan.WriteFile(plan.File{
		Path: o.Path, Content: o.Content, Template: o.template, Policy: plan.Own,
	})
}

// prune deletes the files that the lock knows from a generator that ran and did not make them again. One that the user
// has edited stays, and so does one behind a link, which is another file than the one that was written.
func (g *generation) prune(made map[string]bool) error {
	lock, err := project.LoadLock(os.DirFS(g.dir))
	if err != nil {
		return err
	}
	// Code is where the types are. Manifests are in the folder of this run: what is in another was asked for by other flags.
	// What is there of a generator that has made nothing is left to leave, if it has one.
	for entry := range lock.All() {
		ran := slices.ContainsFunc(g.generators, func(of Generator) bool {
			return of.template() == entry.Template && of.makes(entry.Path, g.options) && (of.leave == nil || g.hasMade(of))
		})
		if !ran || made[entry.Path] || g.isBehindLink(entry.Path) {
			continue
		}
		if err := g.plan.Delete(entry.Path, plan.Once); err != nil {
			return err
		}
		if _, err := g.plan.Read(entry.Path); errors.Is(err, fs.ErrNotExist) {
			if err := g.unlist(entry.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasMade reports whether a generator has made anything in this run.
func (g *generation) hasMade(of Generator) bool {
	return slices.ContainsFunc(g.outputs, func(o output) bool { return o.template == of.template() })
}

// isBehindLink reports whether a folder on the way from the project to the file is a symbolic link.
func (g *generation) isBehindLink(name string) bool {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		info, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(folder)))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// list adds a manifest that is new to the kustomization of its folder, if the project has one.
func (g *generation) list(o output) error {
	if _, err := g.plan.Read(o.Path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return g.editKustomization(o.Path, edit.EnsureListItem)
}

// unlist takes a manifest that is gone out of the kustomization, which would not build with it.
func (g *generation) unlist(name string) error {
	return g.editKustomization(name, edit.RemoveListItem)
}

type listEdit func(src []byte, filename string, path []string, value string) ([]byte, error)

func (g *generation) editKustomization(name string, edit listEdit) error {
	i := slices.IndexFunc(all, func(of Generator) bool { return of.kustomization != "" && of.usual == path.Dir(name) })
	if i < 0 {
		return nil
	}
	kustomization, found, err := scaffold.Kustomization(g.plan, all[i].kustomization)
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
	return g.plan.WriteFile(plan.File{Path: kustomization, Content: after, Policy: plan.Edit})
}

// emptyRole takes all rules out of a role file that no marker asks for any more. controller-gen would leave the file
// and with it rights that nobody wants; deleting it would break the kustomization that lists it.
func (g *generation) emptyRole(made map[string]bool) error {
	file := g.options.rolePath()
	if made[file] {
		return nil
	}
	content, err := g.plan.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var emptied []byte
	for _, document := range strings.Split("\n"+string(content), "\n---\n") {
		var role map[string]any
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			return &diagnostic.Error{
				Pos:     token.Position{Filename: file},
				Message: "is not YAML",
				Hint:    "delete the file, and run kctrl manifests again once a controller has +kubebuilder:rbac markers",
				Cause:   err,
			}
		}
		if len(role) == 0 {
			continue
		}
		role["rules"] = []any{}
		text, err := yaml.Marshal(role)
		if err != nil {
			return err
		}
		emptied = append(emptied, "---\n"+string(text)...)
	}
	return g.writeFile(output{artifact.File{Path: file, Content: emptied}, "generate/" + RBAC})
}
