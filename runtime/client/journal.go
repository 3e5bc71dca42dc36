package client

import (
	"context"
	"encoding/json"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Write is a change that the API server has made for a client of this process. Dry runs are none.
type Write struct {
	// GVK is the kind of the changed object, in the version of the request.
	GVK schema.GroupVersionKind
	// Key and UID name the changed object. UID is empty when the server did not say.
	Key object.Key
	UID types.UID
	// ResourceVersion is that of the object after the change. It is empty when the server did not say, as it does not
	// for most deletions.
	ResourceVersion string
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

// Journal tells caches of the writes of all clients that share it. The zero value is ready for use, and all methods are
// safe for concurrent use. It keeps nothing of a write.
type Journal struct {
	mu          sync.RWMutex
	subscribers []func(context.Context, Write)
}

// Subscribe lets told be called for each write from now on, before the call that wrote returns, with the context of that
// call. It must not block. Calls may be concurrent.
func (j *Journal) Subscribe(told func(ctx context.Context, w Write)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.subscribers = append(j.subscribers, told)
}

// Tell passes w on. A client of another kind than [REST] that writes calls it.
func (j *Journal) Tell(ctx context.Context, w Write) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	for _, told := range j.subscribers {
		told(ctx, w)
	}
}

// Journal returns where the writes of c are told.
func (c *REST) Journal() *Journal { return c.journal }

// tellWritten tells of a request that was answered with obj.
func (c *REST) tellWritten(ctx context.Context, r *request, base string, obj object.Object) {
	if r.isOrder() || r.isDryRun() {
		return
	}
	w := Write{
		GVK:             r.resource.gvk,
		Key:             object.Key{Namespace: r.namespace, Name: r.name},
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Gone:            isGone(obj),
		Base:            base,
		Body:            r.body,
		Object:          obj,
	}
	if r.name == "" {
		w.Key.Name = obj.GetName()
	}
	if r.subresource != "" && r.subresource != statusSubresource {
		w.Object = nil // it may be of another kind, such as a Scale
	}
	c.journal.Tell(ctx, w)
}

// isOrder reports whether what is posted is not the object that the path names, such as an eviction.
func (r *request) isOrder() bool { return r.verb == "create" && r.subresource != "" }

func (r *request) isDryRun() bool { return r.query.Has("dryRun") }

// isGone reports whether obj, as a write left it, exists no more: nothing holds it back, and it was to be deleted.
func isGone(obj metav1.Object) bool {
	if obj.GetDeletionTimestamp() == nil || len(obj.GetFinalizers()) > 0 {
		return false
	}
	grace := obj.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// deletion is what the answers to deletions have in common: one is a Status that names the object, or the object, or
// the list of them.
type deletion struct {
	metav1.PartialObjectMetadata
	Status  json.RawMessage                `json:"status"`
	Details *metav1.StatusDetails          `json:"details"`
	Items   []metav1.PartialObjectMetadata `json:"items"`
}

// tellDeleted tells of a deletion that was answered with body. An answer that cannot be read says nothing of what was
// deleted, which is as good as no answer.
func (c *REST) tellDeleted(ctx context.Context, r *request, body []byte) {
	var answer deletion
	if err := json.Unmarshal(body, &answer); err != nil {
		return
	}
	w := Write{GVK: r.resource.gvk, Key: object.Key{Namespace: r.namespace, Name: r.name}}
	switch {
	case r.name == "":
		for i := range answer.Items {
			item := &answer.Items[i]
			w.Key, w.UID, w.Ending = object.KeyOf(item), item.UID, true
			c.journal.Tell(ctx, w)
		}
		return
	case answer.Kind == "Status" && answer.Details != nil:
		w.UID, w.Gone = answer.Details.UID, true
	case answer.Kind == "Status":
		w.Gone = true
	default:
		w.UID, w.ResourceVersion, w.Gone = answer.UID, answer.ResourceVersion, answer.DeletionTimestamp == nil || isGone(&answer)
	}
	c.journal.Tell(ctx, w)
}
