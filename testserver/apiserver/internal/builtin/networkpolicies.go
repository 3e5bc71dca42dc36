package builtin

import (
	networkpolicyregistry "k8s.io/kubernetes/pkg/registry/networking/networkpolicy"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func networkPolicies() Kind {
	type policy = networkingv1.NetworkPolicy
	return Kind{
		GVK: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), Resource: "networkpolicies",
		Short: []string{"netpol"}, Namespaced: true,
		Columns: []Column{
			Col("Pod-Selector", "string", networkingv1.NetworkPolicySpec{}.SwaggerDoc()["podSelector"],
				func(p *policy) any { return metav1.FormatLabelSelector(&p.Spec.PodSelector) }),
			SinceColumn,
		},
		Rules: By(networkpolicyregistry.Strategy),
	}
}
