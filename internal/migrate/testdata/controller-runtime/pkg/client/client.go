package client

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

type Object interface {
	metav1.Object
	runtime.Object
}

type ObjectList interface {
	metav1.ListInterface
	runtime.Object
}

type ObjectKey = types.NamespacedName

func ObjectKeyFromObject(o Object) ObjectKey { return ObjectKey{} }

type (
	GetOption    interface{ ApplyToGet() }
	ListOption   interface{ ApplyToList() }
	CreateOption interface{ ApplyToCreate() }
	UpdateOption interface{ ApplyToUpdate() }
	PatchOption  interface{ ApplyToPatch() }
	DeleteOption interface{ ApplyToDelete() }
	ApplyOption  interface{ ApplyToApply() }

	DeleteAllOfOption interface{ ApplyToDeleteAllOf() }

	SubResourceApplyOption  interface{ ApplyToSubResourceApply() }
	SubResourceUpdateOption interface{ ApplyToSubResourceUpdate() }
)

type Reader interface {
	Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error
	List(ctx context.Context, list ObjectList, opts ...ListOption) error
}

type StatusWriter interface {
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption) error
}

type Client interface {
	Reader
	Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error
	Create(ctx context.Context, obj Object, opts ...CreateOption) error
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	Delete(ctx context.Context, obj Object, opts ...DeleteOption) error
	Status() StatusWriter
	Scheme() *runtime.Scheme
}

type WithWatch interface {
	Client
	Watch(ctx context.Context, obj ObjectList, opts ...ListOption) (watch.Interface, error)
}

type Patch interface {
	Type() types.PatchType
	Data(obj Object) ([]byte, error)
}

var Apply, Merge Patch

func MergeFrom(o Object) Patch { return nil }

type MergeFromOption interface{ ApplyToMergeFrom() }

type MergeFromWithOptimisticLock struct{}

func (MergeFromWithOptimisticLock) ApplyToMergeFrom() {}

func MergeFromWithOptions(o Object, opts ...MergeFromOption) Patch { return nil }

type FieldOwner string

func (FieldOwner) ApplyToPatch() {}

func (FieldOwner) ApplyToApply() {}

func (FieldOwner) ApplyToSubResourceApply() {}

type InNamespace string

func (InNamespace) ApplyToList() {}

type ListOptions struct {
	Namespace     string
	LabelSelector labels.Selector
}

func (*ListOptions) ApplyToList() {}

type DeleteOptions struct{ PropagationPolicy *metav1.DeletionPropagation }

func (*DeleteOptions) ApplyToDelete() {}

type PatchOptions struct {
	Force        *bool
	FieldManager string
}

func (*PatchOptions) ApplyToPatch() {}

type IndexerFunc func(Object) []string

type FieldIndexer interface {
	IndexField(ctx context.Context, obj Object, field string, extract IndexerFunc) error
}

type Options struct {
	Scheme *runtime.Scheme
	Cache  *CacheOptions
}

type CacheOptions struct {
	DisableFor []Object
	Reader     Reader
}

func NewDryRunClient(c Client) Client { return c }

func New(config *rest.Config, options Options) (Client, error) { return nil, nil }

func IgnoreNotFound(err error) error { return err }

// ApplyConfigurationFromUnstructured is what Apply takes of an object.
func ApplyConfigurationFromUnstructured(u *unstructured.Unstructured) runtime.ApplyConfiguration {
	return nil
}
