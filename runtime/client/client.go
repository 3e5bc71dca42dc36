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
	// *metav1.PartialObjectMetadata (the caller must set the kind of the last two). Get replaces the whole content of obj,
	// including its apiVersion and kind. On error obj is unchanged. For a cluster-scoped kind, Get ignores the namespace
	// in key. Test the error with apierrors.IsNotFound for an absent object, and with meta.IsNoMatchError for a kind that
	// the server does not serve.
	Get(ctx context.Context, key object.Key, obj object.Object, opts ...GetOption) error
	// List reads the objects of one kind into list, which may be a typed list kind, *unstructured.UnstructuredList or
	// *metav1.PartialObjectMetadataList (the caller must set the kind of the last two to the list kind, such as PodList,
	// or to the kind of the items). Each item has apiVersion and kind set. Without [InNamespace], List reads all
	// namespaces.
	List(ctx context.Context, list object.List, opts ...ListOption) error
}

// Writer changes objects on the API server. All methods except Delete and DeleteAllOf set obj to the server's answer,
// including resourceVersion, defaults, a generated name, apiVersion and kind. On error obj is unchanged. For an object
// of a cluster-scoped kind, the namespace is ignored. Implementations are safe for concurrent use, but only one
// goroutine may use an obj at a time.
type Writer interface {
	// Create creates obj. If obj has a generateName instead of a name, the server chooses the name.
	Create(ctx context.Context, obj object.Object, opts ...CreateOption) error
	// Update replaces the object. It fails with a conflict (apierrors.IsConflict) if obj has a resourceVersion other than
	// the current one, and with a [*MaskedError] if obj was read from a cache with only some of its fields.
	Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error
	// Patch applies patch to the object with the name and namespace of obj, see [MergeFrom].
	Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error
	// Apply sets the fields that are set in obj, and makes the field owner their owner (server-side apply). It creates the
	// object if it does not exist. The field owner comes from the option [FieldOwner] or from the client; without one,
	// Apply fails. If a field has another owner and another value, Apply fails with a conflict, unless the option
	// [ForceOwnership] is given.
	//
	// From a typed object, Apply does not send the status, metadata.creationTimestamp, managedFields and resourceVersion,
	// null values, and zero structs in fields that cannot be unset. From an unstructured object, it omits only
	// managedFields.
	Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error
	// Delete deletes the object with the name and namespace of obj. An object with finalizers continues to exist until its
	// finalizers are removed.
	Delete(ctx context.Context, obj object.Object, opts ...DeleteOption) error
	// DeleteAllOf deletes the objects of the kind of obj that match the options. A namespaced kind requires [InNamespace],
	// because the API server deletes collections only within one namespace. For a cluster-scoped kind, DeleteAllOf ignores
	// InNamespace and logs a warning: it deletes all objects that the other options select.
	DeleteAllOf(ctx context.Context, obj object.Object, opts ...DeleteAllOfOption) error
}

// SubResourceWriter writes one subresource of objects. [Client].Status returns the writer of the status.
type SubResourceWriter interface {
	// Update replaces the subresource with the subresource of obj, or with the body of [WithSubResourceBody].
	Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error
	// Patch applies patch to the subresource of the object with the name and namespace of obj. It sets obj, or the body of
	// [WithSubResourceBody], to the server's answer. Without a body, obj is unchanged if the answer has another kind, such
	// as Scale.
	Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error
	// Apply applies the subresource (server-side apply). For the status it sends only the name and the status of obj;
	// for other subresources it sends obj as [Writer].Apply does.
	Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error
}

// SubResourceReader reads a subresource of objects.
type SubResourceReader interface {
	// Get reads the subresource of the object with the name and namespace of obj into sub.
	Get(ctx context.Context, obj, sub object.Object, opts ...GetOption) error
}

// SubResourceClient reads and writes a subresource of objects, such as scale or eviction.
type SubResourceClient interface {
	SubResourceReader
	SubResourceWriter
	// Create posts sub to the subresource of the object with the name and namespace of obj. If sub has no name or
	// namespace, Create copies it from obj. It sets sub to the server's answer, unless the answer is a Status with status
	// Success.
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
	// Status returns a writer of the status subresource.
	Status() SubResourceWriter
	// SubResource returns a client of the named subresource.
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
	// Watch opens a watch of the objects that List would return for list and opts. Events have objects of the Go type of
	// the items. If list has a resourceVersion, for example because List has filled it, the watch sends all changes since
	// that version. The same is true for a [NotOlderThan] other than "0". Otherwise, the watch begins with an Added event
	// for each existing object. The watch ends when ctx ends, when the stream is closed, or when the server ends it, which
	// servers do after some minutes. The caller must close the stream.
	Watch(ctx context.Context, list object.List, opts ...ListOption) (Stream[object.Object], error)
}

// NewClient returns a client that reads from reader, usually a cache, and uses live for all other calls, including
// those for subresources. Reads with the option [Live] or [NotOlderThan] also use live. If Create fails because the
// object exists, and a selector of the cache excludes that object, the error contains the selector.
func NewClient(reader Reader, live Client) Client {
	return &split{Client: live, reader: reader}
}

// NewCached returns [NewClient] for reader and a new live client with config and opts. If reader is a cache, its reads
// see the writes of the returned client.
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

// split sends Get and List to reader, and all other calls to the embedded client.
type split struct {
	Client
	reader Reader
}

func (s *split) Get(ctx context.Context, key object.Key, obj object.Object, opts ...GetOption) error {
	o, err := GetOptionsOf(opts...)
	if err != nil {
		return err
	}
	if o.Live || o.NotOlderThan != "" {
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
	if o.Live || o.NotOlderThan != "" {
		return s.Client.List(ctx, list, opts...)
	}
	return s.reader.List(ctx, list, opts...)
}
