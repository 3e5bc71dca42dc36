// Package admission provides admission webhooks.
package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission/metrics"
)

var errUnableToEncodeResponse = errors.New("unable to encode response")

// Request is an admission request.
type Request struct{ admissionv1.AdmissionRequest }

// Response is the response to a [Request].
type Response struct {
	// Patches change the object. [Response.Complete] encodes them.
	Patches []jsonpatch.JsonPatchOperation
	admissionv1.AdmissionResponse
}

// Complete sets the UID and the code of the response and encodes its patches.
func (r *Response) Complete(req Request) error {
	r.UID = req.UID
	if r.Result == nil {
		r.Result = &metav1.Status{}
	}
	if r.Result.Code == 0 {
		r.Result.Code = http.StatusOK
	}
	if len(r.Patches) == 0 {
		return nil
	}
	var err error
	if r.Patch, err = json.Marshal(r.Patches); err != nil {
		return err
	}
	r.PatchType = new(admissionv1.PatchTypeJSONPatch)
	return nil
}

// Handler handles admission requests.
type Handler interface {
	// Handle returns the response to a request.
	Handle(context.Context, Request) Response
}

// HandlerFunc implements [Handler] with a function.
type HandlerFunc func(context.Context, Request) Response

var _ Handler = HandlerFunc(nil)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req Request) Response { return f(ctx, req) }

// Webhook is an admission webhook. It implements http.Handler.
type Webhook struct {
	// Handler handles the requests.
	Handler Handler
	// RecoverPanic turns a panic of the handler into an error. Nil means true.
	RecoverPanic *bool
	// WithContextFunc changes the context of the handler.
	WithContextFunc func(context.Context, *http.Request) context.Context
	// LogConstructor creates the logger of a request. The request is nil for the logger of the webhook.
	LogConstructor func(base logr.Logger, req *Request) logr.Logger

	setupLogOnce sync.Once
	log          logr.Logger
}

// WithRecoverPanic sets RecoverPanic.
func (wh *Webhook) WithRecoverPanic(recoverPanic bool) *Webhook {
	wh.RecoverPanic = &recoverPanic
	return wh
}

// Handle calls the handler.
func (wh *Webhook) Handle(ctx context.Context, req Request) (response Response) {
	defer func() {
		if p := recover(); p != nil {
			response = wh.panicked(ctx, req, p)
		}
	}()
	logger := wh.logger(&req)
	ctx = logf.IntoContext(ctx, logger) // also for the log of a panic
	response = wh.Handler.Handle(ctx, req)
	if err := response.Complete(req); err != nil {
		logger.Error(err, "unable to encode response")
		response = Errored(http.StatusInternalServerError, errUnableToEncodeResponse)
		response.UID = req.UID
	}
	return response
}

// panicked returns the response after a panic, or panics again.
func (wh *Webhook) panicked(ctx context.Context, req Request, p any) Response {
	metrics.WebhookPanics.WithLabelValues().Inc()
	if wh.RecoverPanic != nil && !*wh.RecoverPanic {
		logf.FromContext(ctx).Info(fmt.Sprintf("Observed a panic in webhook: %v", p))
		panic(p)
	}
	for _, handle := range utilruntime.PanicHandlers {
		handle(ctx, p)
	}
	response := Errored(http.StatusInternalServerError, fmt.Errorf("panic: %v [recovered]", p))
	response.UID = req.UID
	return response
}

func (wh *Webhook) logger(req *Request) logr.Logger {
	wh.setupLogOnce.Do(func() {
		if wh.log.GetSink() == nil {
			wh.log = logf.Log.WithName("admission")
		}
	})
	if wh.LogConstructor != nil {
		return wh.LogConstructor(wh.log, req)
	}
	return DefaultLogConstructor(wh.log, req)
}

// DefaultLogConstructor adds the identity of a request to base.
func DefaultLogConstructor(base logr.Logger, req *Request) logr.Logger {
	if req == nil {
		return base
	}
	return base.WithValues("object", klog.KRef(req.Namespace, req.Name), "namespace", req.Namespace, "name", req.Name,
		"resource", req.Resource, "user", req.UserInfo.Username, "requestID", req.UID)
}

type requestKey struct{}

// RequestFromContext returns the request of the current call of a validator or defaulter.
func RequestFromContext(ctx context.Context) (Request, error) {
	if req, ok := ctx.Value(requestKey{}).(Request); ok {
		return req, nil
	}
	return Request{}, errors.New("admission.Request not found in context")
}

// NewContextWithRequest returns a context with a request for [RequestFromContext].
func NewContextWithRequest(ctx context.Context, req Request) context.Context {
	return context.WithValue(ctx, requestKey{}, req)
}

// Allowed returns a response that admits the object.
func Allowed(message string) Response { return ValidationResponse(true, message) }

// Denied returns a response that rejects the object.
func Denied(message string) Response { return ValidationResponse(false, message) }

// Patched returns a response that admits the object with changes.
func Patched(message string, patches ...jsonpatch.JsonPatchOperation) Response {
	response := Allowed(message)
	response.Patches = patches
	return response
}

// Errored returns the response for an internal error.
func Errored(code int32, err error) Response {
	return ofStatus(false, metav1.Status{Code: code, Message: err.Error()})
}

// ValidationResponse returns a response that admits or rejects the object.
func ValidationResponse(allowed bool, message string) Response {
	if allowed {
		return ofStatus(true, metav1.Status{Code: http.StatusOK, Message: message})
	}
	return ofStatus(false, metav1.Status{
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message,
	})
}

func ofStatus(allowed bool, status metav1.Status) Response {
	return Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: allowed, Result: &status}}
}

// PatchResponseFromRaw returns a response with the differences between original and current, both as JSON.
func PatchResponseFromRaw(original, current []byte) Response {
	patches, err := jsonpatch.CreatePatch(original, current)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	response := Response{Patches: patches, AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true}}
	if len(patches) > 0 {
		response.PatchType = new(admissionv1.PatchTypeJSONPatch)
	}
	return response
}

// WithWarnings adds warnings for the client.
func (r Response) WithWarnings(warnings ...string) Response {
	r.Warnings = append(r.Warnings, warnings...)
	return r
}

// MultiMutatingHandler returns a handler that calls handlers in order until one rejects the object, and combines their
// patches.
func MultiMutatingHandler(handlers ...Handler) Handler {
	return HandlerFunc(func(ctx context.Context, req Request) Response {
		patches, warnings := []jsonpatch.JsonPatchOperation{}, []string{}
		for _, h := range handlers {
			response := h.Handle(ctx, req)
			if !response.Allowed {
				return response
			}
			if response.PatchType != nil && *response.PatchType != admissionv1.PatchTypeJSONPatch {
				return Errored(http.StatusInternalServerError, fmt.Errorf(
					"unexpected patch type returned by the handler: %v, only allow: %v",
					*response.PatchType, admissionv1.PatchTypeJSONPatch))
			}
			patches, warnings = append(patches, response.Patches...), append(warnings, response.Warnings...)
		}
		patch, err := json.Marshal(patches)
		if err != nil {
			return Errored(http.StatusBadRequest, fmt.Errorf("error when marshaling the patch: %w", err))
		}
		response := ofStatus(true, metav1.Status{Code: http.StatusOK})
		response.Patch, response.PatchType, response.Warnings = patch, new(admissionv1.PatchTypeJSONPatch), warnings
		return response
	})
}

// MultiValidatingHandler returns a handler that calls handlers in order, until one rejects the object.
func MultiValidatingHandler(handlers ...Handler) Handler {
	return HandlerFunc(func(ctx context.Context, req Request) Response {
		warnings := []string{}
		for _, h := range handlers {
			response := h.Handle(ctx, req)
			if !response.Allowed {
				return response
			}
			warnings = append(warnings, response.Warnings...)
		}
		response := ofStatus(true, metav1.Status{Code: http.StatusOK})
		response.Warnings = warnings
		return response
	})
}
