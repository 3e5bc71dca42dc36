package client

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

const (
	acceptJSON         = "application/json"
	acceptMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// resource is where a kind is served, and how.
type resource struct {
	gvk        schema.GroupVersionKind // of one object, also when a list was asked about
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

// within returns the namespace that an object of the kind is in if it is said to be in namespace: that of a cluster-scoped
// one is dropped, since programs name one where they do not know the scope.
func (r resource) within(namespace string) string {
	if !r.namespaced {
		return ""
	}
	return namespace
}

// checkScope reports an error when the objects of the kind are in namespaces, and none is named.
func (r resource) checkScope(namespace string) error {
	if r.namespaced && namespace == "" {
		return fmt.Errorf("%s is namespaced: the namespace is missing", r.gvk.Kind)
	}
	return nil
}

// checkKey reports an error when key cannot name an object of the kind.
func (r resource) checkKey(key object.Key) error {
	if err := r.checkScope(key.Namespace); err != nil {
		return err
	}
	if key.Name == "" {
		return fmt.Errorf("the name of the %s is missing", r.gvk.Kind)
	}
	return checkSegments(r.within(key.Namespace), key.Name)
}

// checkSegments reports an error when one of names would change the meaning of a URL path.
func checkSegments(names ...string) error {
	for _, name := range names {
		if problems := content.IsPathSegmentName(name); len(problems) > 0 {
			return fmt.Errorf("invalid name %q: %s", name, strings.Join(problems, ", "))
		}
	}
	return nil
}

// isMetadata reports whether o asks for metadata only.
func isMetadata(o runtime.Object) bool {
	switch o.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return true
	}
	return false
}

// accept returns the Accept header that asks for an object like o.
func accept(o runtime.Object) string {
	switch o.(type) {
	case *metav1.PartialObjectMetadata:
		return acceptMetadata
	case *metav1.PartialObjectMetadataList:
		return acceptMetadataList
	}
	return acceptJSON
}
