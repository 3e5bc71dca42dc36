// Package authentication provides webhooks that authenticate bearer tokens.
package authentication

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

var errUnableToEncodeResponse = errors.New("unable to encode response")

// Request is an authentication request.
type Request struct{ authenticationv1.TokenReview }

// Response is the response to a [Request].
type Response struct{ authenticationv1.TokenReview }

// Complete sets the UID of the response.
func (r *Response) Complete(req Request) error {
	r.UID = req.UID
	return nil
}

// Handler handles authentication requests.
type Handler interface {
	// Handle returns the response to a request.
	Handle(context.Context, Request) Response
}

// HandlerFunc implements [Handler] with a function.
type HandlerFunc func(context.Context, Request) Response

var _ Handler = HandlerFunc(nil)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req Request) Response { return f(ctx, req) }

// Webhook is an authentication webhook. It implements http.Handler.
type Webhook struct {
	// Handler handles the requests.
	Handler Handler
	// WithContextFunc changes the context of the handler.
	WithContextFunc func(context.Context, *http.Request) context.Context

	setupLogOnce sync.Once
	log          logr.Logger
}

// Handle calls the handler.
func (wh *Webhook) Handle(ctx context.Context, req Request) Response {
	response := wh.Handler.Handle(ctx, req)
	if err := response.Complete(req); err != nil {
		wh.logger(&req).Error(err, "unable to encode response")
		return Errored(errUnableToEncodeResponse)
	}
	return response
}

func (wh *Webhook) logger(req *Request) logr.Logger {
	wh.setupLogOnce.Do(func() {
		if wh.log.GetSink() == nil {
			wh.log = logf.Log.WithName("authentication")
		}
	})
	if req == nil {
		return wh.log
	}
	return wh.log.WithValues("object", klog.KRef(req.Namespace, req.Name), "namespace", req.Namespace, "name", req.Name,
		"user", req.Status.User.Username, "requestID", req.UID)
}

// Authenticated returns a response that accepts the token.
func Authenticated(reason string, user authenticationv1.UserInfo) Response {
	return ReviewResponse(true, user, reason)
}

// Unauthenticated returns a response that rejects the token.
func Unauthenticated(reason string, user authenticationv1.UserInfo) Response {
	return ReviewResponse(false, authenticationv1.UserInfo{}, reason)
}

// Errored returns the response for an internal error.
func Errored(err error) Response {
	return Response{authenticationv1.TokenReview{
		Spec:   authenticationv1.TokenReviewSpec{},
		Status: authenticationv1.TokenReviewStatus{Error: err.Error()},
	}}
}

// ReviewResponse returns a response.
func ReviewResponse(authenticated bool, user authenticationv1.UserInfo, err string, audiences ...string) Response {
	response := Response{authenticationv1.TokenReview{
		Status: authenticationv1.TokenReviewStatus{Authenticated: authenticated, User: user, Audiences: audiences},
	}}
	if err != "" {
		response.Status.Error = err
	}
	return response
}

// maxRequestSize is the maximum size of a review.
const maxRequestSize = int64(1 << 20)

var reviews = newReviews()

func newReviews() runtime.Decoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(authenticationv1.AddToScheme(scheme))
	utilruntime.Must(authenticationv1beta1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}

// review is a review of any version, because all versions have the same JSON.
type review struct{ *authenticationv1.TokenReview }

var _ http.Handler = (*Webhook)(nil)

// ServeHTTP answers a TokenReview.
func (wh *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if wh.WithContextFunc != nil {
		ctx = wh.WithContextFunc(ctx, r)
	}
	req, gvk, err := read(r)
	if err != nil {
		wh.logger(nil).Error(err, "bad request")
		wh.write(w, Errored(err), nil)
		return
	}
	wh.logger(&req).V(5).Info("received request")
	if req.Spec.Token == "" {
		err := errors.New("token is empty")
		wh.logger(&req).Error(err, "bad request")
		wh.write(w, Errored(err), nil)
		return
	}
	wh.write(w, wh.Handle(ctx, req), gvk)
}

func read(r *http.Request) (req Request, gvk *schema.GroupVersionKind, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return req, nil, errors.New("request body is empty")
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestSize))
	switch contentType := r.Header.Get("Content-Type"); {
	case err != nil:
		return req, nil, err
	case int64(len(body)) >= maxRequestSize:
		return req, nil, fmt.Errorf("request entity is too large; limit is %d bytes", maxRequestSize)
	case contentType != "application/json":
		return req, nil, fmt.Errorf("contentType=%s, expected application/json", contentType)
	}
	in := review{&req.TokenReview}
	in.SetGroupVersionKind(authenticationv1.SchemeGroupVersion.WithKind("TokenReview"))
	_, gvk, err = reviews.Decode(body, nil, &in)
	return req, gvk, err
}

// write writes a response in a review of a kind. If the kind is nil, the review has none.
func (wh *Webhook) write(w io.Writer, response Response, gvk *schema.GroupVersionKind) {
	out := response.TokenReview
	if gvk != nil {
		out.SetGroupVersionKind(*gvk)
		if gvk.Empty() {
			out.SetGroupVersionKind(authenticationv1.SchemeGroupVersion.WithKind("TokenReview"))
		}
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		wh.logger(nil).Error(err, "unable to encode the response")
		wh.write(w, Errored(err), nil)
	}
}
