package builtin

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/features"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Own defines the strategy of a kind whose upstream strategy imports an etcd client with 350 packages. It combines the
// parts of upstream that validate objects and drop the fields of disabled features. Nil functions do nothing.
type Own[T runtime.Object] struct {
	Cluster        bool // the kind is cluster-scoped
	Creates        bool // an update creates a missing object
	Conditional    bool // an update requires a version
	Reset          []string
	Policy         rest.GarbageCollectionPolicy
	Spec           func(object T) any // the generation increases if its result changes
	Create         func(ctx context.Context, object T)
	Update         func(ctx context.Context, object, old T)
	Canonicalize   func(object T)
	Validate       func(ctx context.Context, object T) field.ErrorList
	ValidateUpdate func(ctx context.Context, object, old T) field.ErrorList
	Warnings       func(ctx context.Context, object, old T) []string // old is nil for creations
	Grace          func(object T, options *metav1.DeleteOptions) bool
}

// Rules returns the rules of a kind. The Go type of o is the internal type.
func (o Own[T]) Rules() Rules {
	declared := rest.DeclarativeValidation{Scheme: legacyscheme.Scheme}
	return Rules{Strategy: &Strategy{own[T]{declared, names.SimpleNameGenerator, o}, false}, Reset: resets(o.Reset)}
}

// VersionedRules is like Rules, but the Go type of o is the one that the server uses.
func (o Own[T]) VersionedRules() Rules {
	rules := o.Rules()
	rules.versioned = true
	return rules
}

// literally is a value that equals another value only if that has the same empty lists.
type literally struct{ value any }

func resets(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// own implements the strategy that an Own defines.
type own[T runtime.Object] struct {
	rest.DeclarativeValidation
	names.NameGenerator
	of Own[T]
}

// DeclarativeValidationConfig returns the features that the generated checks of these kinds depend on.
func (s own[T]) DeclarativeValidationConfig(context.Context, runtime.Object,
	runtime.Object) rest.DeclarativeValidationConfig {
	job, node, gate := features.WorkloadWithJob, features.InPlacePodVerticalScalingSchedulerPreemption,
		utilfeature.DefaultFeatureGate
	return rest.DeclarativeValidationConfig{Options: map[string]bool{string(job): gate.Enabled(job),
		string(node): gate.Enabled(node)}}
}

func (s own[T]) NamespaceScoped() bool                         { return !s.of.Cluster }
func (s own[T]) AllowCreateOnUpdate(context.Context) bool      { return s.of.Creates }
func (s own[T]) AllowUnconditionalUpdate(context.Context) bool { return !s.of.Conditional }

func (s own[T]) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	if s.of.Policy == "" {
		return rest.DeleteDependents
	}
	return s.of.Policy
}

func (s own[T]) PrepareForCreate(ctx context.Context, object runtime.Object) {
	if s.of.Spec != nil {
		must.Access(object).SetGeneration(1)
	}
	if s.of.Create != nil {
		s.of.Create(ctx, object.(T))
	}
}

func (s own[T]) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	if s.of.Update != nil {
		s.of.Update(ctx, object.(T), old.(T))
	}
	if s.of.Spec != nil && !same(s.of.Spec(object.(T)), s.of.Spec(old.(T))) {
		must.Access(object).SetGeneration(must.Access(old).GetGeneration() + 1)
	}
}

func (s own[T]) Canonicalize(object runtime.Object) {
	if s.of.Canonicalize != nil {
		s.of.Canonicalize(object.(T))
	}
}

func (s own[T]) Validate(ctx context.Context, object runtime.Object) field.ErrorList {
	if s.of.Validate == nil {
		return nil
	}
	return s.of.Validate(ctx, object.(T))
}

func (s own[T]) ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList {
	if s.of.ValidateUpdate == nil {
		return nil
	}
	return s.of.ValidateUpdate(ctx, object.(T), old.(T))
}

func (s own[T]) WarningsOnCreate(ctx context.Context, object runtime.Object) []string {
	if s.of.Warnings == nil {
		return nil
	}
	var none T
	return s.of.Warnings(ctx, object.(T), none)
}

func (s own[T]) WarningsOnUpdate(ctx context.Context, object, old runtime.Object) []string {
	if s.of.Warnings == nil {
		return nil
	}
	return s.of.Warnings(ctx, object.(T), old.(T))
}

func (s own[T]) CheckGracefulDelete(_ context.Context, object runtime.Object, options *metav1.DeleteOptions) bool {
	return s.of.Grace != nil && s.of.Grace(object.(T), options)
}

func same(now, was any) bool {
	if _, exactly := now.(literally); exactly {
		return reflect.DeepEqual(now, was)
	}
	return equality.Semantic.DeepEqual(now, was)
}
