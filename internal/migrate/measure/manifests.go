package measure

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// creators is the number of clients that create objects at a time.
const creators = 8

// manifests are the objects that exist before the operator starts.
type manifests struct {
	installed []kubectl.Manifest // namespaces and CRDs
	once      []kubectl.Manifest // samples of other kinds, such as Secrets
	samples   []kubectl.Manifest // samples of the operator's kinds
}

func readManifests(o Options) (*manifests, error) {
	config, err := readTree(o.Dir, cmp.Or(o.Config, "config/default"), "--config names the CRDs of the operator")
	if err != nil {
		return nil, err
	}
	samples, err := readTree(o.Dir, cmp.Or(o.Samples, "config/samples"), "--samples names objects of the operator's kinds")
	if err != nil {
		return nil, err
	}
	m := &manifests{}
	var groups []string
	for _, c := range config {
		switch c.Object.GetKind() {
		case "CustomResourceDefinition":
			group, _, _ := unstructured.NestedString(c.Object.Object, "spec", "group")
			groups = append(groups, group)
			// Remove the conversion webhooks, because the API server cannot call the operator's webhooks here.
			unstructured.RemoveNestedField(c.Object.Object, "spec", "conversion")
			m.installed = append(m.installed, c)
		case "Namespace":
			m.installed = append(m.installed, c)
		}
	}
	for _, s := range samples {
		if slices.Contains(groups, s.Object.GroupVersionKind().Group) {
			s.FillSpec()
			m.samples = append(m.samples, s)
		} else {
			m.once = append(m.once, s)
		}
	}
	if len(m.samples) == 0 {
		return nil, &diagnostic.Error{
			Message: "no sample is of a kind of the operator, so that there is nothing to multiply",
			Hint:    "--config names the CRDs, and --samples objects of their kinds",
		}
	}
	return m, nil
}

// readTree reads a file, a directory or a kustomization. If the path does not exist, the error has the hint.
func readTree(dir, name, hint string) ([]kubectl.Manifest, error) {
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.Stat(path); err != nil {
		e := diagnostic.AtFile(name, "cannot read", err)
		e.Hint = cmp.Or(e.Hint, hint)
		return nil, e
	}
	return kubectl.ReadTree(path)
}

// kinds returns the number of kinds that have samples.
func (m *manifests) kinds() int {
	kinds := map[string]bool{}
	for _, s := range m.samples {
		kinds[s.Object.GroupVersionKind().GroupKind().String()] = true
	}
	return len(kinds)
}

// create installs the CRDs and creates the objects, which are copies of the samples with numbered names.
func (m *manifests) create(ctx context.Context, kubeconfig string, objects int) error {
	client, err := kubectl.Connect(kubeconfig)
	if err != nil {
		return err
	}
	if err := client.Apply(ctx, m.installed); err != nil {
		return err
	}
	if err := client.Apply(ctx, m.once); err != nil {
		return err
	}
	errs := make([]error, creators)
	var workers sync.WaitGroup
	for worker := range creators {
		workers.Go(func() { errs[worker] = m.multiply(ctx, kubeconfig, worker, objects) })
	}
	workers.Wait()
	return cmp.Or(errs...) // all errors have the same cause as the first one
}

// multiply creates the objects of one worker.
func (m *manifests) multiply(ctx context.Context, kubeconfig string, worker, objects int) error {
	client, err := kubectl.Connect(kubeconfig)
	for i := worker; i < objects && err == nil; i += creators {
		sample := m.samples[i%len(m.samples)]
		sample.Object = sample.Object.DeepCopy()
		sample.Object.SetName(fmt.Sprintf("%s-%d", sample.Object.GetName(), i))
		err = client.Apply(ctx, []kubectl.Manifest{sample})
	}
	return err
}
