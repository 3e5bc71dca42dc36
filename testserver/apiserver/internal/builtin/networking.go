package builtin

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// NetworkingKinds are those of networking.k8s.io.
func NetworkingKinds() []Kind {
	return []Kind{ingresses(), ingressClasses(), addresses(), networkPolicies(), serviceRanges()}
}

func networkingDefaults() []Defaulter {
	return []Defaulter{
		DefaultsOf(func(port *networkingv1.NetworkPolicyPort) { SetPointer(&port.Protocol, corev1.ProtocolTCP) }),
		DefaultsOf(func(policy *networkingv1.NetworkPolicy) {
			if len(policy.Spec.PolicyTypes) == 0 {
				policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
				if len(policy.Spec.Egress) > 0 {
					policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
				}
			}
		}),
		DefaultsOf(func(class *networkingv1.IngressClass) {
			if class.Spec.Parameters != nil {
				SetPointer(&class.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
			}
		}),
	}
}
