package client

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// InNamespace restricts a List or DeleteAllOf to one namespace. The empty string is all namespaces.
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

// HasLabels selects objects that have all these labels, whatever their values.
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

// MatchingLabelsSelector selects objects by any label selector. A nil Selector selects all.
type MatchingLabelsSelector struct{ labels.Selector }

// ApplyToList adds the selector to a List.
func (m MatchingLabelsSelector) ApplyToList(o *ListOptions) { o.andLabels(m.Selector) }

// ApplyToDeleteAllOf adds the selector to a DeleteAllOf.
func (m MatchingLabelsSelector) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	m.ApplyToList(&o.ListOptions)
}

// MatchingFields selects objects whose fields have these values. Which fields can be selected by is for the server, or
// for the indexes of a cache, to say.
type MatchingFields map[string]string

// ApplyToList adds the fields to a List.
func (m MatchingFields) ApplyToList(o *ListOptions) {
	if len(m) > 0 {
		o.andFields(fields.SelectorFromSet(fields.Set(m)))
	}
}

// ApplyToDeleteAllOf adds the fields to a DeleteAllOf.
func (m MatchingFields) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { m.ApplyToList(&o.ListOptions) }

// MatchingFieldsSelector selects objects by any field selector. A nil Selector selects all.
type MatchingFieldsSelector struct{ fields.Selector }

// ApplyToList adds the selector to a List.
func (m MatchingFieldsSelector) ApplyToList(o *ListOptions) { o.andFields(m.Selector) }

// ApplyToDeleteAllOf adds the selector to a DeleteAllOf.
func (m MatchingFieldsSelector) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	m.ApplyToList(&o.ListOptions)
}

// Limit is the most items that one List returns. The list then tells by its continue token that there are more.
type Limit int64

// ApplyToList adds the limit to a List.
func (l Limit) ApplyToList(o *ListOptions) { set(&o.conflicts, "Limit", &o.Limit, int64(l)) }

// Continue goes on with the List that returned this token.
type Continue string

// ApplyToList adds the token to a List.
func (c Continue) ApplyToList(o *ListOptions) {
	set(&o.conflicts, "Continue", &o.Continue, string(c))
}

// NotOlderThan allows the server to answer from its cache when that is at least as new as this resourceVersion. "0"
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

// FieldOwner is the name under which a write owns the fields it sets.
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

// FieldValidation is what the server does with unknown and duplicate fields: "Ignore", "Warn" (its default) or
// "Strict", which refuses the write.
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

// ForceOwnership makes an Apply take the fields it sets from other owners instead of failing with a conflict.
const ForceOwnership Ownership = true

// ApplyToPatch adds the force to a Patch, where it is for a raw apply patch only.
func (f Ownership) ApplyToPatch(o *WriteOptions) { o.Force = o.Force || bool(f) }

// ApplyToApply adds the force to an Apply.
func (f Ownership) ApplyToApply(o *WriteOptions) { o.Force = o.Force || bool(f) }

// DryRun is the type of [DryRunAll].
type DryRun bool

// DryRunAll makes the server do all that a write does, admission included, but store nothing.
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

// PropagationPolicy is what a delete does to the dependents of the object: Orphan, Background or Foreground.
type PropagationPolicy metav1.DeletionPropagation

// ApplyToDelete adds the policy to a Delete.
func (p PropagationPolicy) ApplyToDelete(o *DeleteOptions) {
	set(&o.conflicts, "PropagationPolicy", &o.PropagationPolicy, metav1.DeletionPropagation(p))
}

// ApplyToDeleteAllOf adds the policy to a DeleteAllOf.
func (p PropagationPolicy) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	p.ApplyToDelete(&o.DeleteOptions)
}

// GracePeriodSeconds is how long a deleted object may take to end. Zero deletes it at once.
type GracePeriodSeconds int64

// ApplyToDelete adds the grace period to a Delete.
func (g GracePeriodSeconds) ApplyToDelete(o *DeleteOptions) {
	setPointer(&o.conflicts, "GracePeriodSeconds", &o.GracePeriodSeconds, (*int64)(&g))
}

// ApplyToDeleteAllOf adds the grace period to a DeleteAllOf.
func (g GracePeriodSeconds) ApplyToDeleteAllOf(o *DeleteAllOfOptions) {
	g.ApplyToDelete(&o.DeleteOptions)
}

// Preconditions must hold for an object to be deleted; else the delete fails with a conflict. Nil fields are not
// looked at.
type Preconditions struct {
	// UID is that of the object to delete: one recreated with the same name stays.
	UID *types.UID
	// ResourceVersion is the state of the object to delete: one changed since stays.
	ResourceVersion *string
}

// ApplyToDelete adds the preconditions to a Delete.
func (p Preconditions) ApplyToDelete(o *DeleteOptions) {
	setPointer(&o.conflicts, "Preconditions.UID", &o.Preconditions.UID, p.UID)
	setPointer(&o.conflicts, "Preconditions.ResourceVersion", &o.Preconditions.ResourceVersion, p.ResourceVersion)
}

// ApplyToDeleteAllOf adds the preconditions to a DeleteAllOf: only objects that meet them are deleted.
func (p Preconditions) ApplyToDeleteAllOf(o *DeleteAllOfOptions) { p.ApplyToDelete(&o.DeleteOptions) }

// WithSubResourceBody makes a write to a subresource send body instead of the object itself: body is a Scale, say,
// where the object is a Deployment. It is body that is set to the answer then. A body without name and namespace gets those
// of the object, save in a Patch.
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

// setPointer is set for fields whose zero value means something.
func setPointer[V comparable](c *conflicts, option string, field **V, value *V) {
	switch {
	case value == nil:
	case *field != nil && **field != *value:
		c.problems = append(c.problems, fmt.Errorf("option %s is given twice: %v and %v", option, **field, *value))
	default:
		*field = value
	}
}
