package client

import (
	"bytes"
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

// Journal records the writes of all clients that share it, and passes them to the caches and controllers of this
// process. The zero value is ready for use. A Journal is safe for concurrent use. It keeps a limited number of recent
// writes, without their objects.
type Journal = writes.Journal

// Journal returns the journal in which c records its writes.
func (c *REST) Journal() *Journal { return c.journal }

// record records w.
func (c *REST) record(ctx context.Context, w writes.Write) { writes.LogOf(c.journal).Record(ctx, w) }

// begin records that r is in flight, if it is a write, until end is called.
func (c *REST) begin(ctx context.Context, r *request) (end func()) {
	if r.method == http.MethodGet || r.isDryRun() {
		return func() {}
	}
	return writes.LogOf(c.journal).Begin(ctx, r.target())
}

// target returns the write of r, without its outcome.
func (r *request) target() writes.Write {
	w := writes.Write{GVK: r.resource.gvk, Key: object.Key{Namespace: r.namespace(), Name: cmp.Or(r.name, r.posted)}}
	if w.GVK.GroupKind() == bindingKind {
		w.GVK.Kind = "Pod"
	}
	return w
}

// recordWritten records a request that was answered with obj. base is the resource version of the caller's object
// before the request.
func (c *REST) recordWritten(ctx context.Context, r *request, base string, obj object.Object) {
	if r.isAction() {
		c.recordUnknown(ctx, r)
		return
	}
	if r.isDryRun() {
		return
	}
	w := r.target()
	w.Key.Name = cmp.Or(r.name, obj.GetName())
	w.UID, w.ResourceVersion, w.Object = obj.GetUID(), obj.GetResourceVersion(), obj
	w.Changed = r.verb == "create" || r.isConditional(base) && w.ResourceVersion != base
	w.Gone, w.Ending = r.resource.endOf(obj)
	if r.subresource != "" && r.subresource != statusSubresource {
		w.Object = nil // it may be of another kind, such as a Scale
	}
	c.record(ctx, w)
}

// isConditional reports whether the server rejects r if the current version of the object is not base.
func (r *request) isConditional(base string) bool {
	if base == "" || r.method == http.MethodPut {
		return base != ""
	}
	var sent struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	return bytes.Contains(r.body, []byte(`"resourceVersion"`)) && json.Unmarshal(r.body, &sent) == nil &&
		sent.Metadata.ResourceVersion == base
}

// isAction reports whether r posts an action on an object, such as an eviction, instead of the object.
func (r *request) isAction() bool {
	return r.verb == "create" && (r.subresource != "" || r.resource.gvk.GroupKind() == bindingKind)
}

// bindingKind is posted like an object, but changes the pod of the same name.
var bindingKind = schema.GroupKind{Kind: "Binding"}

// tokenSubresource is the subresource that issues tokens for a service account. A request for it does not change the
// object.
const tokenSubresource = "token"

// recordUnknown records a request whose outcome is unknown. It skips requests with a generated name and requests for a
// collection.
func (c *REST) recordUnknown(ctx context.Context, r *request) {
	w := r.target()
	if r.method == http.MethodGet || w.Key.Name == "" || r.isDryRun() || r.subresource == tokenSubresource {
		return
	}
	w.Unknown = true
	c.record(ctx, w)
}

// recordLost records a request that failed with err, unless it is certain that the server did not execute it. If the
// answer was lost or invalid, or if the server reports an internal error, the request may have taken effect.
func (c *REST) recordLost(ctx context.Context, r *request, err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if code := status.Status().Code; code >= http.StatusBadRequest && code < http.StatusInternalServerError {
			return // the server refused the request
		}
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return // the request was not sent
	}
	c.recordUnknown(ctx, r)
}

func (r *request) isDryRun() bool { return r.query.Has("dryRun") }

// namespaceKind is the kind that can have finalizers in its spec as well as in its metadata.
var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// endOf reports in gone whether obj, as a write returned it, no longer exists, because it has a deletion timestamp and
// no finalizers. Such a namespace may still exist; for it, endOf returns ending instead.
func (r resource) endOf(obj metav1.Object) (gone, ending bool) {
	grace := obj.GetDeletionGracePeriodSeconds()
	if obj.GetDeletionTimestamp() == nil || len(obj.GetFinalizers()) > 0 || grace != nil && *grace > 0 {
		return false, false
	}
	ending = r.gvk.GroupKind() == namespaceKind
	return !ending, ending
}

// deletion decodes the answers to deletions: a Status with the UID of the object, the object, or a list of objects.
type deletion struct {
	metav1.PartialObjectMetadata
	Details *metav1.StatusDetails          `json:"details"`
	Items   []metav1.PartialObjectMetadata `json:"items"`
}

// recordDeleted records a deletion of obj that was answered with body. If the answer cannot be decoded, or is of
// another kind, the outcome is recorded as unknown.
func (c *REST) recordDeleted(ctx context.Context, r *request, obj object.Object, body []byte) {
	var answer deletion
	if err := json.Unmarshal(body, &answer); err != nil {
		c.recordLost(ctx, r, err)
		return
	}
	w := r.target()
	switch {
	case r.name == "":
		for i := range answer.Items {
			item := &answer.Items[i]
			w.Key, w.UID, w.Before, w.Ending = object.KeyOf(item), item.UID, item.ResourceVersion, true
			c.record(ctx, w)
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
	c.record(ctx, w)
}
