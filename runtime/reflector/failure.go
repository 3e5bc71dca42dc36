package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
)

// isExpired reports whether the server no longer has what was asked for: the changes since a version, or the rest of a
// paged list.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// isTooLarge reports whether the server has not yet come to the version that was asked for. Servers say so by a cause,
// older ones by its text alone.
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	const text = "Too large resource version"
	status, ok := statusOf(err)
	if !ok || status.Reason != metav1.StatusReasonTimeout {
		return false
	}
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Message == text {
				return true
			}
		}
	}
	return strings.Contains(status.Message, text)
}

// isRefusal reports whether the server is there but busy, or is not there at the moment. What was asked for can be
// asked for again.
func isRefusal(err error) bool {
	return apierrors.IsTooManyRequests(err) || errors.Is(err, syscall.ECONNREFUSED)
}

// isAbsent reports whether the server does not know the kind.
func isAbsent(err error) bool { return apimeta.IsNoMatchError(err) }

// isOutage reports whether the server fails, or cannot be reached, and not only for what was asked for.
func isOutage(err error) bool {
	if status, ok := statusOf(err); ok {
		return status.Code >= http.StatusInternalServerError || status.Code == http.StatusTooManyRequests
	}
	return isBroken(err) && !isAbsent(err) && !errors.Is(err, errShortWatch)
}

// isUnsupported reports whether the server does not know streaming lists.
func isUnsupported(err error) bool {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return true
	}
	status, ok := statusOf(err)
	return ok && (status.Code == http.StatusNotAcceptable || status.Code == http.StatusUnsupportedMediaType)
}

// isBroken reports whether the connection ended, in order or not, and not because the server refused to go on, or what
// it has sent cannot be followed.
func isBroken(err error) bool {
	if errors.Is(err, io.EOF) {
		return true
	}
	if errors.Is(err, errNoVersion) || errors.Is(err, errWentBack) {
		return false
	}
	if _, ok := statusOf(err); ok {
		return false
	}
	_, ok := errors.AsType[*client.DecodeError](err)
	return !ok
}

// statusOf returns what the server said, if err comes from there.
func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

// SyncError says why a reflector, or an informer, is not in step with the API server. The cause is reached through
// Unwrap, so that apierrors.IsForbidden and meta.IsNoMatchError work on it.
type SyncError struct {
	// Verb is the refused verb: "list" or "watch".
	Verb string
	// Resource is the name of the reflector, which is by convention that of the resource, such as
	// "guestbooks.webapp.example.com".
	Resource string
	// Namespace is where that is, if the reflector is of one namespace.
	Namespace string
	// Err is the cause.
	Err error
}

// Error names the verb, the resource, the namespace and the cause.
func (e *SyncError) Error() string {
	if e.Namespace != "" {
		return fmt.Sprintf("%s %s in namespace %s: %v", e.Verb, e.Resource, e.Namespace, e.Err)
	}
	return fmt.Sprintf("%s %s: %v", e.Verb, e.Resource, e.Err)
}

// Unwrap returns the cause.
func (e *SyncError) Unwrap() error { return e.Err }

const (
	firstPause   = 800 * time.Millisecond
	longestPause = 30 * time.Second
	// healthyAfter is how long nothing must have failed for the next pause to be a first one again.
	healthyAfter = 2 * time.Minute
	// cutEvery is the shortest time between two pauses that were cut short, so that a server that answers others but
	// always fails this reflector is not asked much more often than by the pauses alone.
	cutEvery = 10 * time.Second
	// cutSpread is within what time those come back whose pauses were cut short together.
	cutSpread = time.Second
	// absentPause is the shortest pause while the server does not know the kind; the longest is twice that. The mapper
	// decides how often that means a request.
	absentPause = time.Second
)

// backoff is the pauses after failures: each twice as long as the one before, up to a limit, and stretched by a random
// factor up to two, so that many reflectors do not come back at one moment. A kind that is not there is looked for at a
// steady pace. The zero value is ready.
type backoff struct {
	pause time.Duration // the last one, without the random part; 0 before the first
	ended time.Time     // when it was over
	cut   time.Time     // when one was last cut short
}

// wait pauses after err, or until ctx ends. A Retry-After from the server is honoured if it is longer. The pause is cut
// short, but never below the shortest one and the Retry-After, when cure, if there is one, returns nil: what caused err
// is said to be over.
func (b *backoff) wait(ctx context.Context, err error, cure func(context.Context) error) {
	begun := time.Now()
	ctx, cancel := context.WithDeadline(ctx, begun.Add(b.next(err)))
	defer cancel()
	if cure != nil && b.awaitCure(ctx, begun.Add(max(firstPause, retryAfter(err))), cure) {
		b.cut = time.Now()
		_ = life.Sleep(ctx, rand.N(cutSpread))
	} else {
		<-ctx.Done()
	}
	b.ended = time.Now()
}

// awaitCure reports whether the cure comes before ctx ends. It is not looked for before that time.
func (b *backoff) awaitCure(ctx context.Context, from time.Time, cure func(context.Context) error) bool {
	if again := b.cut.Add(cutEvery); again.After(from) {
		from = again
	}
	return life.Sleep(ctx, time.Until(from)) == nil && cure(ctx) == nil
}

// next returns how long to pause after err.
func (b *backoff) next(err error) time.Duration {
	switch {
	case isAbsent(err):
		b.pause = 0
		return absentPause + rand.N(absentPause)
	case b.pause == 0 || time.Since(b.ended) >= healthyAfter:
		b.pause = firstPause
	default:
		b.pause = min(2*b.pause, longestPause)
	}
	return max(b.pause+rand.N(b.pause), retryAfter(err))
}

// retryAfter returns how long the server has asked to wait.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}
