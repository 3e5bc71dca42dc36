package kustomize_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/kustomize"
)

// TestObjectsComeInTheOrderOfTheirKinds checks a kustomization that lists its namespace last, like kubebuilder's, and
// one that sets its own order.
func TestObjectsComeInTheOrderOfTheirKinds(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("objects.yaml", `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: a, namespace: a}
---
apiVersion: v1
kind: Namespace
metadata: {name: a}
`)
	for kustomization, want := range map[string]string{
		"resources: [objects.yaml]\n":                             "Namespace ServiceAccount ValidatingWebhookConfiguration",
		"resources: [objects.yaml]\nsortOptions: {order: fifo}\n": "ValidatingWebhookConfiguration ServiceAccount Namespace",
	} {
		put("kustomization.yaml", kustomization)
		resources, err := kustomize.Build(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, resource := range resources.Resources() {
			kinds = append(kinds, resource.GetKind())
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%q builds %s, want %s", kustomization, got, want)
		}
	}
}

// TestBuildsPrintNothing builds a kustomization with deprecated fields, about which kustomize prints warnings.
func TestBuildsPrintNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("commonLabels: {a: b}\n"+
		"configMapGenerator: [{name: a}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	printed, err := os.Create(filepath.Join(dir, "printed"))
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	stderr := os.Stderr
	os.Stderr = printed
	_, err = kustomize.Build(dir, "")
	restored := os.Stderr == printed
	os.Stderr = stderr
	if err != nil || !restored {
		t.Errorf("%v; os.Stderr is restored: %t", err, restored)
	}
	if text, err := os.ReadFile(printed.Name()); err != nil || len(text) > 0 {
		t.Errorf("printed %q, %v", text, err)
	}
}
