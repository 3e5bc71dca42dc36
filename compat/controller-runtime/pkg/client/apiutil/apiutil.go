// Package apiutil has helpers for kinds, resources and REST clients.
package apiutil

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
)

// NewDynamicRESTMapper returns a mapper that discovers kinds on first use, and again for unknown kinds.
func NewDynamicRESTMapper(cfg *rest.Config, httpClient *http.Client) (meta.RESTMapper, error) {
	if httpClient == nil {
		return nil, errors.New("httpClient must not be nil, consider using rest.HTTPClientFor(c) to create a client")
	}
	return kclient.NewMapper(cfg, httpClient)
}

// ErrResourceDiscoveryFailed has the error of each group version whose discovery failed.
type ErrResourceDiscoveryFailed map[schema.GroupVersion]error

// Error lists the errors, sorted by their text.
func (e *ErrResourceDiscoveryFailed) Error() string {
	var all []string
	for gv, err := range *e {
		all = append(all, fmt.Sprintf("%s: %v", gv, err))
	}
	slices.Sort(all)
	return "unable to retrieve the complete list of server APIs: " + strings.Join(all, ", ")
}

// Unwrap returns the errors. A missing group version is a meta.NoResourceMatchError.
func (e *ErrResourceDiscoveryFailed) Unwrap() []error {
	var all []error
	for gv, err := range *e {
		if apierrors.IsNotFound(err) {
			err = &meta.NoResourceMatchError{PartialResource: gv.WithResource("")}
		}
		all = append(all, err)
	}
	return all
}

// protobufKinds are the kinds whose Go types have a protobuf form.
var protobufKinds = struct {
	sync.RWMutex
	scheme *runtime.Scheme
}{scheme: builtins()}

func builtins() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return scheme
}

// AddToProtobufScheme adds kinds that [RESTClientForGVK] reads as protobuf.
func AddToProtobufScheme(addToScheme func(*runtime.Scheme) error) error {
	protobufKinds.Lock()
	defer protobufKinds.Unlock()
	return addToScheme(protobufKinds.scheme)
}

// IsObjectNamespaced reports whether objects of the kind of obj have a namespace.
func IsObjectNamespaced(obj runtime.Object, scheme *runtime.Scheme, restmapper meta.RESTMapper) (bool, error) {
	gvk, err := GVKForObject(obj, scheme)
	if err != nil {
		return false, err
	}
	if meta.IsListType(obj) {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	return IsGVKNamespaced(gvk, restmapper)
}

// IsGVKNamespaced reports whether objects of a kind have a namespace.
func IsGVKNamespaced(gvk schema.GroupVersionKind, restmapper meta.RESTMapper) (bool, error) {
	mapping, err := restmapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, fmt.Errorf("failed to get restmapping: %w", err)
	}
	scope := mapping.Scope.Name()
	if scope == "" {
		return false, errors.New("scope cannot be identified, empty scope returned")
	}
	return scope != meta.RESTScopeNameRoot, nil
}

// GVKForObject returns the kind of obj: the kind that is set in metadata-only objects, and otherwise the kind of its Go
// type in scheme.
func GVKForObject(obj runtime.Object, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	var none schema.GroupVersionKind
	switch obj.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		gvk := obj.GetObjectKind().GroupVersionKind()
		if gvk.Kind == "" {
			return none, runtime.NewMissingKindErr("unstructured object has no kind")
		}
		if gvk.Version == "" {
			return none, runtime.NewMissingVersionErr("unstructured object has no version")
		}
		return gvk, nil
	}
	gvks, isUnversioned, err := scheme.ObjectKinds(obj)
	switch {
	case err != nil:
		return none, err
	case isUnversioned:
		return none, fmt.Errorf("cannot create group-version-kind for unversioned type %T", obj)
	case len(gvks) == 0:
		return none, fmt.Errorf("no GroupVersionKind associated with Go type %T, "+
			"was the type registered with the Scheme?", obj)
	case len(gvks) == 1:
		return gvks[0], nil
	}
	set := obj.GetObjectKind().GroupVersionKind()
	if slices.Contains(gvks, set) {
		return set, nil
	}
	several := fmt.Errorf("multiple GroupVersionKinds associated with Go type %T within the Scheme: %q", obj, gvks)
	if set.Empty() {
		return none, fmt.Errorf("%w; register the type once, or set the kind of the object", several)
	}
	return none, fmt.Errorf("%w; the object's supplied GroupVersionKind %q is not among them", several, set)
}

// RESTClientForGVK returns a client-go client for the group version of a kind.
func RESTClientForGVK(
	gvk schema.GroupVersionKind, forceDisableProtoBuf bool, isUnstructured bool,
	baseConfig *rest.Config, codecs serializer.CodecFactory, httpClient *http.Client,
) (rest.Interface, error) {
	if httpClient == nil {
		return nil, errors.New("httpClient must not be nil, consider using rest.HTTPClientFor(c) to create a client")
	}
	config := rest.CopyConfig(baseConfig)
	config.GroupVersion, config.APIPath = new(gvk.GroupVersion()), "/apis"
	if gvk.Group == "" {
		config.APIPath = "/api"
	}
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if config.ContentType == "" && !forceDisableProtoBuf && hasProtobuf(gvk) {
		config.ContentType = runtime.ContentTypeProtobuf
	}
	if isUnstructured {
		config = dynamic.ConfigFor(config)
	} else {
		config.NegotiatedSerializer = zeroing{serializer.WithoutConversionCodecFactory{CodecFactory: codecs}}
	}
	return rest.RESTClientForConfigAndClient(config, httpClient)
}

func hasProtobuf(gvk schema.GroupVersionKind) bool {
	protobufKinds.RLock()
	defer protobufKinds.RUnlock()
	return protobufKinds.scheme.Recognizes(gvk)
}

// zeroing returns decoders that first clear the object into which they decode, so that no field keeps an old value.
type zeroing struct{ runtime.NegotiatedSerializer }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (z zeroing) DecoderToVersion(d runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	return zeroingDecoder{z.NegotiatedSerializer.DecoderToVersion(d, gv)}
}

type zeroingDecoder struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (z zeroingDecoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if into != nil {
		reflect.ValueOf(into).Elem().SetZero()
	}
	return z.Decoder.Decode(data, defaults, into)
}
