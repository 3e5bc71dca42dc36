package apiserver

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"
)

type budget = policyv1.PodDisruptionBudget

var evictionKind = policyv1.SchemeGroupVersion.WithKind("Eviction")

func policyKinds() []kind {
	return []kind{{
		gvk: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), resource: "poddisruptionbudgets", short: []string{"pdb"}, namespaced: true,
		columns: []column{
			col("Min Available", "string", "The minimum number of pods that must be available.", func(b *budget) any {
				if b.Spec.MinAvailable == nil {
					return "N/A"
				}
				return b.Spec.MinAvailable.String()
			}),
			col("Max Unavailable", "string", "The maximum number of pods that may be unavailable.", func(b *budget) any {
				if b.Spec.MaxUnavailable == nil {
					return "N/A"
				}
				return b.Spec.MaxUnavailable.String()
			}),
			col("Allowed Disruptions", "integer", "Calculated number of pods that may be disrupted at this time.", func(b *budget) any { return int64(b.Status.DisruptionsAllowed) }),
			sinceColumn,
		},
		rules: rules{
			reset: []string{"status"}, spec: typed1(func(b *budget) any { return b.Spec }),
			create:         change1(func(b *budget) { b.Status = policyv1.PodDisruptionBudgetStatus{} }),
			update:         change2(func(b, old *budget) { b.Status = old.Status }),
			validate:       typed1(func(b *budget) field.ErrorList { return validateBudget(&b.Spec) }),
			validateUpdate: typed2(func(b, _ *budget) field.ErrorList { return validateBudget(&b.Spec) }),
		},
		status: &rules{
			reset:  []string{"spec"},
			update: change2(func(b, old *budget) { b.Spec = old.Spec }),
			validateUpdate: typed2(func(b, _ *budget) field.ErrorList {
				var f findings
				s, at := b.Status, field.NewPath("status")
				f.add(metav1validation.ValidateConditions(s.Conditions, at.Child("conditions"))...)
				f.counters(at, counter{"disruptionsAllowed", int64(s.DisruptionsAllowed)}, counter{"currentHealthy", int64(s.CurrentHealthy)}, counter{"desiredHealthy", int64(s.DesiredHealthy)}, counter{"expectedPods", int64(s.ExpectedPods)})
				return f.list
			}),
		},
	}}
}

func validateBudget(spec *policyv1.PodDisruptionBudgetSpec) field.ErrorList {
	var f findings
	at := field.NewPath("spec")
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		f.invalid(at, *spec, "minAvailable and maxUnavailable cannot be both set")
	}
	if spec.MinAvailable != nil {
		f.intOrPercent(at.Child("minAvailable"), *spec.MinAvailable)
		f.atMostAll(at.Child("minAvailable"), *spec.MinAvailable)
	}
	if spec.MaxUnavailable != nil {
		f.intOrPercent(at.Child("maxUnavailable"), *spec.MaxUnavailable)
		f.atMostAll(at.Child("maxUnavailable"), *spec.MaxUnavailable)
	}
	f.selector(at.Child("selector"), spec.Selector)
	if spec.UnhealthyPodEvictionPolicy != nil {
		oneOf(&f, at.Child("unhealthyPodEvictionPolicy"), *spec.UnhealthyPodEvictionPolicy, policyv1.IfHealthyBudget, policyv1.AlwaysAllow)
	}
	return f.list
}

// evictionPart deletes a pod if the budgets that select it allow that.
func evictionPart(s *Server, objects *registry, k *kind, f family) part {
	evict := func(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
		eviction := object.(*policyv1.Eviction)
		if eviction.Name != name {
			return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
		}
		found, err := objects.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if validate != nil {
			if err := validate(ctx, eviction.DeepCopyObject()); err != nil {
				return nil, err
			}
		}
		deletion := &metav1.DeleteOptions{}
		if eviction.DeleteOptions != nil {
			deletion = eviction.DeleteOptions.DeepCopy()
		}
		deletion.DryRun = append(deletion.DryRun, options.DryRun...)
		if status, err := s.disrupt(ctx, found.(*corev1.Pod), dryrun.IsDryRun(deletion.DryRun)); status != nil || err != nil {
			return status, err
		}
		if _, _, err := objects.Delete(ctx, name, rest.ValidateAllObjectFunc, deletion); err != nil {
			return nil, err
		}
		return &metav1.Status{Status: metav1.StatusSuccess}, nil
	}
	return part{creater: creater{func() runtime.Object { return &policyv1.Eviction{} }, evict}, scope: newScopeOf(k, f, evictionKind, policyv1.SchemeGroupVersion, "eviction", nil, objects)}
}

// disrupt takes the disruption of a pod from its budget. It answers with a status when there may be none.
func (s *Server) disrupt(ctx context.Context, pod *corev1.Pod, dryRun bool) (runtime.Object, error) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodPending || pod.DeletionTimestamp != nil {
		return nil, nil
	}
	var budgets []*budget
	for _, object := range s.readAll("policy", "v1", "poddisruptionbudgets", pod.Namespace) {
		b := object.(*budget)
		if selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil && selector.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, b)
		}
	}
	switch len(budgets) {
	case 0:
		return nil, nil
	case 1:
	default:
		return &metav1.Status{Status: metav1.StatusFailure, Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", Code: 500}, nil
	}
	b, healthy := budgets[0], podConditionTrue(pod, corev1.PodReady)
	if !healthy && (deref(b.Spec.UnhealthyPodEvictionPolicy) == policyv1.AlwaysAllow || b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0) {
		return nil, nil
	}
	refused := func(format string, arguments ...any) error {
		err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf(format, arguments...)})
		return err
	}
	objects := s.endpointOf(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")).parts["status"].storage.(subresource)
	ctx = request.WithNamespace(ctx, b.Namespace)
	key, err := objects.key(ctx, b.Name)
	if err != nil {
		return nil, err
	}
	_, err = objects.guarded(ctx, key, false, storage.Preconditions{}, dryRun, func(existing runtime.Object) (runtime.Object, error) {
		b := existing.(*budget)
		switch {
		case b.Status.ObservedGeneration < b.Generation:
			err := refused("The disruption budget %s is still being processed by the server.", b.Name)
			err.(*apierrors.StatusError).ErrStatus.Details.RetryAfterSeconds = 10
			return nil, err
		case b.Status.DisruptionsAllowed < 0:
			return nil, apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), b.Name, fmt.Errorf("pdb disruptions allowed is negative"))
		case b.Status.DisruptionsAllowed == 0:
			return nil, refused("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy)
		}
		b.Status.DisruptionsAllowed--
		if b.Status.DisruptedPods == nil {
			b.Status.DisruptedPods = map[string]metav1.Time{}
		}
		b.Status.DisruptedPods[pod.Name] = metav1.Now()
		return b, nil
	})
	return nil, err
}

// Leases.

func coordinationKinds() []kind {
	type lease = coordinationv1.Lease
	check := func(l *lease) field.ErrorList {
		var f findings
		spec, at := l.Spec, field.NewPath("spec")
		if spec.LeaseDurationSeconds != nil && *spec.LeaseDurationSeconds <= 0 {
			f.invalid(at.Child("leaseDurationSeconds"), spec.LeaseDurationSeconds, "must be greater than 0")
		}
		if spec.LeaseTransitions != nil && *spec.LeaseTransitions < 0 {
			f.invalid(at.Child("leaseTransitions"), spec.LeaseTransitions, "must be greater than or equal to 0")
		}
		return f.list
	}
	return []kind{{
		gvk: coordinationv1.SchemeGroupVersion.WithKind("Lease"), resource: "leases", namespaced: true,
		columns: []column{
			col("Holder", "string", coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"], func(l *lease) any { return deref(l.Spec.HolderIdentity) }),
			sinceColumn,
		},
		rules: rules{
			creates: true,
			create:  change1(func(l *lease) { l.Spec.Strategy, l.Spec.PreferredHolder = nil, nil }),
			update:  change2(func(l, _ *lease) { l.Spec.Strategy, l.Spec.PreferredHolder = nil, nil }),
			validate: typed1(func(l *lease) field.ErrorList {
				return append(validation.ValidateObjectMeta(&l.ObjectMeta, true, validation.NameIsDNSSubdomain, field.NewPath("metadata")), check(l)...)
			}),
			validateUpdate: typed2(func(l, old *lease) field.ErrorList {
				return append(validation.ValidateObjectMetaUpdate(&l.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")), check(l)...)
			}),
		},
	}}
}

// Priorities.

func schedulingDefaults() []defaulter {
	return []defaulter{defaultsOf(func(class *schedulingv1.PriorityClass) {
		setPointer(&class.PreemptionPolicy, corev1.PreemptLowerPriority)
	})}
}

// systemClasses are those that are there from the start.
var systemClasses = map[string]schedulingv1.PriorityClass{
	"system-node-critical":    {Value: 2000001000, Description: "Used for system critical pods that must not be moved from their current node."},
	"system-cluster-critical": {Value: 2000000000, Description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."},
}

func schedulingKinds() []kind {
	type class = schedulingv1.PriorityClass
	doc := class{}.SwaggerDoc()
	return []kind{{
		gvk: schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), resource: "priorityclasses", short: []string{"pc"},
		columns: []column{
			col("Value", "integer", doc["value"], func(c *class) any { return int64(c.Value) }),
			col("Global-Default", "boolean", doc["globalDefault"], func(c *class) any { return c.GlobalDefault }),
			sinceColumn,
			col("PreemptionPolicy", "string", doc["preemptionPolicy"], func(c *class) any { return string(deref(c.PreemptionPolicy)) }),
		},
		rules: rules{
			unconditional: true, spec: typed1(func(c *class) any { return c.Value }),
			validate: typed1(validatePriority),
			validateUpdate: typed2(func(c, old *class) field.ErrorList {
				f := findings{validateMetadataUpdate(c, old)}
				if c.Value != old.Value {
					f.forbidden(field.NewPath("value"), "may not be changed in an update.")
				}
				f.immutable(field.NewPath("preemptionPolicy"), c.PreemptionPolicy, old.PreemptionPolicy)
				return f.list
			}),
		},
		complete: func(_ *Server, r *registry, _ *endpoint) {
			for _, name := range sortedMap(systemClasses) {
				one := systemClasses[name]
				one.Name = name
				one.PreemptionPolicy = new(corev1.PreemptionPolicy)
				*one.PreemptionPolicy = corev1.PreemptLowerPriority
				_, err := r.Create(request.WithNamespace(request.NewContext(), ""), &one, nil, &metav1.CreateOptions{})
				must(err)
			}
		},
		admit: func(s *Server, a admission.Attributes) error {
			c, ok := a.GetObject().(*class)
			if !ok || !c.GlobalDefault {
				return nil
			}
			for _, object := range s.readAll("scheduling.k8s.io", "v1", "priorityclasses", "") {
				if other := object.(*class); other.GlobalDefault && other.Name != c.Name {
					return admission.NewForbidden(a, fmt.Errorf("PriorityClass %v is already marked as default. Only one default can exist", other.Name))
				}
			}
			return nil
		},
	}}
}

func validatePriority(c *schedulingv1.PriorityClass) field.ErrorList {
	f := findings{validateMetadata(&c.ObjectMeta, false, validation.NameIsDNSSubdomain)}
	if known, ok := systemClasses[c.Name]; len(c.Name) > 7 && c.Name[:7] == "system-" {
		problem := ""
		switch {
		case !ok:
			problem = fmt.Sprintf("%v is not a known system priority class", c.Name)
		case known.Value != c.Value:
			problem = fmt.Sprintf("value of %v PriorityClass must be %v", c.Name, known.Value)
		case c.GlobalDefault:
			problem = fmt.Sprintf("globalDefault of %v PriorityClass must be %v", c.Name, false)
		}
		if problem != "" {
			f.forbidden(field.NewPath("metadata", "name"), "priority class names with 'system-' prefix are reserved for system use only. error: "+problem)
		}
	} else if c.Value > 1000000000 {
		f.forbidden(field.NewPath("value"), "maximum allowed value of a user defined priority is 1000000000")
	}
	if c.PreemptionPolicy != nil {
		oneOfOrRequired(&f, field.NewPath("preemptionPolicy"), *c.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
	return f.list
}
