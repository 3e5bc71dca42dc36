package builtin

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
)

var appsV1 = appsv1.SchemeGroupVersion

// AppsKinds returns the kinds of the group apps.
func AppsKinds() []Kind {
	return []Kind{controllerRevisions(), daemonSets(), deployments(), replicaSets(), statefulSets()}
}

func controllerRevisions() Kind {
	return Kind{
		GVK: appsV1.WithKind("ControllerRevision"), Resource: "controllerrevisions", Namespaced: true,
		Rules: By(controllerrevision.Strategy),
		Columns: []Column{
			Col("Controller", "string", "Controller of the object", func(r *appsv1.ControllerRevision) any {
				owner := metav1.GetControllerOf(r)
				if owner == nil {
					return "<none>"
				}
				gv, _ := schema.ParseGroupVersion(owner.APIVersion)
				return strings.ToLower(gv.WithKind(owner.Kind).GroupKind().String()) + "/" + owner.Name
			}),
			Col("Revision", "string", appsv1.ControllerRevision{}.SwaggerDoc()["revision"],
				func(r *appsv1.ControllerRevision) any { return r.Revision }),
			SinceColumn,
		},
	}
}

func daemonSets() Kind {
	doc, template := appsv1.DaemonSetStatus{}.SwaggerDoc(),
		func(d *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &d.Spec.Template }
	number := func(name, field string, value func(s appsv1.DaemonSetStatus) int32) Column {
		return Col(name, "integer", doc[field], func(d *appsv1.DaemonSet) any { return int64(value(d.Status)) })
	}
	return Kind{
		GVK: appsV1.WithKind("DaemonSet"), Resource: "daemonsets", unshown: appsv1.DeprecatedTemplateGeneration,
		Short: []string{"ds"}, Categories: []string{"all"}, Namespaced: true,
		Rules: By(daemonset.Strategy), Status: new(By(daemonset.StatusStrategy)),
		Columns: append(append([]Column{
			number("Desired", "desiredNumberScheduled",
				func(s appsv1.DaemonSetStatus) int32 { return s.DesiredNumberScheduled }),
			number("Current", "currentNumberScheduled",
				func(s appsv1.DaemonSetStatus) int32 { return s.CurrentNumberScheduled }),
			number("Ready", "numberReady", func(s appsv1.DaemonSetStatus) int32 { return s.NumberReady }),
			number("Up-to-date", "updatedNumberScheduled",
				func(s appsv1.DaemonSetStatus) int32 { return s.UpdatedNumberScheduled }),
			number("Available", "numberAvailable", func(s appsv1.DaemonSetStatus) int32 { return s.NumberAvailable }),
			Col("Node Selector", "string", corev1.PodSpec{}.SwaggerDoc()["nodeSelector"],
				func(d *appsv1.DaemonSet) any { return labels.FormatLabels(d.Spec.Template.Spec.NodeSelector) }),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", appsv1.DaemonSetSpec{}.SwaggerDoc()["selector"],
				func(d *appsv1.DaemonSet) any { return metav1.FormatLabelSelector(d.Spec.Selector) })),
	}
}

func deployments() Kind {
	template := func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template }
	doc := appsv1.DeploymentStatus{}.SwaggerDoc()
	return Kind{
		GVK: appsV1.WithKind("Deployment"), Resource: "deployments", Short: []string{"deploy"}, Categories: []string{"all"},
		Namespaced: true,
		Rules:      By(deployment.Strategy), Status: new(By(deployment.StatusStrategy)),
		Columns: append(append([]Column{
			Col("Ready", "string", "Number of the pod with ready state", func(d *appsv1.Deployment) any {
				return fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, Deref(d.Spec.Replicas))
			}),
			Col("Up-to-date", "string", doc["updatedReplicas"],
				func(d *appsv1.Deployment) any { return int64(d.Status.UpdatedReplicas) }),
			Col("Available", "string", doc["availableReplicas"],
				func(d *appsv1.Deployment) any { return int64(d.Status.AvailableReplicas) }),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", appsv1.DeploymentSpec{}.SwaggerDoc()["selector"],
				func(d *appsv1.Deployment) any { return selectorText(d.Spec.Selector) })),
		Scale: func(object runtime.Object) Scaled {
			d := object.(*appsv1.Deployment)
			return Scaled{d.Spec.Replicas, d.Status.Replicas, selectorText(d.Spec.Selector)}
		},
	}
}

func replicaSets() Kind {
	doc, template := appsv1.ReplicaSetStatus{}.SwaggerDoc(),
		func(r *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &r.Spec.Template }
	rules := Own[*apps.ReplicaSet]{
		Reset: []string{"status"}, Spec: func(r *apps.ReplicaSet) any { return r.Spec },
		Create: func(_ context.Context, r *apps.ReplicaSet) {
			r.Status = apps.ReplicaSetStatus{}
			podutil.DropDisabledTemplateFields(&r.Spec.Template, nil)
		},
		Update: func(_ context.Context, r, old *apps.ReplicaSet) {
			r.Status = old.Status
			podutil.DropDisabledTemplateFields(&r.Spec.Template, &old.Spec.Template)
		},
		Validate: func(_ context.Context, r *apps.ReplicaSet) field.ErrorList {
			return appsvalidation.ValidateReplicaSet(r, podutil.GetValidationOptionsFromPodTemplate(&r.Spec.Template, nil))
		},
		ValidateUpdate: func(_ context.Context, r, old *apps.ReplicaSet) field.ErrorList {
			return appsvalidation.ValidateReplicaSetUpdate(r, old, podutil.GetValidationOptionsFromPodTemplate(&r.Spec.Template,
				&old.Spec.Template))
		},
		Warnings: func(ctx context.Context, r, old *apps.ReplicaSet) []string {
			if old == nil {
				return append(dnsLabelWarning(r.Name, "Pod names and hostnames"),
					podutil.GetWarningsForPodTemplate(ctx, templatePath, &r.Spec.Template, nil)...)
			}
			if r.Generation == old.Generation {
				return nil
			}
			return podutil.GetWarningsForPodTemplate(ctx, templatePath, &r.Spec.Template, &old.Spec.Template)
		},
	}
	status := Own[*apps.ReplicaSet]{
		Reset:  []string{"spec"},
		Update: func(_ context.Context, r, old *apps.ReplicaSet) { r.Spec = old.Spec },
		ValidateUpdate: func(_ context.Context, r, old *apps.ReplicaSet) field.ErrorList {
			return appsvalidation.ValidateReplicaSetStatusUpdate(r, old)
		},
	}
	return Kind{
		GVK: appsV1.WithKind("ReplicaSet"), Resource: "replicasets", Short: []string{"rs"}, Categories: []string{"all"},
		Namespaced: true,
		Rules:      rules.Rules(), Status: new(status.Rules()),
		Columns: append(append([]Column{
			Col("Desired", "integer", appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"],
				func(r *appsv1.ReplicaSet) any { return int64(Deref(r.Spec.Replicas)) }),
			Col("Current", "integer", doc["replicas"], func(r *appsv1.ReplicaSet) any { return int64(r.Status.Replicas) }),
			Col("Ready", "integer", doc["readyReplicas"],
				func(r *appsv1.ReplicaSet) any { return int64(r.Status.ReadyReplicas) }),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"],
				func(r *appsv1.ReplicaSet) any { return metav1.FormatLabelSelector(r.Spec.Selector) })),
		Scale: func(object runtime.Object) Scaled {
			r := object.(*appsv1.ReplicaSet)
			return Scaled{r.Spec.Replicas, r.Status.Replicas, selectorText(r.Spec.Selector)}
		},
	}
}

var templatePath = field.NewPath("spec", "template")

// dnsLabelWarning returns a warning for a name that is not a DNS label, such as one with dots, if use derives
// labels from it.
func dnsLabelWarning(name, use string) []string {
	problems := utilvalidation.IsDNS1123Label(name)
	if len(problems) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in %s, which can result in surprising behavior; a DNS "+
		"label is recommended: %v", use, problems)}
}

func statefulSets() Kind {
	template := func(s *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &s.Spec.Template }
	return Kind{
		GVK: appsV1.WithKind("StatefulSet"), Resource: "statefulsets", Short: []string{"sts"}, Categories: []string{"all"},
		Namespaced: true,
		Rules:      By(statefulset.Strategy), Status: new(By(statefulset.StatusStrategy)),
		Columns: append([]Column{
			Col("Ready", "string", "Number of the pod with ready state", func(s *appsv1.StatefulSet) any {
				return fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, Deref(s.Spec.Replicas))
			}),
			SinceColumn,
		}, containerColumns(template)...),
		Scale: func(object runtime.Object) Scaled {
			s := object.(*appsv1.StatefulSet)
			return Scaled{s.Spec.Replicas, s.Status.Replicas, selectorText(s.Spec.Selector)}
		},
	}
}

// ReplicationControllers returns the kind ReplicationController, the predecessor of ReplicaSet.
func ReplicationControllers() Kind {
	type controller = corev1.ReplicationController
	doc := corev1.ReplicationControllerStatus{}.SwaggerDoc()
	template := func(c *controller) *corev1.PodTemplateSpec {
		if c.Spec.Template == nil {
			return &corev1.PodTemplateSpec{}
		}
		return c.Spec.Template
	}
	rules := Own[*core.ReplicationController]{
		Reset: []string{"status"}, Policy: rest.OrphanDependents,
		Spec: func(c *core.ReplicationController) any { return c.Spec },
		Create: func(_ context.Context, c *core.ReplicationController) {
			c.Status = core.ReplicationControllerStatus{}
			podutil.DropDisabledTemplateFields(c.Spec.Template, nil)
		},
		Update: func(_ context.Context, c, old *core.ReplicationController) {
			c.Status = old.Status
			podutil.DropDisabledTemplateFields(c.Spec.Template, old.Spec.Template)
		},
		Validate: func(_ context.Context, c *core.ReplicationController) field.ErrorList {
			return corevalidation.ValidateReplicationController(c, podutil.GetValidationOptionsFromPodTemplate(c.Spec.Template,
				nil))
		},
		ValidateUpdate: func(_ context.Context, c, old *core.ReplicationController) field.ErrorList {
			return corevalidation.ValidateReplicationControllerUpdate(c, old,
				podutil.GetValidationOptionsFromPodTemplate(c.Spec.Template, old.Spec.Template))
		},
		Warnings: func(ctx context.Context, c, old *core.ReplicationController) []string {
			if old == nil {
				return append(dnsLabelWarning(c.Name, "Pod names and hostnames"),
					podutil.GetWarningsForPodTemplate(ctx, templatePath, c.Spec.Template, nil)...)
			}
			if c.Generation == old.Generation {
				return nil
			}
			return podutil.GetWarningsForPodTemplate(ctx, templatePath, old.Spec.Template, c.Spec.Template)
		},
	}
	status := Own[*core.ReplicationController]{
		Reset:  []string{"spec"},
		Update: func(_ context.Context, c, old *core.ReplicationController) { c.Spec = old.Spec },
		ValidateUpdate: func(_ context.Context, c, old *core.ReplicationController) field.ErrorList {
			return corevalidation.ValidateReplicationControllerStatusUpdate(c, old)
		},
	}
	return Kind{
		GVK: CoreV1.WithKind("ReplicationController"), Resource: "replicationcontrollers", Short: []string{"rc"},
		Categories: []string{"all"}, Namespaced: true,
		Rules: rules.Rules(), Status: new(status.Rules()),
		Columns: append(append([]Column{
			Col("Desired", "integer", corev1.ReplicationControllerSpec{}.SwaggerDoc()["replicas"],
				func(c *controller) any { return int64(Deref(c.Spec.Replicas)) }),
			Col("Current", "integer", doc["replicas"], func(c *controller) any { return int64(c.Status.Replicas) }),
			Col("Ready", "integer", doc["readyReplicas"], func(c *controller) any { return int64(c.Status.ReadyReplicas) }),
			SinceColumn,
		}, containerColumns(template)...),
			Col("Selector", "string wide", corev1.ReplicationControllerSpec{}.SwaggerDoc()["selector"],
				func(c *controller) any { return labels.FormatLabels(c.Spec.Selector) })),
		Scale: func(object runtime.Object) Scaled {
			c := object.(*controller)
			return Scaled{c.Spec.Replicas, c.Status.Replicas, labels.Set(c.Spec.Selector).AsSelector().String()}
		},
		Fields: func(object runtime.Object, set fields.Set) {
			set["status.replicas"] = fmt.Sprint(object.(*controller).Status.Replicas)
		},
	}
}
