package cache

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type Options struct {
	SyncPeriod        *time.Duration
	ByObject          map[client.Object]ByObject
	DefaultNamespaces map[string]Config
	Scheme            *runtime.Scheme
}

type NewCacheFunc func(config *rest.Config, opts Options) (Cache, error)

const AllNamespaces = ""

func New(config *rest.Config, opts Options) (Cache, error) { return nil, nil }

type ByObject struct {
	Namespaces map[string]Config
	Label      labels.Selector
	Field      fields.Selector
	Transform  toolscache.TransformFunc
}

func TransformStripManagedFields() toolscache.TransformFunc { return nil }

type Config struct {
	LabelSelector labels.Selector
	FieldSelector fields.Selector
}

type Cache interface {
	client.Reader
	Informers
	Start(ctx context.Context) error
}

type Informers interface {
	GetInformer(ctx context.Context, obj client.Object, opts ...InformerGetOption) (Informer, error)
	GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...InformerGetOption) (Informer, error)
	RemoveInformer(ctx context.Context, obj client.Object) error
	WaitForCacheSync(ctx context.Context) bool
}

type Informer interface {
	AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error)
}

type InformerGetOption func(*bool)

func BlockUntilSynced(shouldBlock bool) InformerGetOption { return nil }

type ErrCacheNotStarted struct{}

func (*ErrCacheNotStarted) Error() string { return "" }
