// Package fake provides locks of leader election for tests.
package fake

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// ControllableResourceLockInterface is a lock that can reject renewals of its holder.
type ControllableResourceLockInterface interface {
	resourcelock.Interface
	// BlockLeaderElection makes updates fail.
	BlockLeaderElection()
	// UnblockLeaderElection lets updates succeed again.
	UnblockLeaderElection()
}

// NewResourceLock returns an in-memory lock that its candidate acquires immediately.
func NewResourceLock(
	_ *rest.Config, _ recorder.Provider, _ leaderelection.Options,
) (resourcelock.Interface, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	id := host + "_" + string(uuid.NewUUID())
	return &lock{id: id, record: resourcelock.LeaderElectionRecord{
		HolderIdentity: id, LeaseDurationSeconds: 15,
		AcquireTime: metav1.NewTime(time.Now()), RenewTime: metav1.NewTime(time.Now().Add(15 * time.Second)),
		LeaderTransitions: 1,
	}}, nil
}

// lock is a lock in memory.
type lock struct {
	id      string
	record  resourcelock.LeaderElectionRecord
	blocked atomic.Bool
}

var _ ControllableResourceLockInterface = (*lock)(nil)

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	data, err := json.Marshal(l.record)
	if err != nil {
		return nil, nil, err
	}
	return &l.record, data, nil
}

func (l *lock) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.record = record
	return nil
}

func (l *lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.blocked.Load() {
		return errors.New("leader election is blocked, can't update")
	}
	l.record = record
	return nil
}

func (l *lock) RecordEvent(string)     {}
func (l *lock) Identity() string       { return l.id }
func (l *lock) Describe() string       { return l.id }
func (l *lock) BlockLeaderElection()   { l.blocked.Store(true) }
func (l *lock) UnblockLeaderElection() { l.blocked.Store(false) }
