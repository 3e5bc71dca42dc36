package client

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
)

// ToKctrl returns a client with kctrl's API that calls c, for packages that have been migrated to that API. If c has a
// cache, reads use it. Apply, Live and NotOlderThan require that c is from [New], [NewWithWatch] or a manager, and has
// no options for writes; with any other client they return an error.
func ToKctrl(c Client) kclient.Client {
	if c == nil {
		return nil
	}
	base := undecorated(c)
	if base != nil && base.cache == nil {
		return base.live
	}
	return &toKctrl{Client: c, base: base}
}

// undecorated returns c as a client of this package, or nil if a wrapper changes the calls of c.
func undecorated(c Client) *client {
	if w, ok := c.(*watching); ok {
		c = w.Client
	}
	base, _ := c.(*client)
	return base
}

// FromKctrl returns a client with the API of this package that calls c, for packages that still use this API. Watch
// fails unless c supports watches.
func FromKctrl(c kclient.Client) WithWatch {
	live, ok := c.(kclient.WithWatch)
	if !ok {
		live = unwatched{c}
	}
	base := &client{live: live, uncached: map[schema.GroupVersionKind]struct{}{}}
	converted, ok := c.(*toKctrl)
	switch {
	case !ok:
		return &watching{Client: base, base: base}
	case converted.base != nil:
		return &watching{Client: converted.base, base: converted.base}
	}
	if w, ok := converted.Client.(WithWatch); ok {
		return w
	}
	return &watching{Client: converted.Client, base: base}
}

// unwatched adds a failing Watch to a client.
type unwatched struct{ kclient.Client }

// Watch implements kctrl's WithWatch.
func (u unwatched) Watch(context.Context, ObjectList, ...kclient.ListOption) (kclient.Stream[Object], error) {
	return nil, fmt.Errorf("watch: not supported by a %T", u.Client)
}

// toKctrl is a client with kctrl's API.
type toKctrl struct {
	Client
	base *client // nil if the client changes calls or is not from this package
}

var _ kclient.Client = (*toKctrl)(nil)

// live returns kctrl's client of the server.
func (c *toKctrl) live(call string) (kclient.Client, error) {
	if c.base == nil {
		return nil, fmt.Errorf("%s: not supported by a %T", call, c.Client)
	}
	return c.base.live, nil
}

// Get implements kctrl's Reader.
func (c *toKctrl) Get(ctx context.Context, key ObjectKey, obj Object, opts ...kclient.GetOption) error {
	o, err := kclient.GetOptionsOf(opts...)
	if err != nil {
		return err
	}
	if o.Live || o.NotOlderThan != "" {
		live, err := c.live("get with Live or NotOlderThan")
		if err != nil {
			return err
		}
		return live.Get(ctx, key, obj, &o)
	}
	return c.Client.Get(ctx, key, obj, &GetOptions{
		UnsafeDisableDeepCopy:            truth(o.UnsafeDisableDeepCopy),
		DisableReadYourWritesConsistency: o.DisableReadYourWritesConsistency,
	})
}

// List implements kctrl's Reader.
func (c *toKctrl) List(ctx context.Context, list ObjectList, opts ...kclient.ListOption) error {
	o, err := kclient.ListOptionsOf(opts...)
	if err != nil {
		return err
	}
	if o.Live || o.NotOlderThan != "" {
		live, err := c.live("list with Live or NotOlderThan")
		if err != nil {
			return err
		}
		return live.List(ctx, list, &o)
	}
	return c.Client.List(ctx, list, listOptions(o))
}

// Create implements kctrl's Writer.
func (c *toKctrl) Create(ctx context.Context, obj Object, opts ...kclient.CreateOption) error {
	o, err := kclient.CreateOptionsOf(opts...)
	if err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, createOptions(o))
}

// Update implements kctrl's Writer.
func (c *toKctrl) Update(ctx context.Context, obj Object, opts ...kclient.UpdateOption) error {
	o, err := kclient.UpdateOptionsOf(opts...)
	if err != nil {
		return err
	}
	return c.Client.Update(ctx, obj, updateOptions(o))
}

// Patch implements kctrl's Writer.
func (c *toKctrl) Patch(ctx context.Context, obj Object, patch Patch, opts ...kclient.PatchOption) error {
	o, err := kclient.PatchOptionsOf(opts...)
	if err != nil {
		return err
	}
	return c.Client.Patch(ctx, obj, patch, patchOptions(o))
}

// Apply implements kctrl's Writer.
func (c *toKctrl) Apply(ctx context.Context, obj Object, opts ...kclient.ApplyOption) error {
	live, err := c.live("apply of an object")
	if err != nil {
		return err
	}
	return live.Apply(ctx, obj, opts...)
}

// Delete implements kctrl's Writer.
func (c *toKctrl) Delete(ctx context.Context, obj Object, opts ...kclient.DeleteOption) error {
	o, err := kclient.DeleteOptionsOf(opts...)
	if err != nil {
		return err
	}
	return c.Client.Delete(ctx, obj, deleteOptions(o))
}

// DeleteAllOf implements kctrl's Writer.
func (c *toKctrl) DeleteAllOf(ctx context.Context, obj Object, opts ...kclient.DeleteAllOfOption) error {
	var o kclient.DeleteAllOfOptions
	for _, opt := range opts {
		opt.ApplyToDeleteAllOf(&o)
	}
	selection, err := kclient.ListOptionsOf(&o.ListOptions)
	if err != nil {
		return err
	}
	deletion, err := kclient.DeleteOptionsOf(&o.DeleteOptions)
	if err != nil {
		return err
	}
	return c.Client.DeleteAllOf(ctx, obj, &DeleteAllOfOptions{
		ListOptions: *listOptions(selection), DeleteOptions: *deleteOptions(deletion),
	})
}

// Status implements kctrl's Client.
func (c *toKctrl) Status() kclient.SubResourceWriter { return c.SubResource("status") }

// SubResource implements kctrl's Client.
func (c *toKctrl) SubResource(name string) kclient.SubResourceClient {
	return &toKctrlSubResource{name: name, of: c, SubResourceClient: c.Client.SubResource(name)}
}

// toKctrlSubResource is a client of a subresource with kctrl's API.
type toKctrlSubResource struct {
	SubResourceClient
	name string
	of   *toKctrl
}

// Get implements kctrl's SubResourceReader.
func (s *toKctrlSubResource) Get(ctx context.Context, obj, sub Object, opts ...kclient.GetOption) error {
	if _, err := kclient.GetOptionsOf(opts...); err != nil {
		return err
	}
	return s.SubResourceClient.Get(ctx, obj, sub)
}

// Create implements kctrl's SubResourceClient.
func (s *toKctrlSubResource) Create(ctx context.Context, obj, sub Object, opts ...kclient.CreateOption) error {
	o, err := kclient.CreateOptionsOf(opts...)
	if err != nil {
		return err
	}
	return s.SubResourceClient.Create(ctx, obj, sub, &SubResourceCreateOptions{CreateOptions: *createOptions(o)})
}

// Update implements kctrl's SubResourceWriter.
func (s *toKctrlSubResource) Update(ctx context.Context, obj Object, opts ...kclient.UpdateOption) error {
	o, err := kclient.UpdateOptionsOf(opts...)
	if err != nil {
		return err
	}
	return s.SubResourceClient.Update(ctx, obj,
		&SubResourceUpdateOptions{UpdateOptions: *updateOptions(o), SubResourceBody: o.SubResourceBody})
}

// Patch implements kctrl's SubResourceWriter.
func (s *toKctrlSubResource) Patch(ctx context.Context, obj Object, patch Patch, opts ...kclient.PatchOption) error {
	o, err := kclient.PatchOptionsOf(opts...)
	if err != nil {
		return err
	}
	return s.SubResourceClient.Patch(ctx, obj, patch,
		&SubResourcePatchOptions{PatchOptions: *patchOptions(o), SubResourceBody: o.SubResourceBody})
}

// Apply implements kctrl's SubResourceWriter.
func (s *toKctrlSubResource) Apply(ctx context.Context, obj Object, opts ...kclient.ApplyOption) error {
	live, err := s.of.live("apply of an object")
	if err != nil {
		return err
	}
	return live.SubResource(s.name).Apply(ctx, obj, opts...)
}

// The following functions are the inverse of those in convert.go: they convert kctrl's options to options of this
// package.

func listOptions(o kclient.ListOptions) *ListOptions {
	return &ListOptions{
		LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector, Namespace: o.Namespace,
		Limit: o.Limit, Continue: o.Continue, UnsafeDisableDeepCopy: truth(o.UnsafeDisableDeepCopy),
		DisableReadYourWritesConsistency: o.DisableReadYourWritesConsistency,
	}
}

func createOptions(o kclient.WriteOptions) *CreateOptions {
	return &CreateOptions{DryRun: stages(o.DryRun), FieldManager: o.FieldOwner, FieldValidation: o.FieldValidation}
}

func updateOptions(o kclient.WriteOptions) *UpdateOptions {
	return &UpdateOptions{DryRun: stages(o.DryRun), FieldManager: o.FieldOwner, FieldValidation: o.FieldValidation}
}

func patchOptions(o kclient.WriteOptions) *PatchOptions {
	return &PatchOptions{
		DryRun: stages(o.DryRun), Force: truth(o.Force), FieldManager: o.FieldOwner, FieldValidation: o.FieldValidation,
	}
}

func deleteOptions(o kclient.DeleteOptions) *DeleteOptions {
	converted := &DeleteOptions{DryRun: stages(o.DryRun), GracePeriodSeconds: o.GracePeriodSeconds}
	if o.PropagationPolicy != "" {
		converted.PropagationPolicy = &o.PropagationPolicy
	}
	if p := o.Preconditions; p.UID != nil || p.ResourceVersion != nil {
		converted.Preconditions = &metav1.Preconditions{UID: p.UID, ResourceVersion: p.ResourceVersion}
	}
	return converted
}

// stages returns the stages of a dry run, or nil.
func stages(dryRun bool) []string {
	if dryRun {
		return allStages()
	}
	return nil
}

// truth returns a pointer to true, or nil for false, because an option that is nil does not override another one.
func truth(b bool) *bool {
	if !b {
		return nil
	}
	return &b
}
