// Package cache has the signatures of controller-runtime's.
package cache

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type Cache interface{ Informers() }

type ObjectSelector struct {
	Label labels.Selector
	Field fields.Selector
}

type SelectorsByObject map[client.Object]ObjectSelector

type Options struct {
	Namespace         string
	SelectorsByObject SelectorsByObject
	DefaultSelector   ObjectSelector
}

type NewCacheFunc func(config *rest.Config, opts Options) (Cache, error)

func New(config *rest.Config, opts Options) (Cache, error) { return nil, nil }

func BuilderWithOptions(options Options) NewCacheFunc { return nil }

func MultiNamespacedCacheBuilder(namespaces []string) NewCacheFunc { return nil }
