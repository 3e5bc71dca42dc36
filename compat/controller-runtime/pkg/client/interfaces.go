package client

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"

	"sigs.k8s.io/controller-runtime/pkg/cache/cacheapi"
)

// Object is an object with metadata.
type Object = cacheapi.Object

// ObjectList is a list of objects.
type ObjectList = object.List

// ObjectKey identifies an object of a kind.
type ObjectKey = object.Key

// ObjectKeyFromObject returns the key of obj.
func ObjectKeyFromObject(obj Object) ObjectKey { return object.KeyOf(obj) }

// Patch is a change to an object that one request sends.
type Patch = kclient.Patch

// Reader reads objects.
type Reader interface {
	// Get reads the object named key into obj.
	Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error
	// List reads the objects of one kind into list.
	List(ctx context.Context, list ObjectList, opts ...ListOption) error
}

// Writer writes objects. All methods except Delete and DeleteAllOf set obj to the response of the server.
type Writer interface {
	// Apply sends a server-side apply.
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error
	// Create creates obj.
	Create(ctx context.Context, obj Object, opts ...CreateOption) error
	// Delete deletes the object with the name and namespace of obj.
	Delete(ctx context.Context, obj Object, opts ...DeleteOption) error
	// Update replaces the object.
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	// Patch changes the object with the name and namespace of obj.
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	// DeleteAllOf deletes the selected objects of the kind of obj.
	DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error
}

// StatusClient writes the status of objects.
type StatusClient interface {
	// Status returns a writer of the status subresource.
	Status() SubResourceWriter
}

// SubResourceClientConstructor returns clients of subresources.
type SubResourceClientConstructor interface {
	// SubResource returns a client of the named subresource.
	SubResource(subResource string) SubResourceClient
}

// StatusWriter is the former name of [SubResourceWriter].
type StatusWriter = SubResourceWriter

// SubResourceReader reads a subresource of objects.
type SubResourceReader interface {
	// Get reads the subresource of obj into subResource.
	Get(ctx context.Context, obj Object, subResource Object, opts ...SubResourceGetOption) error
}

// SubResourceWriter writes a subresource of objects.
type SubResourceWriter interface {
	// Create posts subResource to the subresource of obj.
	Create(ctx context.Context, obj Object, subResource Object, opts ...SubResourceCreateOption) error
	// Update replaces the subresource of obj.
	Update(ctx context.Context, obj Object, opts ...SubResourceUpdateOption) error
	// Patch changes the subresource of obj.
	Patch(ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption) error
	// Apply sends a server-side apply to the subresource of obj.
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption) error
}

// SubResourceClient reads and writes a subresource of objects.
type SubResourceClient interface {
	SubResourceReader
	SubResourceWriter
}

// Client reads and writes objects.
type Client interface {
	Reader
	Writer
	StatusClient
	SubResourceClientConstructor

	// Scheme returns the scheme of the Go types.
	Scheme() *runtime.Scheme
	// RESTMapper returns the mapper from kinds to resources.
	RESTMapper() meta.RESTMapper
	// GroupVersionKindFor returns the kind of obj.
	GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error)
	// IsObjectNamespaced reports whether objects of the kind of obj have a namespace.
	IsObjectNamespaced(obj runtime.Object) (bool, error)
}

// WithWatch is a client that watches.
type WithWatch interface {
	Client
	// Watch opens a watch for the objects that List would return.
	Watch(ctx context.Context, obj ObjectList, opts ...ListOption) (watch.Interface, error)
}

// IndexerFunc returns the values of a field index for an object.
type IndexerFunc = cacheapi.IndexerFunc

// FieldIndexer adds field indexes to a cache.
type FieldIndexer = cacheapi.FieldIndexer

// IgnoreNotFound returns nil for a NotFound error and err otherwise.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IgnoreAlreadyExists returns nil for an AlreadyExists error and err otherwise.
func IgnoreAlreadyExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
