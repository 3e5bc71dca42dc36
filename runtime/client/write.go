package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/internal/configuration"
	"github.com/kctrl-dev/kctrl/runtime/internal/partial"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

const contentJSON = "application/json"

// Create creates obj on the API server, see [Writer].
func (c *REST) Create(ctx context.Context, obj object.Object, opts ...CreateOption) error {
	o, err := CreateOptionsOf(opts...)
	if err != nil {
		return err
	}
	gvk, err := object.GVK(obj, c.scheme)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	wanted := obj.GetNamespace()
	res, err := c.locate(ctx, gvk, func(res resource) error {
		return errors.Join(res.checkScope(wanted), checkSegments(res.within(wanted)))
	})
	if err != nil {
		return fmt.Errorf("create %s %s: %w", gvk.Kind, keyText(object.KeyOf(obj)), err)
	}
	r := &request{verb: "create", method: http.MethodPost, resource: res, wanted: wanted, posted: obj.GetName()}
	return c.write(ctx, r, o, obj)
}

// Update replaces obj on the API server, see [Writer].
func (c *REST) Update(ctx context.Context, obj object.Object, opts ...UpdateOption) error {
	return c.objects().Update(ctx, obj, opts...)
}

// named sets the name and namespace of r's object in body, unless body has its own, and then calls call. If call fails,
// named restores body.
func (r *request) named(body object.Object, call func() error) error {
	name, namespace := body.GetName(), body.GetNamespace()
	body.SetName(cmp.Or(name, r.name))
	body.SetNamespace(cmp.Or(namespace, r.namespace()))
	err := call()
	if err != nil {
		body.SetName(name)
		body.SetNamespace(namespace)
	}
	return err
}

// write completes r, sends it with obj as its body, and sets obj to the answer.
func (c *REST) write(ctx context.Context, r *request, o WriteOptions, obj object.Object) error {
	if isMetadata(obj) {
		return fmt.Errorf("%s: metadata alone cannot make up the object; use Patch or Apply", r)
	}
	whole, err := r.whole(obj)
	if err != nil {
		return err
	}
	gvk, err := object.GVK(obj, c.scheme)
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	if r.body, err = encode(whole, gvk); err != nil {
		return fmt.Errorf("%s: encode: %w", r, err)
	}
	r.contentType, r.query = contentJSON, c.writeQuery(o)
	return c.exchange(ctx, r, obj, gvk)
}

// whole returns obj as the body of a request that removes the fields that obj lacks. An apply removes only fields of
// its field owner. whole fails with a [*MaskedError] if obj was read without some of the fields that the server uses.
// For the status subresource, the server uses the status and, for some kinds, the metadata.
func (r *request) whole(obj object.Object) (object.Object, error) {
	mask := object.Mask(obj)
	if mask == nil {
		return obj, nil
	}
	needed := []string{"metadata", "status"}
	if r.verb == "apply" {
		needed = []string{"status"} // apply sends only the status
	}
	for _, path := range needed {
		if r.subresource != statusSubresource || !slices.Contains(mask, path) {
			return nil, &MaskedError{What: r.String(), Mask: mask}
		}
	}
	unmarked := obj.DeepCopyObject().(object.Object)
	partial.Mark{}.Put(unmarked)
	return unmarked, nil
}

// Patch applies patch to the object with the name and namespace of obj on the API server, see [Writer].
func (c *REST) Patch(ctx context.Context, obj object.Object, patch Patch, opts ...PatchOption) error {
	return c.objects().Patch(ctx, obj, patch, opts...)
}

// Apply sends obj as a server-side apply, see [Writer].
func (c *REST) Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error {
	return c.objects().Apply(ctx, obj, opts...)
}

// sendApply completes and sends an apply of body.
func (c *REST) sendApply(ctx context.Context, r *request, body object.Object) error {
	gvk, err := object.GVK(body, c.scheme)
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	whole, err := r.whole(body)
	if err != nil {
		return err
	}
	applied, err := configuration.Of(whole, gvk, r.subresource == statusSubresource)
	if err != nil {
		return fmt.Errorf("%s: encode: %w", r, err)
	}
	if r.body, err = json.Marshal(applied); err != nil {
		return fmt.Errorf("%s: encode: %w", r, err)
	}
	return c.exchange(ctx, r, body, gvk)
}

// Delete deletes the object with the name and namespace of obj on the API server, see [Writer].
func (c *REST) Delete(ctx context.Context, obj object.Object, opts ...DeleteOption) error {
	o, err := DeleteOptionsOf(opts...)
	if err != nil {
		return err
	}
	r, err := c.requestFor(ctx, "delete", http.MethodDelete, object.KeyOf(obj), obj)
	if err != nil {
		return err
	}
	return c.sendDelete(ctx, r, obj, o)
}

// DeleteAllOf deletes the objects of the kind of obj that match the options on the API server, see [Writer].
func (c *REST) DeleteAllOf(ctx context.Context, obj object.Object, opts ...DeleteAllOfOption) error {
	var o DeleteAllOfOptions
	for _, opt := range opts {
		opt.ApplyToDeleteAllOf(&o)
	}
	if err := errors.Join(o.ListOptions.err(), o.DeleteOptions.err()); err != nil {
		return err
	}
	gvk, err := object.GVK(obj, c.scheme)
	if err != nil {
		return fmt.Errorf("delete all: %w", err)
	}
	wanted := o.ListOptions.Namespace
	res, err := c.locate(ctx, gvk, func(res resource) error {
		return errors.Join(res.checkScope(wanted), res.checkSurplus(wanted))
	})
	if err := ignoreSurplus(err); err != nil {
		return fmt.Errorf("delete all %s: %w", gvk.Kind, err)
	}
	r := &request{
		verb: "delete all", method: http.MethodDelete, resource: res, wanted: wanted, query: o.ListOptions.query(),
	}
	if r.namespace() != wanted {
		text := fmt.Sprintf("delete all %s of the cluster: the kind is in no namespace, and so not in %s",
			res.gvr.Resource, wanted)
		if c.conn.warnings.first(text) {
			c.conn.warnings.logger.WarnContext(ctx, text)
		}
	}
	if err := r.checkCollection(o.ListOptions); err != nil {
		return err
	}
	return c.sendDelete(ctx, r, obj, o.DeleteOptions)
}

// sendDelete completes and sends a request that deletes obj, or all objects of its kind.
func (c *REST) sendDelete(ctx context.Context, r *request, obj object.Object, o DeleteOptions) error {
	r.accept, r.contentType = acceptJSON, contentJSON
	var err error
	if r.body, err = o.body(); err != nil {
		return fmt.Errorf("%s: encode: %w", r, err)
	}
	if !o.DryRun { // the body has the dry run
		defer c.begin(ctx, r)()
	}
	body, err := c.send(ctx, r)
	if failure, ok := statusError(body).(apierrors.APIStatus); err == nil && ok {
		err = failure.(error)
	}
	switch {
	case o.DryRun:
	case err != nil:
		c.recordLost(ctx, r, err)
	default:
		c.recordDeleted(ctx, r, obj, body)
	}
	return err
}

// writeQuery returns the query parameters of a write.
func (c *REST) writeQuery(o WriteOptions) url.Values {
	query := url.Values{}
	if o.DryRun {
		query.Set("dryRun", metav1.DryRunAll)
	}
	if o.FieldOwner == "" {
		o.FieldOwner = c.fieldOwner
	}
	if o.FieldOwner != "" {
		query.Set("fieldManager", o.FieldOwner)
	}
	if o.FieldValidation != "" {
		query.Set("fieldValidation", o.FieldValidation)
	}
	if o.Force {
		query.Set("force", "true")
	}
	return query
}
