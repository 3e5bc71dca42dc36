package event

import "sigs.k8s.io/controller-runtime/pkg/client"

type (
	TypedCreateEvent[T any] struct {
		Object          T
		IsInInitialList bool
	}
	TypedUpdateEvent[T any] struct{ ObjectOld, ObjectNew T }
	TypedDeleteEvent[T any] struct {
		Object             T
		DeleteStateUnknown bool
	}
	TypedGenericEvent[T any] struct{ Object T }

	CreateEvent  = TypedCreateEvent[client.Object]
	UpdateEvent  = TypedUpdateEvent[client.Object]
	DeleteEvent  = TypedDeleteEvent[client.Object]
	GenericEvent = TypedGenericEvent[client.Object]
)
