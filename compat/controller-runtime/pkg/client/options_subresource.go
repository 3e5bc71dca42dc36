package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SubResourceGetOption changes the options of a Get of a subresource.
type SubResourceGetOption interface {
	ApplyToSubResourceGet(*SubResourceGetOptions)
}

// SubResourceUpdateOption changes the options of an Update of a subresource.
type SubResourceUpdateOption interface {
	ApplyToSubResourceUpdate(*SubResourceUpdateOptions)
}

// SubResourceCreateOption changes the options of a Create of a subresource.
type SubResourceCreateOption interface {
	ApplyToSubResourceCreate(*SubResourceCreateOptions)
}

// SubResourcePatchOption changes the options of a Patch of a subresource.
type SubResourcePatchOption interface {
	ApplyToSubResourcePatch(*SubResourcePatchOptions)
}

// SubResourceApplyOption changes the options of an Apply of a subresource.
type SubResourceApplyOption interface {
	ApplyToSubResourceApply(*SubResourceApplyOptions)
}

// SubResourceUpdateAndPatchOption is an option of an Update and of a Patch of a subresource.
type SubResourceUpdateAndPatchOption interface {
	SubResourceUpdateOption
	SubResourcePatchOption
}

// SubResourceGetOptions are the options of a Get of a subresource.
type SubResourceGetOptions struct {
	// Raw has options of the API.
	Raw *metav1.GetOptions
}

// ApplyToSubResourceGet implements [SubResourceGetOption].
func (o *SubResourceGetOptions) ApplyToSubResourceGet(to *SubResourceGetOptions) {
	override(&to.Raw, o.Raw)
}

// ApplyOptions adds opts to o and returns o.
func (o *SubResourceGetOptions) ApplyOptions(opts []SubResourceGetOption) *SubResourceGetOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourceGet(o)
	}
	return o
}

// AsGetOptions returns the options in the form of the API.
func (o *SubResourceGetOptions) AsGetOptions() *metav1.GetOptions { return orNew(o.Raw) }

// SubResourceUpdateOptions are the options of an Update of a subresource.
type SubResourceUpdateOptions struct {
	UpdateOptions
	// SubResourceBody is sent instead of the object.
	SubResourceBody Object
}

// ApplyToSubResourceUpdate implements [SubResourceUpdateOption].
func (o *SubResourceUpdateOptions) ApplyToSubResourceUpdate(to *SubResourceUpdateOptions) {
	o.UpdateOptions.ApplyToUpdate(&to.UpdateOptions)
	if o.SubResourceBody != nil {
		to.SubResourceBody = o.SubResourceBody
	}
}

// ApplyOptions adds opts to o and returns o.
func (o *SubResourceUpdateOptions) ApplyOptions(opts []SubResourceUpdateOption) *SubResourceUpdateOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourceUpdate(o)
	}
	return o
}

// SubResourceCreateOptions are the options of a Create of a subresource.
type SubResourceCreateOptions struct{ CreateOptions }

// ApplyOptions adds opts to o and returns o.
func (o *SubResourceCreateOptions) ApplyOptions(opts []SubResourceCreateOption) *SubResourceCreateOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourceCreate(o)
	}
	return o
}

// ApplyToSubResourceCreate implements [SubResourceCreateOption].
func (o *SubResourceCreateOptions) ApplyToSubResourceCreate(to *SubResourceCreateOptions) {
	o.CreateOptions.ApplyToCreate(&to.CreateOptions)
}

// SubResourcePatchOptions are the options of a Patch of a subresource.
type SubResourcePatchOptions struct {
	PatchOptions
	// SubResourceBody is patched instead of the object.
	SubResourceBody Object
}

// ApplyOptions adds opts to o and returns o.
func (o *SubResourcePatchOptions) ApplyOptions(opts []SubResourcePatchOption) *SubResourcePatchOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourcePatch(o)
	}
	return o
}

// ApplyToSubResourcePatch implements [SubResourcePatchOption].
func (o *SubResourcePatchOptions) ApplyToSubResourcePatch(to *SubResourcePatchOptions) {
	o.PatchOptions.ApplyToPatch(&to.PatchOptions)
	if o.SubResourceBody != nil {
		to.SubResourceBody = o.SubResourceBody
	}
}

// SubResourceApplyOptions are the options of an Apply of a subresource.
type SubResourceApplyOptions struct {
	ApplyOptions
	// SubResourceBody is applied instead of the object.
	SubResourceBody runtime.ApplyConfiguration
}

// ApplyOpts adds opts to o and returns o.
func (o *SubResourceApplyOptions) ApplyOpts(opts []SubResourceApplyOption) *SubResourceApplyOptions {
	for _, opt := range opts {
		opt.ApplyToSubResourceApply(o)
	}
	return o
}

// ApplyToSubResourceApply implements [SubResourceApplyOption].
func (o *SubResourceApplyOptions) ApplyToSubResourceApply(to *SubResourceApplyOptions) {
	o.ApplyOptions.ApplyToApply(&to.ApplyOptions)
	if o.SubResourceBody != nil {
		to.SubResourceBody = o.SubResourceBody
	}
}

// WithSubResourceBody makes a write to a subresource send body instead of the object.
func WithSubResourceBody(body Object) SubResourceUpdateAndPatchOption { return subResourceBody{body} }

type subResourceBody struct{ body Object }

// ApplyToSubResourceUpdate sets the body of an Update.
func (b subResourceBody) ApplyToSubResourceUpdate(o *SubResourceUpdateOptions) {
	o.SubResourceBody = b.body
}

// ApplyToSubResourcePatch sets the body of a Patch.
func (b subResourceBody) ApplyToSubResourcePatch(o *SubResourcePatchOptions) {
	o.SubResourceBody = b.body
}
