package release

import (
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

// released is the input of a chart: the objects of the kustomization, and the optional objects of components that the
// kustomization does not list.
type released struct {
	objects  []*object
	optional []*object
	// prefix is the prefix of the names of objects, with its hyphen, and namespace is the namespace of the manager. Both
	// may be empty.
	prefix, namespace string
}

func (r *released) all() []*object { return append(slices.Clone(r.objects), r.optional...) }

// content returns all objects as text.
func (r *released) content() string {
	var b strings.Builder
	for _, o := range r.all() {
		b.WriteString(o.content())
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
	file, content := kustomization(s.dir())
	declared, err := parseRoot(content)
	if err != nil {
		return r, nil // kctrl cannot parse the kustomization, so there is no prefix
	}
	if r.prefix = yamlnode.Text(declared, "namePrefix"); !strings.HasSuffix(r.prefix, "-") {
		r.prefix = ""
	}
	for _, component := range unlisted(s.dir(), declared) {
		r.optional = append(r.optional, with(s, file, declared, component, objects)...)
	}
	return r, nil
}

// kustomization returns the path and the content of the kustomization file in dir, or an empty path.
func kustomization(dir string) (file string, content []byte) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file = filepath.Join(dir, name)
		if content, err := regular.ReadFile(file); err == nil {
			return file, content
		}
	}
	return "", nil
}

// unlisted returns the components in ../components that a kustomization does not list, as relative paths.
func unlisted(dir string, root *yaml.Node) []string {
	entries, err := os.ReadDir(filepath.Join(dir, "..", "components"))
	if err != nil {
		return nil
	}
	var found []string
	for _, entry := range entries {
		component := path.Join("../components", entry.Name())
		listed := slices.ContainsFunc(yamlnode.Items(root, "components"), func(item *yaml.Node) bool {
			return path.Clean(item.Value) == component
		})
		if !listed && entry.IsDir() {
			found = append(found, component)
		}
	}
	return found
}

// with returns the objects that a component adds. It returns nil if the component changes other objects or cannot be
// built with them, because a chart cannot offer such a component as an option.
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

// key returns a unique key of an object.
func (o *object) key() string {
	return strings.Join([]string{o.group, o.kind, o.namespace, o.name}, " ")
}

func (o *object) content() string {
	content, _ := encode(o.Node) // YAML that was decoded can always be encoded
	return string(content)
}
