package event

import "sigs.k8s.io/controller-runtime/pkg/client"

type (
	TypedCreateEvent[T any]  struct{ Object T }
	TypedUpdateEvent[T any]  struct{ ObjectOld, ObjectNew T }
	TypedDeleteEvent[T any]  struct{ Object T }
	TypedGenericEvent[T any] struct{ Object T }

	CreateEvent  = TypedCreateEvent[client.Object]
	UpdateEvent  = TypedUpdateEvent[client.Object]
	DeleteEvent  = TypedDeleteEvent[client.Object]
	GenericEvent = TypedGenericEvent[client.Object]
)
