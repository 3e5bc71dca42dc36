package client

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
)

// Status implements [StatusClient].
func (c *client) Status() SubResourceWriter { return c.SubResource("status") }

// SubResource implements [SubResourceClientConstructor].
func (c *client) SubResource(name string) SubResourceClient {
	return &subResource{of: c, live: c.live.SubResource(name)}
}

type subResource struct {
	of   *client
	live kclient.SubResourceClient
}

var _ SubResourceClient = (*subResource)(nil)

// Get implements [SubResourceReader].
func (s *subResource) Get(ctx context.Context, obj, sub Object, opts ...SubResourceGetOption) error {
	if raw := new(SubResourceGetOptions).ApplyOptions(opts).Raw; raw != nil {
		var err error
		if ctx, err = withRaw(ctx, raw); err != nil {
			return err
		}
	}
	return s.of.fill(sub, func() error { return s.live.Get(ctx, obj, sub) })
}

// Create implements [SubResourceWriter].
func (s *subResource) Create(ctx context.Context, obj, sub Object, opts ...SubResourceCreateOption) error {
	ctx, o, err := new(SubResourceCreateOptions).ApplyOptions(opts).CreateOptions.convert(ctx)
	if err != nil {
		return err
	}
	return s.of.call(sub, func() error { return s.live.Create(ctx, obj, sub, o) })
}

// Update implements [SubResourceWriter].
func (s *subResource) Update(ctx context.Context, obj Object, opts ...SubResourceUpdateOption) error {
	all := new(SubResourceUpdateOptions).ApplyOptions(opts)
	ctx, o, err := all.UpdateOptions.convert(ctx)
	if err != nil {
		return err
	}
	return s.write(obj, all.SubResourceBody, o, func() error { return s.live.Update(ctx, obj, o) })
}

// Patch implements [SubResourceWriter].
func (s *subResource) Patch(ctx context.Context, obj Object, patch Patch, opts ...SubResourcePatchOption) error {
	all := new(SubResourcePatchOptions).ApplyOptions(opts)
	ctx, o, err := all.PatchOptions.convert(ctx)
	if err != nil {
		return err
	}
	err = s.write(obj, all.SubResourceBody, o, func() error { return s.live.Patch(ctx, obj, patch, o) })
	return s.of.unscoped(err, http.StatusNotFound, obj, obj.GetNamespace())
}

// write calls f, which writes obj, or body if it is not nil, with the options o.
func (s *subResource) write(obj, body Object, o *kclient.WriteOptions, f func() error) error {
	if body == nil {
		return s.of.call(obj, f)
	}
	o.SubResourceBody = body
	return s.of.fill(body, f)
}

// isTyped reports whether obj has the Go type of its kind.
func isTyped(obj runtime.Object) bool {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return false
	}
	return true
}
