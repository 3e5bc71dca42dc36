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
	// *metav1.PartialObjectMetadata (the last two with their kind set). Nothing that obj held before is left in it;
	// on an error obj is untouched. It has its apiVersion and kind set, as items of lists do. The namespace in the key of a
	// cluster-scoped kind is dropped. apierrors.IsNotFound tells that there is no such object, meta.IsNoMatchError
	// that the server does not know the kind.
	Get(ctx context.Context, key object.Key, obj object.Object, opts ...GetOption) error
	// List reads the objects of one kind into list, which may be a typed list kind, *unstructured.UnstructuredList or
	// *metav1.PartialObjectMetadataList (the last two with the list kind set, such as PodList, or with that of the items).
	// Without [InNamespace] it lists all namespaces.
	List(ctx context.Context, list object.List, opts ...ListOption) error
}

// Writer changes objects on the API server. Every method but Delete and DeleteAllOf sets obj to what the server
// answered, so that its resourceVersion, its defaults and its generated name are there, and its apiVersion and kind; on an
// error obj is untouched. The namespace of an object of a cluster-scoped kind is dropped, but one that DeleteAllOf is told is
// an error: it would delete more than was asked for.
// Implementations are safe for concurrent use, each obj by one goroutine at a time.
type Writer interface {
	// Create creates obj, whose name may be left to the server with generateName.
	Create(ctx context.Context, obj object.Object, opts ...CreateOption) error
	// Update replaces the object. It fails with a conflict (apierrors.IsConflict) when obj has a resourceVersion that
	// is not the current one, and with a [*MaskedError] when obj is not the whole object.
	Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error
	// Patch changes the object that obj names by patch, see [MergeFrom].
	Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error
	// Apply makes the fields that obj has set be what obj says, and owns them (server-side apply); it creates the
	// object when there is none. A field owner is required, by [FieldOwner] or by the client. A field that another
	// owner holds with another value is a conflict, unless [ForceOwnership] is given.
	//
	// Of a typed object the status and metadata.creationTimestamp, managedFields and resourceVersion are left out, as
	// are nulls and the zero structs of fields that cannot be unset. Of an unstructured one only managedFields are.
	Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error
	// Delete deletes the object that obj names. An object with finalizers goes on to exist until they are removed.
	Delete(ctx context.Context, obj object.Object, opts ...DeleteOption) error
	// DeleteAllOf deletes the objects of the kind of obj that match the options. A namespaced kind needs
	// [InNamespace]: the API server deletes collections in one namespace only. Of a cluster-scoped one InNamespace is dropped,
	// with a warning in the log: it deletes all that the other options select.
	DeleteAllOf(ctx context.Context, obj object.Object, opts ...DeleteAllOfOption) error
}

// SubResourceWriter writes a subresource of an object: for [Client].Status, its status.
type SubResourceWriter interface {
	// Update replaces the subresource by that of obj, or by the body of [WithSubResourceBody].
	Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error
	// Patch changes the subresource of the object that obj names by patch.
	Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error
	// Apply is server-side apply to the subresource. For the status it sends the name and the status of obj and
	// nothing else; for another subresource it sends obj as [Writer].Apply would.
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
	// Create posts sub to the subresource of the object that obj names, whose name and namespace it gets if it has none. sub
	// is set to the answer, unless the server answers with a bare success.
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
	// Scheme is what tells the kinds of typed objects.
	Scheme() *runtime.Scheme
	// RESTMapper tells resources and scopes of kinds.
	RESTMapper() meta.RESTMapper
	// GroupVersionKindFor returns the kind of obj, see [object.GVK].
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
	// IsObjectNamespaced reports whether the objects of the kind of obj are in namespaces. It may ask the server.
	IsObjectNamespaced(obj runtime.Object) (bool, error)
}

// WithWatch is a Client that watches without a cache. *[REST] is one.
type WithWatch interface {
	Client
	// Watch opens a watch of the objects that a List of list with these options would return, as the Go type of its
	// items. A list with a resourceVersion, such as one that List has filled, is followed: its changes come and nothing
	// is missed; so it is from a [NotOlderThan] other than "0". Otherwise the watch begins with an Added event for each object
	// that exists. It lasts until ctx ends, the server ends it, which it does after some minutes, or the stream is closed, which
	// is for the caller to do.
	Watch(ctx context.Context, list object.List, opts ...ListOption) (Stream[object.Object], error)
}

// NewClient returns a client that reads from reader, usually a cache, and does all else, subresources included, through
// live. Reads with [Live] or [NotOlderThan] go to live too: they ask the server, not for what is at hand. When an
// object cannot be created because it exists, and a cache does not have it, the error names the selector of the cache.
func NewClient(reader Reader, live Client) Client {
	return &split{Client: live, reader: reader}
}

// NewCached is [NewClient] with a client of its own for all but the reads. The reads of reader, if that is a cache, see its writes.
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

// split takes Get and List from reader and the rest from the embedded client.
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
