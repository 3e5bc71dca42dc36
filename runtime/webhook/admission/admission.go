package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Request is the API server's request to review an operation on an object. Handlers share it and must not modify it.
type Request struct {
	admissionv1.AdmissionRequest
}

// Key returns the key of the object. The key has no name when an object is created with a generated name.
func (r *Request) Key() object.Key { return object.Key{Namespace: r.Namespace, Name: r.Name} }

// GVK returns the kind of the objects in the request.
func (r *Request) GVK() schema.GroupVersionKind { return schema.GroupVersionKind(r.Kind) }

// IsDryRun reports whether the operation is a dry run, in which a handler must have no side effects.
func (r *Request) IsDryRun() bool { return r.DryRun != nil && *r.DryRun }

// Decode sets obj to the object of the request, which for a deletion is the deleted object.
func (r *Request) Decode(obj any) error {
	if r.Operation == admissionv1.Delete {
		return r.DecodeOld(obj)
	}
	return decode("object", r.Object.Raw, obj)
}

// DecodeOld sets obj to the stored object. Only updates and deletions have a stored object.
func (r *Request) DecodeOld(obj any) error { return decode("oldObject", r.OldObject.Raw, obj) }

func decode(what string, raw []byte, obj any) error {
	if len(raw) == 0 {
		return fmt.Errorf("the request has no %s", what)
	}
	if err := utiljson.Unmarshal(raw, obj); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Response is the answer to a request. The zero value rejects the request without a reason.
type Response struct {
	// Allowed permits the operation.
	Allowed bool
	// Result is the reason for a rejection, with a code and a message. If it is nil, a rejection has code 403.
	Result *metav1.Status
	// Patches are applied to the object before it is stored. A rejection has no patches.
	Patches []Operation
	// Warnings are messages that clients such as kubectl show to the user. The API server truncates each to 256 bytes.
	Warnings []string
	// AuditAnnotations are added to the audit log of the API server.
	AuditAnnotations map[string]string
}

// WithWarnings returns a copy of the response with additional warnings.
func (r Response) WithWarnings(warnings ...string) Response {
	r.Warnings = append(r.Warnings[:len(r.Warnings):len(r.Warnings)], warnings...)
	return r
}

// Allowed returns a response that permits the operation. The message is optional and appears in the audit log.
func Allowed(message string) Response {
	return Response{Allowed: true, Result: &metav1.Status{Code: http.StatusOK, Message: message}}
}

// Denied returns a response that rejects the operation with code 403. The user sees the message.
func Denied(message string) Response {
	return Response{Result: &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: message}}
}

// ValidationResponse returns [Allowed] or [Denied], depending on allowed, with the message.
func ValidationResponse(allowed bool, message string) Response {
	if allowed {
		return Allowed(message)
	}
	return Denied(message)
}

// Errored returns a response that rejects the operation with a code, such as 400. The user sees the error.
func Errored(code int32, err error) Response {
	return Response{Result: &metav1.Status{Code: code, Message: err.Error()}}
}

// Patched returns a response that permits the operation with the patched object.
func Patched(message string, patches ...Operation) Response {
	r := Allowed(message)
	r.Patches = patches
	return r
}

// PatchResponseFromRaw returns a response whose patches change original, the JSON of the request's object, to current.
func PatchResponseFromRaw(original, current []byte) Response {
	patches, err := Diff(original, current)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	return Response{Allowed: true, Patches: patches}
}

// Handler answers requests. Its method is called concurrently.
type Handler interface {
	Handle(ctx context.Context, req *Request) Response
}

// HandlerFunc implements [Handler] with a function.
type HandlerFunc func(ctx context.Context, req *Request) Response

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, req *Request) Response { return f(ctx, req) }

type requestKey struct{}

// RequestFromContext returns the request in the context of a handler, a defaulter or a validator, or an error.
func RequestFromContext(ctx context.Context) (*Request, error) {
	req, ok := ctx.Value(requestKey{}).(*Request)
	if !ok {
		return nil, errors.New("the context is not that of an admission request")
	}
	return req, nil
}

// ContextWithRequest returns a context that contains req. Use it in tests of defaulters and validators.
func ContextWithRequest(ctx context.Context, req *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, req)
}

// Chain returns a handler that calls handlers in order. Each handler receives the object as patched by the previous
// ones. The answer is the first rejection, or otherwise all patches, combined in order. It contains the warnings and
// audit annotations of all handlers that were called.
func Chain(handlers ...Handler) Handler {
	if len(handlers) == 1 {
		return handlers[0]
	}
	return chain(handlers)
}

type chain []Handler

func (c chain) Handle(ctx context.Context, req *Request) Response {
	all := Allowed("")
	for i, h := range c {
		one := h.Handle(ctx, req)
		one.Warnings = append(all.Warnings, one.Warnings...)
		if len(all.AuditAnnotations) > 0 {
			joined := maps.Clone(all.AuditAnnotations)
			maps.Copy(joined, one.AuditAnnotations)
			one.AuditAnnotations = joined
		}
		if !one.Allowed {
			one.Patches = nil
			return one
		}
		if i < len(c)-1 && len(one.Patches) > 0 {
			patched, err := apply(req.Object.Raw, one.Patches)
			if err != nil {
				return Errored(http.StatusInternalServerError, err)
			}
			next := *req
			next.Object.Raw = patched
			req = &next
			ctx = ContextWithRequest(ctx, req)
		}
		one.Patches = append(all.Patches, one.Patches...)
		all = one
	}
	return all
}
