// Package cache is a stub.
package cache

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

type Cache struct{}

func View[T client.Object](ctx context.Context, c *Cache, key client.ObjectKey, prototype T, opts ...client.GetOption) (T, error) {
	return prototype, nil
}
