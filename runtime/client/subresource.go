package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

const statusSubresource = "status"

// Status returns a writer of the status subresource.
func (c *REST) Status() SubResourceWriter { return c.SubResource(statusSubresource) }

// SubResource returns a client of the named subresource.
func (c *REST) SubResource(name string) SubResourceClient {
	s := &subresource{client: c, name: name, invalid: checkSegments(name)}
	if name == "" {
		s.invalid = errors.New("the name of the subresource is missing")
	}
	return s
}

// subresource is a subresource of any kind, or the whole object if name is empty.
type subresource struct {
	client  *REST
	name    string
	invalid error // of a name that would address another resource
}

// objects returns the client of whole objects.
func (c *REST) objects() *subresource { return &subresource{client: c} }

func (s *subresource) Get(ctx context.Context, obj, sub object.Object, opts ...GetOption) error {
	o, err := GetOptionsOf(opts...)
	if err != nil {
		return err
	}
	r, err := s.request(ctx, "get", http.MethodGet, obj, WriteOptions{})
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
	o, err := CreateOptionsOf(opts...)
	if err != nil {
		return err
	}
	r, err := s.request(ctx, "create", http.MethodPost, obj, WriteOptions{})
	if err != nil {
		return err
	}
	return r.named(sub, func() error { return s.client.write(ctx, r, o, sub) })
}

func (s *subresource) Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error {
	o, err := UpdateOptionsOf(opts...)
	if err != nil {
		return err
	}
	r, err := s.request(ctx, "update", http.MethodPut, obj, o)
	if err != nil {
		return err
	}
	body := o.bodyFor(obj)
	return r.named(body, func() error { return s.client.write(ctx, r, o, body) })
}

func (s *subresource) Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error {
	o, err := PatchOptionsOf(opts...)
	if err != nil {
		return err
	}
	r, err := s.request(ctx, "patch", http.MethodPatch, obj, o)
	if err != nil {
		return err
	}
	body := o.bodyFor(obj)
	gvk, err := object.GVK(body, s.client.scheme)
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	if r.body, err = patch.Data(body); err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	r.contentType, r.query = string(patch.Type()), s.client.writeQuery(o)
	return r.ofAnother(s.client.exchange(ctx, r, body, gvk))
}

func (s *subresource) Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error {
	o, err := ApplyOptionsOf(opts...)
	if err != nil {
		return err
	}
	r, err := s.request(ctx, "apply", http.MethodPatch, obj, o)
	if err != nil {
		return err
	}
	r.contentType, r.query = string(types.ApplyYAMLPatchType), s.client.writeQuery(o)
	if r.query.Get("fieldManager") == "" {
		return fmt.Errorf("%s: a field owner is required", r)
	}
	body := o.bodyFor(obj)
	return r.named(body, func() error { return s.client.sendApply(ctx, r, body) })
}

// request returns a request for the subresource of the object that obj names.
func (s *subresource) request(ctx context.Context, verb, method string, obj object.Object,
	o WriteOptions) (*request, error) {
	if s.invalid != nil {
		return nil, s.invalid
	}
	r, err := s.client.requestFor(ctx, verb, method, object.KeyOf(obj), obj)
	if err != nil {
		return nil, err
	}
	r.subresource = s.name
	if s.name == "" && o.SubResourceBody != nil {
		return nil, fmt.Errorf("%s: option WithSubResourceBody is for subresources only", r)
	}
	return r, nil
}

// bodyFor returns the object that a write of obj sends.
func (o *WriteOptions) bodyFor(obj object.Object) object.Object {
	if o.SubResourceBody != nil {
		return o.SubResourceBody
	}
	return obj
}
