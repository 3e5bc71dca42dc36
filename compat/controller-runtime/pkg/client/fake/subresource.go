package fake

import (
	"context"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Subresources with special rules. All other subresources are written like a status.
const (
	statusName   = "status"
	scaleName    = "scale"
	evictionName = "eviction"
	tokenName    = "token"
)

// subresource is a client of one subresource.
type subresource struct {
	client *fakeClient
	name   string
}

func (c *fakeClient) Status() client.SubResourceWriter { return c.SubResource(statusName) }

func (c *fakeClient) SubResource(name string) client.SubResourceClient { return subresource{c, name} }

func (s subresource) Get(
	ctx context.Context, obj, body client.Object, _ ...client.SubResourceGetOption,
) error {
	if s.name != scaleName {
		return fmt.Errorf("the fake client cannot get the subresource %q", s.name)
	}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return err
	}
	scale, ok := body.(*autoscalingv1.Scale)
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("expected Scale, got %T", body))
	}
	kind, err := s.client.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	found, err := scaleOf(kind, obj)
	if err != nil {
		return err
	}
	*scale = *found
	return nil
}

func (s subresource) Create(
	ctx context.Context, obj, body client.Object, _ ...client.SubResourceCreateOption,
) error {
	switch s.name {
	case evictionName:
		switch body.(type) {
		case *policyv1.Eviction, *policyv1beta1.Eviction:
		default:
			return apierrors.NewBadRequest(fmt.Sprintf("expected Eviction, got %T", body))
		}
		if _, ok := obj.(*corev1.Pod); !ok {
			return apierrors.NewNotFound(schema.GroupResource{}, "")
		}
		return s.client.Delete(ctx, obj)
	case tokenName:
		token, ok := body.(*authenticationv1.TokenRequest)
		if !ok {
			return apierrors.NewBadRequest(fmt.Sprintf("expected TokenRequest, got %T", body))
		}
		if _, ok := obj.(*corev1.ServiceAccount); !ok {
			return apierrors.NewNotFound(schema.GroupResource{}, "")
		}
		token.Status.Token = "fake-token"
		token.Status.ExpirationTimestamp = metav1.Date(6041, time.January, 1, 0, 0, 0, 0, time.UTC)
		return s.client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
	}
	return fmt.Errorf("the fake client cannot create the subresource %q", s.name)
}

func (s subresource) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	o := new(client.SubResourceUpdateOptions).ApplyOptions(opts)
	if s.name == scaleName {
		return s.updateScale(ctx, obj, o)
	}
	if o.SubResourceBody != nil {
		obj = o.SubResourceBody
	}
	return s.client.update(obj, true, &o.UpdateOptions)
}

func (s subresource) updateScale(
	ctx context.Context, obj client.Object, o *client.SubResourceUpdateOptions,
) error {
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(obj), obj.DeepCopyObject().(client.Object)); err != nil {
		return err
	}
	if o.SubResourceBody == nil {
		return apierrors.NewBadRequest("missing SubResourceBody")
	}
	scale, ok := o.SubResourceBody.(*autoscalingv1.Scale)
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("expected Scale, got %T", o.SubResourceBody))
	}
	kind, err := s.client.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	if err := setScale(kind, obj, scale); err != nil {
		return err
	}
	return s.client.update(obj, false, &o.UpdateOptions)
}

func (s subresource) Patch(
	_ context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
) error {
	o := new(client.SubResourcePatchOptions).ApplyOptions(opts)
	if o.SubResourceBody != nil {
		obj = o.SubResourceBody
	}
	return s.client.patch(obj, patch, s.name == statusName, &o.PatchOptions)
}

func (s subresource) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption,
) error {
	o := new(client.SubResourceApplyOptions).ApplyOpts(opts)
	switch s.name {
	case scaleName:
		return s.applyScale(ctx, obj, o)
	case statusName:
		if o.SubResourceBody == nil {
			return s.client.apply(obj, true, &o.ApplyOptions)
		}
		if err := s.client.apply(o.SubResourceBody, true, &o.ApplyOptions); err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := convert(o.SubResourceBody, u); err != nil {
			return err
		}
		return setConfiguration(obj, u)
	}
	return fmt.Errorf("the fake client cannot apply the subresource %q", s.name)
}

func (s subresource) applyScale(
	ctx context.Context, obj runtime.ApplyConfiguration, o *client.SubResourceApplyOptions,
) error {
	if o.SubResourceBody == nil {
		return apierrors.NewBadRequest("missing SubResourceBody")
	}
	u, scale := &unstructured.Unstructured{}, &autoscalingv1.Scale{}
	if err := errors.Join(convert(obj, u), convert(o.SubResourceBody, scale)); err != nil {
		return err
	}
	kind := u.GroupVersionKind()
	scaled, err := s.client.empty(u)
	if err != nil {
		return err
	}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(u), scaled); err != nil {
		return err
	}
	if err := setScale(kind, scaled, scale); err != nil {
		return err
	}
	if err := s.client.update(scaled, false, &client.UpdateOptions{FieldManager: o.FieldManager}); err != nil {
		return err
	}
	scaled.GetObjectKind().SetGroupVersionKind(kind)
	if err := convert(scaled, u); err != nil {
		return err
	}
	return setConfiguration(obj, u)
}

// empty returns an empty object of the kind of u, typed if the scheme has the type.
func (c *fakeClient) empty(u *unstructured.Unstructured) (client.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.scheme.Recognizes(u.GroupVersionKind()) {
		return u.DeepCopy(), nil
	}
	made, err := c.scheme.New(u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	obj, ok := made.(client.Object)
	if !ok || !hasType(obj) {
		return u.DeepCopy(), nil
	}
	return obj, nil
}

// scalable has those fields of an object that its scale contains.
type scalable struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Replicas *int32 `json:"replicas"`
		Selector any    `json:"selector"`
	} `json:"spec"`
	Status struct {
		Replicas int32 `json:"replicas"`
	} `json:"status"`
}

// scaleOf returns the scale of an object.
func scaleOf(kind schema.GroupVersionKind, obj client.Object) (*autoscalingv1.Scale, error) {
	if !hasScale(kind) {
		return nil, fmt.Errorf("unimplemented scale subresource for resource %T", obj)
	}
	var from scalable
	if err := convert(obj, &from); err != nil {
		return nil, err
	}
	selector, err := selectorOf(kind, from.Spec.Selector)
	if err != nil {
		return nil, err
	}
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: from.Namespace, Name: from.Name, UID: from.UID,
			ResourceVersion: from.ResourceVersion, CreationTimestamp: from.CreationTimestamp,
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: 1},
		Status: autoscalingv1.ScaleStatus{Replicas: from.Status.Replicas, Selector: selector},
	}
	if from.Spec.Replicas != nil {
		scale.Spec.Replicas = *from.Spec.Replicas
	}
	return scale, nil
}

// selectorOf returns the selector of a scale as a string. Like the original, it accepts labels or a LabelSelector.
func selectorOf(kind schema.GroupVersionKind, selector any) (string, error) {
	if kind.Group == corev1.GroupName {
		set := labels.Set{}
		err := convert(selector, &set)
		return set.String(), err
	}
	if selector == nil {
		return "", nil
	}
	var from metav1.LabelSelector
	err := convert(selector, &from)
	return from.String(), err
}

// setScale sets the replicas of an object from its scale.
func setScale(kind schema.GroupVersionKind, obj client.Object, scale *autoscalingv1.Scale) error {
	if !hasScale(kind) {
		return fmt.Errorf("unimplemented scale subresource for resource %T", obj)
	}
	fields, err := fieldsOf(obj)
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedField(fields, int64(scale.Spec.Replicas), "spec", "replicas"); err != nil {
		return err
	}
	zero(obj)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object = fields
		return nil
	}
	return convert(fields, obj)
}
