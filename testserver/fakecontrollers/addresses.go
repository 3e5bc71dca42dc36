package fakecontrollers

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// addresses allocates the addresses of a network in ascending order. An address belongs to at most one object at a
// time. Only one worker may use it.
type addresses[T object.Object] struct {
	network netip.Prefix
	taken   *cache.Index[T, string]
	last    netip.Addr // last allocated address
}

// newAddresses returns an allocator of the addresses in network, for objects with the type of prototype. of returns the
// addresses that an object has.
func newAddresses[T object.Object](m *manager.Manager, network netip.Prefix, prototype T,
	of func(T) []string) (*addresses[T], error) {
	taken, err := cache.NewIndex(m.Cache(), prototype, of)
	return &addresses[T]{network: network, taken: taken}, err
}

// next returns an address that no object uses.
func (a *addresses[T]) next(ctx context.Context) (string, error) {
	for range 1 << (32 - a.network.Bits()) {
		if a.last = a.last.Next(); !a.network.Contains(a.last) {
			a.last = a.network.Addr().Next()
		}
		taken, err := a.isTaken(ctx)
		if err != nil || !taken {
			return a.last.String(), err
		}
	}
	return "", fmt.Errorf("all addresses of %s are taken", a.network)
}

func (a *addresses[T]) isTaken(ctx context.Context) (bool, error) {
	for _, err := range a.taken.Get(ctx, a.last.String()) {
		return err == nil, err
	}
	return false, nil
}
