package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	kleaderelection "github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/object"

	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// election is the leader election of a running manager.
type election struct {
	cancel  context.CancelFunc // ends the candidacy or the term
	stopped chan struct{}      // closed when the leader runnables have stopped, or will not start
	once    sync.Once
	ended   chan struct{} // closed when the election has ended
}

// end ends the election after the leader runnables have stopped.
func (e *election) end() {
	e.once.Do(func() { close(e.stopped) })
	e.cancel()
	<-e.ended
}

// elect starts the leader runnables when the process becomes the leader, or immediately without leader election.
func (m *manager) elect(ctx, base context.Context) *election {
	leaderCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e := &election{cancel: cancel, stopped: make(chan struct{}), ended: make(chan struct{})}
	if m.lock == nil {
		go func() {
			defer close(e.ended)
			m.leaders.start(ctx, base)
			close(m.elected)
		}()
		return e
	}
	go func() {
		defer close(e.ended)
		if err := m.runElection(leaderCtx, ctx, base, e); err != nil {
			m.fail(err)
		}
	}()
	return e
}

// runElection runs until leadership ends.
func (m *manager) runElection(leaderCtx, ctx, base context.Context, e *election) error {
	namespace, name, ok := strings.Cut(m.lock.Describe(), "/")
	if !ok {
		namespace, name = "lock", m.lock.Describe()
	}
	if m.options.LeaderElectionID != "" {
		name = m.options.LeaderElectionID
	}
	elector, err := kleaderelection.New(leases{m.lock}, kleaderelection.Options{
		Namespace: namespace, Name: name, Identity: m.lock.Identity(),
		LeaseDuration: *m.options.LeaseDuration, RenewDeadline: *m.options.RenewDeadline,
		RetryPeriod:   *m.options.RetryPeriod,
		ReleaseOnExit: m.options.LeaderElectionReleaseOnCancel, Fence: m.fence,
		Logger: logf.Slog(m.logger.WithName("leaderelection")), Metrics: metrics.Kctrl(),
	})
	if err != nil {
		return fmt.Errorf("failed during initialization leader election process: %w", err)
	}
	err = elector.Run(leaderCtx, func(term context.Context) error {
		m.lock.RecordEvent("became leader")
		m.leaders.start(ctx, termContext{term, base})
		close(m.elected)
		select {
		case <-e.stopped:
		case <-term.Done():
			if !errors.Is(context.Cause(term), context.Canceled) {
				m.lost() // called before the wait, which ends with the manager
			}
			<-e.stopped
		}
		return nil
	})
	if errors.Is(err, kleaderelection.ErrLost) {
		m.lock.RecordEvent("stopped leading")
		return nil // already reported
	}
	return err
}

// lost ends the manager immediately, because another process may lead.
func (m *manager) lost() {
	m.mu.Lock()
	m.patience = 0
	m.mu.Unlock()
	m.fail(errors.New("leader election lost"))
}

// termContext is the context of a term, with the values of another context.
type termContext struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (c termContext) Value(key any) any {
	if value := c.Context.Value(key); value != nil {
		return value
	}
	return c.values.Value(key)
}

// leases adapts a lock to kctrl's elector.
type leases struct{ lock resourcelock.Interface }

// Get implements kleaderelection.Leases.
func (l leases) Get(ctx context.Context, key object.Key, lease *coordinationv1.Lease) error {
	record, _, err := l.lock.Get(ctx)
	if err != nil {
		return err
	}
	*lease = coordinationv1.Lease{Spec: resourcelock.LeaderElectionRecordToLeaseSpec(record)}
	lease.Namespace, lease.Name = key.Namespace, key.Name
	return nil
}

// Create implements kleaderelection.Leases.
func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.lock.Create(ctx, *resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec))
}

// Update implements kleaderelection.Leases.
func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.lock.Update(ctx, *resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec))
}
