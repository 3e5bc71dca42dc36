// Package cache is a stub.
package cache

import "sigs.k8s.io/controller-runtime/pkg/client"

type Config struct{}

type ByObject struct {
	Namespaces map[string]Config
	Transform  func(any) (any, error)
}

type Options struct {
	DefaultNamespaces map[string]Config
	ByObject          map[client.Object]ByObject
}
