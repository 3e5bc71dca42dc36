package release

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/pkg/util"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kustomize"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// Source selects the objects to release.
type Source struct {
	// Dir is the absolute path of the project.
	Dir string
	// Kustomization is the directory of the kustomization, relative to Dir. Empty means config/default.
	Kustomization string
	// Image is the image of the manager. Empty means the image in the objects.
	Image string
}

// relative returns the directory of the kustomization, relative to the project.
func (s Source) relative() string { return cmp.Or(s.Kustomization, "config/default") }

// dir returns the absolute path of the kustomization.
func (s Source) dir() string { return filepath.Join(s.Dir, filepath.FromSlash(s.relative())) }

const buildHint = "choose a directory with a valid kustomization: --kustomize config/default"

// objects returns the objects of the kustomization. contents replaces files on disk.
func (s Source) objects(contents map[string][]byte) ([]*object, error) {
	resources, err := kustomize.BuildIn(s.Dir, s.relative(), buildHint, contents)
	if err != nil {
		return nil, err
	}
	content, err := resources.AsYaml()
	if err != nil {
		return nil, err
	}
	objects, err := parseObjects(content)
	if err != nil || s.Image == "" {
		return objects, err
	}
	return objects, setImage(objects, s.Image)
}

// object is one manifest.
type object struct {
	*yaml.Node // a mapping
	group, kind,
	namespace, name string
}

func parseObjects(content []byte) ([]*object, error) {
	var objects []*object
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		node := document.Content[0]
		group, _ := path.Split(yamlnode.Text(node, "apiVersion"))
		objects = append(objects, &object{
			Node:      node,
			group:     strings.TrimSuffix(group, "/"),
			kind:      yamlnode.Text(node, "kind"),
			namespace: yamlnode.Text(node, "metadata", "namespace"),
			name:      yamlnode.Text(node, "metadata", "name"),
		})
	}
}

// managerLabel is a label of the workload of the manager, with the value managerValue.
const (
	managerLabel = "control-plane"
	managerValue = "controller-manager"
)

// isManager reports whether an object is the workload that runs the manager.
func (o *object) isManager() bool {
	return (o.kind == "Deployment" || o.kind == "StatefulSet") &&
		yamlnode.Text(o.Node, "metadata", "labels", managerLabel) == managerValue
}

// podSpec returns the pod spec of a workload, or nil.
func (o *object) podSpec() *yaml.Node {
	for _, keys := range [][]string{
		{"spec", "template", "spec"},
		{"spec", "jobTemplate", "spec", "template", "spec"},
		{"spec"},
	} {
		if spec := yamlnode.Value(o.Node, keys...); yamlnode.Value(spec, "containers") != nil {
			return spec
		}
	}
	return nil
}

// containers returns the containers of a workload, including init containers.
func (o *object) containers() []*yaml.Node {
	var all []*yaml.Node
	for _, key := range []string{"initContainers", "containers"} {
		all = append(all, yamlnode.Items(o.podSpec(), key)...)
	}
	return all
}

// managerContainer returns the container named manager, or the only container of a workload, or nil.
func (o *object) managerContainer() *yaml.Node {
	all := yamlnode.Items(o.podSpec(), "containers")
	if at := slices.IndexFunc(all, func(c *yaml.Node) bool { return yamlnode.Text(c, "name") == "manager" }); at >= 0 {
		return all[at]
	}
	if len(all) == 1 {
		return all[0]
	}
	return nil
}

// placeholder is the image in a new project.
const placeholder = "controller"

// setImage sets the image of all containers whose image is the placeholder. If there are none, it sets the image of the
// manager's container.
func setImage(objects []*object, image string) error {
	var found []*yaml.Node
	for _, o := range objects {
		for _, container := range o.containers() {
			if name, _, _ := util.SplitImageName(yamlnode.Text(container, "image")); name == placeholder {
				found = append(found, container)
			}
		}
	}
	if len(found) == 0 {
		for _, o := range objects {
			if container := o.managerContainer(); o.isManager() && container != nil {
				found = append(found, container)
			}
		}
	}
	if len(found) == 0 {
		return &diagnostic.Error{
			Message: "no container runs the manager: none has the image " + placeholder + ", and no Deployment has the label " +
				managerLabel + ": " + managerValue,
			Hint: "write image: " + placeholder + ":latest in the manager's container, which --image replaces",
		}
	}
	for _, container := range found {
		yamlnode.Insert{}.Set(container, "image", scalar(image))
	}
	return nil
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}

// encode returns the YAML of a node in the format of kustomize.
func encode(node *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(node); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}
