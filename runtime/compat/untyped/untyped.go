// Package untyped has defaulters and validators without a Go type, for operators that were migrated from
// controller-runtime: [Defaulter] and [Validator] receive any object, objects that implement [SelfDefaulter] and
// [SelfValidator] are their own webhooks, and a [Decoder] is for handlers. New code should implement
// admission.Defaulter and admission.Validator.
package untyped

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
)

// Defaulter sets defaults in objects of any kind. [DefaulterOf] converts it to an [admission.Defaulter], whose rules
// for errors apply.
type Defaulter interface {
	Default(ctx context.Context, obj runtime.Object) error
}

// Validator validates objects of any kind. [ValidatorOf] converts it to an [admission.Validator].
type Validator interface {
	ValidateCreate(ctx context.Context, obj runtime.Object) (admission.Warnings, error)
	ValidateUpdate(ctx context.Context, oldObj, newObj runtime.Object) (admission.Warnings, error)
	ValidateDelete(ctx context.Context, obj runtime.Object) (admission.Warnings, error)
}

// DefaulterOf returns a defaulter of type T that calls d.
func DefaulterOf[T object.Object](d Defaulter) admission.Defaulter[T] {
	return admission.DefaulterFunc[T](func(ctx context.Context, obj T) error { return d.Default(ctx, obj) })
}

// ValidatorOf returns a validator of type T that calls v.
func ValidatorOf[T object.Object](v Validator) admission.Validator[T] {
	return admission.ValidatorFuncs[T]{
		Create: func(ctx context.Context, obj T) (admission.Warnings, error) { return v.ValidateCreate(ctx, obj) },
		Update: func(ctx context.Context, oldObj, newObj T) (admission.Warnings, error) {
			return v.ValidateUpdate(ctx, oldObj, newObj)
		},
		Delete: func(ctx context.Context, obj T) (admission.Warnings, error) { return v.ValidateDelete(ctx, obj) },
	}
}

// WithCustomDefaulter returns [admission.NewDefaulting] for objects of the kind of prototype. The handler answers 500
// if scheme does not have the kind.
func WithCustomDefaulter(scheme *runtime.Scheme, prototype runtime.Object, d Defaulter) admission.Handler {
	kind, err := asObject(prototype)
	if err != nil {
		return handlerOf(nil, err)
	}
	return handlerOf(admission.NewDefaulting(scheme, kind, DefaulterOf[object.Object](d)))
}

// WithCustomValidator returns [admission.NewValidating] for objects of the kind of prototype. The handler answers 500
// if scheme does not have the kind.
func WithCustomValidator(scheme *runtime.Scheme, prototype runtime.Object, v Validator) admission.Handler {
	kind, err := asObject(prototype)
	if err != nil {
		return handlerOf(nil, err)
	}
	return handlerOf(admission.NewValidating(scheme, kind, ValidatorOf[object.Object](v)))
}

// WithDefaulter returns [admission.NewDefaulting] for objects of type T. The handler answers 500 if scheme does not
// have the type.
func WithDefaulter[T object.Object](scheme *runtime.Scheme, d admission.Defaulter[T]) admission.Handler {
	prototype, err := prototypeOf[T]()
	if err != nil {
		return handlerOf(nil, err)
	}
	return handlerOf(admission.NewDefaulting(scheme, prototype, d))
}

// WithValidator returns [admission.NewValidating] for objects of type T. The handler answers 500 if scheme does not
// have the type.
func WithValidator[T object.Object](scheme *runtime.Scheme, v admission.Validator[T]) admission.Handler {
	prototype, err := prototypeOf[T]()
	if err != nil {
		return handlerOf(nil, err)
	}
	return handlerOf(admission.NewValidating(scheme, prototype, v))
}

func asObject(prototype runtime.Object) (object.Object, error) {
	kind, ok := prototype.(object.Object)
	if !ok {
		return nil, fmt.Errorf("a webhook is for objects with metadata, %T has none", prototype)
	}
	return kind, nil
}

// prototypeOf returns an empty object of type T.
func prototypeOf[T object.Object]() (prototype T, err error) {
	form := reflect.TypeFor[T]()
	if form.Kind() != reflect.Pointer {
		return prototype, fmt.Errorf("want a pointer to a type of the scheme, not %s", form)
	}
	return reflect.New(form.Elem()).Interface().(T), nil
}

// SelfDefaulter is an object that sets its own defaults. A separate [admission.Defaulter] keeps dependencies of
// webhooks out of API packages.
type SelfDefaulter interface {
	object.Object
	Default()
}

// SelfValidator is an object that validates itself. A separate [admission.Validator] keeps dependencies of webhooks out
// of API packages.
type SelfValidator interface {
	object.Object
	ValidateCreate() (admission.Warnings, error)
	ValidateUpdate(old runtime.Object) (admission.Warnings, error)
	ValidateDelete() (admission.Warnings, error)
}

// DefaultingWebhookFor returns a webhook that calls Default on objects of prototype's kind. It answers 500 if scheme
// does not have the kind.
func DefaultingWebhookFor(scheme *runtime.Scheme, prototype SelfDefaulter) *admission.Reviewer {
	d := admission.DefaulterFunc[SelfDefaulter](func(_ context.Context, obj SelfDefaulter) error {
		obj.Default()
		return nil
	})
	return reviewerOf(admission.NewDefaulting(scheme, prototype, d))
}

// ValidatingWebhookFor returns a webhook that calls the methods of objects of prototype's kind. It answers 500 if
// scheme does not have the kind.
func ValidatingWebhookFor(scheme *runtime.Scheme, prototype SelfValidator) *admission.Reviewer {
	return reviewerOf(admission.NewValidating(scheme, prototype, admission.ValidatorFuncs[SelfValidator]{
		Create: func(_ context.Context, obj SelfValidator) (admission.Warnings, error) { return obj.ValidateCreate() },
		Update: func(_ context.Context, old, obj SelfValidator) (admission.Warnings, error) {
			return obj.ValidateUpdate(old)
		},
		Delete: func(_ context.Context, obj SelfValidator) (admission.Warnings, error) { return obj.ValidateDelete() },
	}))
}

// reviewerOf returns the webhook of h, or one that answers with err.
func reviewerOf(h admission.Handler, err error) *admission.Reviewer {
	return admission.NewReviewer(handlerOf(h, err), nil)
}

// handlerOf returns h, or a handler that answers with err.
func handlerOf(h admission.Handler, err error) admission.Handler {
	if err != nil {
		return admission.HandlerFunc(func(context.Context, *admission.Request) admission.Response {
			return admission.Errored(http.StatusInternalServerError, err)
		})
	}
	return h
}

// Decoder decodes objects of requests. It is safe for concurrent use.
type Decoder interface {
	// Decode sets obj to the object of the request, see [admission.Request.Decode].
	Decode(req *admission.Request, obj any) error
	// DecodeRaw sets obj to raw, an object of a request, such as its OldObject.
	DecodeRaw(raw runtime.RawExtension, obj any) error
}

// NewDecoder returns a decoder. The scheme is not used: requests can decode their own objects.
func NewDecoder(*runtime.Scheme) Decoder { return decoder{} }

type decoder struct{}

func (decoder) Decode(req *admission.Request, obj any) error { return req.Decode(obj) }

func (decoder) DecodeRaw(raw runtime.RawExtension, obj any) error {
	var req admission.Request
	req.Object = raw
	return req.Decode(obj)
}
