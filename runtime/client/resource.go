package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/apimachinery"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	acceptJSON         = "application/json"
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// resource is the resource under which a server serves a kind, and its scope.
type resource struct {
	gvk        schema.GroupVersionKind // kind of one object, even in requests for lists
	gvr        schema.GroupVersionResource
	namespaced bool
}

// versionPath is the URL path of a group version.
func versionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

// within returns namespace, or the empty string for a cluster-scoped kind: programs that do not know the scope of a
// kind set a namespace.
func (r resource) within(namespace string) string {
	if !r.namespaced {
		return ""
	}
	return namespace
}

// scopeError reports a request that contradicts the scope of its kind.
type scopeError struct {
	text string
	// surplus means that the request for a cluster-scoped kind has a namespace.
	surplus bool
}

func (e *scopeError) Error() string { return e.text }

// checkScope returns a scopeError for a namespaced kind without a namespace.
func (r resource) checkScope(namespace string) error {
	if r.namespaced && namespace == "" {
		return &scopeError{text: r.gvk.Kind + " is namespaced: the namespace is missing"}
	}
	return nil
}

// checkSurplus returns a scopeError for a cluster-scoped kind with a namespace.
func (r resource) checkSurplus(namespace string) error {
	if !r.namespaced && namespace != "" {
		text := fmt.Sprintf("%s is cluster-scoped: it cannot be in namespace %q", r.gvk.Kind, namespace)
		return &scopeError{text: text, surplus: true}
	}
	return nil
}

// ignoreSurplus returns nil for an error of checkSurplus, and err otherwise. It is for requests that ignore the
// namespace.
func ignoreSurplus(err error) error {
	if scope, ok := errors.AsType[*scopeError](err); ok && scope.surplus {
		return nil
	}
	return err
}

// checkKey returns an error if key cannot be the key of an object of the kind.
func (r resource) checkKey(key object.Key) error {
	if err := r.checkScope(key.Namespace); err != nil {
		return err
	}
	if key.Name == "" {
		return fmt.Errorf("the name of the %s is missing", r.gvk.Kind)
	}
	return checkSegments(r.within(key.Namespace), key.Name)
}

// checkSegments returns an error if a name would change the structure of a URL path.
func checkSegments(names ...string) error {
	for _, name := range names {
		if problems := apimachinery.IsPathSegmentName(name); len(problems) > 0 {
			return fmt.Errorf("invalid name %q: %s", name, strings.Join(problems, ", "))
		}
	}
	return nil
}

// isMetadata reports whether o is a metadata-only object or list.
func isMetadata(o runtime.Object) bool { return accept(o) != acceptJSON }

// accept returns the Accept header for objects of o's form.
func accept(o runtime.Object) string {
	switch o.(type) {
	case *metav1.PartialObjectMetadata:
		return acceptMetadata
	case *metav1.PartialObjectMetadataList:
		return acceptMetadataList
	}
	return acceptJSON
}

// GroupVersionKindFor returns the kind of obj, see [object.GVK].
func (c *REST) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return object.GVK(obj, c.scheme)
}

// IsObjectNamespaced reports whether the kind of obj, which may be a list, is namespaced. It may send a request.
func (c *REST) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return IsObjectNamespaced(obj, c.scheme, c.mapper)
}

// IsObjectNamespaced reports whether the kind of obj, or of its items, is namespaced.
func IsObjectNamespaced(obj runtime.Object, scheme *runtime.Scheme, mapper meta.RESTMapper) (bool, error) {
	gvk, err := object.GVK(obj, scheme)
	if err != nil {
		return false, err
	}
	if meta.IsListType(obj) {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, listSuffix)
	}
	return IsGVKNamespaced(gvk, mapper)
}

// IsGVKNamespaced reports whether a kind is namespaced.
func IsGVKNamespaced(gvk schema.GroupVersionKind, mapper meta.RESTMapper) (bool, error) {
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// listSuffix follows the kind of the items in the kind of a list.
const listSuffix = "List"

// itemKind returns the kind of the items of list. An unstructured list may have that kind set itself.
func itemKind(list runtime.Object, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	gvk, err := object.GVK(list, scheme)
	if err != nil {
		return gvk, err
	}
	kind, isList := strings.CutSuffix(gvk.Kind, listSuffix)
	_, isUntyped := list.(runtime.Unstructured)
	if kind == "" || !isList && !isUntyped && !isMetadata(list) {
		return gvk, fmt.Errorf("%s is no list kind: %w", gvk.Kind, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(),
			SearchedVersions: []string{gvk.Version}})
	}
	return gvk.GroupVersion().WithKind(kind), nil
}

// requestFor returns a request for the object with that key and the kind of obj. It fails if the kind has no such keys.
func (c *REST) requestFor(ctx context.Context, verb, method string, key object.Key,
	obj object.Object) (*request, error) {
	gvk, err := object.GVK(obj, c.scheme)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, key, err)
	}
	res, err := c.locate(ctx, gvk, func(res resource) error { return res.checkKey(key) })
	if err != nil {
		return nil, fmt.Errorf("%s %s %s: %w", verb, gvk.Kind, keyText(key), err)
	}
	return &request{verb: verb, method: method, resource: res, wanted: key.Namespace, name: key.Name}, nil
}

// keyText returns key for errors.
func keyText(key object.Key) string { return strings.Trim(key.String(), "/") }

// resourceOfKind returns the resource of gvk.
func (c *REST) resourceOfKind(ctx context.Context, gvk schema.GroupVersionKind) (resource, error) {
	mapping, err := apimachinery.RESTMapping(ctx, c.mapper, gvk.GroupKind(), gvk.Version)
	if err != nil {
		return resource{}, err
	}
	return resource{
		gvk:        gvk,
		gvr:        mapping.Resource,
		namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}, nil
}

// locate returns the resource of gvk, and the error of check for it. If check fails, a new CRD may have changed the
// scope, so locate reads the discovery document again, unless it was loaded in the last seconds.
func (c *REST) locate(ctx context.Context, gvk schema.GroupVersionKind, check func(resource) error) (resource, error) {
	res, err := c.resourceOfKind(ctx, gvk)
	if err != nil {
		return res, err
	}
	err = check(res)
	if _, ok := errors.AsType[*scopeError](err); !ok {
		return res, err
	}
	if m, ok := c.mapper.(*Mapper); !ok || !m.versions.of(gvk.GroupVersion()).expire(ctx) {
		return res, err
	}
	if res, err = c.resourceOfKind(ctx, gvk); err != nil {
		return res, err
	}
	return res, check(res)
}

// serves returns a function that reports whether gv has a kind. It is needed because the kind of a list must not be the
// name of another kind, see [wire.Asked].
func (c *REST) serves(gv schema.GroupVersion) func(kind string) (bool, error) {
	return func(kind string) (bool, error) {
		_, err := c.mapper.RESTMapping(gv.WithKind(kind).GroupKind(), gv.Version)
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return err == nil, err
	}
}

// learn makes the mapper load the document of r's resource again if err means that the server does not serve the path
// of r. It reports whether the mapper loads the document again.
func (c *REST) learn(r *request, err error) bool {
	m, ok := c.mapper.(*Mapper)
	if !ok || !isMissingPath(err) {
		return false
	}
	m.versions.of(r.resource.gvr.GroupVersion()).forget()
	return true
}

// relocate changes r to the path under which its kind is served now. It reports false if that path is unchanged, or if
// the kind is not served. It fails if r contradicts the kind's current scope.
func (c *REST) relocate(ctx context.Context, r *request) (moved bool, err error) {
	res, err := c.resourceOfKind(ctx, r.resource.gvk)
	if err != nil || res == r.resource {
		return false, nil
	}
	if r.verb != "list" {
		if err := res.checkScope(r.wanted); err != nil {
			return false, fmt.Errorf("%s: %w", r, err)
		}
	}
	r.resource = res
	return true, nil
}
