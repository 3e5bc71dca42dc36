// Package starter adapts sources and runnables with a method Start, in the form of controller-runtime, for migrated
// operators and their libraries. New code should implement Run, see packages source and manager.
package starter

import (
	"context"
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// Source is a source with one method. [SourceOf] converts it to a source. Start does not block: it starts goroutines
// that add requests to queue until ctx ends, and returns.
type Source[R comparable] interface {
	Start(ctx context.Context, queue handler.Queue[R]) error
}

// SourceFunc implements [Source] with a function.
type SourceFunc[R comparable] func(ctx context.Context, queue handler.Queue[R]) error

// Start implements Source.
func (f SourceFunc[R]) Start(ctx context.Context, queue handler.Queue[R]) error { return f(ctx, queue) }

// SourceOf returns a source that starts s. It has synced when Start has returned, and also WaitForSync(ctx
// context.Context) error if s has that method. An error of either stops the controller. The controller does not wait
// for goroutines of s at its end; [source.Func] does.
func SourceOf[R comparable](s Source[R]) source.Source[R] {
	return source.Func(fmt.Sprintf("%T", s), func(ctx context.Context, queue handler.Queue[R], synced func()) error {
		if err := s.Start(ctx, queue); err != nil {
			return err
		}
		if awaited, ok := s.(interface {
			WaitForSync(ctx context.Context) error
		}); ok {
			if err := awaited.WaitForSync(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		synced()
		<-ctx.Done()
		return nil
	})
}

// Runnable is a runnable of controller-runtime. [RunnableOf] converts it to a runnable.
type Runnable interface {
	Start(ctx context.Context) error
}

// RunnableOf returns a runnable that runs s. It runs only while the manager leads, unless s has a method
// NeedLeaderElection that returns false.
func RunnableOf(s Runnable) manager.Runnable { return started{s} }

type started struct{ Runnable }

// Run calls Start.
func (s started) Run(ctx context.Context) error { return s.Start(ctx) }

// NeedLeaderElection implements [manager.LeaderElectionRunnable].
func (s started) NeedLeaderElection() bool {
	asked, ok := s.Runnable.(manager.LeaderElectionRunnable)
	return !ok || asked.NeedLeaderElection()
}
