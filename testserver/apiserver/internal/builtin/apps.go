package builtin

import (
	"bytes"
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var appsV1 = appsv1.SchemeGroupVersion

// AppsKinds are the kinds of apps.
func AppsKinds() []Kind {
	return []Kind{controllerRevisions(), daemonSets(), deployments(), replicaSets(), statefulSets()}
}

func appsDefaults() []Defaulter {
	return []Defaulter{
		DefaultsOf(func(deployment *appsv1.Deployment) {
			spec := &deployment.Spec
			SetPointer(&spec.Replicas, 1)
			Set(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
			if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
				SetPointer(&spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
				SetPointer(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
				SetPointer(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
			}
			SetPointer(&spec.RevisionHistoryLimit, 10)
			SetPointer(&spec.ProgressDeadlineSeconds, 600)
		}),
		DefaultsOf(func(daemon *appsv1.DaemonSet) {
			setTemplateGeneration(daemon, templateGeneration(daemon))
			spec := &daemon.Spec
			Set(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
			if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
				SetPointer(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
				SetPointer(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
				SetPointer(&spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
			}
			SetPointer(&spec.RevisionHistoryLimit, 10)
		}),
		DefaultsOf(func(stateful *appsv1.StatefulSet) {
			spec := &stateful.Spec
			Set(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
			if spec.UpdateStrategy.Type == "" {
				spec.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
				SetPointer(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
			}
			if rolling := spec.UpdateStrategy.RollingUpdate; rolling != nil && spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
				SetPointer(&rolling.Partition, 0)
				SetPointer(&rolling.MaxUnavailable, intstr.FromInt32(1))
			}
			for i := range spec.VolumeClaimTemplates {
				spec.VolumeClaimTemplates[i].TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
			}
			SetPointer(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
			Set(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
			Set(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
			SetPointer(&spec.Replicas, 1)
			SetPointer(&spec.RevisionHistoryLimit, 10)
		}),
		DefaultsOf(func(replicas *appsv1.ReplicaSet) { SetPointer(&replicas.Spec.Replicas, 1) }),
	}
}

func (f *Findings) counters(at *field.Path, counters ...counter) {
	for _, c := range counters {
		f.notNegative(at.Child(c.name), c.value)
	}
}

type counter struct {
	name  string
	value int64
}

// collisions checks a counter that only grows.
func (f *Findings) collisions(now, was *int32) {
	if was != nil && Deref(now) < *was {
		f.invalid(field.NewPath("status", "collisionCount"), Deref(now), "cannot be decremented")
	}
}

func (f *Findings) atMost(at *field.Path, name string, value, most int32, of string) {
	if value > most {
		f.invalid(at.Child(name), value, "cannot be greater than "+of)
	}
}

// Controller revisions.

func controllerRevisions() Kind {
	check := func(r *appsv1.ControllerRevision) Findings {
		f := Findings{ValidateMetadata(&r.ObjectMeta, true, validation.NameIsDNSSubdomain)}
		f.notNegative(field.NewPath("revision"), r.Revision)
		return f
	}
	return Kind{
		GVK: appsV1.WithKind("ControllerRevision"), Resource: "controllerrevisions", Namespaced: true,
		Columns: []Column{
			Col("Controller", "string", "Controller of the object", func(r *appsv1.ControllerRevision) any {
				owner := metav1.GetControllerOf(r)
				if owner == nil {
					return "<none>"
				}
				gv, _ := schema.ParseGroupVersion(owner.APIVersion)
				return strings.ToLower(gv.WithKind(owner.Kind).GroupKind().String()) + "/" + owner.Name
			}),
			Col("Revision", "string", appsv1.ControllerRevision{}.SwaggerDoc()["revision"], func(r *appsv1.ControllerRevision) any { return r.Revision }),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true,
			Validate: Typed1(func(r *appsv1.ControllerRevision) field.ErrorList {
				f, data, at := check(r), bytes.TrimSpace(r.Data.Raw), field.NewPath("data")
				var value any
				if len(data) == 0 {
					f.Required(at, "data is mandatory")
				} else if err := json.Unmarshal(data, &value); err != nil {
					f.invalid(at, "<value omitted>", "error parsing data: "+err.Error())
				} else if value == nil {
					f.Required(at, "data is mandatory")
				} else if _, ok := value.(map[string]any); !ok {
					f.Required(at, "data must be a valid JSON object")
				}
				return f.List
			}),
			ValidateUpdate: Typed2(func(r, old *appsv1.ControllerRevision) field.ErrorList {
				f := check(r)
				f.List = append(ValidateMetadataUpdate(r, old), f.List...)
				f.immutable(field.NewPath("data"), r.Data, old.Data)
				return f.List
			}),
		},
	}
}
