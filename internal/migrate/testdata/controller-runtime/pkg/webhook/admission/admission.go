package admission

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type Request struct{ admissionv1.AdmissionRequest }

type Response struct {
	Patches []jsonpatch.JsonPatchOperation
	admissionv1.AdmissionResponse
}

func Patched(message string, patches ...jsonpatch.JsonPatchOperation) Response { return Response{} }

type Handler interface {
	Handle(context.Context, Request) Response
}

type Webhook struct {
	Handler        Handler
	RecoverPanic   *bool
	LogConstructor func(base logr.Logger, req *Request) logr.Logger
}

func (*Webhook) ServeHTTP(http.ResponseWriter, *http.Request) {}

func (*Webhook) Handle(context.Context, Request) Response { return Response{} }

func (w *Webhook) WithRecoverPanic(bool) *Webhook { return w }

type StandaloneOptions struct {
	Logger      logr.Logger
	MetricsPath string
}

func StandaloneWebhook(hook *Webhook, opts StandaloneOptions) (http.Handler, error) { return hook, nil }

type Decoder interface {
	Decode(req Request, into runtime.Object) error
	DecodeRaw(raw runtime.RawExtension, into runtime.Object) error
}

func NewDecoder(scheme *runtime.Scheme) Decoder { return nil }

func NewContextWithRequest(ctx context.Context, req Request) context.Context { return ctx }

type Warnings []string

type Defaulter[T any] interface {
	Default(ctx context.Context, obj T) error
}

type Validator[T any] interface {
	ValidateCreate(ctx context.Context, obj T) (Warnings, error)
	ValidateUpdate(ctx context.Context, oldObj, newObj T) (Warnings, error)
	ValidateDelete(ctx context.Context, obj T) (Warnings, error)
}

type CustomDefaulter = Defaulter[runtime.Object]

type CustomValidator = Validator[runtime.Object]

type DefaulterOption func()

func DefaulterRemoveUnknownOrOmitableFields() {}

func WithCustomDefaulter(scheme *runtime.Scheme, obj runtime.Object, d CustomDefaulter, opts ...DefaulterOption) *Webhook {
	return nil
}

func WithCustomValidator(scheme *runtime.Scheme, obj runtime.Object, v CustomValidator) *Webhook {
	return nil
}

func WithValidator[T runtime.Object](scheme *runtime.Scheme, v Validator[T]) *Webhook { return nil }

// Until version 0.19.

func DefaultingWebhookFor(scheme *runtime.Scheme, defaulter interface {
	runtime.Object
	Default()
}) http.Handler {
	return nil
}

func ValidatingWebhookFor(scheme *runtime.Scheme, validator interface {
	runtime.Object
	ValidateCreate() (Warnings, error)
	ValidateUpdate(old runtime.Object) (Warnings, error)
	ValidateDelete() (Warnings, error)
}) http.Handler {
	return nil
}
