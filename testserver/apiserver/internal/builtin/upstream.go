package builtin

import (
	"context"
	"reflect"
	"sync"

	apiautoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingapi "k8s.io/api/autoscaling/v2"
	apicorev1 "k8s.io/api/core/v1"
	apieventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	admissionregistrationv1 "k8s.io/kubernetes/pkg/apis/admissionregistration/v1"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsv1 "k8s.io/kubernetes/pkg/apis/apps/v1"
	"k8s.io/kubernetes/pkg/apis/authentication"
	authenticationv1 "k8s.io/kubernetes/pkg/apis/authentication/v1"
	"k8s.io/kubernetes/pkg/apis/authorization"
	authorizationv1 "k8s.io/kubernetes/pkg/apis/authorization/v1"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingv1 "k8s.io/kubernetes/pkg/apis/autoscaling/v1"
	autoscalingv2 "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchv1 "k8s.io/kubernetes/pkg/apis/batch/v1"
	"k8s.io/kubernetes/pkg/apis/certificates"
	certificatesv1 "k8s.io/kubernetes/pkg/apis/certificates/v1"
	"k8s.io/kubernetes/pkg/apis/coordination"
	coordinationv1 "k8s.io/kubernetes/pkg/apis/coordination/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/discovery"
	discoveryv1 "k8s.io/kubernetes/pkg/apis/discovery/v1"
	internalevents "k8s.io/kubernetes/pkg/apis/events"
	eventsv1 "k8s.io/kubernetes/pkg/apis/events/v1"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkingv1 "k8s.io/kubernetes/pkg/apis/networking/v1"
	"k8s.io/kubernetes/pkg/apis/node"
	nodev1 "k8s.io/kubernetes/pkg/apis/node/v1"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyv1 "k8s.io/kubernetes/pkg/apis/policy/v1"
	"k8s.io/kubernetes/pkg/apis/rbac"
	rbacv1 "k8s.io/kubernetes/pkg/apis/rbac/v1"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/pkg/apis/storage"
	storagev1 "k8s.io/kubernetes/pkg/apis/storage/v1"
	"k8s.io/kubernetes/pkg/capabilities"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Scheme returns Kubernetes' scheme, with internal types, conversions, defaults and generated checks. Upstream's
// strategies and storages of reviews refer to it. It contains only the groups and versions that are served. The
// packages k8s.io/kubernetes/pkg/apis/*/install would also link all others.
var Scheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := legacyscheme.Scheme
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, corev1.AddToScheme, internalevents.AddToScheme, eventsv1.AddToScheme, apps.AddToScheme,
		appsv1.AddToScheme,
		autoscaling.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batch.AddToScheme, batchv1.AddToScheme,
		certificates.AddToScheme, certificatesv1.AddToScheme, coordination.AddToScheme, coordinationv1.AddToScheme,
		discovery.AddToScheme, discoveryv1.AddToScheme, networking.AddToScheme, networkingv1.AddToScheme,
		node.AddToScheme, nodev1.AddToScheme, policy.AddToScheme, policyv1.AddToScheme, rbac.AddToScheme, rbacv1.AddToScheme,
		scheduling.AddToScheme, schedulingv1.AddToScheme, storage.AddToScheme, storagev1.AddToScheme,
		admissionregistration.AddToScheme, admissionregistrationv1.AddToScheme,
		authentication.AddToScheme, authenticationv1.AddToScheme, authorization.AddToScheme, authorizationv1.AddToScheme,
	} {
		must.Do(add(scheme))
	}
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	return scheme
})

// SetDefaults sets upstream's defaults in an object. It also converts the object to the internal version and back,
// which normalizes it.
func SetDefaults(value any) {
	object := value.(runtime.Object)
	Scheme().Default(object)
	change(object, func(runtime.Object) {})
}

// internalOf converts an object to the internal version. The result may share memory with it.
func internalOf(object runtime.Object) runtime.Object {
	if object == nil {
		return nil
	}
	kinds, _, err := Scheme().ObjectKinds(object)
	must.Do(err)
	version := schema.GroupVersion{Group: kinds[0].Group, Version: runtime.APIVersionInternal}
	internal, err := Scheme().UnsafeConvertToVersion(object, version)
	must.Do(err)
	return internal
}

// change calls f with the internal version of an object, and converts the result back.
func change(object runtime.Object, f func(internal runtime.Object)) {
	kinds, _, err := Scheme().ObjectKinds(object)
	must.Do(err)
	kind := object.GetObjectKind().GroupVersionKind()
	internal := internalOf(object)
	f(internal)
	changed, err := Scheme().UnsafeConvertToVersion(internal, kinds[0].GroupVersion())
	must.Do(err)
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(changed).Elem())
	object.GetObjectKind().SetGroupVersionKind(kind)
}

// ByInternal calls f with the internal version of an object, and returns the result in the version of the object.
func ByInternal(object runtime.Object, f func(internal runtime.Object) (runtime.Object, error)) (
	runtime.Object, error) {
	kinds, _, err := Scheme().ObjectKinds(object)
	must.Do(err)
	answer, err := f(internalOf(object.DeepCopyObject()))
	if err != nil {
		return nil, err
	}
	versioned, err := Scheme().UnsafeConvertToVersion(answer, kinds[0].GroupVersion())
	must.Do(err)
	return versioned, nil
}

// AddConversions adds conversions to a scheme for kinds with two versions or groups. They convert through the internal
// version.
func AddConversions(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(eventHub.WithKind("Event"), &apicorev1.Event{})
	scheme.AddKnownTypeWithName(eventHub.WithKind("EventList"), &apicorev1.EventList{})
	for _, pair := range [][2]runtime.Object{
		{&apicorev1.Event{}, &apieventsv1.Event{}}, {&apicorev1.EventList{}, &apieventsv1.EventList{}},
		{&autoscaler{}, &apiautoscalingv1.HorizontalPodAutoscaler{}},
		{&autoscalingapi.HorizontalPodAutoscalerList{}, &apiautoscalingv1.HorizontalPodAutoscalerList{}},
	} {
		for _, ends := range [][2]runtime.Object{pair, {pair[1], pair[0]}} {
			if err := scheme.AddConversionFunc(ends[0], ends[1], func(from, to any, _ conversion.Scope) error {
				return Scheme().Convert(internalOf(from.(runtime.Object).DeepCopyObject()), to, nil)
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Labels returns a function that converts the selectable fields of a kind to the selectable fields of the stored
// version.
func Labels(kind schema.GroupVersionKind) func(label, value string) (string, string, error) {
	return func(label, value string) (string, string, error) {
		return Scheme().ConvertFieldLabel(kind, label, value)
	}
}

// Strategy applies an upstream strategy, which uses internal types, to objects of another version.
type Strategy struct {
	of        rest.RESTCreateUpdateStrategy
	versioned bool // of uses the versioned type, so nothing is converted
}

func (s *Strategy) internal(object runtime.Object) runtime.Object {
	if s.versioned {
		return object
	}
	return internalOf(object)
}

func (s *Strategy) change(object runtime.Object, f func(internal runtime.Object)) {
	if s.versioned {
		f(object)
	} else {
		change(object, f)
	}
}

// By returns the rules of an upstream strategy.
func By(s rest.RESTCreateUpdateStrategy) Rules { return Rules{Strategy: &Strategy{of: s}} }

// PrepareForCreate modifies an object before validation.
func (s *Strategy) PrepareForCreate(ctx context.Context, object runtime.Object) {
	s.change(object, func(internal runtime.Object) { s.of.PrepareForCreate(ctx, internal) })
}

// PrepareForUpdate modifies an object before validation.
func (s *Strategy) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	was := s.internal(old)
	s.change(object, func(internal runtime.Object) { s.of.PrepareForUpdate(ctx, internal, was) })
}

// Canonicalize modifies an object after validation.
func (s *Strategy) Canonicalize(object runtime.Object) { s.change(object, s.of.Canonicalize) }

// Validate validates a new object.
func (s *Strategy) Validate(ctx context.Context, object runtime.Object) field.ErrorList {
	return s.of.Validate(ctx, s.internal(object))
}

// ValidateUpdate validates a changed object.
func (s *Strategy) ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList {
	return s.of.ValidateUpdate(ctx, s.internal(object), s.internal(old))
}

// ValidateDeclaratively adds the errors of upstream's generated checks, for kinds that have such checks.
func (s *Strategy) ValidateDeclaratively(ctx context.Context, object, old runtime.Object, problems field.ErrorList,
	of operation.Type) field.ErrorList {
	declared, ok := s.of.(rest.DeclarativeValidationStrategy)
	if _, _, err := Scheme().ObjectKinds(object); err != nil || !ok {
		return problems
	}
	object, old = internalOf(object), internalOf(old)
	return declared.ValidateDeclaratively(ctx, object, old, problems, of,
		declared.DeclarativeValidationConfig(ctx, object, old))
}

// WarningsOnCreate returns the warnings for a new object.
func (s *Strategy) WarningsOnCreate(ctx context.Context, object runtime.Object) []string {
	return s.of.WarningsOnCreate(ctx, s.internal(object))
}

// WarningsOnUpdate returns the warnings for a changed object.
func (s *Strategy) WarningsOnUpdate(ctx context.Context, object, old runtime.Object) []string {
	return s.of.WarningsOnUpdate(ctx, s.internal(object), s.internal(old))
}

// NamesLiterally reports whether generateName is used as the name without a suffix.
func (s *Strategy) NamesLiterally() bool { return s.of.GenerateName("") == "" }

// AllowCreateOnUpdate reports whether an update creates a missing object.
func (s *Strategy) AllowCreateOnUpdate(ctx context.Context) bool {
	return s.of.AllowCreateOnUpdate(ctx)
}

// AllowUnconditionalUpdate reports whether an update may omit the resourceVersion.
func (s *Strategy) AllowUnconditionalUpdate(ctx context.Context) bool {
	return s.of.AllowUnconditionalUpdate(ctx)
}

// DefaultGarbageCollectionPolicy returns how a deletion affects dependents by default.
func (s *Strategy) DefaultGarbageCollectionPolicy(ctx context.Context) rest.GarbageCollectionPolicy {
	if collected, ok := s.of.(rest.GarbageCollectionDeleteStrategy); ok {
		return collected.DefaultGarbageCollectionPolicy(ctx)
	}
	return rest.DeleteDependents
}

// CheckGracefulDelete reports whether a deletion has a grace period, and sets that in options.
func (s *Strategy) CheckGracefulDelete(ctx context.Context, object runtime.Object, options *metav1.DeleteOptions) bool {
	graceful, ok := s.of.(rest.RESTGracefulDeleteStrategy)
	return ok && graceful.CheckGracefulDelete(ctx, s.internal(object), options)
}

// GetResetFields returns the fields that a write does not change.
func (s *Strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if resets, ok := s.of.(rest.ResetFieldsStrategy); ok {
		return resets.GetResetFields()
	}
	return nil
}
