// Package event has the signatures of controller-runtime's.
package event

import "sigs.k8s.io/controller-runtime/pkg/client"

type (
	CreateEvent  struct{ Object client.Object }
	UpdateEvent  struct{ ObjectOld, ObjectNew client.Object }
	DeleteEvent  struct{ Object client.Object }
	GenericEvent struct{ Object client.Object }
)
