package recorder

import (
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

type Provider interface {
	GetEventRecorderFor(name string) record.EventRecorder
	GetEventRecorder(name string) events.EventRecorder
}
