package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
	return c.apply(ctx, c.live, obj, o)
}

// Apply implements [SubResourceWriter].
func (s *subResource) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...SubResourceApplyOption) error {
	all := new(SubResourceApplyOptions).ApplyOpts(opts)
	ctx, o := all.ApplyOptions.convert(ctx)
	if all.SubResourceBody == nil {
		return s.of.apply(ctx, s.live, obj, o)
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
		return s.of.applyError(err, obj, o)
	}
	return setConfiguration(all.SubResourceBody, body)
}

// apply sends an apply of obj, and sets obj to the response.
func (c *client) apply(
	ctx context.Context, to kclient.Applier, obj runtime.ApplyConfiguration, o *kclient.WriteOptions,
) error {
	if u, ok := obj.(*unstructuredConfiguration); ok {
		err := c.known(u.Unstructured, func() error { return to.Apply(ctx, u.Unstructured, o) })
		return c.applyError(err, obj, o)
	}
	return c.applyError(kclient.ApplyConfiguration(ctx, to, obj, o), obj, o)
}

// applyError returns the error of an apply that the client did not send as the status that the server would return. It
// returns other errors without wrapping errors about the kind.
func (c *client) applyError(err error, obj runtime.ApplyConfiguration, o *kclient.WriteOptions) error {
	if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) || meta.IsNoMatchError(err) {
		return unwrapUnknown(err)
	}
	u, invalid := asUnstructured(obj)
	switch {
	case invalid != nil || u.GetKind() == "" || u.GetName() == "":
		return err
	case o.FieldOwner == "":
		missing := field.Required(field.NewPath("fieldManager"), "is required for apply patch")
		options := metav1.SchemeGroupVersion.WithKind("PatchOptions").GroupKind()
		return apierrors.NewInvalid(options, "", field.ErrorList{missing})
	}
	return c.unscoped(err, http.StatusNotFound, u, u.GetNamespace())
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
