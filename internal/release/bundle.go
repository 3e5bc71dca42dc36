package release

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kustomize"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// Bundle is what an OLM bundle is called, and where it is.
type Bundle struct {
	// Dir is the folder of the bundle, relative to the project.
	Dir string
	// Name is that of the operator and of its package.
	Name string
	// Version is that of the operator. Empty means what the bundle says that is there, or 0.1.0.
	Version string
	// Channels are those that the bundle is in, and DefaultChannel is one of them. Empty means what the bundle says that is there,
	// or alpha; and the first one.
	Channels       []string
	DefaultChannel string
	// Provider is whom a new base names.
	Provider string
	// Force replaces files that somebody has edited.
	Force bool
}

// bundleTemplate is what PROJECT.lock calls the files of a bundle.
const bundleTemplate = "release/bundle"

// PlanBundle plans a bundle for the Operator Lifecycle Manager: a ClusterServiceVersion with the deployments, the permissions of
// their service accounts, the webhooks and the CRDs of the operator; the other objects beside it; and what says that it is a
// bundle. What people read of the operator is the user's, in config/manifests/bases: a base is written if there is none. Files
// of the bundle that somebody has edited stay as they are. What OLM cannot install is a note of the plan.
func PlanBundle(p *plan.Plan, b Bundle, s Source) error {
	version, err := b.version()
	if err != nil {
		return err
	}
	b.Dir = path.Clean(b.Dir)
	w := &bundleWriter{Bundle: b, folder: newFolder(p, b.Dir, bundleTemplate, b.Force), source: s}
	have, err := w.parse(path.Join(b.Dir, w.csvFile()))
	if err != nil {
		return err
	}
	w.Version = cmp.Or(version, text(have, "spec", "version"), "0.1.0")
	if s.Image == "" {
		w.source.Image = text(have, "metadata", "annotations", "containerImage")
	}
	return w.write()
}

// version checks that of the bundle, which is a part of the name of an object.
func (b Bundle) version() (string, error) {
	version, err := semantic(b.Version)
	if err == nil && (strings.Contains(version, "+") || version != strings.ToLower(version)) {
		err = &diagnostic.Error{
			Message: "--version " + diagnostic.Quote(b.Version) + " cannot be in the name of an object",
			Hint:    "OLM names the operator " + b.Name + ".v1.2.3: leave out what follows a +, and write it in lower case",
			Class:   diagnostic.ErrUsage,
		}
	}
	return version, err
}

// bundleWriter plans the files of one bundle.
type bundleWriter struct {
	Bundle
	*folder
	source   Source
	manifest *manifest
}

func (w *bundleWriter) csvFile() string { return "manifests/" + w.Name + ".clusterserviceversion.yaml" }

func (w *bundleWriter) write() error {
	objects, err := w.source.objects(nil)
	if err != nil {
		return err
	}
	w.manifest = newManifest(objects)
	w.plan.Note(w.manifest.notes...)
	for _, step := range []func() error{w.frame, w.clusterServiceVersion, w.objects, func() error { return w.sweep("manifests") }} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// parse returns a document of the project as it will be, or an empty one.
func (w *bundleWriter) parse(file string) (*yaml.Node, error) {
	content, err := w.plan.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return mapping(), nil
	} else if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, diagnostic.YAML(file, content, err, "repair it, then run the command again")
	}
	return root(&document), nil
}

// frame plans what says that the folder is a bundle.
func (w *bundleWriter) frame() error {
	have, err := w.parse(path.Join(w.Dir, "metadata", "annotations.yaml"))
	if err != nil {
		return err
	}
	said := func(key string) string {
		return text(have, "annotations", "operators.operatorframework.io.bundle."+key+".v1")
	}
	view := w.view()
	view.Channels = cmp.Or(strings.Join(w.Channels, ","), said("channels"), "alpha")
	channels := strings.Split(view.Channels, ",")
	if view.DefaultChannel = cmp.Or(w.DefaultChannel, said("channel.default")); !slices.Contains(channels, view.DefaultChannel) {
		if w.DefaultChannel != "" {
			return &diagnostic.Error{
				Message: "--default-channel " + diagnostic.Quote(w.DefaultChannel) + " is none of the channels " + view.Channels,
				Hint:    "name it in --channels too", Class: diagnostic.ErrUsage,
			}
		}
		view.DefaultChannel = channels[0]
	}
	for _, t := range templates.Bundle() {
		content, err := t.Render(view)
		if err == nil {
			err = w.put(t.Path(view), content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *bundleWriter) view() templates.BundleView {
	return templates.BundleView{Name: w.Name, DisplayName: displayName(w.Name), Provider: cmp.Or(w.Provider, w.Name)}
}

// base returns what the user says of the operator, and plans it if there is nothing yet.
func (w *bundleWriter) base() (*yaml.Node, error) {
	t := templates.BundleBase()
	file := t.Path(w.view())
	content, err := t.Render(w.view())
	if err == nil {
		err = w.plan.WriteFile(plan.File{Path: file, Content: content, Template: t.Source(), Policy: plan.Once})
	}
	if err != nil {
		return nil, err
	}
	base, err := w.parse(file)
	if err == nil && text(base, "kind") != "ClusterServiceVersion" {
		err = &diagnostic.Error{
			Pos: token.Position{Filename: file}, Message: "is no ClusterServiceVersion",
			Hint: "move it away, and the command writes one to begin with",
		}
	}
	return base, err
}

// clusterServiceVersion plans the object that has all that OLM is to know.
func (w *bundleWriter) clusterServiceVersion() error {
	csv, err := w.base()
	if err != nil {
		return err
	}
	descriptions, err := describeTypes(w.plan.FS())
	if err != nil {
		return err
	}
	in := yamlnode.Insert{Sorted: true}
	metadata := in.Ensure(csv, "metadata")
	in.Set(metadata, "name", scalar(w.Name+".v"+w.Version))
	if err := w.annotate(in.Ensure(metadata, "annotations")); err != nil {
		return err
	}
	spec := in.Ensure(csv, "spec")
	in.Set(spec, "version", scalar(w.Version))
	m := w.manifest
	set := func(key string, value any) {
		if err == nil {
			var node yaml.Node
			if err = node.Encode(value); err == nil {
				in.Set(spec, key, &node)
			}
		}
	}
	owned := in.Ensure(spec, "customresourcedefinitions")
	if described := m.owned(descriptions); len(described) > 0 {
		var node yaml.Node
		if err := node.Encode(described); err != nil {
			return err
		}
		in.Set(owned, "owned", &node)
	}
	set("install", m.install())
	if yamlnode.Value(spec, "installModes") == nil {
		set("installModes", m.installModes())
	}
	yamlnode.Remove(spec, "webhookdefinitions")
	if len(m.webhooks) > 0 {
		set("webhookdefinitions", m.webhooks)
	}
	if err != nil {
		return err
	}
	withoutComments(csv)
	content, err := encode(csv)
	if err != nil {
		return err
	}
	return w.put(w.csvFile(), content)
}

// withoutComments takes away what was said to who edits the base.
func withoutComments(node *yaml.Node) {
	node.HeadComment, node.LineComment, node.FootComment = "", "", ""
	for _, child := range node.Content {
		withoutComments(child)
	}
}

// annotate adds what only annotations of a ClusterServiceVersion say.
func (w *bundleWriter) annotate(annotations *yaml.Node) error {
	examples, err := w.examples()
	if err != nil {
		return err
	}
	in := yamlnode.Insert{Sorted: true}
	in.Set(annotations, "alm-examples", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: examples, Style: yaml.LiteralStyle})
	if image := w.manifest.image(); image != "" {
		in.Set(annotations, "containerImage", scalar(image))
	}
	const suggested = "operatorframework.io/suggested-namespace"
	if w.manifest.namespace != "" && yamlnode.Value(annotations, suggested) == nil {
		in.Set(annotations, suggested, scalar(w.manifest.namespace))
	}
	return nil
}

// examples returns the samples of the operator's kinds, in JSON.
func (w *bundleWriter) examples() (string, error) {
	samples := filepath.Join(w.source.Dir, "config", "samples")
	examples := []any{}
	if _, err := os.Stat(samples); err == nil {
		resources, err := kustomize.Build(samples, "mend config/samples, whose objects are the examples of the bundle")
		if err != nil {
			return "", inProject(w.source.Dir, err)
		}
		for _, resource := range resources.Resources() {
			content, err := resource.Map()
			if err != nil {
				return "", err
			}
			if w.manifest.owns(fmt.Sprint(content["apiVersion"]), fmt.Sprint(content["kind"])) {
				examples = append(examples, content)
			}
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(examples); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// objects plans a file for each object that is not in the ClusterServiceVersion.
func (w *bundleWriter) objects() error {
	for _, o := range w.manifest.others {
		content, err := encode(o.Node)
		if err == nil {
			err = w.put("manifests/"+manifestName(o), content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// manifestName returns the file of an object.
func manifestName(o *object) string {
	name := strings.NewReplacer(":", "-", "/", "-").Replace(o.name)
	if plural := text(o.Node, "spec", "names", "plural"); o.kind == "CustomResourceDefinition" {
		return text(o.Node, "spec", "group") + "_" + plural + ".yaml"
	}
	_, version := path.Split(text(o.Node, "apiVersion"))
	parts := []string{name, o.group, version, strings.ToLower(o.kind)}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "_") + ".yaml"
}
