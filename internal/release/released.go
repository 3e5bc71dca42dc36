package release

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// released is what a chart is made from: what the kustomization builds, and what it would build with the components beside it
// that it does not list.
type released struct {
	objects  []*object
	optional []*object
	// prefix begins the names of objects, with its hyphen, and namespace is that of the manager. Both may be empty.
	prefix, namespace string
}

func (r *released) all() []*object { return append(slices.Clone(r.objects), r.optional...) }

// content returns everything that objects say.
func (r *released) content() string {
	var b bytes.Buffer
	for _, o := range r.all() {
		// What was decoded can be encoded.
		content, _ := encode(o.Node)
		b.Write(content)
	}
	return b.String()
}

func load(s Source) (*released, error) {
	objects, err := s.objects(nil)
	if err != nil {
		return nil, err
	}
	r := &released{objects: objects}
	for _, o := range objects {
		if o.isManager() {
			r.namespace = o.namespace
		}
	}
	file, content := kustomization(s.folder())
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return r, nil // One that kustomize alone understands: it names no prefix.
	}
	declared := root(&document)
	if r.prefix = text(declared, "namePrefix"); !strings.HasSuffix(r.prefix, "-") {
		r.prefix = ""
	}
	for _, component := range unlisted(s.folder(), declared) {
		r.optional = append(r.optional, with(s, file, declared, component, objects)...)
	}
	return r, nil
}

// kustomization returns the file of a kustomization that could be built.
func kustomization(folder string) (file string, content []byte) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file = filepath.Join(folder, name)
		if content, err := regular.ReadFile(file); err == nil {
			return file, content
		}
	}
	return "", nil
}

// unlisted returns the components in ../components that a kustomization does not list, as it would.
func unlisted(folder string, root *yaml.Node) []string {
	entries, err := os.ReadDir(filepath.Join(folder, "..", "components"))
	if err != nil {
		return nil
	}
	var found []string
	for _, entry := range entries {
		component := path.Join("../components", entry.Name())
		listed := slices.ContainsFunc(contentOf(yamlnode.Value(root, "components")), func(item *yaml.Node) bool {
			return path.Clean(item.Value) == component
		})
		if !listed && entry.IsDir() {
			found = append(found, component)
		}
	}
	return found
}

// with returns what a component adds. One that changes other objects, or does not fit them, is no option that an administrator
// has: it is a decision of the project.
func with(s Source, file string, root *yaml.Node, component string, objects []*object) []*object {
	changed := yamlnode.Clone(root)
	list := yamlnode.Value(changed, "components")
	if list == nil || list.Kind != yaml.SequenceNode {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		yamlnode.Insert{}.Set(changed, "components", list)
	}
	list.Content = append(list.Content, scalar(component))
	content, err := encode(changed)
	if err != nil {
		return nil
	}
	more, err := s.objects(map[string][]byte{file: content})
	if err != nil {
		return nil
	}
	before := map[string]string{}
	for _, o := range objects {
		before[o.key()] = o.content()
	}
	var added []*object
	for _, o := range more {
		was, there := before[o.key()]
		if !there {
			added = append(added, o)
		} else if was != o.content() {
			return nil
		}
		delete(before, o.key())
	}
	if len(before) > 0 {
		return nil
	}
	return added
}

// key tells objects apart.
func (o *object) key() string {
	return strings.Join([]string{o.group, o.kind, o.namespace, o.name}, " ")
}

func (o *object) content() string {
	content, _ := encode(o.Node)
	return string(content)
}

func contentOf(node *yaml.Node) []*yaml.Node {
	if node == nil {
		return nil
	}
	return node.Content
}
