package scaffold_test

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// check fails unless the project is formatted, type-checks, and can be deployed. [testProject.build] builds it with the
// go command, which takes ten times as long.
func (p *testProject) check(t *testing.T) {
	t.Helper()
	p.checkFormat(t)
	p.checkTypes(t)
	p.checkDeployable(t)
	p.checkSamples(t)
}

func (p *testProject) checkFormat(t *testing.T) {
	t.Helper()
	for name, content := range readTree(t, p.dir) {
		if path.Ext(name) != ".go" || strings.HasPrefix(name, "third_party/") {
			continue
		}
		formatted, err := format.Source(content)
		if err != nil || !bytes.Equal(formatted, content) {
			t.Errorf("%s is not formatted: %v", name, err)
		}
	}
}

// build builds and vets the modules of the project, which must be tidy.
func (p *testProject) build(t *testing.T) {
	t.Helper()
	for _, dir := range p.modules(t) {
		goCommand(t, dir, cacheEnv(), "build", "./...")
		goCommand(t, dir, cacheEnv(), "vet", "./...")
		if p.isTidied(t) {
			goCommand(t, dir, moduleEnv(), "mod", "tidy", "-diff")
		}
	}
}

// modules returns the directories of the Go modules of the project: its own directory, and the directories of API
// packages with a module.
func (p *testProject) modules(t *testing.T) []string {
	t.Helper()
	api := filepath.Join(p.dir, "api")
	if _, err := os.Stat(filepath.Join(api, "go.mod")); err != nil {
		return []string{p.dir}
	}
	return []string{p.dir, api}
}

// isTidied reports whether go mod tidy is expected to change nothing. It would remove the requirements of a module of
// API packages that has no package yet.
func (p *testProject) isTidied(t *testing.T) bool {
	t.Helper()
	if len(p.modules(t)) == 1 {
		return true
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "PROJECT"))
	return err == nil && bytes.Contains(text, []byte("api: true"))
}

// checkDeployable builds all deployed manifests.
func (p *testProject) checkDeployable(t *testing.T) {
	t.Helper()
	p.kustomize(t, "config/default")
	for _, folder := range []string{"config/crd", "config/samples"} {
		if _, err := os.Stat(filepath.Join(p.dir, folder)); err == nil {
			p.kustomize(t, folder)
		}
	}
}

// checkComponents builds config/default with each of the components.
func (p *testProject) checkComponents(t *testing.T) {
	t.Helper()
	components, err := os.ReadDir(filepath.Join(p.dir, "config", "components"))
	if err != nil {
		t.Fatal(err)
	}
	plain := p.kustomize(t, "config/default")
	for _, component := range components {
		overlay := "config/with-" + component.Name()
		writeFile(t, filepath.Join(p.dir, overlay, "kustomization.yaml"),
			[]byte("resources: [../default]\ncomponents: [../components/"+component.Name()+"]\n"))
		if with := p.kustomize(t, overlay); len(with) <= len(plain) {
			t.Errorf("the component %s adds nothing", component.Name())
		}
	}
}

func (p *testProject) kustomize(t *testing.T, folder string) []byte {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
		filepath.Join(p.dir, folder))
	if err != nil {
		t.Fatalf("kustomize build %s: %v", folder, err)
	}
	out, err := resources.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkSamples validates every sample against the CRD of its kind, as the API server would.
func (p *testProject) checkSamples(t *testing.T) {
	t.Helper()
	samples := filepath.Join(p.dir, "config", "samples")
	files, err := filepath.Glob(filepath.Join(samples, "*_*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var sample map[string]any
		readYAML(t, file, &sample)
		schema := p.schemaOf(t, sample["apiVersion"].(string), sample["kind"].(string))
		validator, _, err := validation.NewSchemaValidator(schema)
		if err != nil {
			t.Fatal(err)
		}
		if errs := validation.ValidateCustomResource(nil, sample, validator); len(errs) > 0 {
			t.Errorf("%s: %v", file, errs.ToAggregate())
		}
		if spec, ok := sample["spec"].(map[string]any); !ok || len(spec) == 0 {
			t.Errorf("%s has an empty spec", file)
		}
	}
}

// schemaOf returns the schema of a kind from the CRDs of the project.
func (p *testProject) schemaOf(t *testing.T, apiVersion, kind string) *apiextensions.JSONSchemaProps {
	t.Helper()
	bases := filepath.Join(p.dir, "config", "crd", "bases")
	var found *apiextensions.JSONSchemaProps
	err := fs.WalkDir(os.DirFS(bases), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		readYAML(t, filepath.Join(bases, name), &crd)
		for _, version := range crd.Spec.Versions {
			if crd.Spec.Names.Kind != kind || crd.Spec.Group+"/"+version.Name != apiVersion {
				continue
			}
			found = &apiextensions.JSONSchemaProps{}
			return apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema,
				found, nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == nil {
		t.Fatalf("no CRD has %s %s", apiVersion, kind)
	}
	return found
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
