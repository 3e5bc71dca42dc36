package builtin

import (
	"context"

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

// own is the strategy of a kind whose own is in a package of upstream that imports a client of etcd, with 350 packages. It is of
// upstream's parts: they check, and drop the fields of features that are off. Functions that are nil do nothing.
type own[T runtime.Object] struct {
	rest.DeclarativeValidation
	names.NameGenerator

	cluster         bool // whether objects are in no namespace
	creates         bool // an update makes an object that is not there
	conditional     bool // an update has to say a version
	reset           []string
	policy          rest.GarbageCollectionPolicy
	spec            func(object T) any // the generation counts changes of it
	create          func(ctx context.Context, object T)
	update          func(ctx context.Context, object, old T)
	canonicalize    func(object T)
	validate        func(ctx context.Context, object T) field.ErrorList
	validateUpdate  func(ctx context.Context, object, old T) field.ErrorList
	warnings        func(ctx context.Context, object, old T) []string // old is nil for creations
	createdWarnings func(ctx context.Context, object T) []string      // besides warnings
	grace           func(object T, options *metav1.DeleteOptions) bool
}

func (s own[T]) rules() Rules {
	upstream()
	s.DeclarativeValidation, s.NameGenerator = rest.DeclarativeValidation{Scheme: legacyscheme.Scheme}, names.SimpleNameGenerator
	rules := By(s)
	if rules.Reset = s.reset; s.reset == nil {
		rules.Reset = []string{}
	}
	return rules
}

// DeclarativeValidationConfig has the features that generated checks of these kinds depend on.
func (s own[T]) DeclarativeValidationConfig(context.Context, runtime.Object, runtime.Object) rest.DeclarativeValidationConfig {
	job, node, gate := features.WorkloadWithJob, features.InPlacePodVerticalScalingSchedulerPreemption, utilfeature.DefaultFeatureGate
	return rest.DeclarativeValidationConfig{Options: map[string]bool{string(job): gate.Enabled(job), string(node): gate.Enabled(node)}}
}

func (s own[T]) NamespaceScoped() bool                         { return !s.cluster }
func (s own[T]) AllowCreateOnUpdate(context.Context) bool      { return s.creates }
func (s own[T]) AllowUnconditionalUpdate(context.Context) bool { return !s.conditional }

func (s own[T]) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	if s.policy == "" {
		return rest.DeleteDependents
	}
	return s.policy
}

func (s own[T]) PrepareForCreate(ctx context.Context, object runtime.Object) {
	if s.spec != nil {
		must.Access(object).SetGeneration(1)
	}
	if s.create != nil {
		s.create(ctx, object.(T))
	}
}

func (s own[T]) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	if s.update != nil {
		s.update(ctx, object.(T), old.(T))
	}
	if s.spec != nil && !equality.Semantic.DeepEqual(s.spec(object.(T)), s.spec(old.(T))) {
		must.Access(object).SetGeneration(must.Access(old).GetGeneration() + 1)
	}
}

func (s own[T]) Canonicalize(object runtime.Object) {
	if s.canonicalize != nil {
		s.canonicalize(object.(T))
	}
}

func (s own[T]) Validate(ctx context.Context, object runtime.Object) field.ErrorList {
	if s.validate == nil {
		return nil
	}
	return s.validate(ctx, object.(T))
}

func (s own[T]) ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList {
	if s.validateUpdate == nil {
		return nil
	}
	return s.validateUpdate(ctx, object.(T), old.(T))
}

func (s own[T]) WarningsOnCreate(ctx context.Context, object runtime.Object) (warnings []string) {
	if s.createdWarnings != nil {
		warnings = s.createdWarnings(ctx, object.(T))
	}
	if s.warnings != nil {
		var none T
		warnings = append(warnings, s.warnings(ctx, object.(T), none)...)
	}
	return warnings
}

func (s own[T]) WarningsOnUpdate(ctx context.Context, object, old runtime.Object) []string {
	if s.warnings == nil {
		return nil
	}
	return s.warnings(ctx, object.(T), old.(T))
}

func (s own[T]) CheckGracefulDelete(_ context.Context, object runtime.Object, options *metav1.DeleteOptions) bool {
	return s.grace != nil && s.grace(object.(T), options)
}
