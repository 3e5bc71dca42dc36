package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Write is a change that the API server has made for a client of this process, or may have made. Dry runs are none.
type Write struct {
	// GVK is the kind of the changed object, in the version of the request.
	GVK schema.GroupVersionKind
	// Key and UID name the changed object. UID is empty when the server did not say.
	Key object.Key
	UID types.UID
	// ResourceVersion is that of the object after the change. It is empty when the server did not say, as it does not
	// for most deletions.
	ResourceVersion string
	// Before is a version at which an object that is Gone or Ending was there. It is empty if that is not known.
	Before string
	// Unknown says that the object may have changed, or may be gone: the server did not say what has become of it, as after a
	// binding or an eviction of a pod, or its answer was lost.
	Unknown bool
	// Gone says that the object does not exist any more.
	Gone bool
	// Ending says that the object is gone, or has a deletion timestamp: the server did not say which.
	Ending bool
	// Base is the resource version that the caller's object had before the call, if it had one. A write that leaves the
	// object at that version has changed nothing.
	Base string
	// Body is what was sent, or nil. It may be read until the function that is told of the write returns.
	Body []byte
	// Object is the object after the change, as the caller gets it, or nil. It may be read until the function that is
	// told of the write returns.
	Object object.Object
}

// Journal tells caches and controllers of the writes of all clients that share it. The zero value is ready for use, and all
// methods are safe for concurrent use. It keeps nothing of a write.
type Journal struct {
	mu    sync.RWMutex
	told  []func(context.Context, Write)
	begun []func(context.Context, Write) (end func())
}

// Subscribe lets told be called for each write from now on, before the call that wrote returns, with the context of that
// call. It must not block. Calls may be concurrent.
func (j *Journal) Subscribe(told func(ctx context.Context, w Write)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = append(j.told, told)
}

// SubscribeBegin lets begun be called before each write is sent from now on, and what it returns when the write has been told,
// or has failed: a watch may show a write before it is told. Both must not block, and calls may be concurrent. Of the write
// GVK and Key are known, without a name if it is of a whole collection, or if the server is to choose one. Nil is nothing to
// be called at the end.
func (j *Journal) SubscribeBegin(begun func(ctx context.Context, w Write) (end func())) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.begun = append(j.begun, begun)
}

// Tell passes w on. A client of another kind than [REST] that writes calls it.
func (j *Journal) Tell(ctx context.Context, w Write) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	for _, told := range j.told {
		told(ctx, w)
	}
}

// Begin says that w is about to be sent, as [Journal.SubscribeBegin] has it. A client of another kind than [REST] that writes
// calls it, and what it returns after Tell.
func (j *Journal) Begin(ctx context.Context, w Write) (end func()) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	var ends []func()
	for _, begun := range j.begun {
		if ended := begun(ctx, w); ended != nil {
			ends = append(ends, ended)
		}
	}
	return func() {
		for _, ended := range ends {
			ended()
		}
	}
}

// Journal returns where the writes of c are told.
func (c *REST) Journal() *Journal { return c.journal }

// begin says that r is about to be sent, if it is a write, until the function that it returns is called.
func (c *REST) begin(ctx context.Context, r *request) (end func()) {
	if r.method == http.MethodGet || r.isDryRun() {
		return func() {}
	}
	return c.journal.Begin(ctx, r.target())
}

// target returns a Write of what r is to change.
func (r *request) target() Write {
	w := Write{GVK: r.resource.gvk, Key: object.Key{Namespace: r.namespace, Name: cmp.Or(r.name, r.posted)}}
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
	w := Write{
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
	c.journal.Tell(ctx, w)
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
	c.journal.Tell(ctx, w)
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
	w := Write{GVK: r.resource.gvk, Key: object.Key{Namespace: r.namespace, Name: r.name}}
	switch {
	case r.name == "":
		for i := range answer.Items {
			item := &answer.Items[i]
			w.Key, w.UID, w.Before, w.Ending = object.KeyOf(item), item.UID, item.ResourceVersion, true
			c.journal.Tell(ctx, w)
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
	c.journal.Tell(ctx, w)
}
