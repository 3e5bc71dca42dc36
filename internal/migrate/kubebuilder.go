package migrate

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"strings"

	"github.com/gobuffalo/flect"
	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// kubebuilderProject is a PROJECT file that kubebuilder or operator-sdk wrote.
type kubebuilderProject struct {
	Version     string                `yaml:"version"`
	Domain      string                `yaml:"domain"`
	ProjectName string                `yaml:"projectName"`
	MultiGroup  bool                  `yaml:"multigroup"`
	Namespaced  bool                  `yaml:"namespaced"`
	Resources   []kubebuilderResource `yaml:"resources"`
}

type kubebuilderResource struct {
	Group    string  `yaml:"group"`
	Domain   *string `yaml:"domain"`
	Version  string  `yaml:"version"`
	Kind     string  `yaml:"kind"`
	Plural   string  `yaml:"plural"`
	Path     string  `yaml:"path"`
	External bool    `yaml:"external"`
	Core     bool    `yaml:"core"`
	API      *struct {
		Namespaced bool `yaml:"namespaced"`
	} `yaml:"api"`
}

// defaultDomain is the domain of a kubebuilder project whose PROJECT file has none.
const defaultDomain = "my.domain"

// convertProject plans kctrl's PROJECT file in place of kubebuilder's. It does not create a missing PROJECT file.
func (a *adoption) convertProject() error {
	text, err := a.plan.Read(project.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	k := &kubebuilderProject{}
	if err := yaml.Unmarshal(text, k); err != nil {
		return diagnostic.YAML(project.File, text, err, "repair it, then run the command again")
	}
	switch version, _, _ := strings.Cut(k.Version, "-"); {
	case k.Version == project.Version:
		return nil // an earlier run converted it
	case version != "2" && version != "3":
		return &diagnostic.Error{
			Pos:     token.Position{Filename: project.File},
			Message: fmt.Sprintf("unknown version %s", diagnostic.Quote(k.Version)),
			Hint:    "kctrl migrate converts versions 2 and 3; remove the file to migrate without it",
		}
	}
	converted, err := k.project(a.plan.FS(), a.modules[0].file.Module.Mod.Path, a.kctrl).Marshal()
	if err != nil {
		return err
	}
	return a.plan.Edit(project.File, converted)
}

// project converts the PROJECT file to kctrl's form.
func (k *kubebuilderProject) project(fsys fs.FS, repo string, kctrl project.Build) *project.Project {
	p := &project.Project{
		Domain: k.Domain, Repo: repo, Name: k.ProjectName, MultiGroup: k.MultiGroup, Namespaced: k.Namespaced,
		License: "none", Runtime: project.Bundled, Kctrl: kctrl.Name(),
	}
	if p.Domain == "" {
		p.Domain = defaultDomain
	}
	if p.Name == "" {
		p.Name = project.DefaultName(repo)
	}
	for _, r := range k.Resources {
		resource := r.resource(p.Domain)
		if resource.Path == "" {
			resource.Path = r.apiPackage(fsys, repo)
		}
		_, listed := p.Find(resource.APIGroup(), resource.Version, resource.Kind)
		if r.Version != "" && r.Kind != "" && resource.Path != "" && resource.APIGroup() != "" && !listed {
			p.Resources = append(p.Resources, resource)
		}
	}
	return p
}

func (r kubebuilderResource) resource(domain string) project.Resource {
	resource := project.Resource{
		Group: r.Group, Version: r.Version, Kind: r.Kind, Plural: r.Plural, Domain: domain, Path: r.Path,
	}
	switch {
	case r.Domain != nil:
		resource.Domain = *r.Domain
	case r.Core:
		resource.Domain = ""
	}
	if r.Core && r.Group == "core" {
		resource.Group = ""
	}
	if resource.Plural == "" {
		resource.Plural = strings.ToLower(flect.Pluralize(r.Kind))
	}
	if r.API != nil {
		resource.Namespaced = r.API.Namespaced
	}
	return resource
}

// apiPackage returns the import path of a kind's package if PROJECT does not have it.
func (r kubebuilderResource) apiPackage(fsys fs.FS, repo string) string {
	below := r.Group + "/" + r.Version
	for _, dir := range []string{"api/" + r.Version, "apis/" + below, "api/" + below} {
		if info, err := fs.Stat(fsys, dir); err == nil && info.IsDir() {
			return path.Join(repo, dir)
		}
	}
	return ""
}
