package informer

import (
	"context"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// NewScoped returns a scoped informer without a factory.
func NewScoped[T object.Object](open Open[T], namespaces []string, opts Options[T]) (*Scoped[T], error) {
	return newScoped(open, namespaces, opts)
}

// Run runs a scoped informer as a factory does.
func (s *Scoped[T]) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	if !s.begin(ctx, &workers) {
		return ErrAlreadyRun
	}
	<-ctx.Done()
	s.end()
	workers.Wait()
	return nil
}

// AddNamespace adds a namespace to the scope.
func (s *Scoped[T]) AddNamespace(namespace string) error { return s.addNamespace(namespace) }

// RemoveNamespace removes a namespace from the scope.
func (s *Scoped[T]) RemoveNamespace(namespace string) (wait func()) {
	return s.removeNamespace(namespace)
}

// Namespaces returns the namespaces in scope in sorted order.
func (s *Scoped[T]) Namespaces() []string {
	var all []string
	for _, i := range s.In("") {
		all = append(all, i.namespace)
	}
	return all
}
