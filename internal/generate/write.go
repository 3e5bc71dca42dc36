package generate

import (
	"errors"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/crd"
	"github.com/kctrl-dev/kctrl/internal/generate/rbac"
	"github.com/kctrl-dev/kctrl/internal/scaffold"
)

// write puts the outputs into the plan, and takes out of the project what the same generators made earlier and make no
// more.
func (g *generation) write() error {
	made := map[string]bool{}
	for _, o := range g.outputs {
		made[o.Path] = true
		if err := g.listCRD(o); err != nil {
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
	if g.options.RBAC && !made[rbac.Path] {
		return g.emptyRole()
	}
	return nil
}

func (g *generation) writeFile(o output) error {
	return g.plan.WriteFile(scaffold.File{
		Path: o.Path, Content: o.Content, Template: o.template, Policy: scaffold.Own,
	})
}

// prune deletes the files that the lock knows from a generator that ran and did not make them again. One that the user
// has edited stays.
func (g *generation) prune(made map[string]bool) error {
	lock, err := scaffold.LoadLock(os.DirFS(g.dir))
	if err != nil {
		return err
	}
	ran := map[string]bool{objectTemplate: g.options.Object, crdTemplate: g.options.CRD}
	for entry := range lock.All() {
		if !ran[entry.Template] || made[entry.Path] {
			continue
		}
		if err := g.plan.Delete(entry.Path, scaffold.Once); err != nil {
			return err
		}
		if _, err := g.plan.Read(entry.Path); errors.Is(err, fs.ErrNotExist) {
			if err := g.unlistCRD(entry.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// crdKustomization lists the CRDs that are deployed.
const crdKustomization = "config/crd/kustomization.yaml"

// listCRD adds a CRD that is new to the kustomization, if the project has one.
func (g *generation) listCRD(o output) error {
	if o.template != crdTemplate {
		return nil
	}
	if _, err := g.plan.Read(o.Path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return g.editKustomization(o.Path, scaffold.EnsureListItem)
}

// unlistCRD takes a CRD that is gone out of the kustomization, which would not build with it.
func (g *generation) unlistCRD(name string) error {
	if path.Dir(name) != crd.Folder {
		return nil
	}
	return g.editKustomization(name, scaffold.RemoveListItem)
}

type listEdit func(src []byte, filename string, path []string, value string) ([]byte, error)

func (g *generation) editKustomization(name string, edit listEdit) error {
	before, err := g.plan.Read(crdKustomization)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	item := strings.TrimPrefix(name, path.Dir(crdKustomization)+"/")
	after, err := edit(before, crdKustomization, []string{"resources"}, item)
	if err != nil {
		return err
	}
	return g.plan.WriteFile(scaffold.File{Path: crdKustomization, Content: after, Policy: scaffold.Edit})
}

// emptyRole takes all rules out of a role file that no marker asks for any more. controller-gen would leave the file
// and with it rights that nobody wants; deleting it would break the kustomization that lists it.
func (g *generation) emptyRole() error {
	content, err := g.plan.Read(rbac.Path)
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
				Pos:     token.Position{Filename: rbac.Path},
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
	return g.writeFile(output{artifact.File{Path: rbac.Path, Content: emptied}, rbacTemplate})
}
