package builtin

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// eventHub is the internal version of the events group. Its Go type is the one of the core group, which is stored.
var eventHub = schema.GroupVersion{Group: eventsv1.GroupName, Version: runtime.APIVersionInternal}

// EventKinds returns the kind Event in the core group and in events.k8s.io.
func EventKinds() []Kind {
	stored := events()
	newer := Kind{
		GVK: eventsv1.SchemeGroupVersion.WithKind("Event"), Resource: stored.Resource, Short: stored.Short, Namespaced: true,
		Of: &stored, Hub: eventHub,
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
		GVK: CoreV1.WithKind("Event"), Resource: "events", Short: []string{"ev"}, Namespaced: true, Uncached: true,
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
			Col("Subobject", "string wide", corev1.ObjectReference{}.SwaggerDoc()["fieldPath"],
				func(e *event) any { return e.InvolvedObject.FieldPath }),
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
			{metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Priority: 1,
				Description: nameColumn.Description}, func(object runtime.Object) any { return must.Access(object).GetName() }},
		},
		Fields: func(object runtime.Object, set fields.Set) {
			e := object.(*event)
			of := e.InvolvedObject
			for name, value := range map[string]string{"kind": of.Kind, "namespace": of.Namespace, "name": of.Name,
				"uid": string(of.UID), "apiVersion": of.APIVersion, "resourceVersion": of.ResourceVersion,
				"fieldPath": of.FieldPath} {
				set["involvedObject."+name] = value
			}
			set["reason"], set["reportingComponent"], set["source"], set["type"] = e.Reason, e.ReportingController,
				e.Source.Component, e.Type
			if e.Source.Component == "" {
				set["source"] = e.ReportingController
			}
		},
		Rules: eventRules(),
	}
}
