package builtin

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
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

// Ingresses.

func ingresses() Kind {
	type ingress = networkingv1.Ingress
	return Kind{
		GVK: networkingv1.SchemeGroupVersion.WithKind("Ingress"), Resource: "ingresses", Short: []string{"ing"}, Namespaced: true,
		Columns: []Column{
			Col("Class", "string", "The name of the IngressClass resource that should be used for additional configuration", func(i *ingress) any {
				if i.Spec.IngressClassName == nil {
					return "<none>"
				}
				return *i.Spec.IngressClassName
			}),
			Col("Hosts", "string", "Hosts that incoming requests are matched against before the ingress rule", func(i *ingress) any { return hostsText(i.Spec.Rules) }),
			Col("Address", "string", "Address is a list containing ingress points for the load-balancer", func(i *ingress) any {
				known := sets.New[string]()
				for _, point := range i.Status.LoadBalancer.Ingress {
					if point.IP != "" {
						known.Insert(point.IP)
					} else if point.Hostname != "" {
						known.Insert(point.Hostname)
					}
				}
				return strings.Join(sets.List(known), ",")
			}),
			Col("Ports", "string", "Ports of TLS configurations that open", func(i *ingress) any {
				if len(i.Spec.TLS) > 0 {
					return "80, 443"
				}
				return "80"
			}),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"}, Spec: Typed1(func(i *ingress) any { return i.Spec }),
			Create: Change1(func(i *ingress) { i.Status = networkingv1.IngressStatus{} }),
			Update: Change2(func(i, old *ingress) { i.Status = old.Status }),
			Validate: Typed1(func(i *ingress) field.ErrorList {
				f := Findings{validateIngress(i)}
				if class, ok := i.Annotations["kubernetes.io/ingress.class"]; ok && i.Spec.IngressClassName != nil && class != *i.Spec.IngressClassName {
					f.invalid(field.NewPath("annotations").Child("kubernetes.io/ingress.class"), class, "must match `ingressClassName` when both are specified")
				}
				return f.List
			}),
			ValidateUpdate: Typed2(func(i, old *ingress) field.ErrorList {
				return append(ValidateMetadataUpdate(i, old), validateIngress(i)...)
			}),
			Warnings: Typed1(func(i *ingress) []string {
				if _, ok := i.Annotations["kubernetes.io/ingress.class"]; ok {
					return []string{`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`}
				}
				return nil
			}),
			UpdateWarnings: func(runtime.Object, runtime.Object) []string { return nil },
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update: Change2(func(i, old *ingress) { i.Spec = old.Spec }),
			ValidateUpdate: Typed2(func(i, old *ingress) field.ErrorList {
				f := Findings{ValidateMetadataUpdate(i, old)}
				for n, point := range i.Status.LoadBalancer.Ingress {
					here := field.NewPath("status", "loadBalancer", "ingress").Index(n)
					if point.IP != "" {
						f.ip(here.Child("ip"), point.IP)
					}
					f.hostname(here.Child("hostname"), point.Hostname)
				}
				return f.List
			}),
			Warnings: Typed1(func(i *ingress) []string {
				return balancerWarnings(i.Status.LoadBalancer.Ingress, func(i networkingv1.IngressLoadBalancerIngress) string { return i.IP })
			}),
		},
		Admit: func(cluster Cluster, a admission.Attributes) error {
			i, ok := a.GetObject().(*ingress)
			if !ok || a.GetOperation() != admission.Create || i.Spec.IngressClassName != nil || i.Annotations["kubernetes.io/ingress.class"] != "" {
				return nil
			}
			var usual *networkingv1.IngressClass
			for _, object := range cluster.ReadAll("networking.k8s.io", "v1", "ingressclasses", "") {
				class := object.(*networkingv1.IngressClass)
				if isDefaultClass(class) && (usual == nil || usual.CreationTimestamp.Before(&class.CreationTimestamp)) {
					usual = class
				}
			}
			if usual != nil {
				i.Spec.IngressClassName = &usual.Name
			}
			return nil
		},
	}
}

func isDefaultClass(class *networkingv1.IngressClass) bool {
	return class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
}

func hostsText(rules []networkingv1.IngressRule) string {
	var hosts []string
	more := false
	for _, rule := range rules {
		more = more || len(hosts) == 3
		if rule.Host != "" && !more {
			hosts = append(hosts, rule.Host)
		}
	}
	switch {
	case len(hosts) == 0:
		return "*"
	case more:
		return fmt.Sprintf("%s + %d more...", strings.Join(hosts, ","), len(rules)-3)
	}
	return strings.Join(hosts, ",")
}

func (f *Findings) host(at *field.Path, host string) {
	if strings.Contains(host, "*") {
		f.invalid(at, host, utilvalidation.IsWildcardDNS1123Subdomain(host)...)
		return
	}
	f.subdomain(at, host)
}

func validateIngress(i *networkingv1.Ingress) field.ErrorList {
	f, spec, at := Findings{ValidateMetadata(&i.ObjectMeta, true, validation.NameIsDNSSubdomain)}, &i.Spec, field.NewPath("spec")
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		f.invalid(at, spec.Rules, "either `defaultBackend` or `rules` must be specified")
	}
	if spec.DefaultBackend != nil {
		f.backend(spec.DefaultBackend, at.Child("defaultBackend"))
	}
	for n, rule := range spec.Rules {
		here := at.Child("rules").Index(n)
		if rule.Host != "" {
			if net.ParseIP(rule.Host) != nil {
				f.invalid(here.Child("host"), rule.Host, "must be a DNS name, not an IP address")
			}
			f.host(here.Child("host"), rule.Host)
		}
		if rule.HTTP == nil {
			continue
		}
		if len(rule.HTTP.Paths) == 0 {
			f.Required(here.Child("http", "paths"), "")
		}
		for m := range rule.HTTP.Paths {
			f.ingressPath(&rule.HTTP.Paths[m], here.Child("http", "paths").Index(m))
		}
	}
	for n, secret := range spec.TLS {
		here := at.Child("tls").Index(n)
		for m, host := range secret.Hosts {
			f.host(here.Child("hosts").Index(m), host)
		}
		if secret.SecretName != "" {
			f.subdomain(here.Child("secretName"), secret.SecretName)
		}
	}
	if spec.IngressClassName != nil {
		f.subdomain(at.Child("ingressClassName"), *spec.IngressClassName)
	}
	return f.List
}

func (f *Findings) ingressPath(path *networkingv1.HTTPIngressPath, at *field.Path) {
	if path.PathType == nil {
		f.Required(at.Child("pathType"), "pathType must be specified")
		return
	}
	here := at.Child("path")
	switch *path.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if !strings.HasPrefix(path.Path, "/") {
			f.invalid(here, path.Path, "must be an absolute path")
		}
		for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(path.Path, part) {
				f.invalid(here, path.Path, fmt.Sprintf("must not contain '%s'", part))
			}
		}
		for _, end := range []string{"/..", "/."} {
			if strings.HasSuffix(path.Path, end) {
				f.invalid(here, path.Path, fmt.Sprintf("cannot end with '%s'", end))
			}
		}
	case networkingv1.PathTypeImplementationSpecific:
		if path.Path != "" && !strings.HasPrefix(path.Path, "/") {
			f.invalid(here, path.Path, "must be an absolute path")
		}
	default:
		oneOf(f, at.Child("pathType"), *path.PathType, networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific)
	}
	f.backend(&path.Backend, at.Child("backend"))
}

func (f *Findings) backend(backend *networkingv1.IngressBackend, at *field.Path) {
	switch {
	case backend.Resource != nil && backend.Service != nil:
		f.invalid(at, "", "cannot set both resource and service backends")
	case backend.Resource != nil:
		f.reference(backend.Resource.APIGroup, backend.Resource.Kind, backend.Resource.Name, at.Child("resource"))
	case backend.Service == nil:
		f.invalid(at, "", "resource or service backend is required")
	default:
		service := backend.Service
		if service.Name == "" {
			f.Required(at.Child("service", "name"), "")
		} else {
			f.label(at.Child("service", "name"), service.Name)
		}
		switch {
		case service.Port.Name != "" && service.Port.Number != 0:
			f.invalid(at, "", "cannot set both port name & port number")
		case service.Port.Name != "":
			f.invalid(at.Child("service", "port", "name"), service.Port.Name, utilvalidation.IsValidPortName(service.Port.Name)...)
		case service.Port.Number != 0:
			f.port(at.Child("service", "port", "number"), service.Port.Number)
		default:
			f.Required(at, "port name or number is required")
		}
	}
}

// reference checks the name of an object of some group and kind.
func (f *Findings) reference(group *string, kind, name string, at *field.Path) {
	if group != nil {
		f.subdomain(at.Child("apiGroup"), *group)
	}
	for _, part := range []struct{ name, value string }{{"kind", kind}, {"name", name}} {
		if part.value == "" {
			f.Required(at.Child(part.name), "")
			continue
		}
		f.invalid(at.Child(part.name), part.value, content.IsPathSegmentName(part.value)...)
	}
}

func ingressClasses() Kind {
	type class = networkingv1.IngressClass
	check := func(c *class) field.ErrorList {
		f, at := Findings{ValidateMetadata(&c.ObjectMeta, false, validation.NameIsDNSSubdomain)}, field.NewPath("spec")
		if len(c.Spec.Controller) > 250 {
			f.Add(field.TooLong(at.Child("controller"), "", 250))
		}
		f.Add(utilvalidation.IsDomainPrefixedPath(at.Child("controller"), c.Spec.Controller)...)
		parameters, here := c.Spec.Parameters, at.Child("parameters")
		if parameters == nil {
			return f.List
		}
		f.reference(parameters.APIGroup, parameters.Kind, parameters.Name, here)
		switch Deref(parameters.Scope) {
		case networkingv1.IngressClassParametersReferenceScopeNamespace:
			if parameters.Namespace == nil {
				f.Required(here.Child("namespace"), "`parameters.scope` is set to 'Namespace'")
			} else {
				f.label(here.Child("namespace"), *parameters.Namespace)
			}
		case networkingv1.IngressClassParametersReferenceScopeCluster:
			if parameters.Namespace != nil {
				f.forbidden(here.Child("namespace"), "`parameters.scope` is set to 'Cluster'")
			}
		default:
			oneOf(&f, here.Child("scope"), *parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster, networkingv1.IngressClassParametersReferenceScopeNamespace)
		}
		return f.List
	}
	return Kind{
		GVK: networkingv1.SchemeGroupVersion.WithKind("IngressClass"), Resource: "ingressclasses",
		Columns: []Column{
			nameOr(func(c *class) string {
				if isDefaultClass(c) {
					return c.Name + " (default)"
				}
				return c.Name
			}),
			Col("Controller", "string", "Controller that is responsible for handling this class", func(c *class) any { return c.Spec.Controller }),
			Col("Parameters", "string", "A reference to a resource with additional parameters", func(c *class) any {
				parameters := c.Spec.Parameters
				if parameters == nil {
					return "<none>"
				}
				text := parameters.Kind
				if parameters.APIGroup != nil {
					text += "." + *parameters.APIGroup
				}
				return text + "/" + parameters.Name
			}),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true, Spec: Typed1(func(c *class) any { return c.Spec }),
			Validate: Typed1(check),
			ValidateUpdate: Typed2(func(c, old *class) field.ErrorList {
				f := Findings{ValidateMetadataUpdate(c, old)}
				f.immutable(field.NewPath("spec", "controller"), c.Spec.Controller, old.Spec.Controller)
				f.Add(check(c)...)
				return f.List
			}),
		},
	}
}

// nameOr is the column of names, of a kind whose names have marks.
func nameOr[T runtime.Object](text func(object T) string) Column {
	return Column{nameColumn, func(object runtime.Object) any { return text(object.(T)) }}
}

// Policies.

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

// Slices of endpoints.

// DiscoveryKinds are those of discovery.k8s.io.
func DiscoveryKinds() []Kind {
	type slice = discoveryv1.EndpointSlice
	doc := slice{}.SwaggerDoc()
	return []Kind{{
		GVK: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), Resource: "endpointslices", Namespaced: true,
		Columns: []Column{
			Col("AddressType", "string", doc["addressType"], func(s *slice) any { return string(s.AddressType) }),
			Col("Ports", "string", doc["ports"], func(s *slice) any {
				var list []string
				for _, port := range s.Ports {
					switch {
					case port.Port != nil:
						list = append(list, fmt.Sprint(*port.Port))
					case port.Name != nil:
						list = append(list, *port.Name)
					default:
						list = append(list, "*")
					}
				}
				return cmp.Or(listed(list, 3), "<unset>")
			}),
			Col("Endpoints", "string", doc["endpoints"], func(s *slice) any {
				var list []string
				for _, endpoint := range s.Endpoints {
					list = append(list, endpoint.Addresses...)
				}
				return cmp.Or(listed(list, 3), "<unset>")
			}),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true, Spec: Typed1(sliceSpec),
			Create: Change1(dropTopology),
			Update: Change2(func(s, old *slice) {
				if !equality.Semantic.DeepEqual(sliceSpec(s), sliceSpec(old)) { // what is dropped is a change too
					s.Generation = old.Generation + 1
				}
				if !equality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
					dropTopology(s)
				}
			}),
			Validate: Typed1(validateSlice),
			ValidateUpdate: Typed2(func(s, old *slice) field.ErrorList {
				f := Findings{append(validateSlice(s), ValidateMetadataUpdate(s, old)...)}
				f.unchanged(field.NewPath("addressType"), s.AddressType, old.AddressType)
				return f.List
			}),
			Warnings:       Typed1(endpointSliceWarnings),
			UpdateWarnings: Typed2(endpointAddressWarnings),
		},
	}}
}

func sliceSpec(s *discoveryv1.EndpointSlice) any {
	return []any{s.Labels, s.AddressType, s.Endpoints, s.Ports}
}

// dropTopology drops what the version before v1 had.
func dropTopology(s *discoveryv1.EndpointSlice) {
	for i := range s.Endpoints {
		s.Endpoints[i].DeprecatedTopology = nil
	}
}

func (f *Findings) hints(hints *discoveryv1.EndpointHints, at *field.Path) {
	const most = 8
	if zones := hints.ForZones; len(zones) > most {
		f.Add(field.TooMany(at.Child("forZones"), len(zones), most))
		return
	}
	for i, zone := range hints.ForZones {
		here := at.Child("forZones").Index(i).Child("name")
		if slices.Contains(hints.ForZones[:i], zone) {
			f.Add(field.Duplicate(here, zone.Name))
		}
		f.invalid(here, zone.Name, utilvalidation.IsValidLabelValue(zone.Name)...)
	}
	if nodes := hints.ForNodes; len(nodes) > most {
		f.Add(field.TooMany(at.Child("forNodes"), len(nodes), most))
		return
	}
	for i, node := range hints.ForNodes {
		here := at.Child("forNodes").Index(i).Child("name")
		if slices.Contains(hints.ForNodes[:i], node) {
			f.Add(field.Duplicate(here, node.Name))
		}
		f.subdomain(here, node.Name)
	}
}

func discoveryDefaults() []Defaulter {
	return []Defaulter{DefaultsOf(func(port *discoveryv1.EndpointPort) {
		SetPointer(&port.Name, "")
		SetPointer(&port.Protocol, corev1.ProtocolTCP)
	})}
}

func validateSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	f := Findings{ValidateMetadata(&s.ObjectMeta, true, validation.NameIsDNSSubdomain)}
	if s.AddressType == "" {
		f.Required(field.NewPath("addressType"), "")
	} else {
		oneOf(&f, field.NewPath("addressType"), s.AddressType, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN)
	}
	names := sets.New[string]()
	for i, port := range s.Ports {
		here := field.NewPath("ports").Index(i)
		if *port.Name != "" {
			f.label(here.Child("name"), *port.Name)
		}
		if names.Has(*port.Name) {
			f.Add(field.Duplicate(here.Child("name"), port.Name))
		}
		names.Insert(*port.Name)
		oneOf(&f, here.Child("protocol"), *port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		if port.AppProtocol != nil {
			f.qualified(here.Child("appProtocol"), *port.AppProtocol)
		}
	}
	for i, endpoint := range s.Endpoints {
		here := field.NewPath("endpoints").Index(i)
		addresses := here.Child("addresses")
		if len(endpoint.Addresses) == 0 {
			f.Required(addresses, "")
		} else if len(endpoint.Addresses) > 100 {
			f.Add(field.TooMany(addresses, len(endpoint.Addresses), 100))
		}
		for j, address := range endpoint.Addresses {
			f.sliceAddress(s.AddressType, address, addresses, addresses.Index(j))
		}
		if endpoint.NodeName != nil {
			f.subdomain(here.Child("nodeName"), *endpoint.NodeName)
		}
		if endpoint.Hostname != nil {
			f.label(here.Child("hostname"), *endpoint.Hostname)
		}
		if endpoint.Hints != nil {
			f.hints(endpoint.Hints, here.Child("hints"))
		}
	}
	return f.List
}

func (f *Findings) sliceAddress(kind discoveryv1.AddressType, address string, list, at *field.Path) {
	switch kind {
	case discoveryv1.AddressTypeIPv4:
		if f.ip(at, address) {
			if isIPv6(address) {
				f.invalid(list, address, "must be an IPv4 address")
			}
			f.endpointIP(at, address)
		}
	case discoveryv1.AddressTypeIPv6:
		if found := utilvalidation.IsValidIP(at, address); len(found) > 0 {
			f.Add(found...)
			return
		}
		if !isIPv6(address) {
			f.invalid(list, address, "must be an IPv6 address")
		}
		f.endpointIP(at, address)
	case discoveryv1.AddressTypeFQDN:
		f.Add(utilvalidation.IsFullyQualifiedDomainName(at, address)...)
	}
}
