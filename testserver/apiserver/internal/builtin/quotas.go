package builtin

import (
	"fmt"
	"strings"

	limitrangeregistry "k8s.io/kubernetes/pkg/registry/core/limitrange"
	resourcequotaregistry "k8s.io/kubernetes/pkg/registry/core/resourcequota"

	corev1 "k8s.io/api/core/v1"
)

// LimitRanges returns the kind LimitRange.
func LimitRanges() Kind {
	return Kind{
		GVK: CoreV1.WithKind("LimitRange"), Resource: "limitranges", Short: []string{"limits"}, Namespaced: true,
		Rules: By(limitrangeregistry.Strategy),
	}
}

// ResourceQuotas returns the kind ResourceQuota.
func ResourceQuotas() Kind {
	type quota = corev1.ResourceQuota
	cells := func(q *quota, limits bool) string {
		var text []string
		for _, name := range sortedMap(q.Status.Hard) {
			used, hard := q.Status.Used[name], q.Status.Hard[name]
			if strings.HasPrefix(string(name), "limits.") == limits {
				text = append(text, fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String()))
			}
		}
		return strings.Join(text, ", ")
	}
	return Kind{
		GVK: CoreV1.WithKind("ResourceQuota"), Resource: "resourcequotas", Short: []string{"quota"}, Namespaced: true,
		Returned: true,
		Columns: []Column{
			Col("Request", "string", "Request represents a minimum amount of cpu/memory that a container may consume.",
				func(q *quota) any { return cells(q, false) }),
			Col("Limit", "string", "Limits control the maximum amount of cpu/memory that a container may use independent of "+
				"contention on the node.", func(q *quota) any { return cells(q, true) }),
			SinceColumn,
		},
		Rules:  By(resourcequotaregistry.Strategy),
		Status: new(By(resourcequotaregistry.StatusStrategy)),
	}
}
