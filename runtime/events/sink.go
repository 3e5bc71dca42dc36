package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// Sink stores events. The broadcaster calls its methods sequentially. They must return when ctx ends.
// apierrors.IsNotFound and similar functions must work on their errors. The broadcaster does not retry after an error
// with a 4xx code, except 401, 408, 409 and 429.
type Sink interface {
	// Create stores a new event, whose Count may be more than 1. It fails with AlreadyExists if an event has that name.
	Create(ctx context.Context, e Event) error
	// Patch sets the count, the time of the last occurrence and, if the API allows it, the note of a stored event to those
	// of e. It fails with NotFound if the event no longer exists.
	Patch(ctx context.Context, e Event) error
}

// NewSink returns a Sink that writes events.k8s.io/v1 through w, which should be a live client. It needs permission to
// create and patch events in the namespaces of the regarding objects:
//
//	// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func NewSink(w client.Writer) Sink {
	return &server{writer: w, apiVersion: "events.k8s.io/v1", group: "events.k8s.io", body: body, change: change}
}

// NewCoreSink returns a Sink that writes core/v1 Events through w, which should be a live client. It needs permission
// to create and patch them:
//
//	// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
func NewCoreSink(w client.Writer) Sink {
	return &server{writer: w, apiVersion: "v1", group: `""`, body: coreBody, change: coreChange}
}

// server is a Sink for an API server. It does not use the Go types of Events, because their packages would add three
// megabytes to every operator.
type server struct {
	writer            client.Writer
	apiVersion, group string
	body              func(Event) map[string]any // returns the content without the fields that all objects have
	change            func(Event) map[string]any // returns a merge patch
}

func (s *server) Create(ctx context.Context, e Event) error {
	content := s.body(e)
	content["apiVersion"], content["kind"] = s.apiVersion, "Event"
	o := &unstructured.Unstructured{Object: content}
	o.SetNamespace(e.Namespace)
	o.SetName(e.Name)
	o.SetAnnotations(e.Annotations)
	return s.explain(s.writer.Create(ctx, o))
}

// Patch stores the mutable fields of e.
func (s *server) Patch(ctx context.Context, e Event) error {
	patch, err := json.Marshal(s.change(e))
	if err != nil {
		return err
	}
	o := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: s.apiVersion, Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
	}
	return s.explain(s.writer.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)))
}

// explain adds the required permission to a Forbidden error.
func (s *server) explain(err error) error {
	if apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, namespaceTerminating) {
		return fmt.Errorf("%w; the marker +kubebuilder:rbac:groups=%s,resources=events,verbs=create;patch on the "+
			"reconciler would allow it", err, s.group)
	}
	return err
}

// body returns the content of an events.k8s.io/v1 Event. The API server requires that fields with the prefix
// "deprecated" are unset.
func body(e Event) map[string]any {
	content := change(e)
	content["eventTime"] = microTime(e.First)
	content["reportingController"] = e.Controller
	content["regarding"] = e.Regarding.content()
	content["note"] = e.Note
	return e.addCommon(content)
}

// addCommon adds the fields that have the same names in both forms.
func (e Event) addCommon(content map[string]any) map[string]any {
	content["reportingInstance"] = e.Instance
	content["reason"] = e.Reason
	content["action"] = e.Action
	content["type"] = e.Type
	if e.Related != (Reference{}) {
		content["related"] = e.Related.content()
	}
	return content
}

// change returns the mutable fields of an events.k8s.io/v1 Event. An event that has occurred once has no series.
func change(e Event) map[string]any {
	if e.Count < 2 {
		return map[string]any{}
	}
	return map[string]any{"series": map[string]any{"count": int64(e.Count), "lastObservedTime": microTime(e.Last)}}
}

// coreBody returns the content of a core/v1 Event. The content has no eventTime: the API server then accepts the older
// form, together with the other fields of the new form.
func coreBody(e Event) map[string]any {
	content := coreChange(e)
	content["firstTimestamp"] = seconds(e.First)
	content["source"] = map[string]any{"component": e.Controller}
	content["reportingComponent"] = e.Controller
	content["involvedObject"] = e.Regarding.content()
	return e.addCommon(content)
}

// coreChange returns the fields of a core/v1 Event that change with a repetition.
func coreChange(e Event) map[string]any {
	return map[string]any{"count": int64(e.Count), "lastTimestamp": seconds(e.Last), "message": e.Note}
}

// content returns r as a core/v1 ObjectReference.
func (r Reference) content() map[string]any {
	content := map[string]any{}
	for name, value := range map[string]string{
		"apiVersion": r.APIVersion, "kind": r.Kind, "namespace": r.Namespace, "name": r.Name,
		"uid": string(r.UID), "resourceVersion": r.ResourceVersion,
	} {
		if value != "" {
			content[name] = value
		}
	}
	return content
}

func microTime(t time.Time) string { return t.UTC().Format(metav1.RFC3339Micro) }

func seconds(t time.Time) string { return t.UTC().Format(time.RFC3339) }
