// Package starter runs sources and runnables that have Start, as those of controller-runtime do, for operators that
// were migrated from it and their libraries. New code has Run, see packages source and manager.
package starter

import (
	"context"
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// Source is a source as one method. [SourceOf] makes a source of it. Start does not block: it starts what adds
// requests to queue until ctx ends, and returns.
type Source[R comparable] interface {
	Start(ctx context.Context, queue handler.Queue[R]) error
}

// SourceFunc is a [Source] that is a function.
type SourceFunc[R comparable] func(ctx context.Context, queue handler.Queue[R]) error

// Start implements Source.
func (f SourceFunc[R]) Start(ctx context.Context, queue handler.Queue[R]) error { return f(ctx, queue) }

// SourceOf is a source that starts s. It has synced when Start has returned and, if s has a method WaitForSync(ctx
// context.Context) error, that has too; an error of either stops the controller. What Start has started is not waited
// for when the controller stops: [source.Func] is for what should be.
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

// Runnable is a runnable of controller-runtime, as libraries have it. [RunnableOf] makes a runnable of it.
type Runnable interface {
	Start(ctx context.Context) error
}

// RunnableOf returns a runnable that runs s. Whether it does so only while the manager leads, s says by
// NeedLeaderElection; one that says nothing runs while it leads.
func RunnableOf(s Runnable) manager.Runnable { return started{s} }

type started struct{ Runnable }

// Run calls Start.
func (s started) Run(ctx context.Context) error { return s.Start(ctx) }

// NeedLeaderElection implements [manager.LeaderElectionRunnable].
func (s started) NeedLeaderElection() bool {
	asked, ok := s.Runnable.(manager.LeaderElectionRunnable)
	return !ok || asked.NeedLeaderElection()
}
