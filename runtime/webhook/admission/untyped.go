package admission

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// UntypedDefaulter is a defaulter that finds out itself of which kind an object is, as those of several kinds do. [DefaulterOf] makes a
// [Defaulter] of one, and its errors are those of one.
type UntypedDefaulter interface {
	Default(ctx context.Context, obj runtime.Object) error
}

// UntypedValidator is a validator that finds out itself of which kind an object is, as those of several kinds do. [ValidatorOf] makes a
// [Validator] of one.
type UntypedValidator interface {
	ValidateCreate(ctx context.Context, obj runtime.Object) (Warnings, error)
	ValidateUpdate(ctx context.Context, oldObj, newObj runtime.Object) (Warnings, error)
	ValidateDelete(ctx context.Context, obj runtime.Object) (Warnings, error)
}

// DefaulterOf returns a defaulter of the type T that asks d.
func DefaulterOf[T object.Object](d UntypedDefaulter) Defaulter[T] {
	return DefaulterFunc[T](func(ctx context.Context, obj T) error { return d.Default(ctx, obj) })
}

// ValidatorOf returns a validator of the type T that asks v.
func ValidatorOf[T object.Object](v UntypedValidator) Validator[T] {
	return ValidatorFuncs[T]{
		Create: func(ctx context.Context, obj T) (Warnings, error) { return v.ValidateCreate(ctx, obj) },
		Update: func(ctx context.Context, oldObj, newObj T) (Warnings, error) {
			return v.ValidateUpdate(ctx, oldObj, newObj)
		},
		Delete: func(ctx context.Context, obj T) (Warnings, error) { return v.ValidateDelete(ctx, obj) },
	}
}

// WithCustomDefaulter returns [NewDefaulting] for objects of the kind of prototype. What it cannot be made for, because scheme does not
// know it, is answered with 500.
func WithCustomDefaulter(scheme *runtime.Scheme, prototype runtime.Object, d UntypedDefaulter) Handler {
	kind, err := asObject(prototype)
	if err != nil {
		return handlerOf(nil, err)
	}
	return handlerOf(NewDefaulting(scheme, kind, DefaulterOf[object.Object](d)))
}

// WithCustomValidator returns [NewValidating] for objects of the kind of prototype. What it cannot be made for, because scheme does not
// know it, is answered with 500.
func WithCustomValidator(scheme *runtime.Scheme, prototype runtime.Object, v UntypedValidator) Handler {
	kind, err := asObject(prototype)
	if err != nil {
		return handlerOf(nil, err)
	}
	return handlerOf(NewValidating(scheme, kind, ValidatorOf[object.Object](v)))
}

// WithDefaulter returns [NewDefaulting] for objects of the type T. What it cannot be made for, because scheme does not know it, is answered
// with 500.
func WithDefaulter[T object.Object](scheme *runtime.Scheme, d Defaulter[T]) Handler {
	prototype, err := prototypeOf[T]()
	if err != nil {
		return handlerOf(nil, err)
	}
	return handlerOf(NewDefaulting(scheme, prototype, d))
}

// WithValidator returns [NewValidating] for objects of the type T. What it cannot be made for, because scheme does not know it, is answered
// with 500.
func WithValidator[T object.Object](scheme *runtime.Scheme, v Validator[T]) Handler {
	prototype, err := prototypeOf[T]()
	if err != nil {
		return handlerOf(nil, err)
	}
	return handlerOf(NewValidating(scheme, prototype, v))
}

func asObject(prototype runtime.Object) (object.Object, error) {
	kind, ok := prototype.(object.Object)
	if !ok {
		return nil, fmt.Errorf("a webhook is for objects with metadata, %T has none", prototype)
	}
	return kind, nil
}

// prototypeOf returns an empty object of the type T.
func prototypeOf[T object.Object]() (prototype T, err error) {
	form := reflect.TypeFor[T]()
	if form.Kind() != reflect.Pointer {
		return prototype, fmt.Errorf("want a pointer to a type of the scheme, not %s", form)
	}
	return reflect.New(form.Elem()).Interface().(T), nil
}
