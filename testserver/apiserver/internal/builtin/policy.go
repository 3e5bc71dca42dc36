package builtin

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
)

// Budget is a PodDisruptionBudget.
type Budget = policyv1.PodDisruptionBudget

// PolicyKinds are those of policy.
func PolicyKinds() []Kind {
	return []Kind{{
		GVK: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), Resource: "poddisruptionbudgets", Short: []string{"pdb"}, Namespaced: true,
		Columns: []Column{
			Col("Min Available", "string", "The minimum number of pods that must be available.", func(b *Budget) any {
				if b.Spec.MinAvailable == nil {
					return "N/A"
				}
				return b.Spec.MinAvailable.String()
			}),
			Col("Max Unavailable", "string", "The maximum number of pods that may be unavailable.", func(b *Budget) any {
				if b.Spec.MaxUnavailable == nil {
					return "N/A"
				}
				return b.Spec.MaxUnavailable.String()
			}),
			Col("Allowed Disruptions", "integer", "Calculated number of pods that may be disrupted at this time.", func(b *Budget) any { return int64(b.Status.DisruptionsAllowed) }),
			SinceColumn,
		},
		Rules: Rules{
			Reset: []string{"status"}, Spec: Typed1(func(b *Budget) any { return b.Spec }),
			Create:         Change1(func(b *Budget) { b.Status = policyv1.PodDisruptionBudgetStatus{} }),
			Update:         Change2(func(b, old *Budget) { b.Status = old.Status }),
			Validate:       Typed1(func(b *Budget) field.ErrorList { return validateBudget(&b.Spec) }),
			ValidateUpdate: Typed2(func(b, _ *Budget) field.ErrorList { return validateBudget(&b.Spec) }),
		},
		Status: &Rules{
			Reset:  []string{"spec"},
			Update: Change2(func(b, old *Budget) { b.Spec = old.Spec }),
			ValidateUpdate: Typed2(func(b, _ *Budget) field.ErrorList {
				var f Findings
				s, at := b.Status, field.NewPath("status")
				f.Add(metav1validation.ValidateConditions(s.Conditions, at.Child("conditions"))...)
				f.counters(at, counter{"disruptionsAllowed", int64(s.DisruptionsAllowed)}, counter{"currentHealthy", int64(s.CurrentHealthy)}, counter{"desiredHealthy", int64(s.DesiredHealthy)}, counter{"expectedPods", int64(s.ExpectedPods)})
				return f.List
			}),
		},
	}}
}

func validateBudget(spec *policyv1.PodDisruptionBudgetSpec) field.ErrorList {
	var f Findings
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
	return f.List
}

// Leases.

// CoordinationKinds are those of coordination.k8s.io.
func CoordinationKinds() []Kind {
	type lease = coordinationv1.Lease
	check := func(l *lease) field.ErrorList {
		var f Findings
		spec, at := l.Spec, field.NewPath("spec")
		if spec.LeaseDurationSeconds != nil && *spec.LeaseDurationSeconds <= 0 {
			f.invalid(at.Child("leaseDurationSeconds"), spec.LeaseDurationSeconds, "must be greater than 0")
		}
		if spec.LeaseTransitions != nil && *spec.LeaseTransitions < 0 {
			f.invalid(at.Child("leaseTransitions"), spec.LeaseTransitions, "must be greater than or equal to 0")
		}
		return f.List
	}
	return []Kind{{
		GVK: coordinationv1.SchemeGroupVersion.WithKind("Lease"), Resource: "leases", Namespaced: true,
		Columns: []Column{
			Col("Holder", "string", coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"], func(l *lease) any { return Deref(l.Spec.HolderIdentity) }),
			SinceColumn,
		},
		Rules: Rules{
			Creates: true,
			Create:  Change1(func(l *lease) { l.Spec.Strategy, l.Spec.PreferredHolder = nil, nil }),
			Update:  Change2(func(l, _ *lease) { l.Spec.Strategy, l.Spec.PreferredHolder = nil, nil }),
			Validate: Typed1(func(l *lease) field.ErrorList {
				return append(validation.ValidateObjectMeta(&l.ObjectMeta, true, validation.NameIsDNSSubdomain, field.NewPath("metadata")), check(l)...)
			}),
			ValidateUpdate: Typed2(func(l, old *lease) field.ErrorList {
				return append(validation.ValidateObjectMetaUpdate(&l.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")), check(l)...)
			}),
		},
	}}
}

// Priorities.

func schedulingDefaults() []Defaulter {
	return []Defaulter{DefaultsOf(func(class *schedulingv1.PriorityClass) {
		SetPointer(&class.PreemptionPolicy, corev1.PreemptLowerPriority)
	})}
}

// SystemPriorities are the classes that are there from the start.
func SystemPriorities() (classes []*schedulingv1.PriorityClass) {
	for _, name := range sortedMap(systemClasses) {
		one := systemClasses[name]
		one.Name = name
		one.PreemptionPolicy = new(corev1.PreemptionPolicy)
		*one.PreemptionPolicy = corev1.PreemptLowerPriority
		classes = append(classes, &one)
	}
	return classes
}

var systemClasses = map[string]schedulingv1.PriorityClass{
	"system-node-critical":    {Value: 2000001000, Description: "Used for system critical pods that must not be moved from their current node."},
	"system-cluster-critical": {Value: 2000000000, Description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."},
}

// PriorityClasses are the kind PriorityClass.
func PriorityClasses() Kind {
	type class = schedulingv1.PriorityClass
	doc := class{}.SwaggerDoc()
	return Kind{
		GVK: schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), Resource: "priorityclasses", Short: []string{"pc"},
		Columns: []Column{
			Col("Value", "integer", doc["value"], func(c *class) any { return int64(c.Value) }),
			Col("Global-Default", "boolean", doc["globalDefault"], func(c *class) any { return c.GlobalDefault }),
			SinceColumn,
			Col("PreemptionPolicy", "string", doc["preemptionPolicy"], func(c *class) any { return string(Deref(c.PreemptionPolicy)) }),
		},
		Rules: Rules{
			Unconditional: true, Spec: Typed1(func(c *class) any { return c.Value }),
			Validate: Typed1(validatePriority),
			ValidateUpdate: Typed2(func(c, old *class) field.ErrorList {
				f := Findings{ValidateMetadataUpdate(c, old)}
				if c.Value != old.Value {
					f.forbidden(field.NewPath("value"), "may not be changed in an update.")
				}
				f.immutable(field.NewPath("preemptionPolicy"), c.PreemptionPolicy, old.PreemptionPolicy)
				return f.List
			}),
		},

		Admit: func(cluster Cluster, a admission.Attributes) error {
			c, ok := a.GetObject().(*class)
			if !ok || !c.GlobalDefault {
				return nil
			}
			for _, object := range cluster.ReadAll("scheduling.k8s.io", "v1", "priorityclasses", "") {
				if other := object.(*class); other.GlobalDefault && other.Name != c.Name {
					return admission.NewForbidden(a, fmt.Errorf("PriorityClass %v is already marked as default. Only one default can exist", other.Name))
				}
			}
			return nil
		},
	}
}

func validatePriority(c *schedulingv1.PriorityClass) field.ErrorList {
	f := Findings{ValidateMetadata(&c.ObjectMeta, false, validation.NameIsDNSSubdomain)}
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
	return f.List
}
