package builtin

import (
	"fmt"
	"slices"

	schedulinghelper "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	leaseregistry "k8s.io/kubernetes/pkg/registry/coordination/lease"
	poddisruptionbudgetregistry "k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	priorityclassregistry "k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"

	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/admission"
)

// Budget is the Go type of a PodDisruptionBudget.
type Budget = policyv1.PodDisruptionBudget

// PolicyKinds returns the kinds of the group policy.
func PolicyKinds() []Kind {
	return []Kind{{
		GVK: policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), Resource: "poddisruptionbudgets",
		Short: []string{"pdb"}, Namespaced: true,
		Columns: []Column{
			Col("Min Available", "string", "The minimum number of pods that must be available.",
				func(b *Budget) any { return numberText(b.Spec.MinAvailable) }),
			Col("Max Unavailable", "string", "The maximum number of pods that may be unavailable.",
				func(b *Budget) any { return numberText(b.Spec.MaxUnavailable) }),
			Col("Allowed Disruptions", "integer", "Calculated number of pods that may be disrupted at this time.",
				func(b *Budget) any { return int64(b.Status.DisruptionsAllowed) }),
			SinceColumn,
		},
		Rules:  By(poddisruptionbudgetregistry.Strategy),
		Status: new(By(poddisruptionbudgetregistry.StatusStrategy)),
	}}
}

func numberText(number *intstr.IntOrString) string {
	if number == nil {
		return "N/A"
	}
	return number.String()
}

// CoordinationKinds returns the kinds of the group coordination.k8s.io.
func CoordinationKinds() []Kind {
	type lease = coordinationv1.Lease
	return []Kind{{
		GVK: coordinationv1.SchemeGroupVersion.WithKind("Lease"), Resource: "leases", Namespaced: true,
		Columns: []Column{
			Col("Holder", "string", coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"],
				func(l *lease) any { return Deref(l.Spec.HolderIdentity) }),
			SinceColumn,
		},
		Rules: By(leaseregistry.Strategy),
	}}
}

// SystemPriorities returns the priority classes that a new server has.
func SystemPriorities() []*schedulingv1.PriorityClass {
	classes := schedulinghelper.SystemPriorityClasses()
	slices.Reverse(classes)
	for _, class := range classes {
		SetDefaults(class)
	}
	return classes
}

// PriorityClasses returns the kind PriorityClass.
func PriorityClasses() Kind {
	type class = schedulingv1.PriorityClass
	doc := class{}.SwaggerDoc()
	return Kind{
		GVK: schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), Resource: "priorityclasses", Short: []string{"pc"},
		Columns: []Column{
			Col("Value", "integer", doc["value"], func(c *class) any { return int64(c.Value) }),
			Col("Global-Default", "boolean", doc["globalDefault"], func(c *class) any { return c.GlobalDefault }),
			SinceColumn,
			Col("PreemptionPolicy", "string", doc["preemptionPolicy"],
				func(c *class) any { return string(Deref(c.PreemptionPolicy)) }),
		},
		Rules: By(priorityclassregistry.Strategy),

		Admit: func(cluster Cluster, a admission.Attributes) error {
			c, ok := a.GetObject().(*class)
			if !ok || !c.GlobalDefault {
				return nil
			}
			for _, object := range cluster.ReadAll("scheduling.k8s.io", "v1", "priorityclasses", "") {
				if other := object.(*class); other.GlobalDefault && other.Name != c.Name {
					return admission.NewForbidden(a, fmt.Errorf("PriorityClass %v is already marked as default. Only one default "+
						"can exist", other.Name))
				}
			}
			return nil
		},
	}
}
