package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kadmission "github.com/kctrl-dev/kctrl/runtime/webhook/admission"
)

// Defaulter sets defaults of objects of one type.
type Defaulter[T runtime.Object] interface {
	// Default sets the defaults of obj. An error rejects obj.
	Default(ctx context.Context, obj T) error
}

// CustomDefaulter is a defaulter of objects of any type.
//
// Deprecated: use [Defaulter].
type CustomDefaulter = Defaulter[runtime.Object]

type defaulterOptions struct{ removeUnknown bool }

// DefaulterOption changes a webhook of [WithDefaulter].
type DefaulterOption func(*defaulterOptions)

// DefaulterRemoveUnknownOrOmitableFields makes the defaulter remove fields that the Go type lacks or omits.
func DefaulterRemoveUnknownOrOmitableFields(o *defaulterOptions) { o.removeUnknown = true }

// Warnings are warnings for the client.
type Warnings = kadmission.Warnings

// Validator validates objects of one type. An error rejects the object.
type Validator[T runtime.Object] interface {
	// ValidateCreate validates a new object.
	ValidateCreate(ctx context.Context, obj T) (warnings Warnings, err error)
	// ValidateUpdate validates a change.
	ValidateUpdate(ctx context.Context, oldObj, newObj T) (warnings Warnings, err error)
	// ValidateDelete validates a deletion.
	ValidateDelete(ctx context.Context, obj T) (warnings Warnings, err error)
}

// CustomValidator is a validator of objects of any type.
//
// Deprecated: use [Validator].
type CustomValidator = Validator[runtime.Object]

// WithDefaulter returns a webhook that sets defaults.
func WithDefaulter[T runtime.Object](scheme *runtime.Scheme, defaulter Defaulter[T], opts ...DefaulterOption) *Webhook {
	return defaulting(scheme, newOf[T], defaulter, opts)
}

// WithCustomDefaulter is like [WithDefaulter], for objects of the type of obj.
//
// Deprecated: use [WithDefaulter].
func WithCustomDefaulter(
	scheme *runtime.Scheme, obj runtime.Object, defaulter CustomDefaulter, opts ...DefaulterOption,
) *Webhook {
	return defaulting(scheme, func() runtime.Object { return obj.DeepCopyObject() }, defaulter, opts)
}

// WithValidator returns a webhook that validates.
func WithValidator[T runtime.Object](scheme *runtime.Scheme, validator Validator[T]) *Webhook {
	return &Webhook{Handler: &validating[T]{validator, NewDecoder(scheme), newOf[T]}}
}

// WithCustomValidator is like [WithValidator], for objects of the type of obj.
//
// Deprecated: use [WithValidator].
func WithCustomValidator(scheme *runtime.Scheme, obj runtime.Object, validator CustomValidator) *Webhook {
	return &Webhook{Handler: &validating[runtime.Object]{
		validator, NewDecoder(scheme), func() runtime.Object { return obj.DeepCopyObject() },
	}}
}

// newOf returns a new T, a pointer to a struct.
func newOf[T runtime.Object]() T {
	if form := reflect.TypeFor[T](); form.Kind() == reflect.Pointer {
		return reflect.New(form.Elem()).Interface().(T)
	}
	var zero T
	return zero
}

func defaulting[T runtime.Object](
	scheme *runtime.Scheme, newObject func() T, defaulter Defaulter[T], opts []DefaulterOption,
) *Webhook {
	h := &defaultingHandler[T]{defaulter: defaulter, decoder: NewDecoder(scheme), newObject: newObject}
	for _, opt := range opts {
		opt(&h.options)
	}
	return &Webhook{Handler: h}
}

// defaultingHandler calls a defaulter.
type defaultingHandler[T runtime.Object] struct {
	defaulter Defaulter[T]
	decoder   Decoder
	newObject func() T
	options   defaulterOptions
}

// Handle implements [Handler].
func (h *defaultingHandler[T]) Handle(ctx context.Context, req Request) Response {
	if h.defaulter == nil {
		panic("defaulter should never be nil")
	}
	if req.Operation == admissionv1.Delete {
		return ofStatus(true, metav1.Status{Code: http.StatusOK})
	}
	obj := h.newObject()
	if err := h.decoder.Decode(req, obj); err != nil {
		return Errored(http.StatusBadRequest, err)
	}
	original := obj.DeepCopyObject()
	if err := h.defaulter.Default(NewContextWithRequest(ctx, req), obj); err != nil {
		return rejected(err)
	}
	if !h.options.removeUnknown && reflect.DeepEqual(original, runtime.Object(obj)) {
		return Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true}}
	}
	current, err := json.Marshal(obj)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	response := PatchResponseFromRaw(req.Object.Raw, current)
	if h.options.removeUnknown || !response.Allowed {
		return response
	}
	return keepUnknown(response, original, req.Object.Raw)
}

// keepUnknown drops those patches of a response that remove fields missing in the Go type of original.
func keepUnknown(response Response, original runtime.Object, raw []byte) Response {
	removes := func(p jsonpatch.JsonPatchOperation) bool { return p.Operation == "remove" }
	if !slices.ContainsFunc(response.Patches, removes) {
		return response
	}
	known, err := json.Marshal(original)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	lost, err := jsonpatch.CreatePatch(raw, known)
	if err != nil {
		return Errored(http.StatusInternalServerError, err)
	}
	unknown := map[string]bool{} // paths
	for _, p := range lost {
		if removes(p) {
			unknown[p.Path] = true
		}
	}
	response.Patches = slices.DeleteFunc(response.Patches, func(p jsonpatch.JsonPatchOperation) bool {
		return removes(p) && unknown[p.Path]
	})
	if len(response.Patches) == 0 {
		response.PatchType = nil
	}
	return response
}

// rejected returns the response for an error of a defaulter or validator.
func rejected(err error) Response {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return ofStatus(false, status.Status())
	}
	return Denied(err.Error())
}

// validating calls a validator.
type validating[T runtime.Object] struct {
	validator Validator[T]
	decoder   Decoder
	newObject func() T
}

// Handle implements [Handler].
func (h *validating[T]) Handle(ctx context.Context, req Request) Response {
	if h.validator == nil {
		panic("validator should never be nil")
	}
	ctx = NewContextWithRequest(ctx, req)
	warnings, invalid, err := h.validate(ctx, req)
	switch {
	case err != nil:
		return Errored(http.StatusBadRequest, err)
	case invalid != nil:
		return rejected(invalid).WithWarnings(warnings...)
	}
	return Allowed("").WithWarnings(warnings...)
}

// validate returns the result of the validator, or an error if the validator could not be called.
func (h *validating[T]) validate(ctx context.Context, req Request) (warnings Warnings, invalid, err error) {
	obj := h.newObject()
	switch req.Operation {
	case admissionv1.Connect:
		return nil, nil, nil
	case admissionv1.Create:
		if err := h.decoder.Decode(req, obj); err != nil {
			return nil, nil, err
		}
		warnings, invalid = h.validator.ValidateCreate(ctx, obj)
	case admissionv1.Update:
		old := h.newObject()
		if err := errors.Join(h.decoder.DecodeRaw(req.Object, obj), h.decoder.DecodeRaw(req.OldObject, old)); err != nil {
			return nil, nil, err
		}
		warnings, invalid = h.validator.ValidateUpdate(ctx, old, obj)
	case admissionv1.Delete:
		if err := h.decoder.DecodeRaw(req.OldObject, obj); err != nil {
			return nil, nil, err
		}
		warnings, invalid = h.validator.ValidateDelete(ctx, obj)
	default:
		return nil, nil, fmt.Errorf("unknown operation %q", req.Operation)
	}
	return warnings, invalid, nil
}
