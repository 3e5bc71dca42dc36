package client

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Reader reads objects. Implementations are safe for concurrent use.
type Reader interface {
	// Get reads the object named key into obj, which may be typed, *unstructured.Unstructured or
	// *metav1.PartialObjectMetadata (the last two with their kind set). Get replaces the whole content of obj, and sets
	// its apiVersion and kind, as List does for items. On error obj is unchanged. Get ignores the namespace in the key
	// of a cluster-scoped kind. Use apierrors.IsNotFound to test for an absent object, and meta.IsNoMatchError for a
	// kind that the server does not serve.
	Get(ctx context.Context, key object.Key, obj object.Object, opts ...GetOption) error
	// List reads the objects of one kind into list, which may be a typed list kind, *unstructured.UnstructuredList or
	// *metav1.PartialObjectMetadataList (the last two with the list kind set, such as PodList, or with the kind of the
	// items). Without [InNamespace] it lists all namespaces.
	List(ctx context.Context, list object.List, opts ...ListOption) error
}

// Writer changes objects on the API server. All methods except Delete and DeleteAllOf set obj to the server's answer,
// including resourceVersion, defaults, a generated name, apiVersion and kind. On error obj is unchanged. The namespace
// of an object of a cluster-scoped kind is ignored; in options of DeleteAllOf see there. Implementations are safe for
// concurrent use, but only one goroutine may use an obj at a time.
type Writer interface {
	// Create creates obj. With generateName, the server chooses the name.
	Create(ctx context.Context, obj object.Object, opts ...CreateOption) error
	// Update replaces the object. It fails with a conflict (apierrors.IsConflict) if obj has a resourceVersion other
	// than the current one, and with a [*MaskedError] if obj is not the whole object.
	Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error
	// Patch applies patch to the object that obj names, see [MergeFrom].
	Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error
	// Apply sets the fields that obj has set, and owns them (server-side apply). It creates the object if it does not
	// exist. A field owner is required, by [FieldOwner] or by the client. If another owner has a field with another
	// value, Apply fails with a conflict, unless [ForceOwnership] is given.
	//
	// For a typed object, Apply omits the status, metadata.creationTimestamp, managedFields and resourceVersion, nulls,
	// and the zero structs of fields that cannot be unset. For an unstructured object, it omits only managedFields.
	Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error
	// Delete deletes the object that obj names. An object with finalizers exists until they are removed.
	Delete(ctx context.Context, obj object.Object, opts ...DeleteOption) error
	// DeleteAllOf deletes the objects of the kind of obj that match the options. A namespaced kind needs [InNamespace],
	// since the API server deletes collections only within one namespace. For a cluster-scoped kind, InNamespace is
	// ignored with a warning in the log: the call deletes all objects that the other options select.
	DeleteAllOf(ctx context.Context, obj object.Object, opts ...DeleteAllOfOption) error
}

// SubResourceWriter writes a subresource of an object. [Client].Status returns the one for the status.
type SubResourceWriter interface {
	// Update replaces the subresource by that of obj, or by the body of [WithSubResourceBody].
	Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error
	// Patch applies patch to the subresource of the object that obj names.
	Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error
	// Apply applies the subresource (server-side apply). For the status it sends only the name and the status of obj;
	// for other subresources it sends obj as [Writer].Apply does.
	Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error
}

// SubResourceReader reads a subresource of objects.
type SubResourceReader interface {
	// Get reads the subresource of the object that obj names into sub.
	Get(ctx context.Context, obj, sub object.Object, opts ...GetOption) error
}

// SubResourceClient reads and writes a subresource of objects, such as scale or eviction.
type SubResourceClient interface {
	SubResourceReader
	SubResourceWriter
	// Create posts sub to the subresource of the object that obj names. Empty name and namespace of sub are set to
	// those of obj. sub is set to the answer, unless the answer is a Status of a success.
	Create(ctx context.Context, obj, sub object.Object, opts ...CreateOption) error
}

// StatusClient writes the status of objects.
type StatusClient interface {
	Status() SubResourceWriter
}

// Client reads and writes objects.
type Client interface {
	Reader
	Writer
	// Status writes the status subresource.
	Status() SubResourceWriter
	// SubResource reads and writes the named subresource.
	SubResource(name string) SubResourceClient
	// Scheme returns the mapping of Go types to kinds.
	Scheme() *runtime.Scheme
	// RESTMapper returns the mapping of kinds to resources and scopes.
	RESTMapper() meta.RESTMapper
	// GroupVersionKindFor returns the kind of obj, see [object.GVK].
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
	// IsObjectNamespaced reports whether the kind of obj is namespaced. It may send a request.
	IsObjectNamespaced(obj runtime.Object) (bool, error)
}

// WithWatch is a Client that can watch without a cache. *[REST] is one.
type WithWatch interface {
	Client
	// Watch opens a watch of the objects that a List of list with these options would return, in the Go type of its
	// items. From a list with a resourceVersion, such as one that List has filled, the watch sends all changes since
	// that version; likewise from a [NotOlderThan] other than "0". Otherwise it begins with an Added event for each
	// existing object. The watch lasts until ctx ends, the stream is closed, or the server ends it, which happens after
	// some minutes. The caller must close the stream.
	Watch(ctx context.Context, list object.List, opts ...ListOption) (Stream[object.Object], error)
}

// NewClient returns a client that reads from reader, usually a cache, and sends everything else, including
// subresources, through live. Reads with [Live] or [NotOlderThan] go to live too. If Create fails because the object
// exists, but a cache does not have it, the error includes the selector of the cache.
func NewClient(reader Reader, live Client) Client {
	return &split{Client: live, reader: reader}
}

// NewCached is [NewClient] with its own live client. If reader is a cache, its reads see the writes of the returned
// client.
func NewCached(config *rest.Config, opts Options, reader Reader) (Client, error) {
	if cache, ok := reader.(interface{ Journal() *Journal }); ok && opts.Journal == nil {
		opts.Journal = cache.Journal()
	}
	live, err := New(config, opts)
	if err != nil {
		return nil, err
	}
	return NewClient(reader, live), nil
}

// split sends Get and List to reader and everything else to the embedded client.
type split struct {
	Client
	reader Reader
}

func (s *split) Get(ctx context.Context, key object.Key, obj object.Object, opts ...GetOption) error {
	o, err := GetOptionsOf(opts...)
	if err != nil {
		return err
	}
	if o.forServer() {
		return s.Client.Get(ctx, key, obj, opts...)
	}
	return s.reader.Get(ctx, key, obj, opts...)
}

func (s *split) Create(ctx context.Context, obj object.Object, opts ...CreateOption) error {
	err := s.Client.Create(ctx, obj, opts...)
	cache, selects := s.reader.(interface{ HiddenBy(object.Object) string })
	if !selects || !apierrors.IsAlreadyExists(err) {
		return err
	}
	if why := cache.HiddenBy(obj); why != "" {
		return fmt.Errorf("%w; the cache does not have it, because %s: "+
			"change the object to match, or widen the selector in cache.Options", err, why)
	}
	return err
}

func (s *split) List(ctx context.Context, list object.List, opts ...ListOption) error {
	o, err := ListOptionsOf(opts...)
	if err != nil {
		return err
	}
	if o.forServer() {
		return s.Client.List(ctx, list, opts...)
	}
	return s.reader.List(ctx, list, opts...)
}
