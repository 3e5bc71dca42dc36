package kubectl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kustomize"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// Manifest is an object in a file.
type Manifest struct {
	Object *unstructured.Unstructured
	Pos    token.Position // start of the document
}

// ReadManifests reads the objects in a file, or in all .yaml, .yml and .json files of a directory, ordered by file
// name. The path "-" means stdin.
func ReadManifests(path string, stdin io.Reader) ([]Manifest, error) {
	if path == "-" {
		content, err := io.ReadAll(stdin)
		if err != nil {
			return nil, err
		}
		return parseManifests("standard input", content)
	}
	files, err := manifestFiles(path)
	if err != nil {
		return nil, err
	}
	var all []Manifest
	var errs []error
	for _, file := range files {
		content, err := regular.ReadFile(file)
		if err != nil {
			return nil, fileProblem(file, err)
		}
		manifests, err := parseManifests(file, content)
		all, errs = append(all, manifests...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// fileProblem returns the error for a file or directory that the user specified and that cannot be read.
func fileProblem(name string, err error) error {
	e := diagnostic.AtFile(name, "cannot read", err)
	e.Hint = cmp.Or(e.Hint, "use a readable file or directory")
	return e
}

func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &diagnostic.Error{Pos: token.Position{Filename: path}, Message: "no such file or directory",
			Hint: "-f takes a file, a directory, or - for standard input", Cause: err}
	}
	if err != nil {
		return nil, fileProblem(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		isManifest := slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name()))
		isKustomization := slices.Contains(konfig.RecognizedKustomizationFileNames(), entry.Name())
		if isManifest && !isKustomization && !entry.IsDir() {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, &diagnostic.Error{Pos: token.Position{Filename: path}, Message: "no .yaml, .yml or .json files",
			Hint: "use -k for a directory with a kustomization.yaml"}
	}
	return files, nil
}

// ReadTree reads the objects in a file or a directory. If the directory has a kustomization, ReadTree builds it.
func ReadTree(path string) ([]Manifest, error) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return BuildKustomization(path, "repair the kustomization; kctrl env apply --dry-run -k "+path+" builds it too")
		}
	}
	return ReadManifests(path, nil)
}

// FillSpec replaces a null spec by an empty object. The spec in kubebuilder's samples is null, because it contains only
// a comment.
func (m Manifest) FillSpec() {
	if spec, found := m.Object.Object["spec"]; found && spec == nil {
		m.Object.Object["spec"] = map[string]any{}
	}
}

// BuildKustomization builds the kustomization in a directory and returns its objects. Its errors have the hint.
func BuildKustomization(directory, hint string) ([]Manifest, error) {
	resources, err := kustomize.Build(directory, hint)
	if err != nil {
		return nil, err
	}
	content, err := resources.AsYaml()
	if err != nil {
		return nil, err
	}
	return parseManifests(directory, content)
}

// parseManifests parses all documents of a file. The error reports each document that is not an object.
func parseManifests(name string, content []byte) ([]Manifest, error) {
	var manifests []Manifest
	var errs []error
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return manifests, errors.Join(errs...)
		}
		if err != nil {
			return nil, errors.Join(append(errs, diagnostic.YAML(name, content, err,
				"repair it, then run the command again"))...)
		}
		if isEmpty(&document) {
			continue
		}
		pos := token.Position{Filename: name, Line: document.Content[0].Line, Column: document.Content[0].Column}
		var value any
		if err := document.Decode(&value); err != nil {
			errs = append(errs, diagnostic.YAML(name, content, err, "repair it, then run the command again"))
			continue
		}
		objects, err := toObjects(value)
		if err != nil {
			errs = append(errs, &diagnostic.Error{
				Pos:     pos,
				Message: err.Error(),
				Hint:    "every document needs apiVersion, kind and metadata.name",
				Cause:   err,
			})
		}
		for _, o := range objects {
			manifests = append(manifests, Manifest{Object: o, Pos: pos})
		}
	}
}

func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].Tag == "!!null"
}

// toObjects returns the object in a document, or the objects in a list.
func toObjects(value any) ([]*unstructured.Unstructured, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(content); err != nil {
		return nil, errors.New("not a Kubernetes object")
	}
	if !o.IsList() {
		return []*unstructured.Unstructured{o}, checkNamed(o)
	}
	list, err := o.ToList()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		if err := checkNamed(&list.Items[i]); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}

func checkNamed(o *unstructured.Unstructured) error {
	switch {
	case o.GetAPIVersion() == "":
		return errors.New("the object has no apiVersion")
	case o.GetName() == "":
		return fmt.Errorf("the %s has no metadata.name", o.GetKind())
	}
	return cmp.Or(checkSegment(o.GetName()), checkSegment(o.GetNamespace()))
}

// Describe returns the name of an object for messages, such as "guestbook.webapp.example.com/sample".
func Describe(o *unstructured.Unstructured) string {
	gk := o.GroupVersionKind().GroupKind()
	return withGroup(strings.ToLower(gk.Kind), gk.Group) + "/" + o.GetName()
}
