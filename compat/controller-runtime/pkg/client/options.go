package client

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// CreateOption changes the options of a Create.
type CreateOption interface{ ApplyToCreate(*CreateOptions) }

// DeleteOption changes the options of a Delete.
type DeleteOption interface{ ApplyToDelete(*DeleteOptions) }

// GetOption changes the options of a Get.
type GetOption interface{ ApplyToGet(*GetOptions) }

// ListOption changes the options of a List.
type ListOption interface{ ApplyToList(*ListOptions) }

// UpdateOption changes the options of an Update.
type UpdateOption interface{ ApplyToUpdate(*UpdateOptions) }

// PatchOption changes the options of a Patch.
type PatchOption interface{ ApplyToPatch(*PatchOptions) }

// ApplyOption changes the options of an Apply.
type ApplyOption interface{ ApplyToApply(*ApplyOptions) }

// DeleteAllOfOption changes the options of a DeleteAllOf.
type DeleteAllOfOption interface{ ApplyToDeleteAllOf(*DeleteAllOfOptions) }

// CreateOptions are the options of a Create.
type CreateOptions struct {
	// DryRun lists the stages to run without storing the object. The only valid stage is metav1.DryRunAll.
	DryRun []string
	// FieldManager is the name of the field owner.
	FieldManager string
	// FieldValidation is Ignore, Warn or Strict.
	FieldValidation string
	// DisableReadYourWritesConsistency lets cached reads miss this write.
	DisableReadYourWritesConsistency bool
	// Raw has further options of the API.
	Raw *metav1.CreateOptions
}

var _ CreateOption = &CreateOptions{}

// AsCreateOptions returns the options in the form of the API.
func (o *CreateOptions) AsCreateOptions() *metav1.CreateOptions {
	if o == nil {
		return &metav1.CreateOptions{}
	}
	o.Raw = orNew(o.Raw)
	o.Raw.DryRun, o.Raw.FieldManager, o.Raw.FieldValidation = o.DryRun, o.FieldManager, o.FieldValidation
	return o.Raw
}

// ApplyOptions adds opts to o and returns o.
func (o *CreateOptions) ApplyOptions(opts []CreateOption) *CreateOptions {
	for _, opt := range opts {
		opt.ApplyToCreate(o)
	}
	return o
}

// ApplyToCreate implements [CreateOption].
func (o *CreateOptions) ApplyToCreate(to *CreateOptions) {
	overrideSlice(&to.DryRun, o.DryRun)
	override(&to.FieldManager, o.FieldManager)
	override(&to.FieldValidation, o.FieldValidation)
	override(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	override(&to.Raw, o.Raw)
}

// UpdateOptions are the options of an Update.
type UpdateOptions struct {
	// DryRun lists the stages to run without storing the object. The only valid stage is metav1.DryRunAll.
	DryRun []string
	// FieldManager is the name of the field owner.
	FieldManager string
	// FieldValidation is Ignore, Warn or Strict.
	FieldValidation string
	// DisableReadYourWritesConsistency lets cached reads miss this write.
	DisableReadYourWritesConsistency bool
	// Raw has further options of the API.
	Raw *metav1.UpdateOptions
}

var _ UpdateOption = &UpdateOptions{}

// AsUpdateOptions returns the options in the form of the API.
func (o *UpdateOptions) AsUpdateOptions() *metav1.UpdateOptions {
	if o == nil {
		return &metav1.UpdateOptions{}
	}
	o.Raw = orNew(o.Raw)
	o.Raw.DryRun, o.Raw.FieldManager, o.Raw.FieldValidation = o.DryRun, o.FieldManager, o.FieldValidation
	return o.Raw
}

// ApplyOptions adds opts to o and returns o.
func (o *UpdateOptions) ApplyOptions(opts []UpdateOption) *UpdateOptions {
	for _, opt := range opts {
		opt.ApplyToUpdate(o)
	}
	return o
}

// ApplyToUpdate implements [UpdateOption].
func (o *UpdateOptions) ApplyToUpdate(to *UpdateOptions) {
	overrideSlice(&to.DryRun, o.DryRun)
	override(&to.FieldManager, o.FieldManager)
	override(&to.FieldValidation, o.FieldValidation)
	override(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	override(&to.Raw, o.Raw)
}

// PatchOptions are the options of a Patch.
type PatchOptions struct {
	// DryRun lists the stages to run without storing the object. The only valid stage is metav1.DryRunAll.
	DryRun []string
	// Force takes over fields from other owners. Only apply patches support it.
	Force *bool
	// FieldManager is the name of the field owner.
	FieldManager string
	// FieldValidation is Ignore, Warn or Strict.
	FieldValidation string
	// DisableReadYourWritesConsistency lets cached reads miss this write.
	DisableReadYourWritesConsistency bool
	// Raw has further options of the API.
	Raw *metav1.PatchOptions
}

var _ PatchOption = &PatchOptions{}

// AsPatchOptions returns the options in the form of the API.
func (o *PatchOptions) AsPatchOptions() *metav1.PatchOptions {
	if o == nil {
		return &metav1.PatchOptions{}
	}
	o.Raw = orNew(o.Raw)
	o.Raw.DryRun, o.Raw.Force = o.DryRun, o.Force
	o.Raw.FieldManager, o.Raw.FieldValidation = o.FieldManager, o.FieldValidation
	return o.Raw
}

// ApplyOptions adds opts to o and returns o.
func (o *PatchOptions) ApplyOptions(opts []PatchOption) *PatchOptions {
	for _, opt := range opts {
		opt.ApplyToPatch(o)
	}
	return o
}

// ApplyToPatch implements [PatchOption].
func (o *PatchOptions) ApplyToPatch(to *PatchOptions) {
	overrideSlice(&to.DryRun, o.DryRun)
	override(&to.Force, o.Force)
	override(&to.FieldManager, o.FieldManager)
	override(&to.FieldValidation, o.FieldValidation)
	override(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	override(&to.Raw, o.Raw)
}

// ApplyOptions are the options of an Apply.
type ApplyOptions struct {
	// DryRun lists the stages to run without storing the object. The only valid stage is metav1.DryRunAll.
	DryRun []string
	// Force takes over fields from other owners.
	Force *bool
	// FieldManager is the name of the field owner. Apply requires it.
	FieldManager string
	// DisableReadYourWritesConsistency lets cached reads miss this write.
	DisableReadYourWritesConsistency bool
}

// ApplyOptions adds opts to o and returns o.
func (o *ApplyOptions) ApplyOptions(opts []ApplyOption) *ApplyOptions {
	for _, opt := range opts {
		opt.ApplyToApply(o)
	}
	return o
}

// ApplyToApply implements [ApplyOption].
func (o *ApplyOptions) ApplyToApply(to *ApplyOptions) {
	overrideSlice(&to.DryRun, o.DryRun)
	override(&to.Force, o.Force)
	override(&to.FieldManager, o.FieldManager)
	override(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
}

// AsPatchOptions returns the options in the form of the API.
func (o *ApplyOptions) AsPatchOptions() *metav1.PatchOptions {
	return &metav1.PatchOptions{DryRun: o.DryRun, Force: o.Force, FieldManager: o.FieldManager}
}

// DeleteOptions are the options of a Delete.
type DeleteOptions struct {
	// GracePeriodSeconds is the time until the object must end. Nil means the default of the kind.
	GracePeriodSeconds *int64
	// Preconditions are the conditions for the deletion.
	Preconditions *metav1.Preconditions
	// PropagationPolicy selects the treatment of dependents. Nil means the default of the kind.
	PropagationPolicy *metav1.DeletionPropagation
	// DisableReadYourWritesConsistency lets cached reads miss this write.
	DisableReadYourWritesConsistency bool
	// Raw has further options of the API.
	Raw *metav1.DeleteOptions
	// DryRun lists the stages to run without storing the object. The only valid stage is metav1.DryRunAll.
	DryRun []string
}

var _ DeleteOption = &DeleteOptions{}

// AsDeleteOptions returns the options in the form of the API.
func (o *DeleteOptions) AsDeleteOptions() *metav1.DeleteOptions {
	if o == nil {
		return &metav1.DeleteOptions{}
	}
	o.Raw = orNew(o.Raw)
	o.Raw.GracePeriodSeconds, o.Raw.Preconditions = o.GracePeriodSeconds, o.Preconditions
	o.Raw.PropagationPolicy, o.Raw.DryRun = o.PropagationPolicy, o.DryRun
	return o.Raw
}

// ApplyOptions adds opts to o and returns o.
func (o *DeleteOptions) ApplyOptions(opts []DeleteOption) *DeleteOptions {
	for _, opt := range opts {
		opt.ApplyToDelete(o)
	}
	return o
}

// ApplyToDelete implements [DeleteOption].
func (o *DeleteOptions) ApplyToDelete(to *DeleteOptions) {
	override(&to.GracePeriodSeconds, o.GracePeriodSeconds)
	override(&to.Preconditions, o.Preconditions)
	override(&to.PropagationPolicy, o.PropagationPolicy)
	override(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	override(&to.Raw, o.Raw)
	overrideSlice(&to.DryRun, o.DryRun)
}

// DeleteAllOfOptions are the options of a DeleteAllOf.
type DeleteAllOfOptions struct {
	ListOptions
	DeleteOptions
}

var _ DeleteAllOfOption = &DeleteAllOfOptions{}

// ApplyOptions adds opts to o and returns o.
func (o *DeleteAllOfOptions) ApplyOptions(opts []DeleteAllOfOption) *DeleteAllOfOptions {
	for _, opt := range opts {
		opt.ApplyToDeleteAllOf(o)
	}
	return o
}

// ApplyToDeleteAllOf implements [DeleteAllOfOption].
func (o *DeleteAllOfOptions) ApplyToDeleteAllOf(to *DeleteAllOfOptions) {
	o.ApplyToList(&to.ListOptions)
	o.ApplyToDelete(&to.DeleteOptions)
}

// GetOptions are the options of a Get.
type GetOptions struct {
	// Raw has options of the API. A cached Get ignores them.
	Raw *metav1.GetOptions
	// UnsafeDisableDeepCopy lets a cached Get return an object that shares memory with the cache.
	UnsafeDisableDeepCopy *bool
	// DisableReadYourWritesConsistency lets a cached Get miss earlier writes of this process.
	DisableReadYourWritesConsistency bool
}

var _ GetOption = &GetOptions{}

// ApplyToGet implements [GetOption].
func (o *GetOptions) ApplyToGet(to *GetOptions) {
	override(&to.Raw, o.Raw)
	override(&to.UnsafeDisableDeepCopy, o.UnsafeDisableDeepCopy)
	override(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
}

// AsGetOptions returns the options in the form of the API.
func (o *GetOptions) AsGetOptions() *metav1.GetOptions {
	if o == nil {
		return &metav1.GetOptions{}
	}
	return orNew(o.Raw)
}

// ApplyOptions adds opts to o and returns o.
func (o *GetOptions) ApplyOptions(opts []GetOption) *GetOptions {
	for _, opt := range opts {
		opt.ApplyToGet(o)
	}
	return o
}

// ListOptions are the options of a List.
type ListOptions struct {
	// LabelSelector selects by labels. Nil selects all objects.
	LabelSelector labels.Selector
	// FieldSelector selects by fields. Nil selects all objects. A cached List needs an index of each field.
	FieldSelector fields.Selector
	// Namespace is the namespace to list. Empty means all namespaces.
	Namespace string
	// Limit is the maximum number of items. 0 means no limit.
	Limit int64
	// Continue is the token of the next page. A cached List ignores it.
	Continue string
	// UnsafeDisableDeepCopy lets a cached List return objects that share memory with the cache.
	UnsafeDisableDeepCopy *bool
	// DisableReadYourWritesConsistency lets a cached List miss earlier writes of this process.
	DisableReadYourWritesConsistency bool
	// Raw has further options of the API. A cached List ignores them.
	Raw *metav1.ListOptions
}

var _ ListOption = &ListOptions{}

// ApplyToList implements [ListOption].
func (o *ListOptions) ApplyToList(to *ListOptions) {
	if o.LabelSelector != nil {
		to.LabelSelector = o.LabelSelector
	}
	if o.FieldSelector != nil {
		to.FieldSelector = o.FieldSelector
	}
	override(&to.Namespace, o.Namespace)
	override(&to.Limit, o.Limit)
	override(&to.Continue, o.Continue)
	override(&to.UnsafeDisableDeepCopy, o.UnsafeDisableDeepCopy)
	override(&to.DisableReadYourWritesConsistency, o.DisableReadYourWritesConsistency)
	override(&to.Raw, o.Raw)
}

// AsListOptions returns the options in the form of the API, without the namespace.
func (o *ListOptions) AsListOptions() *metav1.ListOptions {
	if o == nil {
		return &metav1.ListOptions{}
	}
	o.Raw = orNew(o.Raw)
	if o.LabelSelector != nil {
		o.Raw.LabelSelector = o.LabelSelector.String()
	}
	if o.FieldSelector != nil {
		o.Raw.FieldSelector = o.FieldSelector.String()
	}
	if !o.Raw.Watch {
		o.Raw.Limit, o.Raw.Continue = o.Limit, o.Continue
	}
	return o.Raw
}

// ApplyOptions adds opts to o and returns o.
func (o *ListOptions) ApplyOptions(opts []ListOption) *ListOptions {
	for _, opt := range opts {
		opt.ApplyToList(o)
	}
	return o
}

// DryRunAll makes the server run all steps of a write without storing the result.
var DryRunAll = dryRunAll{}

type dryRunAll struct{}

func allStages() []string { return []string{metav1.DryRunAll} }

// ApplyToCreate makes a Create a dry run.
func (dryRunAll) ApplyToCreate(o *CreateOptions) { o.DryRun = allStages() }

// ApplyToUpdate makes an Update a dry run.
func (dryRunAll) ApplyToUpdate(o *UpdateOptions) { o.DryRun = allStages() }

// ApplyToPatch makes a Patch a dry run.
func (dryRunAll) ApplyToPatch(o *PatchOptions) { o.DryRun = allStages() }

// ApplyToApply makes an Apply a dry run.
func (dryRunAll) ApplyToApply(o *ApplyOptions) { o.DryRun = allStages() }

// ApplyToDelete makes a Delete a dry run.
func (dryRunAll) ApplyToDelete(o *DeleteOptions) { o.DryRun = allStages() }

// ApplyToDeleteAllOf makes a DeleteAllOf a dry run.
func (dryRunAll) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { o.DryRun = allStages() }

// ApplyToSubResourceCreate makes a Create of a subresource a dry run.
func (dryRunAll) ApplyToSubResourceCreate(o *SubResourceCreateOptions) { o.DryRun = allStages() }

// ApplyToSubResourceUpdate makes an Update of a subresource a dry run.
func (dryRunAll) ApplyToSubResourceUpdate(o *SubResourceUpdateOptions) { o.DryRun = allStages() }

// ApplyToSubResourcePatch makes a Patch of a subresource a dry run.
func (dryRunAll) ApplyToSubResourcePatch(o *SubResourcePatchOptions) { o.DryRun = allStages() }

// ApplyToSubResourceApply makes an Apply of a subresource a dry run.
func (dryRunAll) ApplyToSubResourceApply(o *SubResourceApplyOptions) { o.DryRun = allStages() }

// FieldOwner is the name of the field owner of a write.
type FieldOwner string

// ApplyToPatch sets the owner of a Patch.
func (f FieldOwner) ApplyToPatch(o *PatchOptions) { o.FieldManager = string(f) }

// ApplyToCreate sets the owner of a Create.
func (f FieldOwner) ApplyToCreate(o *CreateOptions) { o.FieldManager = string(f) }

// ApplyToUpdate sets the owner of an Update.
func (f FieldOwner) ApplyToUpdate(o *UpdateOptions) { o.FieldManager = string(f) }

// ApplyToApply sets the owner of an Apply.
func (f FieldOwner) ApplyToApply(o *ApplyOptions) { o.FieldManager = string(f) }

// ApplyToSubResourcePatch sets the owner of a Patch of a subresource.
func (f FieldOwner) ApplyToSubResourcePatch(o *SubResourcePatchOptions) { o.FieldManager = string(f) }

// ApplyToSubResourceCreate sets the owner of a Create of a subresource.
func (f FieldOwner) ApplyToSubResourceCreate(o *SubResourceCreateOptions) { o.FieldManager = string(f) }

// ApplyToSubResourceUpdate sets the owner of an Update of a subresource.
func (f FieldOwner) ApplyToSubResourceUpdate(o *SubResourceUpdateOptions) { o.FieldManager = string(f) }

// ApplyToSubResourceApply sets the owner of an Apply of a subresource.
func (f FieldOwner) ApplyToSubResourceApply(o *SubResourceApplyOptions) { o.FieldManager = string(f) }

type disableReadYourWritesConsistency bool

// DisableReadYourWritesConsistency allows a cached read to miss earlier writes of this process. On a write, it allows
// cached reads to miss that write.
const DisableReadYourWritesConsistency = disableReadYourWritesConsistency(true)

// ApplyToGet changes a Get.
func (disableReadYourWritesConsistency) ApplyToGet(o *GetOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToList changes a List.
func (disableReadYourWritesConsistency) ApplyToList(o *ListOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToCreate changes a Create.
func (disableReadYourWritesConsistency) ApplyToCreate(o *CreateOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToUpdate changes an Update.
func (disableReadYourWritesConsistency) ApplyToUpdate(o *UpdateOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToPatch changes a Patch.
func (disableReadYourWritesConsistency) ApplyToPatch(o *PatchOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToApply changes an Apply.
func (disableReadYourWritesConsistency) ApplyToApply(o *ApplyOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToDelete changes a Delete.
func (disableReadYourWritesConsistency) ApplyToDelete(o *DeleteOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToSubResourceCreate changes a Create of a subresource.
func (disableReadYourWritesConsistency) ApplyToSubResourceCreate(o *SubResourceCreateOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToSubResourceUpdate changes an Update of a subresource.
func (disableReadYourWritesConsistency) ApplyToSubResourceUpdate(o *SubResourceUpdateOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToSubResourcePatch changes a Patch of a subresource.
func (disableReadYourWritesConsistency) ApplyToSubResourcePatch(o *SubResourcePatchOptions) {
	o.DisableReadYourWritesConsistency = true
}

// ApplyToSubResourceApply changes an Apply of a subresource.
func (disableReadYourWritesConsistency) ApplyToSubResourceApply(o *SubResourceApplyOptions) {
	o.DisableReadYourWritesConsistency = true
}

// FieldValidation selects how the server treats unknown and duplicate fields: Ignore, Warn or Strict.
type FieldValidation string

// ApplyToPatch sets the validation of a Patch.
func (f FieldValidation) ApplyToPatch(o *PatchOptions) { o.FieldValidation = string(f) }

// ApplyToCreate sets the validation of a Create.
func (f FieldValidation) ApplyToCreate(o *CreateOptions) { o.FieldValidation = string(f) }

// ApplyToUpdate sets the validation of an Update.
func (f FieldValidation) ApplyToUpdate(o *UpdateOptions) { o.FieldValidation = string(f) }

// ApplyToSubResourcePatch sets the validation of a Patch of a subresource.
func (f FieldValidation) ApplyToSubResourcePatch(o *SubResourcePatchOptions) {
	o.FieldValidation = string(f)
}

// ApplyToSubResourceCreate sets the validation of a Create of a subresource.
func (f FieldValidation) ApplyToSubResourceCreate(o *SubResourceCreateOptions) {
	o.FieldValidation = string(f)
}

// ApplyToSubResourceUpdate sets the validation of an Update of a subresource.
func (f FieldValidation) ApplyToSubResourceUpdate(o *SubResourceUpdateOptions) {
	o.FieldValidation = string(f)
}

// GracePeriodSeconds is the time until a deleted object must end.
type GracePeriodSeconds int64

// ApplyToDelete sets the grace period of a Delete.
func (s GracePeriodSeconds) ApplyToDelete(o *DeleteOptions) { o.GracePeriodSeconds = (*int64)(&s) }

// ApplyToDeleteAllOf sets the grace period of a DeleteAllOf.
func (s GracePeriodSeconds) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	s.ApplyToDelete(&o.DeleteOptions)
}

// Preconditions are the conditions for a deletion.
type Preconditions metav1.Preconditions

// ApplyToDelete sets the preconditions of a Delete.
func (p Preconditions) ApplyToDelete(o *DeleteOptions) { o.Preconditions = (*metav1.Preconditions)(&p) }

// ApplyToDeleteAllOf sets the preconditions of a DeleteAllOf.
func (p Preconditions) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { p.ApplyToDelete(&o.DeleteOptions) }

// PropagationPolicy determines how a delete treats the dependents of an object.
type PropagationPolicy metav1.DeletionPropagation

// ApplyToDelete sets the policy of a Delete.
func (p PropagationPolicy) ApplyToDelete(o *DeleteOptions) {
	o.PropagationPolicy = (*metav1.DeletionPropagation)(&p)
}

// ApplyToDeleteAllOf sets the policy of a DeleteAllOf.
func (p PropagationPolicy) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	p.ApplyToDelete(&o.DeleteOptions)
}

// MatchingLabels selects objects that have all of these labels.
type MatchingLabels map[string]string

// ApplyToList adds the labels to a List. The server validates them.
func (m MatchingLabels) ApplyToList(o *ListOptions) {
	wanted := labels.SelectorFromValidatedSet(labels.Set(m))
	if o.LabelSelector == nil {
		o.LabelSelector = wanted
		return
	}
	requirements, _ := wanted.Requirements()
	o.LabelSelector = o.LabelSelector.Add(requirements...)
}

// ApplyToDeleteAllOf adds the labels to a DeleteAllOf.
func (m MatchingLabels) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { m.ApplyToList(&o.ListOptions) }

// HasLabels selects objects that have these labels, with any values.
type HasLabels []string

// ApplyToList adds the labels to a List. Invalid names are skipped.
func (m HasLabels) ApplyToList(o *ListOptions) {
	if o.LabelSelector == nil {
		o.LabelSelector = labels.NewSelector()
	}
	for _, name := range m {
		if requirement, err := labels.NewRequirement(name, selection.Exists, nil); err == nil {
			o.LabelSelector = o.LabelSelector.Add(*requirement)
		}
	}
}

// ApplyToDeleteAllOf adds the labels to a DeleteAllOf.
func (m HasLabels) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { m.ApplyToList(&o.ListOptions) }

// MatchingLabelsSelector selects by a label selector. A nil Selector selects nothing.
type MatchingLabelsSelector struct{ labels.Selector }

// ApplyToList sets the selector of a List.
func (m MatchingLabelsSelector) ApplyToList(o *ListOptions) {
	if m.Selector == nil {
		m.Selector = labels.Nothing()
	}
	o.LabelSelector = m
}

// ApplyToDeleteAllOf sets the selector of a DeleteAllOf.
func (m MatchingLabelsSelector) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	m.ApplyToList(&o.ListOptions)
}

// MatchingFields selects objects whose fields have all of these values.
type MatchingFields fields.Set

// ApplyToList sets the fields of a List.
func (m MatchingFields) ApplyToList(o *ListOptions) { o.FieldSelector = fields.Set(m).AsSelector() }

// ApplyToDeleteAllOf sets the fields of a DeleteAllOf.
func (m MatchingFields) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { m.ApplyToList(&o.ListOptions) }

// MatchingFieldsSelector selects by a field selector. A nil Selector selects nothing.
type MatchingFieldsSelector struct{ fields.Selector }

// ApplyToList sets the selector of a List.
func (m MatchingFieldsSelector) ApplyToList(o *ListOptions) {
	if m.Selector == nil {
		m.Selector = fields.Nothing()
	}
	o.FieldSelector = m
}

// ApplyToDeleteAllOf sets the selector of a DeleteAllOf.
func (m MatchingFieldsSelector) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	m.ApplyToList(&o.ListOptions)
}

// InNamespace restricts a List or DeleteAllOf to one namespace.
type InNamespace string

// ApplyToList sets the namespace of a List.
func (n InNamespace) ApplyToList(o *ListOptions) { o.Namespace = string(n) }

// ApplyToDeleteAllOf sets the namespace of a DeleteAllOf.
func (n InNamespace) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { n.ApplyToList(&o.ListOptions) }

// AsSelector returns a field selector for metadata.namespace.
func (n InNamespace) AsSelector() fields.Selector {
	return fields.SelectorFromSet(fields.Set{"metadata.namespace": string(n)})
}

// Limit is the maximum number of items of a List.
type Limit int64

// ApplyToList sets the limit of a List.
func (l Limit) ApplyToList(o *ListOptions) { o.Limit = int64(l) }

// Continue is the token of the next page of a List.
type Continue string

// ApplyToList sets the token of a List.
func (c Continue) ApplyToList(o *ListOptions) { o.Continue = string(c) }

// UnsafeDisableDeepCopyOption is the type of [UnsafeDisableDeepCopy].
type UnsafeDisableDeepCopyOption bool

// UnsafeDisableDeepCopy lets a cached read return objects that share memory with the cache and must not be modified.
const UnsafeDisableDeepCopy = UnsafeDisableDeepCopyOption(true)

// ApplyToGet changes a Get.
func (d UnsafeDisableDeepCopyOption) ApplyToGet(o *GetOptions) { o.UnsafeDisableDeepCopy = (*bool)(&d) }

// ApplyToList changes a List.
func (d UnsafeDisableDeepCopyOption) ApplyToList(o *ListOptions) {
	o.UnsafeDisableDeepCopy = (*bool)(&d)
}

type forceOwnership struct{}

// ForceOwnership makes an apply take over fields from other owners.
var ForceOwnership = forceOwnership{}

// ApplyToPatch forces a Patch.
func (forceOwnership) ApplyToPatch(o *PatchOptions) { o.Force = new(true) }

// ApplyToSubResourcePatch forces a Patch of a subresource.
func (forceOwnership) ApplyToSubResourcePatch(o *SubResourcePatchOptions) { o.Force = new(true) }

// ApplyToApply forces an Apply.
func (forceOwnership) ApplyToApply(o *ApplyOptions) { o.Force = new(true) }

// ApplyToSubResourceApply forces an Apply of a subresource.
func (forceOwnership) ApplyToSubResourceApply(o *SubResourceApplyOptions) { o.Force = new(true) }

// override sets field to value, unless value is the zero value.
func override[T comparable](field *T, value T) {
	var zero T
	if value != zero {
		*field = value
	}
}

// overrideSlice sets field to value, unless value is nil.
func overrideSlice[T any](field *[]T, value []T) {
	if value != nil {
		*field = value
	}
}

func orNew[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}
