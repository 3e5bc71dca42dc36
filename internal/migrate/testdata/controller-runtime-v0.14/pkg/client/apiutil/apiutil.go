// Package apiutil has the signatures of controller-runtime's.
package apiutil

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
)

type DynamicRESTMapperOption func() error

func WithLazyDiscovery() error { return nil }

func NewDynamicRESTMapper(cfg *rest.Config, opts ...DynamicRESTMapperOption) (meta.RESTMapper, error) {
	return nil, nil
}

func NewDiscoveryRESTMapper(cfg *rest.Config) (meta.RESTMapper, error) { return nil, nil }
