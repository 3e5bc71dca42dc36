package leaderelection

import (
	"cmp"
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

// Leases reads and writes Leases at the API server, never through a cache. Each method must set lease to the server's
// answer, return when ctx ends, and return errors that the functions of k8s.io/apimachinery/pkg/api/errors recognize.
type Leases interface {
	// Get reads the Lease named key into lease.
	Get(ctx context.Context, key object.Key, lease *coordinationv1.Lease) error
	// Create creates lease. It fails with AlreadyExists if the Lease exists.
	Create(ctx context.Context, lease *coordinationv1.Lease) error
	// Update replaces the stored Lease with lease. It fails with Conflict if their resourceVersions differ.
	Update(ctx context.Context, lease *coordinationv1.Lease) error
}

// Options configure an [Elector]. All candidates for one Lease should have the same options, except Identity.
type Options struct {
	// Namespace and Name identify the Lease. Both are required.
	Namespace, Name string
	// Identity identifies the candidate and must be unique. Empty means the host name and a random suffix.
	Identity string
	// LeaseDuration is how long other candidates wait for a leader that does not renew the Lease. It is stored in whole
	// seconds, rounded up. Zero means 15 s.
	LeaseDuration time.Duration
	// RenewDeadline is how long the leader continues to act without a successful renewal. It must be shorter than
	// LeaseDuration. Zero means 10 s.
	RenewDeadline time.Duration
	// RetryPeriod is the longest time that a candidate or leader waits between two attempts. Each wait is shortened by a
	// random part of up to a quarter. RenewDeadline must be longer than RetryPeriod by more than a fifth. Zero means 2 s.
	RetryPeriod time.Duration
	// ReleaseOnExit releases the Lease after the leader has stopped normally, so that the next leader need not wait until
	// it expires. If it is set, all work that requires the Lease must have stopped when the leader's function returns.
	ReleaseOnExit bool
	// Yield returns how long this candidate leaves a free Lease to other candidates. It is called each time the candidate
	// finds the Lease free. With it, a process that already leads several groups lets other processes lead. Nil means no
	// time.
	Yield func() time.Duration
	// Fence rejects requests of a term after its end. With nil, only the end of the leader's context stops requests.
	Fence *Fence
	// Logger logs changes of leadership. Nil means slog.Default().
	Logger *slog.Logger
	// Metrics receives leader_election_master_status, which is 1 for the leader and 0 for other candidates. Nil disables
	// it.
	Metrics *metrics.Registry
}

// maxLeaseDuration is the longest duration that a Lease can store. A longer one would be stored as a shorter one, and
// other candidates would acquire the Lease from a leader that still renews it.
const maxLeaseDuration = math.MaxInt32 * time.Second

// complete returns o with defaults set, and all mistakes as one error.
func (o Options) complete() (Options, error) {
	o.LeaseDuration = cmp.Or(o.LeaseDuration, 15*time.Second)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, 10*time.Second)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, 2*time.Second)
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return o, fmt.Errorf("leader election identity: %w", err)
		}
		o.Identity = host + "_" + rand.Text()
	}
	o.Logger = cmp.Or(o.Logger, slog.Default()).With("lease", o.Namespace+"/"+o.Name, "identity", o.Identity)
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("leader election: "+format, args...))
	}
	if o.Namespace == "" {
		wrong("the namespace of the lease is empty")
	}
	if o.Name == "" {
		wrong("the name of the lease is empty")
	}
	if o.RetryPeriod < 0 {
		wrong("retry period %s is negative", o.RetryPeriod)
	}
	if o.RenewDeadline <= o.RetryPeriod || o.RenewDeadline-o.RetryPeriod <= o.RetryPeriod/5 { // the sum could overflow
		wrong("renew deadline %s is too short for the retry period %s: want more than %s", o.RenewDeadline, o.RetryPeriod,
			o.RetryPeriod+o.RetryPeriod/5)
	}
	if o.LeaseDuration > maxLeaseDuration {
		wrong("lease duration %s is more than a Lease can hold, %s", o.LeaseDuration, maxLeaseDuration)
	}
	if o.RenewDeadline >= o.LeaseDuration {
		wrong("renew deadline %s is not less than the lease duration %s", o.RenewDeadline, o.LeaseDuration)
	}
	return o, errors.Join(errs...)
}
