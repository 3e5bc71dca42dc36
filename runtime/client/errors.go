package client

import (
	"cmp"
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

// maxErrorText limits the part of a non-Status answer that an error quotes.
const maxErrorText = 2048

// MaskedError is the error of a write of an object that was read from a cache with only some of its fields. The write
// would remove the other fields; an Apply would remove the ones that its field owner owns. Instead, patch the object,
// apply a new one, or read it with [Live] first. An Update of the status is possible if the cache has the whole
// metadata and status, and an Apply of the status if the cache has the whole status.
type MaskedError struct {
	// Description of the write, such as "update pods default/web".
	What string
	// Mask lists the fields with which the object was read.
	Mask []string
}

// Error returns the write, the fields, and the alternatives.
func (e *MaskedError) Error() string {
	return fmt.Sprintf("%s: the object was read with only %s of it, and would lose all else: use Patch, apply an object "+
		"of your own, or read it with client.Live", e.What, strings.Join(e.Mask, ", "))
}

// networkError wraps an error of the connection. If ctx has ended, it is the error of ctx with its cause.
func networkError(ctx context.Context, what string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = ended
		if cause := context.Cause(ctx); cause != ended {
			err = fmt.Errorf("%w: %w", ended, cause)
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// responseError converts an unsuccessful answer to an error and closes its body. The error is the Status in the body,
// or a generic one for the HTTP code.
func responseError(r *request, resp *http.Response) error {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if status, ok := wire.Status(body, resp.Header.Get("Content-Type")); ok {
		status.Code = cmp.Or(status.Code, int32(resp.StatusCode))
		status.TypeMeta = metav1.TypeMeta{} // without a kind, the error equals one that apierrors creates
		return apierrors.FromObject(status)
	}
	seconds, _ := retryAfterSeconds(resp)
	return apierrors.NewGenericServerResponse(resp.StatusCode, r.method, r.resource.gvr.GroupResource(), r.name,
		errorText(resp, body), seconds, true)
}

// errorText returns the part of a non-Status answer that an error quotes.
func errorText(resp *http.Response, body []byte) string {
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isText := err != nil || strings.HasPrefix(mediaType, "text/")
	if !isText || len(body) == 0 {
		return "unknown"
	}
	body = body[:min(len(body), maxErrorText)]
	return strings.TrimSpace(strings.ToValidUTF8(string(body), "?"))
}

// isMissingPath reports whether err is a 404 because the server does not serve the path, for example after the deletion
// of the kind's CRD. A 404 for an absent object is different.
func isMissingPath(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// DecodeError is the error of an answer that violates the API's format or does not match the request. A stream that
// returned it has ended.
type DecodeError struct {
	// Description of the decoded value, such as "event of watch pods".
	What string
	// Err is the cause.
	Err error
}

// Error returns the decoded value and the cause.
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
