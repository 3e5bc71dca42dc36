package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
)

// maxErrorText is how much of an answer that is no Status goes into the error.
const maxErrorText = 2048

// MaskedError reports a write of an object as it was read from a cache which has only some fields of it: the others would
// be removed, or with Apply those of them that its field owner has. Patch such an object, apply one of your own making, or
// read it with [Live] first. A status may be updated if all of metadata and status are cached, and applied if all of status
// is.
type MaskedError struct {
	// What names the write, such as "update pods default/web".
	What string
	// Mask are the fields that the object has.
	Mask []string
}

// Error names the write, the fields, and what to do instead.
func (e *MaskedError) Error() string {
	return fmt.Sprintf("%s: the object was read with only %s of it, and would lose all else: use Patch, apply an object of your own, or read it with client.Live",
		e.What, strings.Join(e.Mask, ", "))
}

// networkError wraps what went wrong between the server and us. It is the error of ctx, with its cause, when ctx is
// why.
func networkError(ctx context.Context, what string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	ended := ctx.Err()
	switch {
	case ended == nil || errors.Is(err, ended):
		return fmt.Errorf("%s: %w", what, err)
	case context.Cause(ctx) != ended:
		return fmt.Errorf("%s: %w: %w", what, ended, context.Cause(ctx))
	default:
		return fmt.Errorf("%s: %w", what, ended)
	}
}

// responseError turns an answer that is no success into an error and closes its body: the Status in it if there is one,
// a generic one for the code otherwise.
func responseError(r *request, resp *http.Response) error {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if status, ok := wire.Status(body, resp.Header.Get("Content-Type")); ok {
		if status.Code == 0 {
			status.Code = int32(resp.StatusCode)
		}
		status.TypeMeta = metav1.TypeMeta{} // as errors are that a test makes to compare with
		return apierrors.FromObject(status)
	}
	seconds, _ := retryAfterSeconds(resp)
	return apierrors.NewGenericServerResponse(resp.StatusCode, r.method, r.resource.gvr.GroupResource(), r.name,
		errorText(resp, body), seconds, true)
}

// errorText is what an error cites of an answer that is no Status.
func errorText(resp *http.Response, body []byte) string {
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isText := err != nil || strings.HasPrefix(mediaType, "text/")
	if !isText || len(body) == 0 {
		return "unknown"
	}
	if len(body) > maxErrorText {
		body = body[:maxErrorText]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(body), "?"))
}

// isMissingPath reports whether err is a 404 that did not come from the resource: the path is not served at all, as
// when the CRD of the kind was deleted.
func isMissingPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// DecodeError reports a list or watch body that is not what the API promises. Errors of this type are not retried
// on the same stream.
type DecodeError struct {
	// What names the thing that was being read, such as "watch event of pods".
	What string
	// Err is the cause.
	Err error
}

// Error names what could not be decoded, and why.
func (e *DecodeError) Error() string { return "decode " + e.What + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// IgnoreNotFound returns nil for a NotFound error and err otherwise.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IgnoreAlreadyExists returns nil for an AlreadyExists error and err otherwise.
func IgnoreAlreadyExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
