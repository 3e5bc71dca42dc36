package admission

import "context"

type Warnings []string

type Defaulter[T any] interface {
	Default(ctx context.Context, obj T) error
}

type Validator[T any] interface {
	ValidateCreate(ctx context.Context, obj T) (Warnings, error)
	ValidateUpdate(ctx context.Context, oldObj, newObj T) (Warnings, error)
	ValidateDelete(ctx context.Context, obj T) (Warnings, error)
}
