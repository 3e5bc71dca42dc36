package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Defaulter sets omitted fields of objects of the type T, which is a pointer such as *v1.Guestbook.
type Defaulter[T object.Object] interface {
	// Default changes obj. It is called for creates and updates, and receives the object without metadata.managedFields.
	// An error rejects the request. Errors of apimachinery's package errors are sent unchanged, errors of package field
	// are sent with code 422, and all other errors with code 403.
	Default(ctx context.Context, obj T) error
}

// DefaulterFunc is a function that implements [Defaulter].
type DefaulterFunc[T object.Object] func(ctx context.Context, obj T) error

// Default calls f.
func (f DefaulterFunc[T]) Default(ctx context.Context, obj T) error { return f(ctx, obj) }

// Warnings are messages that clients such as kubectl show to the user.
type Warnings []string

// Validator rejects invalid objects of the type T. Changes that its methods make to an object have no effect. Errors
// have the same meaning as for a [Defaulter].
type Validator[T object.Object] interface {
	ValidateCreate(ctx context.Context, obj T) (Warnings, error)
	ValidateUpdate(ctx context.Context, oldObj, newObj T) (Warnings, error)
	ValidateDelete(ctx context.Context, obj T) (Warnings, error)
}

// ValidatorFuncs implements [Validator] with functions. If a function is nil, every object is accepted.
type ValidatorFuncs[T object.Object] struct {
	Create func(ctx context.Context, obj T) (Warnings, error)
	Update func(ctx context.Context, oldObj, newObj T) (Warnings, error)
	Delete func(ctx context.Context, obj T) (Warnings, error)
}

// ValidateCreate calls Create.
func (f ValidatorFuncs[T]) ValidateCreate(ctx context.Context, obj T) (Warnings, error) {
	if f.Create == nil {
		return nil, nil
	}
	return f.Create(ctx, obj)
}

// ValidateUpdate calls Update.
func (f ValidatorFuncs[T]) ValidateUpdate(ctx context.Context, oldObj, newObj T) (Warnings, error) {
	if f.Update == nil {
		return nil, nil
	}
	return f.Update(ctx, oldObj, newObj)
}

// ValidateDelete calls Delete.
func (f ValidatorFuncs[T]) ValidateDelete(ctx context.Context, obj T) (Warnings, error) {
	if f.Delete == nil {
		return nil, nil
	}
	return f.Delete(ctx, obj)
}

// kind decodes the objects of one kind.
type kind[T object.Object] struct {
	gvk     schema.GroupVersionKind
	form    reflect.Type // the struct to which T points
	decoder *wire.DocumentDecoder
}

func newKind[T object.Object](scheme *runtime.Scheme, prototype T) (*kind[T], error) {
	form := reflect.TypeOf(prototype)
	if form == nil || form.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("want a pointer to a type of the scheme, not %T", prototype)
	}
	gvk, err := object.GVK(prototype, scheme)
	if err != nil {
		return nil, err
	}
	decoder, err := wire.NewDocumentDecoder(form.Elem(), false)
	return &kind[T]{gvk: gvk, form: form.Elem(), decoder: decoder}, err
}

// decode returns the object in raw, which is a part of req.
func (k *kind[T]) decode(req *Request, what string, raw []byte) (T, error) {
	v := reflect.New(k.form)
	obj := v.Interface().(T)
	if got := req.GVK(); got != k.gvk {
		return obj, fmt.Errorf("the request is about %s, this webhook is for %s: check the rules of its configuration", got,
			k.gvk)
	}
	if len(raw) == 0 {
		return obj, fmt.Errorf("the request has no %s", what)
	}
	if err := k.decoder.Decode(raw, v.Elem()); err != nil {
		return obj, fmt.Errorf("%s: %w", what, err)
	}
	// API servers always send the kind of an object, but tests of operators may omit it.
	if got := obj.GetObjectKind().GroupVersionKind(); !got.Empty() && got != k.gvk {
		return obj, fmt.Errorf("%s is a %s, want a %s", what, got, k.gvk)
	}
	return obj, nil
}

// NewDefaulting returns a handler that calls defaulters in order for created and updated objects of the kind of
// prototype. The answer is one patch with all their changes. Deletions and connections are accepted without calling a
// defaulter. Only the type of prototype matters. scheme must contain its kind, unless the type can have any kind.
func NewDefaulting[T object.Object](scheme *runtime.Scheme, prototype T, defaulters ...Defaulter[T]) (Handler, error) {
	k, err := newKind(scheme, prototype)
	if err != nil {
		return nil, err
	}
	comparer := newComparer(k.form)
	return HandlerFunc(func(ctx context.Context, req *Request) Response {
		return k.setDefaults(ctx, req, defaulters, comparer)
	}), nil
}

func (k *kind[T]) setDefaults(ctx context.Context, req *Request, defaulters []Defaulter[T], c *comparer) Response {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return Allowed("")
	}
	after, err := k.decode(req, "object", req.Object.Raw)
	if err != nil {
		return Errored(http.StatusBadRequest, err)
	}
	before := after.DeepCopyObject()
	ctx = ContextWithRequest(ctx, req)
	for _, d := range defaulters {
		if err := d.Default(ctx, after); err != nil {
			return refusal(req, err)
		}
	}
	d := newDiffer(req.Object.Raw)
	c.diff(d, reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem())
	if d.err != nil {
		return Errored(http.StatusInternalServerError, fmt.Errorf("encode the defaulted object: %w", d.err))
	}
	return Patched("", d.ops...)
}

// NewValidating returns a handler that calls validators in order for created, updated and deleted objects of the kind
// of prototype. The first error rejects the request. The response has the warnings of all validators until then.
func NewValidating[T object.Object](scheme *runtime.Scheme, prototype T, validators ...Validator[T]) (Handler, error) {
	k, err := newKind(scheme, prototype)
	if err != nil {
		return nil, err
	}
	return HandlerFunc(func(ctx context.Context, req *Request) Response { return k.validate(ctx, req, validators) }), nil
}

func (k *kind[T]) validate(ctx context.Context, req *Request, validators []Validator[T]) Response {
	if req.Operation == admissionv1.Connect {
		return Allowed("")
	}
	old, current, err := k.decodeBoth(req)
	if err != nil {
		return Errored(http.StatusBadRequest, err)
	}
	ctx = ContextWithRequest(ctx, req)
	response := Allowed("")
	for _, v := range validators {
		var warnings Warnings
		switch req.Operation {
		case admissionv1.Create:
			warnings, err = v.ValidateCreate(ctx, current)
		case admissionv1.Update:
			warnings, err = v.ValidateUpdate(ctx, old, current)
		case admissionv1.Delete:
			warnings, err = v.ValidateDelete(ctx, old)
		}
		response.Warnings = append(response.Warnings, warnings...)
		if err != nil {
			refused := refusal(req, err)
			refused.Warnings = response.Warnings
			return refused
		}
	}
	return response
}

// decodeBoth returns the stored object, unless the request creates it, and the new object, unless it deletes it.
func (k *kind[T]) decodeBoth(req *Request) (old, current T, err error) {
	if req.Operation != admissionv1.Delete {
		if current, err = k.decode(req, "object", req.Object.Raw); err != nil {
			return old, current, err
		}
	}
	if req.Operation != admissionv1.Create {
		if old, err = k.decode(req, "oldObject", req.OldObject.Raw); err != nil {
			return old, current, err
		}
	}
	switch req.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete:
		return old, current, nil
	}
	return old, current, fmt.Errorf("there is no operation %q", req.Operation)
}

// refusal returns the response to an error of a defaulter or a validator.
func refusal(req *Request, err error) Response {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		result := status.Status()
		return Response{Result: &result}
	}
	if invalid := fieldErrors(err); len(invalid) > 0 {
		result := apierrors.NewInvalid(req.GVK().GroupKind(), req.Name, invalid).Status()
		return Response{Result: &result}
	}
	return Denied(err.Error())
}

// fieldErrors returns the errors that err joins, if all of them belong to package field.
func fieldErrors(err error) field.ErrorList {
	if one, ok := errors.AsType[*field.Error](err); ok && error(one) == err {
		return field.ErrorList{one}
	}
	var several []error
	switch err := err.(type) {
	case utilerrors.Aggregate:
		several = err.Errors()
	case interface{ Unwrap() []error }: // from errors.Join
		several = err.Unwrap()
	}
	var list field.ErrorList
	for _, one := range several {
		about := fieldErrors(one)
		if len(about) == 0 {
			return nil
		}
		list = append(list, about...)
	}
	return list
}

// statusOf returns the status to send for a response.
func statusOf(r Response) *metav1.Status {
	switch {
	case r.Allowed && r.Result == nil:
		return &metav1.Status{Code: http.StatusOK}
	case r.Allowed:
		return r.Result
	case r.Result == nil:
		r = Denied("")
	}
	status := *r.Result
	status.Status = cmp.Or(status.Status, metav1.StatusFailure)
	return &status
}
