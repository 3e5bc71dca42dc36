package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Journal tells the caches and controllers of this process of the writes of all clients that share it. The zero value is ready
// for use, and it is safe for concurrent use. It keeps nothing of a write.
type Journal = writes.Journal

// Journal returns where the writes of c are told.
func (c *REST) Journal() *Journal { return c.journal }

// begin says that r is about to be sent, if it is a write, until the function that it returns is called.
func (c *REST) begin(ctx context.Context, r *request) (end func()) {
	if r.method == http.MethodGet || r.isDryRun() {
		return func() {}
	}
	return writes.LogOf(c.journal).Begin(ctx, r.target())
}

// target returns a [writes.Write] of what r is to change.
func (r *request) target() writes.Write {
	w := writes.Write{GVK: r.resource.gvk, Key: object.Key{Namespace: r.namespace, Name: cmp.Or(r.name, r.posted)}}
	if w.GVK.GroupKind() == bindingKind {
		w.GVK.Kind = "Pod"
	}
	return w
}

// tellWritten tells of a request that was answered with obj.
func (c *REST) tellWritten(ctx context.Context, r *request, base string, obj object.Object) {
	if r.isOrder() {
		c.tellUnknown(ctx, r)
		return
	}
	if r.isDryRun() {
		return
	}
	w := writes.Write{
		GVK:             r.resource.gvk,
		Key:             object.Key{Namespace: r.namespace, Name: r.name},
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Base:            base,
		Body:            r.body,
		Object:          obj,
	}
	w.Gone, w.Ending = r.resource.endOf(obj)
	if r.name == "" {
		w.Key.Name = obj.GetName()
	}
	if r.subresource != "" && r.subresource != statusSubresource {
		w.Object = nil // it may be of another kind, such as a Scale
	}
	writes.LogOf(c.journal).Record(ctx, w)
}

// isOrder reports whether what is posted is not the object that the path names, such as an eviction.
func (r *request) isOrder() bool {
	return r.verb == "create" && (r.subresource != "" || r.resource.gvk.GroupKind() == bindingKind)
}

// bindingKind is of objects that are posted as if they were stored, and change the pod of their name.
var bindingKind = schema.GroupKind{Kind: "Binding"}

// tokenSubresource is what is posted to for a token of a service account, which changes nothing.
const tokenSubresource = "token"

// tellUnknown tells of a request that the server has carried out, or may have: what it has made of the object nobody knows.
// Of an object whose name is not known, and of a whole collection, nothing is told.
func (c *REST) tellUnknown(ctx context.Context, r *request) {
	w := r.target()
	if r.method == http.MethodGet || w.Key.Name == "" || r.isDryRun() || r.subresource == tokenSubresource {
		return
	}
	w.Unknown = true
	writes.LogOf(c.journal).Record(ctx, w)
}

// tellLost tells of a request that has failed with err, if the server may have carried it out all the same: its answer was
// lost or cannot be read, or says that the server does not know.
func (c *REST) tellLost(ctx context.Context, r *request, err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && isRefusal(status.Status().Code) {
		return
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return // it was not sent
	}
	c.tellUnknown(ctx, r)
}

// isRefusal reports whether a server that fails with code has changed nothing.
func isRefusal(code int32) bool {
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}

func (r *request) isDryRun() bool { return r.query.Has("dryRun") }

// namespaceKind is of objects that their spec can hold back too, and the namespace's content with that.
var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// endOf reports whether obj, as a write left it, exists no more: nothing holds it back, and it was to be deleted. Of a
// namespace it reports that this may be so.
func (r resource) endOf(obj metav1.Object) (gone, ending bool) {
	grace := obj.GetDeletionGracePeriodSeconds()
	if obj.GetDeletionTimestamp() == nil || len(obj.GetFinalizers()) > 0 || grace != nil && *grace > 0 {
		return false, false
	}
	ending = r.gvk.GroupKind() == namespaceKind
	return !ending, ending
}

// deletion is what the answers to deletions have in common: one is a Status that names the object, or the object, or
// the list of them.
type deletion struct {
	metav1.PartialObjectMetadata
	Status  json.RawMessage                `json:"status"`
	Details *metav1.StatusDetails          `json:"details"`
	Items   []metav1.PartialObjectMetadata `json:"items"`
}

// tellDeleted tells of a deletion of obj that was answered with body. An answer that cannot be read, or is about something
// else, is as good as one that was lost.
func (c *REST) tellDeleted(ctx context.Context, r *request, obj object.Object, body []byte) {
	var answer deletion
	if err := json.Unmarshal(body, &answer); err != nil {
		c.tellLost(ctx, r, err)
		return
	}
	w := writes.Write{GVK: r.resource.gvk, Key: object.Key{Namespace: r.namespace, Name: r.name}}
	switch {
	case r.name == "":
		for i := range answer.Items {
			item := &answer.Items[i]
			w.Key, w.UID, w.Before, w.Ending = object.KeyOf(item), item.UID, item.ResourceVersion, true
			writes.LogOf(c.journal).Record(ctx, w)
		}
		return
	case answer.Kind == "Status" && answer.Details != nil && answer.Details.UID != "":
		w.UID, w.Gone = answer.Details.UID, true
		if obj.GetUID() == w.UID {
			w.Before = obj.GetResourceVersion()
		}
	case answer.GroupVersionKind() != r.resource.gvk:
		w.Unknown = true
	default:
		w.UID, w.ResourceVersion, w.Gone = answer.UID, answer.ResourceVersion, answer.DeletionTimestamp == nil
		if !w.Gone {
			w.Gone, w.Ending = r.resource.endOf(&answer)
		}
	}
	writes.LogOf(c.journal).Record(ctx, w)
}
