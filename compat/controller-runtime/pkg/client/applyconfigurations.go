package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
)

// ApplyConfigurationFromUnstructured returns the fields of u as an apply configuration.
func ApplyConfigurationFromUnstructured(u *unstructured.Unstructured) runtime.ApplyConfiguration {
	return &unstructuredConfiguration{u}
}

type unstructuredConfiguration struct{ *unstructured.Unstructured }

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (u *unstructuredConfiguration) IsApplyConfiguration() {}

// Apply implements [Writer].
func (c *client) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...ApplyOption) error {
	ctx, o := new(ApplyOptions).ApplyOptions(opts).convert(ctx)
	return apply(ctx, c.live, obj, o)
}

// Apply implements [SubResourceWriter].
func (s *subResource) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption) error {
	all := new(SubResourceApplyOptions).ApplyOpts(opts)
	ctx, o := all.ApplyOptions.convert(ctx)
	if all.SubResourceBody == nil {
		return apply(ctx, s.live, obj, o)
	}
	named, err := asUnstructured(obj)
	if err != nil {
		return err
	}
	body, err := asUnstructured(all.SubResourceBody)
	if err != nil {
		return err
	}
	o.SubResourceBody = body
	if err := s.live.Apply(ctx, named, o); err != nil {
		return err
	}
	return setConfiguration(all.SubResourceBody, body)
}

// apply sends an apply of obj, and sets obj to the response.
func apply(ctx context.Context, to kclient.Applier, obj runtime.ApplyConfiguration, o *kclient.WriteOptions) error {
	if u, ok := obj.(*unstructuredConfiguration); ok {
		return to.Apply(ctx, u.Unstructured, o)
	}
	return kclient.ApplyConfiguration(ctx, to, obj, o)
}

// asUnstructured returns the fields of obj.
func asUnstructured(obj runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	if u, ok := obj.(*unstructuredConfiguration); ok {
		return u.Unstructured, nil
	}
	if obj == nil {
		return nil, errors.New("apply: the configuration is nil")
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("apply %T: %w", obj, err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &u.Object); err != nil {
		return nil, fmt.Errorf("apply %T: %w", obj, err)
	}
	return u, nil
}

// setConfiguration sets obj to the fields of u.
func setConfiguration(obj runtime.ApplyConfiguration, u *unstructured.Unstructured) error {
	if _, ok := obj.(*unstructuredConfiguration); ok {
		return nil // obj is u itself
	}
	data, err := json.Marshal(u)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, obj)
}
