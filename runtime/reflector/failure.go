package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
)

// isExpired reports whether the server no longer has the changes since a version, or the rest of a paged list.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// isTooLarge reports whether the server has not yet reached the requested version. Servers report this with a cause,
// older servers only with a message.
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	const text = "Too large resource version"
	status, ok := statusOf(err)
	if !ok || status.Reason != metav1.StatusReasonTimeout {
		return false
	}
	isText := func(cause metav1.StatusCause) bool { return cause.Message == text }
	return strings.Contains(status.Message, text) ||
		status.Details != nil && slices.ContainsFunc(status.Details.Causes, isText)
}

// isRefusal reports whether the server is busy or temporarily down. The same request can be repeated.
func isRefusal(err error) bool {
	return apierrors.IsTooManyRequests(err) || errors.Is(err, syscall.ECONNREFUSED)
}

// isAbsent reports whether the server does not serve the kind.
func isAbsent(err error) bool { return apimeta.IsNoMatchError(err) }

// isOutage reports whether the server fails or cannot be reached, independent of the request.
func isOutage(err error) bool {
	if status, ok := statusOf(err); ok {
		return status.Code >= http.StatusInternalServerError || status.Code == http.StatusTooManyRequests
	}
	return isBroken(err) && !isAbsent(err) && !errors.Is(err, errShortWatch)
}

// isUnsupported reports whether the server does not support streaming lists.
func isUnsupported(err error) bool {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return true
	}
	status, ok := statusOf(err)
	return ok && (status.Code == http.StatusNotAcceptable || status.Code == http.StatusUnsupportedMediaType)
}

// isBroken reports whether the connection ended, normally or not, without an error from the server and without data
// that the reflector cannot follow.
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

// statusOf returns the server's Status, if err contains one.
func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	return status.Status(), true
}

// SyncError reports why a reflector or informer is not up to date with the API server. Unwrap returns the cause, so
// apierrors.IsForbidden and meta.IsNoMatchError work on a SyncError.
type SyncError struct {
	// Verb is the verb of the failed request: "list" or "watch".
	Verb string
	// Resource is the reflector's name, by convention the resource's name: "guestbooks.webapp.example.com".
	Resource string
	// Namespace is the namespace of the reflector, if it has one.
	Namespace string
	// Err is the cause.
	Err error
}

// Error returns a message with the verb, the resource, the namespace and the cause.
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
	// healthyAfter is the time without failures after which the pauses start again at the shortest.
	healthyAfter = 2 * time.Minute
	// cutEvery is the minimum interval between pauses that are cut short. It limits the requests to a server that answers
	// other requests but always fails the requests of this reflector.
	cutEvery = 10 * time.Second
	// cutSpread is the time over which reflectors spread their requests when their pauses are cut short together.
	cutSpread = time.Second
	// absentPause is the shortest pause while the server does not serve the kind; the longest is twice that. The mapper
	// decides how often such a pause leads to a request.
	absentPause = time.Second
)

// backoff computes the pauses after failures. Each pause is twice as long as the previous one, up to a limit, and is
// extended by a random factor of up to two, so that reflectors do not retry simultaneously. A kind that is not served
// is looked up at a constant rate. The zero value is ready for use.
type backoff struct {
	pause time.Duration // the last pause without its random part; 0 before the first
	ended time.Time     // end of the last pause
	cut   time.Time     // when a pause was last cut short
}

// wait pauses after err, or until ctx ends, and at least for the server's Retry-After. If cure is not nil and returns
// nil, the pause ends early, but not before the shortest pause and the Retry-After.
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

// awaitCure reports whether cure succeeds before ctx ends. It does not call cure before from.
func (b *backoff) awaitCure(ctx context.Context, from time.Time, cure func(context.Context) error) bool {
	if again := b.cut.Add(cutEvery); again.After(from) {
		from = again
	}
	return life.Sleep(ctx, time.Until(from)) == nil && cure(ctx) == nil
}

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

func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}
