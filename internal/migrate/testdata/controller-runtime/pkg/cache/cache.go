package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type Options struct {
	SyncPeriod *time.Duration
	ByObject   map[client.Object]ByObject
}

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

type Cache interface{ client.Reader }
