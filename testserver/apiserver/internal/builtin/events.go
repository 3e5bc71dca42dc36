package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// eventHub is the Go type of the core group, which is stored, as the events group has it.
var eventHub = schema.GroupVersion{Group: eventsv1.GroupName, Version: runtime.APIVersionInternal}

// EventKinds is one kind in two groups.
func EventKinds() []Kind {
	stored := events()
	newer := Kind{
		GVK: eventsv1.SchemeGroupVersion.WithKind("Event"), Resource: stored.Resource, Short: stored.Short, Namespaced: true, Of: &stored, Hub: eventHub,
		Labels: func(label, value string) (string, string, error) {
			if rest, ok := strings.CutPrefix(label, "regarding."); ok {
				return stored.Selector("involvedObject."+rest, value)
			}
			if label == "reportingController" {
				label = "reportingComponent"
			}
			return stored.Selector(label, value)
		},
	}
	return []Kind{stored, newer}
}

func events() Kind {
	type event = corev1.Event
	doc := event{}.SwaggerDoc()
	first := func(e *event) string {
		if e.FirstTimestamp.IsZero() {
			return since(metav1.NewTime(e.EventTime.Time))
		}
		return since(e.FirstTimestamp)
	}
	return Kind{
		GVK: CoreV1.WithKind("Event"), Resource: "events", Short: []string{"ev"}, Namespaced: true, Uncached: true, Policy: rest.Unsupported,
		Columns: []Column{
			Col("Last Seen", "string", doc["lastTimestamp"], func(e *event) any {
				switch {
				case e.Series != nil:
					return since(metav1.NewTime(e.Series.LastObservedTime.Time))
				case e.LastTimestamp.IsZero():
					return first(e)
				}
				return since(e.LastTimestamp)
			}),
			Col("Type", "string", doc["type"], func(e *event) any { return e.Type }),
			Col("Reason", "string", doc["reason"], func(e *event) any { return e.Reason }),
			Col("Object", "string", doc["involvedObject"], func(e *event) any {
				if e.InvolvedObject.Name == "" {
					return strings.ToLower(e.InvolvedObject.Kind)
				}
				return strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
			}),
			Col("Subobject", "string wide", corev1.ObjectReference{}.SwaggerDoc()["fieldPath"], func(e *event) any { return e.InvolvedObject.FieldPath }),
			Col("Source", "string wide", doc["source"], func(e *event) any {
				component, host := e.Source.Component, e.Source.Host
				if component == "" && host == "" {
					component, host = e.ReportingController, e.ReportingInstance
				}
				if host != "" {
					return component + ", " + host
				}
				return component
			}),
			Col("Message", "string", doc["message"], func(e *event) any { return strings.TrimSpace(e.Message) }),
			Col("First Seen", "string wide", doc["firstTimestamp"], func(e *event) any { return first(e) }),
			Col("Count", "string wide", doc["count"], func(e *event) any {
				switch {
				case e.Series != nil:
					return int64(e.Series.Count)
				case e.Count == 0:
					return int64(1)
				}
				return int64(e.Count)
			}),
			{metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Priority: 1, Description: nameColumn.Description}, func(object runtime.Object) any { return must.Access(object).GetName() }},
		},
		Selectable: []string{"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"},
		Fields: func(object runtime.Object, set fields.Set) {
			e := object.(*event)
			of := e.InvolvedObject
			for name, value := range map[string]string{"kind": of.Kind, "namespace": of.Namespace, "name": of.Name, "uid": string(of.UID), "apiVersion": of.APIVersion, "resourceVersion": of.ResourceVersion, "fieldPath": of.FieldPath} {
				set["involvedObject."+name] = value
			}
			set["reason"], set["reportingComponent"], set["source"], set["type"] = e.Reason, e.ReportingController, e.Source.Component, e.Type
			if e.Source.Component == "" {
				set["source"] = e.ReportingController
			}
		},
		Rules: Rules{
			Unconditional: true, Creates: true,
			ValidateIn: func(ctx context.Context, object, old runtime.Object) field.ErrorList {
				was, _ := old.(*event)
				return validateEvent(ctx, object.(*event), was)
			},
		},
	}
}

func validateEvent(ctx context.Context, e, old *corev1.Event) field.ErrorList {
	info, _ := request.RequestInfoFrom(ctx)
	core := info == nil || info.APIGroup == ""
	var f Findings
	path := func(name string) *field.Path { return field.NewPath(name) }
	f.eventBasics(e, core)
	if core {
		return f.List
	}
	if old != nil {
		f.Add(ValidateMetadataUpdate(e, old)...)
		if e.EventTime.Truncate(time.Microsecond).UTC() != old.EventTime.Truncate(time.Microsecond).UTC() {
			f.immutable(path("eventTime"), e.EventTime, old.EventTime)
		}
		for _, pair := range []struct {
			name     string
			now, was any
		}{
			{"involvedObject", e.InvolvedObject, old.InvolvedObject}, {"reason", e.Reason, old.Reason}, {"message", e.Message, old.Message}, {"source", e.Source, old.Source},
			{"firstTimestamp", e.FirstTimestamp, old.FirstTimestamp}, {"lastTimestamp", e.LastTimestamp, old.LastTimestamp}, {"count", e.Count, old.Count}, {"type", e.Type, old.Type},
			{"action", e.Action, old.Action}, {"related", e.Related, old.Related}, {"reportingController", e.ReportingController, old.ReportingController}, {"reportingInstance", e.ReportingInstance, old.ReportingInstance},
		} {
			f.immutable(path(pair.name), pair.now, pair.was)
		}
		return f.List
	}
	f.Add(ValidateMetadata(&e.ObjectMeta, true, validation.NameIsDNSSubdomain)...)
	if e.Series != nil && e.Series.Count < 2 {
		f.invalid(path("series.count"), "", "should be at least 2")
	}
	if e.Series != nil && e.Series.LastObservedTime.IsZero() {
		f.Required(path("series.lastObservedTime"), "")
	}
	if e.EventTime.IsZero() {
		f.Required(path("eventTime"), "")
	}
	if !slices.Contains([]string{corev1.EventTypeNormal, corev1.EventTypeWarning}, e.Type) {
		f.invalid(path("type"), "", fmt.Sprintf("has invalid value: %v", e.Type))
	}
	for _, unset := range []struct {
		name string
		set  bool
	}{{"firstTimestamp", !e.FirstTimestamp.IsZero()}, {"lastTimestamp", !e.LastTimestamp.IsZero()}, {"count", e.Count != 0}, {"source", e.Source != corev1.EventSource{}}} {
		if unset.set {
			f.invalid(path(unset.name), "", "needs to be unset")
		}
	}
	return f.List
}

func (f *Findings) eventBasics(e *corev1.Event, core bool) {
	namespace := field.NewPath("involvedObject", "namespace")
	mismatch := func(wrong bool) {
		if wrong {
			f.invalid(namespace, e.InvolvedObject.Namespace, "does not match event.namespace")
		}
	}
	if e.EventTime.IsZero() {
		if e.InvolvedObject.Namespace == "" {
			mismatch(e.Namespace != "" && e.Namespace != "default")
		} else {
			mismatch(e.Namespace != e.InvolvedObject.Namespace)
		}
		return
	}
	mismatch(e.InvolvedObject.Namespace == "" && e.Namespace != "default" && e.Namespace != "kube-system")
	controller := field.NewPath("reportingController")
	if core {
		controller = field.NewPath("reportingComponent")
	}
	if e.ReportingController == "" {
		f.Required(controller, "")
	}
	f.qualified(controller, e.ReportingController)
	for _, text := range []struct {
		name, value string
		most        int
		required    bool
	}{{"reportingInstance", e.ReportingInstance, 128, true}, {"action", e.Action, 128, true}, {"reason", e.Reason, 128, true}, {"message", e.Message, 1024, false}} {
		if text.required && text.value == "" {
			f.Required(field.NewPath(text.name), "")
		}
		if len(text.value) > text.most {
			f.invalid(field.NewPath(text.name), "", fmt.Sprintf("can have at most %v characters", text.most))
		}
	}
}

// AddEventConversions has a scheme convert the versions of Events.
func AddEventConversions(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(eventHub.WithKind("Event"), &corev1.Event{})
	scheme.AddKnownTypeWithName(eventHub.WithKind("EventList"), &corev1.EventList{})
	if err := addListConversion(scheme, func(in *corev1.Event, out *eventsv1.Event) error { toEvents(in, out); return nil }); err != nil {
		return err
	}
	if err := addListConversion(scheme, func(in *eventsv1.Event, out *corev1.Event) error { toCore(in, out); return nil }); err != nil {
		return err
	}
	return addListConversion(scheme, func(in *corev1.EventList, out *eventsv1.EventList) error {
		out.ListMeta, out.Items = in.ListMeta, make([]eventsv1.Event, len(in.Items))
		for i := range in.Items {
			toEvents(&in.Items[i], &out.Items[i])
		}
		return nil
	})
}

func toEvents(in *corev1.Event, out *eventsv1.Event) {
	*out = eventsv1.Event{
		ObjectMeta: *in.ObjectMeta.DeepCopy(), EventTime: in.EventTime, ReportingController: in.ReportingController, ReportingInstance: in.ReportingInstance, Action: in.Action,
		Reason: in.Reason, Regarding: in.InvolvedObject, Related: in.Related, Note: in.Message, Type: in.Type, DeprecatedSource: in.Source,
		DeprecatedFirstTimestamp: in.FirstTimestamp, DeprecatedLastTimestamp: in.LastTimestamp, DeprecatedCount: in.Count,
	}
	if in.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
}

func toCore(in *eventsv1.Event, out *corev1.Event) {
	*out = corev1.Event{
		ObjectMeta: *in.ObjectMeta.DeepCopy(), EventTime: in.EventTime, ReportingController: in.ReportingController, ReportingInstance: in.ReportingInstance, Action: in.Action,
		Reason: in.Reason, InvolvedObject: in.Regarding, Related: in.Related, Message: in.Note, Type: in.Type, Source: in.DeprecatedSource,
		FirstTimestamp: in.DeprecatedFirstTimestamp, LastTimestamp: in.DeprecatedLastTimestamp, Count: in.DeprecatedCount,
	}
	if in.Series != nil {
		out.Series = &corev1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
}
