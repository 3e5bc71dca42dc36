package leaderelection

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Leases reads and writes Leases at the API server, never through a cache. Each method fills lease with the answer of
// the server, returns when ctx ends, and returns errors that the functions of k8s.io/apimachinery/pkg/api/errors tell
// apart.
type Leases interface {
	// Get reads the Lease of that key into lease.
	Get(ctx context.Context, key object.Key, lease *coordinationv1.Lease) error
	// Create creates lease, and fails with AlreadyExists when there is one.
	Create(ctx context.Context, lease *coordinationv1.Lease) error
	// Update replaces the Lease, and fails with Conflict when its resourceVersion is not that of lease any more.
	Update(ctx context.Context, lease *coordinationv1.Lease) error
}

// Options say which Lease candidates compete for, and in what rhythm. Candidates for one Lease should agree on
// everything but the Identity.
type Options struct {
	// Namespace and Name are those of the Lease. Both are required.
	Namespace, Name string
	// Identity tells the candidates apart; two with one identity are taken for one. Empty means the host name and a
	// random suffix.
	Identity string
	// LeaseDuration is how long the others wait for a leader that gives no sign. It is stored in whole seconds,
	// rounded up. Zero means 15 s.
	LeaseDuration time.Duration
	// RenewDeadline is how long the leader goes on without a successful renewal. It must be shorter than
	// LeaseDuration. Zero means 10 s.
	RenewDeadline time.Duration
	// RetryPeriod is the longest time that a candidate or leader waits between two attempts; a random part, up to a
	// quarter, is taken off each time. RenewDeadline must be longer by more than a fifth. Zero means 2 s.
	RetryPeriod time.Duration
	// ReleaseOnExit gives the Lease back when the leader has stopped in good order, so that the next one need not
	// wait for it to expire. Nothing that needs the Lease may go on after Run has returned.
	ReleaseOnExit bool
	// Yield tells how long this candidate leaves a Lease that is free to the others, every time that it finds one. So a
	// process that leads much already lets others lead too. Nil is no time.
	Yield func() time.Duration
	// Fence is closed to what was begun in a term when that ends. Nil leaves it to the leader's context alone.
	Fence *Fence
	// Logger is told who leads. Nil means slog.Default().
	Logger *slog.Logger
	// Metrics gets leader_election_master_status, 1 for the leader and 0 for the others. Nil means nobody sees it.
	Metrics *metrics.Registry
}

// maxLeaseDuration is the longest that a Lease can say: more would be stored as less, and others take it from a leader that renews it.
const maxLeaseDuration = math.MaxInt32 * time.Second

// complete returns o with its defaults filled in, and every mistake in it as one error.
func (o Options) complete() (Options, error) {
	setDefault(&o.LeaseDuration, 15*time.Second)
	setDefault(&o.RenewDeadline, 10*time.Second)
	setDefault(&o.RetryPeriod, 2*time.Second)
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return o, fmt.Errorf("leader election identity: %w", err)
		}
		o.Identity = host + "_" + rand.Text()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Logger = o.Logger.With("lease", o.Namespace+"/"+o.Name, "identity", o.Identity)
	var errs []error
	if o.Namespace == "" {
		errs = append(errs, errors.New("leader election: the namespace of the lease is empty"))
	}
	if o.Name == "" {
		errs = append(errs, errors.New("leader election: the name of the lease is empty"))
	}
	if o.RetryPeriod < 0 {
		errs = append(errs, fmt.Errorf("leader election: retry period %s is negative", o.RetryPeriod))
	}
	if o.RenewDeadline <= o.RetryPeriod || o.RenewDeadline-o.RetryPeriod <= o.RetryPeriod/5 { // a sum may be more than a time can be
		errs = append(errs, fmt.Errorf("leader election: renew deadline %s is too short for the retry period %s: want more than %s", o.RenewDeadline, o.RetryPeriod, o.RetryPeriod+o.RetryPeriod/5))
	}
	if o.LeaseDuration > maxLeaseDuration {
		errs = append(errs, fmt.Errorf("leader election: lease duration %s is more than a Lease can say, %s", o.LeaseDuration, maxLeaseDuration))
	}
	if o.RenewDeadline >= o.LeaseDuration {
		errs = append(errs, fmt.Errorf("leader election: renew deadline %s is not less than the lease duration %s", o.RenewDeadline, o.LeaseDuration))
	}
	return o, errors.Join(errs...)
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}
