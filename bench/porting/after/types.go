package after

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/webhook/admission"
)

type (
	Manager           = controller.Manager
	ManagerOptions    = manager.Options
	RunnableInterface = manager.Runnable
	Request           = reconcile.Request
	Result            = reconcile.Result
	Reconciler        = reconcile.Reconciler[reconcile.Request]
	ReconcilerFunc    = reconcile.Func[reconcile.Request]
	Object            = object.Object
	ObjectList        = object.List
	ObjectKey         = object.Key
	Predicate         = predicate.Predicate
	UpdateEvent       = informer.Event[object.Object]
	EventHandler      = handler.Handler[object.Object, reconcile.Request]
	WithWatch         = client.WithWatch
	InterceptorFuncs  = client.Interceptor
	ListOptions       = client.ListOptions
	MutateFn          = controllerutil.MutateFn
	EventRecorder     = *events.Recorder
	Defaulter         = admission.Defaulter[*corev1.Pod]
	Validator         = admission.Validator[*corev1.Pod]
)
