package testclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// openMapper maps kinds to resources. If the server does not serve a kind, openMapper defines the kind on the server.
type openMapper struct {
	*client.Mapper
	live     client.Client
	scheme   *runtime.Scheme
	given    meta.RESTMapper // may be nil
	statuses map[schema.GroupKind]bool
	mu       sync.Mutex // held while a kind is defined
}

func newOpenMapper(config *rest.Config, http *http.Client, scheme *runtime.Scheme,
	given meta.RESTMapper) (*openMapper, error) {
	served, err := client.NewMapper(config, http)
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: runtime.NewScheme(), Mapper: served, HTTPClient: http})
	if err != nil {
		return nil, err
	}
	return &openMapper{Mapper: served, live: live, scheme: scheme, given: given, statuses: map[schema.GroupKind]bool{}},
		nil
}

func (m *openMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return m.RESTMappingWithContext(context.Background(), kind, versions...)
}

func (m *openMapper) RESTMappingWithContext(ctx context.Context, kind schema.GroupKind,
	versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.Mapper.RESTMappingWithContext(ctx, kind, versions...)
	if !meta.IsNoMatchError(err) || len(versions) == 0 {
		return mapping, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.define(ctx, kind.WithVersion(versions[0])); err != nil {
		return nil, fmt.Errorf("serve %s: %w", kind, err)
	}
	m.Mapper.Reset()
	return m.Mapper.RESTMappingWithContext(ctx, kind, versions...)
}

// define makes the server serve a kind in the versions that the scheme contains, with a schema that accepts any fields.
func (m *openMapper) define(ctx context.Context, kind schema.GroupVersionKind) error {
	plural, singular := meta.UnsafeGuessKindToResource(kind)
	scope := "Namespaced"
	if m.given != nil {
		if mapping, err := m.given.RESTMapping(kind.GroupKind(), kind.Version); err == nil {
			plural = mapping.Resource
			if mapping.Scope.Name() == meta.RESTScopeNameRoot {
				scope = "Cluster"
			}
		}
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name":        plural.Resource + "." + kind.Group,
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, of a test"},
		},
		"spec": map[string]any{
			"group": kind.Group, "scope": scope, "versions": m.versions(kind),
			"names": map[string]any{"kind": kind.Kind, "listKind": kind.Kind + "List", "plural": plural.Resource,
				"singular": singular.Resource},
		},
	}}
	err := m.live.Create(ctx, crd)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	patch, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/spec/versions/-",
		"value": m.version(kind.GroupKind(), kind.Version, false)}})
	if err != nil {
		return err
	}
	return m.live.Patch(ctx, crd, client.RawPatch("application/json-patch+json", patch))
}

// versions returns the version of kind, which is the storage version, and the other versions in the scheme.
func (m *openMapper) versions(kind schema.GroupVersionKind) (versions []any) {
	names := []string{kind.Version}
	for known := range m.scheme.AllKnownTypes() {
		if known.GroupKind() == kind.GroupKind() && known.Version != runtime.APIVersionInternal &&
			!slices.Contains(names, known.Version) {
			names = append(names, known.Version)
		}
	}
	slices.Sort(names[1:])
	for i, name := range names {
		versions = append(versions, m.version(kind.GroupKind(), name, i == 0))
	}
	return versions
}

// version returns a version of a kind, with a schema that accepts any fields.
func (m *openMapper) version(kind schema.GroupKind, name string, stored bool) map[string]any {
	version := map[string]any{
		"name": name, "served": true, "storage": stored,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
			"x-kubernetes-preserve-unknown-fields": true}},
	}
	if m.statuses[kind] {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	return version
}
