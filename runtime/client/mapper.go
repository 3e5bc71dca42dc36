package client

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// discoveryTimeout is the timeout of lookups without a context.
const discoveryTimeout = 30 * time.Second

// Mapper maps kinds to resources and scopes, and resources to kinds. It uses the API server's discovery documents. It
// implements meta.RESTMapper, meta.RESTMapperWithContext and meta.ResettableRESTMapper.
//
// A Mapper loads only the documents that a lookup needs: one document if the version of the kind is given, otherwise
// the documents of the group, and the list of all groups only for a resource without a group. A lookup of a missing
// kind loads the document again, at growing intervals from a quarter of a second to two seconds. So a kind is found
// soon after its CRD is created, and repeated lookups put little load on the server.
//
// A [REST] that uses the Mapper invalidates an entry in two cases: the server no longer serves its path, for example
// because the CRD was deleted, or a request does not fit the kind's scope, which a new CRD may have changed. The client
// then repeats the request if discovery returns another path.
//
// A lookup that finds nothing returns *meta.NoKindMatchError or *meta.NoResourceMatchError. Any other error means that
// the server failed, or sent no answer within two minutes. A lookup in all groups succeeds if one of the groups has a
// match, even if the documents of another group cannot be loaded.
//
// A Mapper is safe for concurrent use. The caller owns the results.
type Mapper struct {
	groups   *lazy[names]
	group    documents[string, names] // the versions of each group
	versions documents[schema.GroupVersion, apiVersion]
}

var _ meta.ResettableRESTMapper = (*Mapper)(nil)

// NewMapper returns a Mapper for the API server of config. If httpClient is nil, NewMapper creates one from config. It
// sends no request.
func NewMapper(config *rest.Config, httpClient *http.Client) (*Mapper, error) {
	c, err := newConn(config, httpClient, slog.Default())
	if err != nil {
		return nil, err
	}
	return newMapper(c), nil
}

func newMapper(c *conn) *Mapper {
	return &Mapper{
		groups: newLazy(c.loadGroups),
		group: documents[string, names]{
			load: c.loadGroup, isEmpty: func(versions *names) bool { return len(*versions) == 0 },
			all: map[string]*lazy[names]{},
		},
		versions: documents[schema.GroupVersion, apiVersion]{
			load: c.loadVersion, isEmpty: func(v *apiVersion) bool { return len(v.resources) == 0 },
			all: map[schema.GroupVersion]*lazy[apiVersion]{},
		},
	}
}

// Reset drops all documents. The next lookups load them again.
func (m *Mapper) Reset() {
	m.groups.forget()
	m.group.clear()
	m.versions.clear()
}

// RESTMappingWithContext returns the mapping of gk in the first of versions that has it. Without versions, it searches
// the versions of the group, beginning with the one that the server prefers.
func (m *Mapper) RESTMappingWithContext(ctx context.Context, gk schema.GroupKind,
	versions ...string) (*meta.RESTMapping, error) {
	found, err := m.mappings(ctx, gk, versions, true)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// RESTMappingsWithContext returns the mappings of gk in all of versions that have it, or in all versions of the group
// if versions is empty.
func (m *Mapper) RESTMappingsWithContext(ctx context.Context, gk schema.GroupKind,
	versions ...string) ([]*meta.RESTMapping, error) {
	return m.mappings(ctx, gk, versions, false)
}

// KindForWithContext returns the kind of a resource. The group and version of resource may be empty, and the name may
// be singular.
func (m *Mapper) KindForWithContext(ctx context.Context,
	resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	mapping, err := m.one(ctx, resource)
	return mapping.GroupVersionKind, err
}

// KindsForWithContext returns the kinds of all resources that match resource, whose group and version may be empty.
func (m *Mapper) KindsForWithContext(ctx context.Context,
	resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	all, err := m.matches(ctx, resource, true)
	kinds := make([]schema.GroupVersionKind, 0, len(all))
	for _, s := range all {
		kinds = append(kinds, s.mapping.GroupVersionKind)
	}
	return kinds, err
}

// ResourceForWithContext returns the complete group, version and plural name of a resource. In input, group and version
// may be empty, and the name may be singular.
func (m *Mapper) ResourceForWithContext(ctx context.Context,
	input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	mapping, err := m.one(ctx, input)
	return mapping.Resource, err
}

// ResourcesForWithContext returns all resources that match input, whose group and version may be empty.
func (m *Mapper) ResourcesForWithContext(ctx context.Context,
	input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	all, err := m.matches(ctx, input, true)
	resources := make([]schema.GroupVersionResource, 0, len(all))
	for _, s := range all {
		resources = append(resources, s.mapping.Resource)
	}
	return resources, err
}

// ResourceSingularizerWithContext returns the singular of a resource name.
func (m *Mapper) ResourceSingularizerWithContext(ctx context.Context, resource string) (string, error) {
	all, err := m.matches(ctx, schema.GroupVersionResource{Resource: resource}, false)
	if err != nil {
		return resource, err
	}
	return all[0].singular, nil
}

// mappings returns the mappings of gk in versions, or in all versions of its group. It returns at least one, or an
// error.
func (m *Mapper) mappings(ctx context.Context, gk schema.GroupKind, versions []string,
	first bool) ([]*meta.RESTMapping, error) {
	found, err := m.search(ctx, gk.Group, versions, first, func(v *apiVersion) *served { return v.kinds[gk.Kind] })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	mappings := make([]*meta.RESTMapping, 0, len(found))
	for _, s := range found {
		mapping := s.mapping
		mappings = append(mappings, &mapping)
	}
	return mappings, nil
}

// one returns the mapping that partial identifies, or an error if partial is ambiguous.
func (m *Mapper) one(ctx context.Context, partial schema.GroupVersionResource) (meta.RESTMapping, error) {
	found, err := m.matches(ctx, partial, false)
	if err != nil {
		return meta.RESTMapping{}, err
	}
	if len(found) > 1 {
		ambiguous := &meta.AmbiguousResourceError{PartialResource: partial}
		for _, s := range found {
			ambiguous.MatchingResources = append(ambiguous.MatchingResources, s.mapping.Resource)
			ambiguous.MatchingKinds = append(ambiguous.MatchingKinds, s.mapping.GroupVersionKind)
		}
		return meta.RESTMapping{}, ambiguous
	}
	return found[0].mapping, nil
}

// matches returns the resources that match partial: at least one, or an error. Unless all is set, it stops at the first
// version of each group, and does not search other groups if the core group has a match.
func (m *Mapper) matches(ctx context.Context, partial schema.GroupVersionResource, all bool) ([]*served, error) {
	var versions []string
	if partial.Version != "" {
		versions = []string{partial.Version}
	}
	in := func(group string) ([]*served, error) {
		return m.search(ctx, group, versions, !all, func(v *apiVersion) *served { return v.resources[partial.Resource] })
	}
	found, err := in(partial.Group)
	if partial.Group == "" && (all || len(found) == 0) {
		more, errGroups := searchIn(ctx, m.groups, func(groups names) (found []*served, err error) {
			for _, group := range groups {
				more, failure := in(group)
				found, err = append(found, more...), errors.Join(err, failure)
			}
			return found, err
		})
		found, err = append(found, more...), errors.Join(err, errGroups)
	}
	switch {
	case len(found) > 0:
		return found, nil
	case err != nil:
		return nil, err
	}
	return nil, &meta.NoResourceMatchError{PartialResource: partial}
}

// searchIn returns the results of search for the names in a document. If there are none, it loads the document again,
// and repeats the search if the names have changed.
func searchIn(ctx context.Context, document *lazy[names],
	search func(names) ([]*served, error)) ([]*served, error) {
	var searched names
	for {
		current, changed, err := lookup(ctx, document, func(n *names) (names, bool) {
			return *n, !slices.Equal(*n, searched)
		})
		if err != nil || !changed {
			return nil, err
		}
		found, err := search(current)
		if err != nil || len(found) > 0 {
			return found, err
		}
		searched = current
	}
}

// search returns the results of find in the given versions of group. Without versions, it searches all versions of the
// group, the preferred version first. If first is set, it stops at the first result.
func (m *Mapper) search(ctx context.Context, group string, versions []string, first bool,
	find func(*apiVersion) *served) ([]*served, error) {
	versions = slices.DeleteFunc(slices.Clone(versions), func(v string) bool {
		return v == "" || v == runtime.APIVersionInternal // no server serves apimachinery's internal version
	})
	if len(versions) > 0 {
		return m.searchVersions(ctx, group, versions, first, find)
	}
	return searchIn(ctx, m.group.of(group), func(current names) ([]*served, error) {
		return m.searchVersions(ctx, group, current, first, find)
	})
}

func (m *Mapper) searchVersions(ctx context.Context, group string, versions []string, first bool,
	find func(*apiVersion) *served) ([]*served, error) {
	var found []*served
	for _, version := range versions {
		l := m.versions.of(schema.GroupVersion{Group: group, Version: version})
		s, ok, err := lookup(ctx, l, func(v *apiVersion) (*served, bool) {
			s := find(v)
			return s, s != nil
		})
		switch {
		case err != nil:
			return nil, err
		case ok && first:
			return []*served{s}, nil
		case ok:
			found = append(found, s)
		}
	}
	return found, nil
}

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
	return withTimeout(m.KindForWithContext, resource)
}

// KindsFor is [Mapper.KindsForWithContext] with a timeout in place of a context.
func (m *Mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return withTimeout(m.KindsForWithContext, resource)
}

// ResourceFor is [Mapper.ResourceForWithContext] with a timeout in place of a context.
func (m *Mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return withTimeout(m.ResourceForWithContext, input)
}

// ResourcesFor is [Mapper.ResourcesForWithContext] with a timeout in place of a context.
func (m *Mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return withTimeout(m.ResourcesForWithContext, input)
}

// ResourceSingularizer is [Mapper.ResourceSingularizerWithContext] with a timeout in place of a context.
func (m *Mapper) ResourceSingularizer(resource string) (string, error) {
	return withTimeout(m.ResourceSingularizerWithContext, resource)
}

// withTimeout calls call with a context that ends after discoveryTimeout.
func withTimeout[In, Out any](call func(context.Context, In) (Out, error), input In) (Out, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	return call(ctx, input)
}
