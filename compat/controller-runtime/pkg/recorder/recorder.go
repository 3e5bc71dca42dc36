// Package recorder defines the interface of providers of event recorders.
package recorder

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

// EventRecorder records events of events.k8s.io/v1.
type EventRecorder interface {
	events.EventRecorder
	// AnnotatedEventf is like Eventf, with annotations of the event.
	AnnotatedEventf(
		regarding, related runtime.Object, annotations map[string]string,
		eventtype, reason, action, note string, args ...any,
	)
}

// Provider provides event recorders.
type Provider interface {
	// GetEventRecorderFor returns a recorder of core/v1 events with the given source.
	//
	// Deprecated: use GetEventRecorder.
	GetEventRecorderFor(name string) record.EventRecorder
	// GetEventRecorder returns a recorder with the given reporting controller.
	GetEventRecorder(name string) EventRecorder
}
