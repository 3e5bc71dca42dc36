package client

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

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

// GetOptions is what all options of a Get add up to. Its pointer is an option itself.
type GetOptions struct {
	// NotOlderThan is the least resourceVersion the answer may reflect; empty asks for the latest, "0" for any.
	NotOlderThan string
	// Live, UnsafeDisableDeepCopy and DisableReadYourWritesConsistency are the options of these names.
	Live, UnsafeDisableDeepCopy, DisableReadYourWritesConsistency bool

	conflicts
}

// ForServer reports whether the options ask for something that a cache cannot answer.
func (o *GetOptions) ForServer() bool { return o.Live || o.NotOlderThan != "" }

// ListOptions is what all options of a List add up to. Its pointer is an option itself.
type ListOptions struct {
	// Namespace is the namespace to list, empty for all.
	Namespace string
	// LabelSelector selects by labels; nil selects all.
	LabelSelector labels.Selector
	// FieldSelector selects by fields; nil selects all.
	FieldSelector fields.Selector
	// Limit is the most items of one answer; 0 is no limit.
	Limit int64
	// Continue is the token of the page to go on with.
	Continue string
	// NotOlderThan is the least resourceVersion the answer may reflect; empty asks for the latest, "0" for any.
	NotOlderThan string
	// Live, UnsafeDisableDeepCopy and DisableReadYourWritesConsistency are the options of these names.
	Live, UnsafeDisableDeepCopy, DisableReadYourWritesConsistency bool

	conflicts
}

// ForServer reports whether the options ask for something that a cache cannot answer.
func (o *ListOptions) ForServer() bool { return o.Live || o.NotOlderThan != "" }

// WriteOptions is what all options of a Create, Update, Patch or Apply add up to. Its pointer is an option itself.
type WriteOptions struct {
	// DryRun lets the server do all but store the object.
	DryRun bool
	// FieldOwner is the name under which fields are owned; empty is that of the client.
	FieldOwner string
	// FieldValidation is what the server does with unknown and duplicate fields: Ignore, Warn or Strict; empty is the
	// server's default, Warn.
	FieldValidation string
	// Force takes fields from other owners. For Apply only.
	Force bool
	// SubResourceBody is sent instead of the object. For subresources only.
	SubResourceBody object.Object

	conflicts
}

// DeleteOptions is what all options of a Delete add up to. Its pointer is an option itself.
type DeleteOptions struct {
	// DryRun lets the server do all but delete.
	DryRun bool
	// GracePeriodSeconds is how long the object may take to end; nil is the default of its kind.
	GracePeriodSeconds *int64
	// PropagationPolicy is what becomes of dependents; empty is the default of the kind.
	PropagationPolicy metav1.DeletionPropagation
	// Preconditions must hold for the object to be deleted; else the answer is a conflict.
	Preconditions Preconditions

	conflicts
}

// DeleteAllOfOptions is what all options of a DeleteAllOf add up to. Its pointer is an option itself.
type DeleteAllOfOptions struct {
	// ListOptions selects the objects.
	ListOptions ListOptions
	// DeleteOptions says how to delete them.
	DeleteOptions DeleteOptions
}

// GetOptionsOf adds up opts. It fails when two of them contradict each other.
func GetOptionsOf(opts ...GetOption) (GetOptions, error) {
	var o GetOptions
	for _, opt := range opts {
		opt.ApplyToGet(&o)
	}
	return o, o.err()
}

// ListOptionsOf adds up opts: selectors must all match. It fails when two options contradict each other, or when a
// label is not valid.
func ListOptionsOf(opts ...ListOption) (ListOptions, error) {
	var o ListOptions
	for _, opt := range opts {
		opt.ApplyToList(&o)
	}
	return o, o.err()
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

// andLabels narrows the selection to what selector selects too.
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

// andFields narrows the selection to what selector selects too.
func (o *ListOptions) andFields(selector fields.Selector) {
	switch {
	case selector == nil:
	case o.FieldSelector == nil:
		o.FieldSelector = selector
	default:
		o.FieldSelector = fields.AndSelectors(o.FieldSelector, selector)
	}
}

// selectsNothing reports whether the label selector is one that matches no object, which a query cannot say.
func (o *ListOptions) selectsNothing() bool {
	if o.LabelSelector == nil {
		return false
	}
	_, selectable := o.LabelSelector.Requirements()
	return !selectable
}

// conflicts collects what is wrong with the options of one call.
type conflicts struct{ problems []error }

func (c *conflicts) err() error { return errors.Join(c.problems...) }

// set gives field the value of an option, unless it is the zero value. Two options with different values are a
// problem.
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
