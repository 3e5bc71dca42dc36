// Package controllerruntime implements controller-runtime's API with kctrl's runtime. A replace line in go.mod selects
// it instead of the original. The page docs/drop-in.md of kctrl's repository lists the differences.
package controllerruntime

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// Aliases of types in the packages below pkg and in apimachinery.
type (
	// Builder builds controllers.
	Builder = builder.Builder
	// Request identifies the object to reconcile.
	Request = reconcile.Request
	// Result is the result of a reconcile.
	Result = reconcile.Result
	// Manager runs controllers.
	Manager = manager.Manager
	// Options are the options of [NewManager].
	Options = manager.Options
	// SchemeBuilder collects the types of a group version.
	SchemeBuilder = scheme.Builder
	// GroupVersion is a group and a version.
	GroupVersion = schema.GroupVersion
	// GroupResource is a group and a resource.
	GroupResource = schema.GroupResource
	// TypeMeta has the apiVersion and the kind of an object.
	TypeMeta = metav1.TypeMeta
	// ObjectMeta has the metadata of an object.
	ObjectMeta = metav1.ObjectMeta
)

// Functions and variables from the packages below pkg.
var (
	// RegisterFlags adds the flag --kubeconfig.
	RegisterFlags = config.RegisterFlags
	// GetConfigOrDie is like GetConfig, but exits the program on an error.
	GetConfigOrDie = config.GetConfigOrDie
	// GetConfig returns the client configuration of the API server.
	GetConfig = config.GetConfig
	// NewControllerManagedBy returns a builder of a controller.
	NewControllerManagedBy = builder.ControllerManagedBy
	// NewManager returns a manager.
	NewManager = manager.New
	// CreateOrPatch creates or patches an object.
	CreateOrPatch = controllerutil.CreateOrPatch
	// CreateOrUpdate creates or updates an object.
	CreateOrUpdate = controllerutil.CreateOrUpdate
	// SetControllerReference makes an object the controlling owner of another one.
	SetControllerReference = controllerutil.SetControllerReference
	// SetupSignalHandler returns a context that ends at the first termination signal.
	SetupSignalHandler = signals.SetupSignalHandler
	// Log is the root logger.
	Log = log.Log
	// LoggerFrom returns the logger of a context.
	LoggerFrom = log.FromContext
	// LoggerInto returns a context with a logger.
	LoggerInto = log.IntoContext
	// SetLogger sets the logger of the program.
	SetLogger = log.SetLogger
)

// NewWebhookManagedBy returns a builder of the webhooks of the kind of obj.
func NewWebhookManagedBy[T runtime.Object](mgr manager.Manager, obj T) *builder.WebhookBuilder[T] {
	return builder.WebhookManagedBy(mgr, obj)
}
