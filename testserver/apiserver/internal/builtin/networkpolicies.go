package builtin

import (
	"net"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func networkPolicies() Kind {
	type policy = networkingv1.NetworkPolicy
	return Kind{
		GVK: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), Resource: "networkpolicies", Short: []string{"netpol"}, Namespaced: true,
		Columns: []Column{
			Col("Pod-Selector", "string", networkingv1.NetworkPolicySpec{}.SwaggerDoc()["podSelector"], func(p *policy) any { return metav1.FormatLabelSelector(&p.Spec.PodSelector) }),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true, Spec: Typed1(func(p *policy) any { return p.Spec }), Literal: true,
			Validate: Typed1(func(p *policy) field.ErrorList {
				return append(ValidateMetadata(&p.ObjectMeta, true, validation.NameIsDNSSubdomain), validateNetworkPolicy(&p.Spec)...)
			}),
			ValidateUpdate: Typed2(func(p, old *policy) field.ErrorList {
				return append(ValidateMetadataUpdate(p, old), validateNetworkPolicy(&p.Spec)...)
			}),
			Warnings: Typed1(networkPolicyWarnings),
		},
	}
}

func validateNetworkPolicy(spec *networkingv1.NetworkPolicySpec) field.ErrorList {
	var f Findings
	at := field.NewPath("spec")
	f.selector(at.Child("podSelector"), &spec.PodSelector)
	rule := func(ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer, name string, at *field.Path) {
		for i := range ports {
			f.policyPort(&ports[i], at.Child("ports").Index(i))
		}
		for i := range peers {
			f.peer(&peers[i], at.Child(name).Index(i))
		}
	}
	for i, ingress := range spec.Ingress {
		rule(ingress.Ports, ingress.From, "from", at.Child("ingress").Index(i))
	}
	for i, egress := range spec.Egress {
		rule(egress.Ports, egress.To, "to", at.Child("egress").Index(i))
	}
	if len(spec.PolicyTypes) > 2 {
		f.invalid(at.Child("policyTypes"), &spec.PolicyTypes, "may not specify more than two policyTypes")
		return f.List
	}
	for i, kind := range spec.PolicyTypes {
		oneOfListed(&f, at.Child("policyTypes").Index(i), kind, networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)
	}
	return f.List
}

func (f *Findings) policyPort(port *networkingv1.NetworkPolicyPort, at *field.Path) {
	if port.Protocol != nil {
		oneOfListed(f, at.Child("protocol"), *port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
	}
	switch {
	case port.Port == nil:
		if port.EndPort != nil {
			f.invalid(at.Child("endPort"), *port.EndPort, "may not be specified when `port` is not specified")
		}
	case port.Port.Type == intstr.Int:
		f.port(at.Child("port"), port.Port.IntVal)
		if port.EndPort != nil {
			if *port.EndPort < port.Port.IntVal {
				f.invalid(at.Child("endPort"), *port.EndPort, "must be greater than or equal to `port`")
			}
			f.port(at.Child("endPort"), *port.EndPort)
		}
	default:
		if port.EndPort != nil {
			f.invalid(at.Child("endPort"), *port.EndPort, "may not be specified when `port` is non-numeric")
		}
		f.invalid(at.Child("port"), port.Port.StrVal, utilvalidation.IsValidPortName(port.Port.StrVal)...)
	}
}

func (f *Findings) peer(peer *networkingv1.NetworkPolicyPeer, at *field.Path) {
	peers := 0
	for name, selector := range inOrder(as("podSelector", peer.PodSelector), as("namespaceSelector", peer.NamespaceSelector)) {
		if selector != nil {
			peers++
			f.selector(at.Child(name), selector)
		}
	}
	if block := peer.IPBlock; block != nil {
		peers++
		here := at.Child("ipBlock")
		if block.CIDR == "" {
			f.Required(here.Child("cidr"), "")
		} else {
			f.cidr(here.Child("cidr"), block.CIDR)
			_, whole, err := net.ParseCIDR(block.CIDR)
			for i, except := range block.Except {
				if err != nil {
					break
				}
				f.cidr(here.Child("except").Index(i), except)
				_, part, err := net.ParseCIDR(except)
				if err != nil {
					continue
				}
				bits, _ := whole.Mask.Size()
				if partBits, _ := part.Mask.Size(); !whole.Contains(part.IP) || bits >= partBits {
					f.invalid(here.Child("except").Index(i), except, "must be a strict subset of `cidr`")
				}
			}
		}
	}
	switch {
	case peers == 0:
		f.Required(at, "must specify a peer")
	case peers > 1 && peer.IPBlock != nil:
		f.forbidden(at, "may not specify both ipBlock and another peer")
	}
}
