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
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/runtime/wire"
)

// maxErrorText is how much of an answer that is no Status goes into the error.
const maxErrorText = 2048

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
		return apierrors.FromObject(status)
	}
	seconds, _ := retryAfterSeconds(resp)
	return apierrors.NewGenericServerResponse(resp.StatusCode, r.method, r.resource.gvr.GroupResource(), r.name,
		errorText(resp, body), seconds, true)
}

// parseStatus returns the failure Status that data is, if it is one.
func parseStatus(data []byte) (*metav1.Status, bool) {
	status := &metav1.Status{}
	if err := utiljson.Unmarshal(data, status); err != nil || status.Kind != "Status" {
		return nil, false
	}
	return status, status.Status != metav1.StatusSuccess
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
