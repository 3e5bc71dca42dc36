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
	// The options of a manager
	ManagerOptions = ctrl.Options
	// A runnable of a manager
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
	// A list of objects
	ObjectList = client.ObjectList
	// The key of an object
	ObjectKey = client.ObjectKey
	// A predicate
	Predicate = predicate.Predicate
	// An update event
	UpdateEvent = event.UpdateEvent
	// A handler of events
	EventHandler = handler.EventHandler
	// A client that watches
	WithWatch = client.WithWatch
	// Functions that intercept a client's calls
	InterceptorFuncs = interceptor.Funcs
	// The options of a List
	ListOptions = client.ListOptions
	// A function that CreateOrUpdate calls to change the object
	MutateFn = controllerutil.MutateFn
	// A recorder of events
	EventRecorder = toolsevents.EventRecorder
	// A defaulter
	Defaulter = admission.Defaulter[*corev1.Pod]
	// A validator
	Validator = admission.Validator[*corev1.Pod]
)
