package simulate

import (
	"errors"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// readManifests reads the objects that exist before the operator, and the samples.
func (p *project) readManifests(opts Options) error {
	config, err := p.manifests(opts.Config, filepath.Join("config", "default"), "--config")
	if err != nil {
		return err
	}
	for _, m := range config {
		p.add(m.Object)
	}
	if opts.Samples == "" {
		if err := p.readSamples(); err != nil {
			if e, ok := errors.AsType[*diagnostic.Error](err); ok {
				e.Hint += "; or --samples names a file, directory or kustomization with the objects of its user"
			}
			return err
		}
	} else {
		samples, err := p.manifests(opts.Samples, "", "--samples")
		if err != nil {
			return err
		}
		p.addSamples(samples)
	}
	p.samples = oneVersion(p.samples)
	if opts.Namespace != "" {
		p.namespace = opts.Namespace
	}
	if opts.AsAdmin {
		p.user = ""
	}
	return nil
}

// manifests reads the objects of a file, a directory or a kustomization. Empty means standard. flag is the flag that
// selects another path.
func (p *project) manifests(name, standard, flag string) ([]kubectl.Manifest, error) {
	path := name
	if name == "" {
		path = standard
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	if name == "" && !exists(path) {
		return nil, &diagnostic.Error{
			Message: "no " + filepath.ToSlash(standard) + " in " + p.dir,
			Hint:    flag + " names a file, directory or kustomization with the CRDs and roles of the operator",
		}
	}
	all, err := kubectl.ReadTree(path)
	if err != nil {
		return nil, inProject(p.dir, err)
	}
	if len(all) == 0 {
		return nil, &diagnostic.Error{Message: "no objects in " + name, Hint: flag + " needs at least one manifest"}
	}
	return all, nil
}

// deployed has the API groups of the objects that exist before an operator runs.
var deployed = []string{"", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io"}

func (p *project) add(u *unstructured.Unstructured) {
	gvk := u.GroupVersionKind()
	if gvk.Kind == "Deployment" {
		account, _, _ := unstructured.NestedString(u.Object, "spec", "template", "spec", "serviceAccountName")
		if account == "" {
			account = "default"
		}
		p.namespace = u.GetNamespace()
		p.user = "system:serviceaccount:" + p.namespace + ":" + account
		p.addContainer(u)
	}
	if slices.Contains(deployed, gvk.Group) && gvk.Kind != "Service" && gvk.Kind != "Pod" {
		p.objects = append(p.objects, u)
	}
}

// addContainer reads the arguments and the environment of the first container. Variables whose values come from other
// objects stay unset.
func (p *project) addContainer(deployment *unstructured.Unstructured) {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return
	}
	container, _ := containers[0].(map[string]any)
	variables, _, _ := unstructured.NestedSlice(container, "env")
	p.env = map[string]string{}
	for _, variable := range variables {
		fields, _ := variable.(map[string]any)
		name, _ := fields["name"].(string)
		value, _ := fields["value"].(string)
		path, _, _ := unstructured.NestedString(fields, "valueFrom", "fieldRef", "fieldPath")
		if path == "metadata.namespace" {
			value = p.namespace
		}
		if name != "" && value != "" {
			p.env[name] = value
		}
	}
	args, _, _ := unstructured.NestedStringSlice(container, "args")
	p.args = nil
	for _, arg := range args {
		for name, value := range p.env {
			arg = strings.ReplaceAll(arg, "$("+name+")", value)
		}
		p.args = append(p.args, arg)
	}
}

// readSamples reads the objects of config/samples.
func (p *project) readSamples() error {
	directory := filepath.Join(p.dir, "config", "samples")
	if !exists(directory) {
		return noSamples()
	}
	manifests, err := kubectl.ReadTree(directory)
	if err != nil {
		return inProject(p.dir, err)
	}
	p.addSamples(manifests)
	if len(p.samples) == 0 {
		return noSamples()
	}
	return nil
}

// addSamples adds the objects of the operator's user.
func (p *project) addSamples(manifests []kubectl.Manifest) {
	p.positions = map[*unstructured.Unstructured]token.Position{}
	for _, m := range manifests {
		m.FillSpec()
		p.samples = append(p.samples, m.Object)
		p.positions[m.Object] = m.Pos
	}
}

// checkKinds returns an error if neither Kubernetes nor the project's objects define the kind of a sample.
func (p *project) checkKinds() error {
	defined := map[schema.GroupKind]bool{}
	for _, u := range p.objects {
		group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
		defined[schema.GroupKind{Group: group, Kind: kind}] = u.GetKind() == "CustomResourceDefinition"
	}
	for _, u := range p.samples {
		kind := u.GroupVersionKind().GroupKind()
		custom := strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
		if custom && !defined[kind] {
			return inProject(p.dir, &diagnostic.Error{
				Pos:     p.positions[u],
				Message: fmt.Sprintf("no CustomResourceDefinition of %s in %s", kind.Kind, u.GetAPIVersion()),
				Hint:    "the directory of --config, or config/sim, must have it; or remove this sample",
			})
		}
	}
	return nil
}

func noSamples() error {
	return &diagnostic.Error{
		Pos: token.Position{
			Filename: filepath.Join("config", "samples"),
		}, Message: "no samples: a simulation creates the objects in config/samples",
		Hint: "add an object of each kind that the operator reconciles",
	}
}

// oneVersion keeps only the first of the samples with the same kind and name, because samples in several API versions
// are one object.
func oneVersion(all []*unstructured.Unstructured) (kept []*unstructured.Unstructured) {
	seen := map[string]bool{}
	for _, u := range all {
		key := u.GroupVersionKind().GroupKind().String() + " " + u.GetNamespace() + "/" + u.GetName()
		if u.GetName() == "" || !seen[key] {
			kept = append(kept, u)
		}
		seen[key] = true
	}
	return kept
}
