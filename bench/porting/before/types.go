// Types.

package before

import (
	corev1 "k8s.io/api/core/v1"
	toolsevents "k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type (
	// A manager
	Manager = ctrl.Manager
	// Its options
	ManagerOptions = ctrl.Options
	// Something it runs
	RunnableInterface = manager.Runnable
	// A request
	Request = ctrl.Request
	// A result
	Result = ctrl.Result
	// A reconciler of requests
	Reconciler = reconcile.Reconciler
	// A reconciler that is a function
	ReconcilerFunc = reconcile.Func
	// An object
	Object = client.Object
	// A list of them
	ObjectList = client.ObjectList
	// The key of one
	ObjectKey = client.ObjectKey
	// A predicate
	Predicate = predicate.Predicate
	// An event of a kind
	UpdateEvent = event.UpdateEvent
	// A handler of events
	EventHandler = handler.EventHandler
	// A client that watches
	WithWatch = client.WithWatch
	// Functions in place of a client's
	InterceptorFuncs = interceptor.Funcs
	// What of a list is wanted
	ListOptions = client.ListOptions
	// What a function of CreateOrUpdate does
	MutateFn = controllerutil.MutateFn
	// A recorder of events
	EventRecorder = toolsevents.EventRecorder
	// A defaulter
	Defaulter = admission.Defaulter[*corev1.Pod]
	// A validator
	Validator = admission.Validator[*corev1.Pod]
)
