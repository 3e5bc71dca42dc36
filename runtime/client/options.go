package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// GetOption changes a Get.
type GetOption interface{ ApplyToGet(*GetOptions) }

// ListOption changes a List.
type ListOption interface{ ApplyToList(*ListOptions) }

// CreateOption changes a Create.
type CreateOption interface{ ApplyToCreate(*WriteOptions) }

// UpdateOption changes an Update.
type UpdateOption interface{ ApplyToUpdate(*WriteOptions) }

// PatchOption changes a Patch.
type PatchOption interface{ ApplyToPatch(*WriteOptions) }

// ApplyOption changes an Apply.
type ApplyOption interface{ ApplyToApply(*WriteOptions) }

// DeleteOption changes a Delete.
type DeleteOption interface{ ApplyToDelete(*DeleteOptions) }

// DeleteAllOfOption changes a DeleteAllOf.
type DeleteAllOfOption interface{ ApplyToDeleteAllOf(*DeleteAllOfOptions) }

// GetOptions combines all options of a Get. A pointer to it is an option.
type GetOptions struct {
	// NotOlderThan is the lowest accepted resourceVersion; empty requests the latest state, "0" accepts any.
	NotOlderThan string
	// Live, UnsafeDisableDeepCopy and DisableReadYourWritesConsistency have the effect of the options of the same names.
	Live, UnsafeDisableDeepCopy, DisableReadYourWritesConsistency bool

	conflicts
}

// ListOptions combines all options of a List. A pointer to it is an option.
type ListOptions struct {
	// Namespace is the namespace to list, empty for all.
	Namespace string
	// LabelSelector selects by labels; nil selects all.
	LabelSelector labels.Selector
	// FieldSelector selects by fields; nil selects all.
	FieldSelector fields.Selector
	// Limit is the maximum number of items in one answer; 0 means no limit.
	Limit int64
	// Continue is the token that the previous page returned.
	Continue string
	// NotOlderThan is the lowest accepted resourceVersion; empty requests the latest state, "0" accepts any. With
	// Continue, the value of the first page applies.
	NotOlderThan string
	// Live, UnsafeDisableDeepCopy and DisableReadYourWritesConsistency have the effect of the options of the same names.
	Live, UnsafeDisableDeepCopy, DisableReadYourWritesConsistency bool

	conflicts
}

// AsListOptions converts the options to apimachinery's type, which has no namespace.
func (o *ListOptions) AsListOptions() *metav1.ListOptions {
	options := &metav1.ListOptions{Limit: o.Limit, Continue: o.Continue}
	// Later pages are read at the version of the first page, and the server rejects requests for them that set a version.
	if o.NotOlderThan != "" && o.Continue == "" {
		options.ResourceVersion, options.ResourceVersionMatch = o.NotOlderThan, metav1.ResourceVersionMatchNotOlderThan
	}
	if o.LabelSelector != nil {
		options.LabelSelector = o.LabelSelector.String()
	}
	if o.FieldSelector != nil {
		options.FieldSelector = o.FieldSelector.String()
	}
	return options
}

// WriteOptions combines all options of a Create, Update, Patch or Apply. A pointer to it is an option.
type WriteOptions struct {
	// DryRun makes the server run all steps of the write without storing the object.
	DryRun bool
	// FieldOwner is the owner of the written fields; empty means the client's default.
	FieldOwner string
	// FieldValidation is how the server treats unknown and duplicate fields: Ignore, Warn or Strict; empty means the
	// server's default, Warn.
	FieldValidation string
	// Force takes over fields that have other owners. Only Apply supports it.
	Force bool
	// SubResourceBody is sent instead of the object. Only writes of subresources support it.
	SubResourceBody object.Object

	conflicts
}

// DeleteOptions combines all options of a Delete. A pointer to it is an option.
type DeleteOptions struct {
	// DryRun makes the server run all steps of the deletion without deleting the object.
	DryRun bool
	// GracePeriodSeconds is the time in seconds until the object is removed; nil means the default of its kind.
	GracePeriodSeconds *int64
	// PropagationPolicy is how the dependents of the object are treated; empty means the default of its kind.
	PropagationPolicy metav1.DeletionPropagation
	// Preconditions must hold for the deletion; otherwise it fails with a conflict.
	Preconditions Preconditions

	conflicts
}

// DeleteAllOfOptions combines all options of a DeleteAllOf. A pointer to it is an option.
type DeleteAllOfOptions struct {
	// ListOptions selects the objects.
	ListOptions ListOptions
	// DeleteOptions configures the deletion.
	DeleteOptions DeleteOptions
}

// GetOptionsOf combines opts. It fails if two options contradict each other.
func GetOptionsOf(opts ...GetOption) (GetOptions, error) {
	var o GetOptions
	o.ApplyOptions(opts)
	return o, o.err()
}

// ListOptionsOf combines opts. If several options have selectors, objects must match all of them. ListOptionsOf fails
// if two options contradict each other, or if a label is invalid.
func ListOptionsOf(opts ...ListOption) (ListOptions, error) {
	var o ListOptions
	o.ApplyOptions(opts)
	return o, o.err()
}

// ApplyOptions adds opts to o, and returns o. If options contradict each other, the call with o fails, see
// [GetOptionsOf].
func (o *GetOptions) ApplyOptions(opts []GetOption) *GetOptions {
	for _, opt := range opts {
		opt.ApplyToGet(o)
	}
	return o
}

// ApplyOptions adds opts to o, and returns o. If options contradict each other, the call with o fails, see
// [ListOptionsOf].
func (o *ListOptions) ApplyOptions(opts []ListOption) *ListOptions {
	for _, opt := range opts {
		opt.ApplyToList(o)
	}
	return o
}

// ApplyOptions adds opts to o, and returns o. If options contradict each other, the call with o fails, see
// [DeleteOptionsOf].
func (o *DeleteOptions) ApplyOptions(opts []DeleteOption) *DeleteOptions {
	for _, opt := range opts {
		opt.ApplyToDelete(o)
	}
	return o
}

// ApplyToGet adds o to a Get.
func (o *GetOptions) ApplyToGet(to *GetOptions) {
	set(&to.conflicts, "NotOlderThan", &to.NotOlderThan, o.NotOlderThan)
	LiveRead(o.Live).ApplyToGet(to)
	SharedRead(o.UnsafeDisableDeepCopy).ApplyToGet(to)
	StaleRead(o.DisableReadYourWritesConsistency).ApplyToGet(to)
	to.problems = append(to.problems, o.problems...)
}

// ApplyToList adds o to a List.
func (o *ListOptions) ApplyToList(to *ListOptions) {
	set(&to.conflicts, "InNamespace", &to.Namespace, o.Namespace)
	set(&to.conflicts, "Limit", &to.Limit, o.Limit)
	set(&to.conflicts, "Continue", &to.Continue, o.Continue)
	set(&to.conflicts, "NotOlderThan", &to.NotOlderThan, o.NotOlderThan)
	LiveRead(o.Live).ApplyToList(to)
	SharedRead(o.UnsafeDisableDeepCopy).ApplyToList(to)
	StaleRead(o.DisableReadYourWritesConsistency).ApplyToList(to)
	to.andLabels(o.LabelSelector)
	to.andFields(o.FieldSelector)
	to.problems = append(to.problems, o.problems...)
}

// andLabels restricts the selection to objects that selector matches too.
func (o *ListOptions) andLabels(selector labels.Selector) {
	if selector == nil {
		return
	}
	requirements, selectable := selector.Requirements()
	switch {
	case !selectable:
		o.LabelSelector = selector
	case o.LabelSelector == nil:
		o.LabelSelector = labels.NewSelector().Add(requirements...)
	default:
		o.LabelSelector = o.LabelSelector.Add(requirements...)
	}
}

// andFields restricts the selection to objects that selector matches too.
func (o *ListOptions) andFields(selector fields.Selector) {
	switch {
	case selector == nil, o.FieldSelector != nil && isNothing(o.FieldSelector):
	case isNothing(selector):
		o.FieldSelector = fields.Nothing()
	case o.FieldSelector == nil:
		o.FieldSelector = selector
	default:
		o.FieldSelector = fields.AndSelectors(o.FieldSelector, selector)
	}
}

// checkSelectors returns an error if a selector matches no object. A query cannot express such a selector: it would be
// sent as an empty one, which selects all objects.
func (o *ListOptions) checkSelectors() error {
	if o.LabelSelector != nil {
		if _, selectable := o.LabelSelector.Requirements(); !selectable {
			return errors.New("the label selector matches no object")
		}
	}
	if o.FieldSelector != nil && isNothing(o.FieldSelector) {
		return errors.New("the field selector matches no object")
	}
	return nil
}

// isNothing reports whether selector contains [fields.Nothing]. Neither the string nor the requirements of the selector
// show this, so isNothing tests whether the selector rejects an object that meets all requirements.
func isNothing(selector fields.Selector) bool {
	requirements, object := selector.Requirements(), fields.Set{}
	for _, r := range requirements {
		if r.Operator == selection.NotEquals {
			object[r.Field] += r.Value + "-" // differs from every value that the field must not have
		}
	}
	for _, r := range requirements {
		if r.Operator != selection.NotEquals {
			object[r.Field] = r.Value
		}
	}
	for _, r := range requirements {
		if (object[r.Field] == r.Value) == (r.Operator == selection.NotEquals) {
			return false // the requirements contradict each other, which a query can express
		}
	}
	return !selector.Matches(object)
}

// conflicts collects the contradictions between the options of one call.
type conflicts struct{ problems []error }

func (c *conflicts) err() error { return errors.Join(c.problems...) }

// set sets field to the value of an option, unless that is the zero value. If the field already has a different value,
// set records a problem.
func set[V comparable](c *conflicts, option string, field *V, value V) {
	var zero V
	switch {
	case value == zero:
	case *field != zero && *field != value:
		c.problems = append(c.problems, fmt.Errorf("option %s is given twice: %v and %v", option, *field, value))
	default:
		*field = value
	}
}

// CreateOptionsOf combines opts. It fails if two options contradict each other.
func CreateOptionsOf(opts ...CreateOption) (WriteOptions, error) {
	return writeOptionsOf(opts, CreateOption.ApplyToCreate)
}

// UpdateOptionsOf combines opts. It fails if two options contradict each other.
func UpdateOptionsOf(opts ...UpdateOption) (WriteOptions, error) {
	return writeOptionsOf(opts, UpdateOption.ApplyToUpdate)
}

// PatchOptionsOf combines opts. It fails if two options contradict each other.
func PatchOptionsOf(opts ...PatchOption) (WriteOptions, error) {
	return writeOptionsOf(opts, PatchOption.ApplyToPatch)
}

// ApplyOptionsOf combines opts. It fails if two options contradict each other.
func ApplyOptionsOf(opts ...ApplyOption) (WriteOptions, error) {
	return writeOptionsOf(opts, ApplyOption.ApplyToApply)
}

func writeOptionsOf[Option any](opts []Option, add func(Option, *WriteOptions)) (WriteOptions, error) {
	var o WriteOptions
	for _, opt := range opts {
		add(opt, &o)
	}
	return o, o.err()
}

// DeleteOptionsOf combines opts. It fails if two options contradict each other.
func DeleteOptionsOf(opts ...DeleteOption) (DeleteOptions, error) {
	var o DeleteOptions
	o.ApplyOptions(opts)
	return o, o.err()
}

// ApplyToCreate adds o to a Create.
func (o *WriteOptions) ApplyToCreate(to *WriteOptions) { o.addTo(to) }

// ApplyToUpdate adds o to an Update.
func (o *WriteOptions) ApplyToUpdate(to *WriteOptions) { o.addTo(to) }

// ApplyToPatch adds o to a Patch.
func (o *WriteOptions) ApplyToPatch(to *WriteOptions) { o.addTo(to) }

// ApplyToApply adds o to an Apply.
func (o *WriteOptions) ApplyToApply(to *WriteOptions) { o.addTo(to) }

func (o *WriteOptions) addTo(to *WriteOptions) {
	to.DryRun = to.DryRun || o.DryRun
	to.Force = to.Force || o.Force
	set(&to.conflicts, "FieldOwner", &to.FieldOwner, o.FieldOwner)
	set(&to.conflicts, "FieldValidation", &to.FieldValidation, o.FieldValidation)
	set(&to.conflicts, "WithSubResourceBody", &to.SubResourceBody, o.SubResourceBody)
	to.problems = append(to.problems, o.problems...)
}

// ApplyToDelete adds o to a Delete.
func (o *DeleteOptions) ApplyToDelete(to *DeleteOptions) {
	to.DryRun = to.DryRun || o.DryRun
	setPointer(&to.conflicts, "GracePeriodSeconds", &to.GracePeriodSeconds, o.GracePeriodSeconds)
	set(&to.conflicts, "PropagationPolicy", &to.PropagationPolicy, o.PropagationPolicy)
	o.Preconditions.ApplyToDelete(to)
	to.problems = append(to.problems, o.problems...)
}

// ApplyToDeleteAllOf adds o to a DeleteAllOf.
func (o *DeleteAllOfOptions) ApplyToDeleteAllOf(to *DeleteAllOfOptions) {
	o.ListOptions.ApplyToList(&to.ListOptions)
	o.DeleteOptions.ApplyToDelete(&to.DeleteOptions)
}

// InNamespace restricts a List or DeleteAllOf to one namespace. The empty string means all namespaces.
type InNamespace string

// ApplyToList adds the namespace to a List.
func (n InNamespace) ApplyToList(o *ListOptions) {
	set(&o.conflicts, "InNamespace", &o.Namespace, string(n))
}

// ApplyToDeleteAllOf adds the namespace to a DeleteAllOf.
func (n InNamespace) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { n.ApplyToList(&o.ListOptions) }

// MatchingLabels selects objects that have all these labels with these values.
type MatchingLabels map[string]string

// ApplyToList adds the labels to a List.
func (m MatchingLabels) ApplyToList(o *ListOptions) {
	selector, err := labels.ValidatedSelectorFromSet(labels.Set(m))
	if err != nil {
		o.problems = append(o.problems, fmt.Errorf("option MatchingLabels: %w", err))
		return
	}
	o.andLabels(selector)
}

// ApplyToDeleteAllOf adds the labels to a DeleteAllOf.
func (m MatchingLabels) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { m.ApplyToList(&o.ListOptions) }

// HasLabels selects objects that have all these labels with any value.
type HasLabels []string

// ApplyToList adds the labels to a List.
func (h HasLabels) ApplyToList(o *ListOptions) {
	for _, label := range h {
		requirement, err := labels.NewRequirement(label, selection.Exists, nil)
		if err != nil {
			o.problems = append(o.problems, fmt.Errorf("option HasLabels: %w", err))
			continue
		}
		o.andLabels(labels.NewSelector().Add(*requirement))
	}
}

// ApplyToDeleteAllOf adds the labels to a DeleteAllOf.
func (h HasLabels) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { h.ApplyToList(&o.ListOptions) }

// MatchingLabelsSelector selects objects by a label selector of any form. A nil Selector selects all.
type MatchingLabelsSelector struct{ labels.Selector }

// ApplyToList adds the selector to a List.
func (m MatchingLabelsSelector) ApplyToList(o *ListOptions) { o.andLabels(m.Selector) }

// ApplyToDeleteAllOf adds the selector to a DeleteAllOf.
func (m MatchingLabelsSelector) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	m.ApplyToList(&o.ListOptions)
}

// MatchingFields selects objects whose fields have these values. The API server supports some fields of each kind; a
// cache supports the fields that it has an index for.
type MatchingFields map[string]string

// ApplyToList adds the fields to a List.
func (m MatchingFields) ApplyToList(o *ListOptions) {
	if len(m) > 0 {
		o.andFields(fields.SelectorFromSet(fields.Set(m)))
	}
}

// ApplyToDeleteAllOf adds the fields to a DeleteAllOf.
func (m MatchingFields) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { m.ApplyToList(&o.ListOptions) }

// MatchingFieldsSelector selects objects by a field selector of any form. A nil Selector selects all.
type MatchingFieldsSelector struct{ fields.Selector }

// ApplyToList adds the selector to a List.
func (m MatchingFieldsSelector) ApplyToList(o *ListOptions) { o.andFields(m.Selector) }

// ApplyToDeleteAllOf adds the selector to a DeleteAllOf.
func (m MatchingFieldsSelector) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	m.ApplyToList(&o.ListOptions)
}

// Limit is the maximum number of items that one List returns. If more items exist, the list has a continue token.
type Limit int64

// ApplyToList adds the limit to a List.
func (l Limit) ApplyToList(o *ListOptions) { set(&o.conflicts, "Limit", &o.Limit, int64(l)) }

// Continue requests the page after the List that returned this token.
type Continue string

// ApplyToList adds the token to a List.
func (c Continue) ApplyToList(o *ListOptions) {
	set(&o.conflicts, "Continue", &o.Continue, string(c))
}

// NotOlderThan allows the server to answer from its cache if the cache is at least as new as this resourceVersion. "0"
// allows any age, which is the cheapest read.
type NotOlderThan string

// ApplyToGet adds the resourceVersion to a Get.
func (n NotOlderThan) ApplyToGet(o *GetOptions) {
	set(&o.conflicts, "NotOlderThan", &o.NotOlderThan, string(n))
}

// ApplyToList adds the resourceVersion to a List.
func (n NotOlderThan) ApplyToList(o *ListOptions) {
	set(&o.conflicts, "NotOlderThan", &o.NotOlderThan, string(n))
}

// FieldOwner is the name of the owner of the fields that a write sets.
type FieldOwner string

func (f FieldOwner) apply(o *WriteOptions) {
	set(&o.conflicts, "FieldOwner", &o.FieldOwner, string(f))
}

// ApplyToCreate adds the owner to a Create.
func (f FieldOwner) ApplyToCreate(o *WriteOptions) { f.apply(o) }

// ApplyToUpdate adds the owner to an Update.
func (f FieldOwner) ApplyToUpdate(o *WriteOptions) { f.apply(o) }

// ApplyToPatch adds the owner to a Patch.
func (f FieldOwner) ApplyToPatch(o *WriteOptions) { f.apply(o) }

// ApplyToApply adds the owner to an Apply.
func (f FieldOwner) ApplyToApply(o *WriteOptions) { f.apply(o) }

// FieldValidation is how the server treats unknown and duplicate fields: "Ignore" accepts them, "Warn" (the server's
// default) accepts them with a warning, and "Strict" rejects the write.
type FieldValidation string

func (f FieldValidation) apply(o *WriteOptions) {
	set(&o.conflicts, "FieldValidation", &o.FieldValidation, string(f))
}

// ApplyToCreate adds the validation to a Create.
func (f FieldValidation) ApplyToCreate(o *WriteOptions) { f.apply(o) }

// ApplyToUpdate adds the validation to an Update.
func (f FieldValidation) ApplyToUpdate(o *WriteOptions) { f.apply(o) }

// ApplyToPatch adds the validation to a Patch.
func (f FieldValidation) ApplyToPatch(o *WriteOptions) { f.apply(o) }

// Ownership is the type of [ForceOwnership].
type Ownership bool

// ForceOwnership makes an Apply take over the fields that it sets and that have other owners, instead of failing with a
// conflict.
const ForceOwnership Ownership = true

// ApplyToPatch adds the option to a Patch. The server accepts it only for a raw apply patch.
func (f Ownership) ApplyToPatch(o *WriteOptions) { o.Force = o.Force || bool(f) }

// ApplyToApply adds the option to an Apply.
func (f Ownership) ApplyToApply(o *WriteOptions) { o.Force = o.Force || bool(f) }

// DryRun is the type of [DryRunAll].
type DryRun bool

// DryRunAll makes the server run all steps of a write, including admission, without storing the result.
const DryRunAll DryRun = true

// ApplyToCreate makes a Create a dry run.
func (d DryRun) ApplyToCreate(o *WriteOptions) { o.DryRun = o.DryRun || bool(d) }

// ApplyToUpdate makes an Update a dry run.
func (d DryRun) ApplyToUpdate(o *WriteOptions) { o.DryRun = o.DryRun || bool(d) }

// ApplyToPatch makes a Patch a dry run.
func (d DryRun) ApplyToPatch(o *WriteOptions) { o.DryRun = o.DryRun || bool(d) }

// ApplyToApply makes an Apply a dry run.
func (d DryRun) ApplyToApply(o *WriteOptions) { o.DryRun = o.DryRun || bool(d) }

// ApplyToDelete makes a Delete a dry run.
func (d DryRun) ApplyToDelete(o *DeleteOptions) { o.DryRun = o.DryRun || bool(d) }

// ApplyToDeleteAllOf makes a DeleteAllOf a dry run.
func (d DryRun) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { d.ApplyToDelete(&o.DeleteOptions) }

// PropagationPolicy is how the dependents of a deleted object are treated: Orphan, Background or Foreground.
type PropagationPolicy metav1.DeletionPropagation

// ApplyToDelete adds the policy to a Delete.
func (p PropagationPolicy) ApplyToDelete(o *DeleteOptions) {
	set(&o.conflicts, "PropagationPolicy", &o.PropagationPolicy, metav1.DeletionPropagation(p))
}

// ApplyToDeleteAllOf adds the policy to a DeleteAllOf.
func (p PropagationPolicy) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	p.ApplyToDelete(&o.DeleteOptions)
}

// GracePeriodSeconds is the time in seconds until a deleted object is removed. Zero removes it immediately.
type GracePeriodSeconds int64

// ApplyToDelete adds the grace period to a Delete.
func (g GracePeriodSeconds) ApplyToDelete(o *DeleteOptions) {
	setPointer(&o.conflicts, "GracePeriodSeconds", &o.GracePeriodSeconds, (*int64)(&g))
}

// ApplyToDeleteAllOf adds the grace period to a DeleteAllOf.
func (g GracePeriodSeconds) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	g.ApplyToDelete(&o.DeleteOptions)
}

// Preconditions are conditions that an object must meet to be deleted; otherwise the deletion fails with a conflict.
// Nil fields are ignored.
type Preconditions struct {
	// UID is the UID of the object to delete. A new object of the same name has another UID, so it is not deleted.
	UID *types.UID
	// ResourceVersion is the version of the object to delete. An object that has changed since is not deleted.
	ResourceVersion *string
}

// ApplyToDelete adds the preconditions to a Delete.
func (p Preconditions) ApplyToDelete(o *DeleteOptions) {
	setPointer(&o.conflicts, "Preconditions.UID", &o.Preconditions.UID, p.UID)
	setPointer(&o.conflicts, "Preconditions.ResourceVersion", &o.Preconditions.ResourceVersion, p.ResourceVersion)
}

// ApplyToDeleteAllOf adds the preconditions to a DeleteAllOf: only objects that meet them are deleted.
func (p Preconditions) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { p.ApplyToDelete(&o.DeleteOptions) }

// WithSubResourceBody makes a write to a subresource send body instead of the object, such as a Scale for a Deployment.
// The write sets body to the server's answer. Except in a Patch, a body without name and namespace gets the object's
// name and namespace.
func WithSubResourceBody(body object.Object) SubResourceBody { return SubResourceBody{body: body} }

// SubResourceBody is the type of [WithSubResourceBody].
type SubResourceBody struct{ body object.Object }

// ApplyToUpdate adds the body to an Update.
func (b SubResourceBody) ApplyToUpdate(o *WriteOptions) { b.apply(o) }

// ApplyToPatch adds the body to a Patch.
func (b SubResourceBody) ApplyToPatch(o *WriteOptions) { b.apply(o) }

// ApplyToApply adds the body to an Apply.
func (b SubResourceBody) ApplyToApply(o *WriteOptions) { b.apply(o) }

func (b SubResourceBody) apply(o *WriteOptions) {
	set(&o.conflicts, "WithSubResourceBody", &o.SubResourceBody, b.body)
}

// setPointer is the variant of set for fields whose zero value has a meaning.
func setPointer[V comparable](c *conflicts, option string, field **V, value *V) {
	switch {
	case value == nil:
	case *field != nil && **field != *value:
		c.problems = append(c.problems, fmt.Errorf("option %s is given twice: %v and %v", option, **field, *value))
	default:
		*field = value
	}
}

// LiveRead is the type of [Live].
type LiveRead bool

// Live makes a read request the latest state from the API server, even if the kind is cached.
const Live LiveRead = true

// ApplyToGet makes a Get live.
func (l LiveRead) ApplyToGet(o *GetOptions) { o.Live = o.Live || bool(l) }

// ApplyToList makes a List live.
func (l LiveRead) ApplyToList(o *ListOptions) { o.Live = o.Live || bool(l) }

// SharedRead is the type of [UnsafeDisableDeepCopy].
type SharedRead bool

// UnsafeDisableDeepCopy makes a cached read return objects that share their maps, slices and pointers with the cache.
// They must not be modified, nor passed to a write. The option does not affect live reads.
const UnsafeDisableDeepCopy SharedRead = true

// ApplyToGet makes a Get return a shared object.
func (s SharedRead) ApplyToGet(o *GetOptions) {
	o.UnsafeDisableDeepCopy = o.UnsafeDisableDeepCopy || bool(s)
}

// ApplyToList makes a List return shared objects.
func (s SharedRead) ApplyToList(o *ListOptions) {
	o.UnsafeDisableDeepCopy = o.UnsafeDisableDeepCopy || bool(s)
}

// StaleRead is the type of [DisableReadYourWritesConsistency].
type StaleRead bool

// DisableReadYourWritesConsistency allows a cached read to miss writes of this process, because the read does not wait
// until the cache has received them.
const DisableReadYourWritesConsistency StaleRead = true

// ApplyToGet allows a stale Get.
func (s StaleRead) ApplyToGet(o *GetOptions) {
	o.DisableReadYourWritesConsistency = o.DisableReadYourWritesConsistency || bool(s)
}

// ApplyToList allows a stale List.
func (s StaleRead) ApplyToList(o *ListOptions) {
	o.DisableReadYourWritesConsistency = o.DisableReadYourWritesConsistency || bool(s)
}

// query returns the query parameters of a list.
func (o *ListOptions) query() url.Values {
	query, _ := queryparams.Convert(o.AsListOptions()) // fails only for values that are not pointers to structs
	return query
}

// body returns the body of a delete, or nil if all options are unset.
func (o *DeleteOptions) body() ([]byte, error) {
	body := metav1.DeleteOptions{GracePeriodSeconds: o.GracePeriodSeconds}
	if o.DryRun {
		body.DryRun = []string{metav1.DryRunAll}
	}
	if o.PropagationPolicy != "" {
		body.PropagationPolicy = &o.PropagationPolicy
	}
	if o.Preconditions != (Preconditions{}) {
		body.Preconditions = (*metav1.Preconditions)(&o.Preconditions)
	}
	if reflect.ValueOf(body).IsZero() {
		return nil, nil
	}
	body.Kind, body.APIVersion = "DeleteOptions", "v1"
	return json.Marshal(body)
}
