package client

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// NewDryRunClient returns c with [DryRunAll] at each write.
func NewDryRunClient(c Client) Client { return withDefaults(c, defaults{dryRun: true}) }

// WithFieldOwner returns c with owner as the field owner of the writes that name none.
func WithFieldOwner(c Client, owner string) Client { return withDefaults(c, defaults{owner: owner}) }

// WithFieldValidation returns c with validation at the writes that say none, see [FieldValidation].
func WithFieldValidation(c Client, validation FieldValidation) Client {
	return withDefaults(c, defaults{validation: string(validation)})
}

// defaults are the options of writes that do not say otherwise.
type defaults struct {
	dryRun            bool
	owner, validation string
}

// fill adds the defaults to the options of a write.
func (d defaults) fill(o WriteOptions, err error) (*WriteOptions, error) {
	o.DryRun = o.DryRun || d.dryRun
	if o.FieldOwner == "" {
		o.FieldOwner = d.owner
	}
	if o.FieldValidation == "" {
		o.FieldValidation = d.validation
	}
	return &o, err
}

// withDefaults returns c with defaults for its writes, as an [Interceptor] has it, so that a [WithWatch] stays one.
func withDefaults(c Client, d defaults) Client {
	return Intercept(c, Interceptor{
		Create: func(ctx context.Context, c Client, obj object.Object, opts ...CreateOption) error {
			o, err := d.fill(CreateOptionsOf(opts...))
			if err != nil {
				return err
			}
			return c.Create(ctx, obj, o)
		},
		Update: func(ctx context.Context, c Client, obj object.Object, opts ...UpdateOption) error {
			o, err := d.fill(UpdateOptionsOf(opts...))
			if err != nil {
				return err
			}
			return c.Update(ctx, obj, o)
		},
		Patch: func(ctx context.Context, c Client, obj object.Object, patch Patch, opts ...PatchOption) error {
			o, err := d.fill(PatchOptionsOf(opts...))
			if err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, o)
		},
		Apply: func(ctx context.Context, c Client, obj object.Object, opts ...ApplyOption) error {
			o, err := d.fill(ApplyOptionsOf(opts...))
			if err != nil {
				return err
			}
			return c.Apply(ctx, obj, o)
		},
		Delete: func(ctx context.Context, c Client, obj object.Object, opts ...DeleteOption) error {
			return c.Delete(ctx, obj, append(opts[:len(opts):len(opts)], DryRun(d.dryRun))...)
		},
		DeleteAllOf: func(ctx context.Context, c Client, obj object.Object, opts ...DeleteAllOfOption) error {
			return c.DeleteAllOf(ctx, obj, append(opts[:len(opts):len(opts)], DryRun(d.dryRun))...)
		},
		SubResourceCreate: func(ctx context.Context, c Client, name string, obj, sub object.Object, opts ...CreateOption) error {
			o, err := d.fill(CreateOptionsOf(opts...))
			if err != nil {
				return err
			}
			return c.SubResource(name).Create(ctx, obj, sub, o)
		},
		SubResourceUpdate: func(ctx context.Context, c Client, name string, obj object.Object, opts ...UpdateOption) error {
			o, err := d.fill(UpdateOptionsOf(opts...))
			if err != nil {
				return err
			}
			return c.SubResource(name).Update(ctx, obj, o)
		},
		SubResourcePatch: func(ctx context.Context, c Client, name string, obj object.Object, patch Patch, opts ...PatchOption) error {
			o, err := d.fill(PatchOptionsOf(opts...))
			if err != nil {
				return err
			}
			return c.SubResource(name).Patch(ctx, obj, patch, o)
		},
		SubResourceApply: func(ctx context.Context, c Client, name string, obj object.Object, opts ...ApplyOption) error {
			o, err := d.fill(ApplyOptionsOf(opts...))
			if err != nil {
				return err
			}
			return c.SubResource(name).Apply(ctx, obj, o)
		},
	})
}
