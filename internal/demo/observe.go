package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/kubectl"
	"github.com/kctrl-dev/kctrl/runtime/client"
)

var guestbookKind = schema.GroupVersionKind{Group: "webapp.example.com", Version: "v1", Kind: "Guestbook"}

// observer observes the sample only through the API server.
type observer struct {
	sample *client.ListWatcher[*unstructured.Unstructured]
}

func newObserver(kubeconfig string) (*observer, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, err
	}
	prototype := &unstructured.Unstructured{}
	prototype.SetGroupVersionKind(guestbookKind)
	sample, err := client.NewListWatcher(live, prototype, client.Scope{
		Namespace: "default",
		Fields:    fields.OneTermEqualSelector("metadata.name", sampleName),
	})
	return &observer{sample: sample}, err
}

// waitReady blocks until the sample has this generation and its status reports Ready for the same generation.
func (o *observer) waitReady(ctx context.Context, out io.Writer, generation int64) error {
	return o.wait(ctx, fmt.Sprintf("Ready for generation %d", generation), func(sample *unstructured.Unstructured) bool {
		if sample == nil || sample.GetGeneration() != generation {
			return false
		}
		observed, _, _ := unstructured.NestedInt64(sample.Object, "status", "observedGeneration")
		status := cmp.Or(kubectl.ConditionStatus(*sample, "Ready"), "Unknown")
		fmt.Fprintf(out, "  API server | %s generation=%d observedGeneration=%d Ready=%s\n", sampleName, generation, observed,
			status)
		return observed == generation && status == string(metav1.ConditionTrue)
	})
}

// waitGone blocks until the sample does not exist.
func (o *observer) waitGone(ctx context.Context, out io.Writer) error {
	return o.wait(ctx, "gone", func(sample *unstructured.Unstructured) bool {
		if sample == nil {
			fmt.Fprintf(out, "  API server | %s does not exist\n", sampleName)
		}
		return sample == nil
	})
}

// wait lists and then watches until the sample has the wanted state. The state is nil if the sample does not exist.
func (o *observer) wait(ctx context.Context, what string, wanted func(*unstructured.Unstructured) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	page, err := o.sample.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var state *unstructured.Unstructured
	if len(page.Items) > 0 {
		state = page.Items[0]
	}
	if wanted(state) {
		return nil
	}
	stream, err := o.sample.Watch(ctx, metav1.ListOptions{ResourceVersion: page.ResourceVersion})
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		event, err := stream.Next()
		if err != nil {
			return fmt.Errorf("%s never became %s: %w", sampleName, what, err)
		}
		state = event.Object
		if event.Type == watch.Deleted {
			state = nil
		}
		if wanted(state) {
			return nil
		}
	}
}

// changedSample returns the scaffolded sample with every string in its spec changed.
func changedSample(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "config", "samples", "webapp_v1_guestbook.yaml"))
	if err != nil {
		return "", err
	}
	var sample map[string]any
	if err := yaml.Unmarshal(text, &sample); err != nil {
		return "", err
	}
	spec, ok := sample["spec"].(map[string]any)
	if !ok || len(spec) == 0 {
		return "", fmt.Errorf("the scaffolded sample has an empty spec")
	}
	for field, value := range spec {
		if text, ok := value.(string); ok {
			spec[field] = text + ", changed"
		}
	}
	changed, err := yaml.Marshal(sample)
	return string(changed), err
}
