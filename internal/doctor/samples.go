package doctor

import (
	"context"
	"errors"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/verify/sample"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

const (
	samplesFolder = "config/samples"
	crdFolder     = "config/crd/bases"
)

// checkSamples validates the objects of config/samples as API servers would that have the CRDs of the project.
func checkSamples(ctx context.Context, p *Project) []Finding {
	generated, err := p.generated(ctx)
	if err != nil {
		return nil
	}
	kinds, err := p.kinds(generated)
	if err != nil {
		return problems(err)
	}
	names, err := yamlFiles(generated, samplesFolder)
	if err != nil {
		return problems(err)
	}
	var found []Finding
	for _, name := range names {
		text, err := generated.Read(name)
		if err != nil {
			found = append(found, problems(err)...)
			continue
		}
		docs, err := edit.Documents(text)
		if err != nil {
			found = append(found, problems(diagnostic.YAML(name, text, err, "repair it"))...)
			continue
		}
		for _, doc := range docs {
			found = append(found, problems(checkSample(kinds, name, doc.Content[0]))...)
		}
	}
	return found
}

// yamlFiles returns the YAML files of a folder and those below it, but kustomizations, on disk or planned.
func yamlFiles(p *plan.Plan, folder string) ([]string, error) {
	var names []string
	add := func(name string) {
		base := path.Base(name)
		isYAML := path.Ext(base) == ".yaml" || path.Ext(base) == ".yml"
		if isYAML && strings.TrimSuffix(base, path.Ext(base)) != "kustomization" {
			names = append(names, name)
		}
	}
	err := fs.WalkDir(p.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case entry.Type().IsRegular():
			add(name)
		}
		return nil
	})
	for c := range p.Files() {
		if strings.HasPrefix(c.Path, folder+"/") {
			add(c.Path)
		}
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		_, err := p.Read(name)
		return errors.Is(err, fs.ErrNotExist)
	})
	return names, err
}

// kinds reads the CRDs of the project, as they are to be.
func (p *Project) kinds(generated *plan.Plan) (*sample.Kinds, error) {
	all := &sample.Kinds{}
	names, err := yamlFiles(generated, crdFolder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := generated.Read(name)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := sigsyaml.Unmarshal(text, &crd); err == nil && crd.Kind == "CustomResourceDefinition" {
			all.Add(&crd) // others are none of kctrl's
		}
	}
	return all, nil
}

// checkSample validates one object, and returns what is wrong with where it stands. Objects of kinds that are not the project's are right.
func checkSample(kinds *sample.Kinds, file string, node *yaml.Node) error {
	problems, err := kinds.CheckNode(node)
	if err != nil {
		return diagnostic.AtFile(file, "cannot read", err)
	}
	var errs []error
	for _, p := range problems {
		at := edit.Position(file, yamlnode.At(node, sample.Steps(p.Field)...))
		errs = append(errs, &diagnostic.Error{Pos: at, Message: p.Message, Hint: p.Hint})
	}
	return errors.Join(errs...)
}

// position returns the place of a line in a file.
func position(name string, line int) token.Position {
	return token.Position{Filename: name, Line: line}
}
