// Package client is a stub.
package client

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

type Object interface {
	metav1.Object
	runtime.Object
}

type ObjectList interface{ runtime.Object }

type ObjectKey = types.NamespacedName

type (
	GetOption    interface{ ApplyToGet() }
	ListOption   interface{ ApplyToList() }
	CreateOption interface{ ApplyToCreate() }
	UpdateOption interface{ ApplyToUpdate() }
	PatchOption  interface{ ApplyToPatch() }
	ApplyOption  interface{ ApplyToApply() }
	DeleteOption interface{ ApplyToDelete() }
)

type Patch interface{ Type() string }

type Reader interface {
	Get(ctx context.Context, key ObjectKey, obj Object, opts ...GetOption) error
	List(ctx context.Context, list ObjectList, opts ...ListOption) error
}

type Writer interface {
	Create(ctx context.Context, obj Object, opts ...CreateOption) error
	Delete(ctx context.Context, obj Object, opts ...DeleteOption) error
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	Apply(ctx context.Context, obj Object, opts ...ApplyOption) error
}

type SubResourceWriter interface {
	Update(ctx context.Context, obj Object, opts ...UpdateOption) error
	Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error
	Apply(ctx context.Context, obj Object, opts ...ApplyOption) error
}

type Client interface {
	Reader
	Writer
	Status() SubResourceWriter
	Scheme() *runtime.Scheme
}

type Preconditions struct {
	UID             *types.UID
	ResourceVersion *string
}

func (Preconditions) ApplyToDelete() {}

type InNamespace string

func (InNamespace) ApplyToList() {}

type MatchingLabels map[string]string

func (MatchingLabels) ApplyToList() {}

type Limit int64

func (Limit) ApplyToList() {}

type FieldOwner string

func (FieldOwner) ApplyToPatch() {}
func (FieldOwner) ApplyToApply() {}

func MergeFrom(obj Object) Patch { return nil }

func IgnoreNotFound(err error) error { return err }

type SharedRead bool

func (SharedRead) ApplyToGet()  {}
func (SharedRead) ApplyToList() {}

const UnsafeDisableDeepCopy SharedRead = true

type LiveRead struct{}

func (LiveRead) ApplyToGet()  {}
func (LiveRead) ApplyToList() {}

var Live LiveRead

// REST reads directly from the API server.
type REST struct{ Client }

func (r *REST) List(ctx context.Context, list ObjectList, opts ...ListOption) error { return nil }
