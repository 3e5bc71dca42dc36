package client

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
)

// NewDryRunClient returns a client like c whose writes are dry runs.
func NewDryRunClient(c Client) Client { return &decorated{Client: c, last: DryRunAll} }

// WithFieldOwner returns a client like c whose writes have a default field owner.
func WithFieldOwner(c Client, fieldOwner string) Client {
	return &decorated{Client: c, first: FieldOwner(fieldOwner)}
}

// WithFieldValidation returns a client like c whose writes have a default field validation.
func WithFieldValidation(c Client, validation FieldValidation) Client {
	return &decorated{Client: c, first: validation}
}

// decorated is a client that adds options to writes. The caller's options override the option first, and the option
// last overrides the caller's options. A write that does not support an option does not receive it.
type decorated struct {
	Client
	first, last any
}

// surround returns opts with first at the beginning and last at the end, if these have type T.
func surround[T any](first, last any, opts []T) []T {
	all := make([]T, 0, len(opts)+1)
	if option, ok := first.(T); ok {
		all = append(all, option)
	}
	all = append(all, opts...)
	if option, ok := last.(T); ok {
		all = append(all, option)
	}
	return all
}

// Create implements [Writer].
func (d *decorated) Create(ctx context.Context, obj Object, opts ...CreateOption) error {
	return d.Client.Create(ctx, obj, surround(d.first, d.last, opts)...)
}

// Update implements [Writer].
func (d *decorated) Update(ctx context.Context, obj Object, opts ...UpdateOption) error {
	return d.Client.Update(ctx, obj, surround(d.first, d.last, opts)...)
}

// Patch implements [Writer].
func (d *decorated) Patch(ctx context.Context, obj Object, patch Patch, opts ...PatchOption) error {
	return d.Client.Patch(ctx, obj, patch, surround(d.first, d.last, opts)...)
}

// Apply implements [Writer].
func (d *decorated) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error {
	return d.Client.Apply(ctx, obj, surround(d.first, d.last, opts)...)
}

// Delete implements [Writer].
func (d *decorated) Delete(ctx context.Context, obj Object, opts ...DeleteOption) error {
	return d.Client.Delete(ctx, obj, surround(d.first, d.last, opts)...)
}

// DeleteAllOf implements [Writer].
func (d *decorated) DeleteAllOf(ctx context.Context, obj Object, opts ...DeleteAllOfOption) error {
	return d.Client.DeleteAllOf(ctx, obj, surround(d.first, d.last, opts)...)
}

// Status implements [StatusClient].
func (d *decorated) Status() SubResourceWriter { return d.SubResource("status") }

// SubResource implements [SubResourceClientConstructor].
func (d *decorated) SubResource(name string) SubResourceClient {
	return &decoratedSubResource{d.Client.SubResource(name), d.first, d.last}
}

type decoratedSubResource struct {
	SubResourceClient
	first, last any
}

// Create implements [SubResourceWriter].
func (d *decoratedSubResource) Create(ctx context.Context, obj, sub Object, opts ...SubResourceCreateOption) error {
	return d.SubResourceClient.Create(ctx, obj, sub, surround(d.first, d.last, opts)...)
}

// Update implements [SubResourceWriter].
func (d *decoratedSubResource) Update(ctx context.Context, obj Object, opts ...SubResourceUpdateOption) error {
	return d.SubResourceClient.Update(ctx, obj, surround(d.first, d.last, opts)...)
}

// Patch implements [SubResourceWriter].
func (d *decoratedSubResource) Patch(
	ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption,
) error {
	return d.SubResourceClient.Patch(ctx, obj, patch, surround(d.first, d.last, opts)...)
}

// Apply implements [SubResourceWriter].
func (d *decoratedSubResource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption,
) error {
	return d.SubResourceClient.Apply(ctx, obj, surround(d.first, d.last, opts)...)
}
