package client

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RESTMapping is [Mapper.RESTMappingWithContext] with a timeout in place of a context.
func (m *Mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	return m.RESTMappingWithContext(ctx, gk, versions...)
}

// RESTMappings is [Mapper.RESTMappingsWithContext] with a timeout in place of a context.
func (m *Mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	return m.RESTMappingsWithContext(ctx, gk, versions...)
}

// KindFor is [Mapper.KindForWithContext] with a timeout in place of a context.
func (m *Mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	return m.KindForWithContext(ctx, resource)
}

// KindsFor is [Mapper.KindsForWithContext] with a timeout in place of a context.
func (m *Mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	return m.KindsForWithContext(ctx, resource)
}

// ResourceFor is [Mapper.ResourceForWithContext] with a timeout in place of a context.
func (m *Mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	return m.ResourceForWithContext(ctx, input)
}

// ResourcesFor is [Mapper.ResourcesForWithContext] with a timeout in place of a context.
func (m *Mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	return m.ResourcesForWithContext(ctx, input)
}

// ResourceSingularizer is [Mapper.ResourceSingularizerWithContext] with a timeout in place of a context.
func (m *Mapper) ResourceSingularizer(resource string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	return m.ResourceSingularizerWithContext(ctx, resource)
}

// groupVersions returns the document that tells the versions of group, which may not be loaded.
func (m *Mapper) groupVersions(group string) *lazy[apiGroup] {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.group[group]
	if l == nil {
		l = newLazy(func(ctx context.Context) (*apiGroup, error) { return m.conn.loadGroup(ctx, group) })
		m.group[group] = l
	}
	return l
}

// version returns the document of gv, which may not be loaded.
func (m *Mapper) version(gv schema.GroupVersion) *lazy[apiVersion] {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.versions[gv]
	if l == nil {
		l = newLazy(func(ctx context.Context) (*apiVersion, error) { return m.conn.loadVersion(ctx, gv) })
		m.versions[gv] = l
	}
	return l
}
