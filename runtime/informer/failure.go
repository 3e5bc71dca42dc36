package informer

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
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

// isBroken reports whether the connection ended, in order or not, and not because the server refused to go on.
func isBroken(err error) bool {
	if errors.Is(err, io.EOF) {
		return true
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
