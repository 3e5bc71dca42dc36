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

// Journal passes the writes of all clients that share it to the caches and controllers of this process. The zero value
// is ready for use. It is safe for concurrent use. It keeps a limited number of the last writes, without their objects.
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
	w := writes.Write{GVK: r.resource.gvk, Key: object.Key{Namespace: r.namespace, Name: cmp.Or(r.name, r.posted)}}
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
	w := writes.Write{
		GVK:             r.resource.gvk,
		Key:             object.Key{Namespace: r.namespace, Name: r.name},
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Object:          obj,
	}
	w.Changed = r.verb == "create" || r.isConditional(base) && w.ResourceVersion != base
	w.Gone, w.Ending = r.resource.endOf(obj)
	if r.name == "" {
		w.Key.Name = obj.GetName()
	}
	if r.subresource != "" && r.subresource != statusSubresource {
		w.Object = nil // it may be of another kind, such as a Scale
	}
	c.record(ctx, w)
}

// isConditional reports whether the server rejects r unless the object has the version base.
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

// bindingKind is posted like an object, but changes the pod with its name.
var bindingKind = schema.GroupKind{Kind: "Binding"}

// tokenSubresource returns a token of a service account. It does not change the object.
const tokenSubresource = "token"

// recordUnknown records a request whose outcome is unknown. It skips requests with a generated name and those for a
// collection.
func (c *REST) recordUnknown(ctx context.Context, r *request) {
	w := r.target()
	if r.method == http.MethodGet || w.Key.Name == "" || r.isDryRun() || r.subresource == tokenSubresource {
		return
	}
	w.Unknown = true
	c.record(ctx, w)
}

// recordLost records a request that failed with err, unless the server certainly did not execute it. A request with a
// lost or invalid answer, or with an internal error, may have taken effect.
func (c *REST) recordLost(ctx context.Context, r *request, err error) {
	var status apierrors.APIStatus
	if errors.As(err, &status) && isRefusal(status.Status().Code) {
		return
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return // the request was not sent
	}
	c.recordUnknown(ctx, r)
}

// isRefusal reports whether an answer with code guarantees that nothing was changed.
func isRefusal(code int32) bool {
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}

func (r *request) isDryRun() bool { return r.query.Has("dryRun") }

// namespaceKind can also have finalizers in its spec.
var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// endOf reports whether obj, in the state that a write returned, no longer exists: it has a deletion timestamp and no
// finalizers. A namespace may still exist, and is reported as ending.
func (r resource) endOf(obj metav1.Object) (gone, ending bool) {
	grace := obj.GetDeletionGracePeriodSeconds()
	if obj.GetDeletionTimestamp() == nil || len(obj.GetFinalizers()) > 0 || grace != nil && *grace > 0 {
		return false, false
	}
	ending = r.gvk.GroupKind() == namespaceKind
	return !ending, ending
}

// deletion decodes the answers of deletions: a Status that names the object, the object, or a list of objects.
type deletion struct {
	metav1.PartialObjectMetadata
	Status  json.RawMessage                `json:"status"`
	Details *metav1.StatusDetails          `json:"details"`
	Items   []metav1.PartialObjectMetadata `json:"items"`
}

// recordDeleted records a deletion of obj that was answered with body. An answer that cannot be read, or is of another
// kind, counts as lost.
func (c *REST) recordDeleted(ctx context.Context, r *request, obj object.Object, body []byte) {
	var answer deletion
	if err := json.Unmarshal(body, &answer); err != nil {
		c.recordLost(ctx, r, err)
		return
	}
	w := writes.Write{GVK: r.resource.gvk, Key: object.Key{Namespace: r.namespace, Name: r.name}}
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
