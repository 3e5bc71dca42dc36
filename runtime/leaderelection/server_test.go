package leaderelection

import (
	"context"
	"strconv"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// server keeps Leases in memory and returns conflicts as an API server does.
type server struct {
	mu sync.Mutex
	// leases contains the stored objects. version is the last resourceVersion that the server assigned.
	leases  map[object.Key]*coordinationv1.Lease
	version int
}

func newServer() *server { return &server{leases: map[object.Key]*coordinationv1.Lease{}} }

var leaseResource = coordinationv1.Resource("leases")

func (s *server) Get(_ context.Context, key object.Key, lease *coordinationv1.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, ok := s.leases[key]
	if !ok {
		return apierrors.NewNotFound(leaseResource, key.Name)
	}
	stored.DeepCopyInto(lease)
	return nil
}

func (s *server) Create(_ context.Context, lease *coordinationv1.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.leases[object.KeyOf(lease)]; ok {
		return apierrors.NewAlreadyExists(leaseResource, lease.Name)
	}
	lease.UID = types.UID("uid-" + strconv.Itoa(s.version))
	s.store(lease)
	return nil
}

func (s *server) Update(_ context.Context, lease *coordinationv1.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, ok := s.leases[object.KeyOf(lease)]
	if !ok {
		return apierrors.NewNotFound(leaseResource, lease.Name)
	}
	if stored.ResourceVersion != lease.ResourceVersion {
		return apierrors.NewConflict(leaseResource, lease.Name, nil)
	}
	s.store(lease)
	return nil
}

func (s *server) store(lease *coordinationv1.Lease) {
	s.version++
	lease.ResourceVersion = strconv.Itoa(s.version)
	s.leases[object.KeyOf(lease)] = lease.DeepCopy()
}

// lease returns a copy of the stored Lease of the tests.
func (s *server) lease() *coordinationv1.Lease {
	lease := &coordinationv1.Lease{}
	_ = s.Get(context.Background(), testKey, lease)
	return lease
}

// edit changes the stored Lease as a user does with kubectl.
func (s *server) edit(change func(*coordinationv1.Lease)) {
	lease := s.lease()
	change(lease)
	if err := s.Update(context.Background(), lease); err != nil {
		panic(err)
	}
}

func (s *server) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, testKey)
}

// link is one candidate's connection to the server.
type link struct {
	*server

	mu sync.Mutex
	// fault, if set, is called before each request. Its error replaces the server's answer.
	fault func(ctx context.Context, verb string) error
	// after, if set, is called after each request that the server has carried out. Its error replaces the answer.
	after func(verb string) error
	// calls counts the requests by verb.
	calls map[string]int
}

func newLink(s *server) *link { return &link{server: s, calls: map[string]int{}} }

// fail sets fault.
func (l *link) fail(fault func(ctx context.Context, verb string) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = fault
}

// count returns the number of calls of verb.
func (l *link) count(verb string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[verb]
}

func (l *link) call(ctx context.Context, verb string, do func() error) error {
	l.mu.Lock()
	l.calls[verb]++
	fault, after := l.fault, l.after
	l.mu.Unlock()
	if fault != nil {
		if err := fault(ctx, verb); err != nil {
			return err
		}
	}
	err := do()
	if err == nil && after != nil {
		err = after(verb)
	}
	return err
}

func (l *link) Get(ctx context.Context, key object.Key, lease *coordinationv1.Lease) error {
	return l.call(ctx, "get", func() error { return l.server.Get(ctx, key, lease) })
}

func (l *link) Create(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.call(ctx, "create", func() error { return l.server.Create(ctx, lease) })
}

func (l *link) Update(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.call(ctx, "update", func() error { return l.server.Update(ctx, lease) })
}
