package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

const statusSubresource = "status"

// Status returns a writer of the status subresource.
func (c *REST) Status() SubResourceWriter { return c.SubResource(statusSubresource) }

// SubResource returns a client of the named subresource.
func (c *REST) SubResource(name string) SubResourceClient { return &subresource{client: c, name: name} }

// subresource is a subresource of any kind.
type subresource struct {
	client *REST
	name   string
}

func (s *subresource) Get(ctx context.Context, obj, sub object.Object, opts ...GetOption) error {
	o, err := GetOptionsOf(opts...)
	if err != nil {
		return err
	}
	r, err := s.request(ctx, "get", http.MethodGet, obj)
	if err != nil {
		return err
	}
	gvk, err := object.GVK(sub, s.client.scheme)
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	return s.client.get(ctx, r, o, sub, gvk)
}

func (s *subresource) Create(ctx context.Context, obj, sub object.Object, opts ...CreateOption) error {
	var o WriteOptions
	for _, opt := range opts {
		opt.ApplyToCreate(&o)
	}
	if err := o.err(); err != nil {
		return err
	}
	r, err := s.request(ctx, "create", http.MethodPost, obj)
	if err != nil {
		return err
	}
	return r.named(sub, func() error { return s.client.write(ctx, r, o, sub) })
}

func (s *subresource) Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error {
	if err := checkSubresource(s.name); err != nil {
		return err
	}
	return s.client.update(ctx, obj, s.name, opts)
}

func (s *subresource) Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error {
	if err := checkSubresource(s.name); err != nil {
		return err
	}
	return s.client.patch(ctx, obj, patch, s.name, opts)
}

func (s *subresource) Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error {
	if err := checkSubresource(s.name); err != nil {
		return err
	}
	return s.client.apply(ctx, obj, s.name, opts)
}

// request returns a request for the subresource of the object that obj names.
func (s *subresource) request(ctx context.Context, verb, method string, obj object.Object) (*request, error) {
	if err := checkSubresource(s.name); err != nil {
		return nil, err
	}
	return s.client.requestFor(ctx, verb, method, obj, s.name, WriteOptions{})
}

// checkSubresource returns an error for a name that would address another resource.
func checkSubresource(name string) error {
	if name == "" {
		return fmt.Errorf("the name of the subresource is missing")
	}
	return checkSegments(name)
}
