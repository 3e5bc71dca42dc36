package builtin

import (
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

func serviceDefaults() []Defaulter {
	return []Defaulter{DefaultsOf(func(service *corev1.Service) {
		spec := &service.Spec
		Set(&spec.SessionAffinity, corev1.ServiceAffinityNone)
		switch spec.SessionAffinity {
		case corev1.ServiceAffinityNone:
			spec.SessionAffinityConfig = nil
		case corev1.ServiceAffinityClientIP:
			if config := spec.SessionAffinityConfig; config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
				seconds := corev1.DefaultClientIPServiceAffinitySeconds
				spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
			}
		}
		Set(&spec.Type, corev1.ServiceTypeClusterIP)
		for i := range spec.Ports {
			port := &spec.Ports[i]
			Set(&port.Protocol, corev1.ProtocolTCP)
			if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
				port.TargetPort = intstr.FromInt32(port.Port)
			}
		}
		if accessible(service) {
			Set(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
		}
		if spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeClusterIP {
			SetPointer(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
		}
		if spec.Type != corev1.ServiceTypeLoadBalancer {
			return
		}
		SetPointer(&spec.AllocateLoadBalancerNodePorts, true)
		for i := range service.Status.LoadBalancer.Ingress {
			if ingress := &service.Status.LoadBalancer.Ingress[i]; ingress.IP != "" {
				SetPointer(&ingress.IPMode, corev1.LoadBalancerIPModeVIP)
			}
		}
	})}
}

// accessible reports whether others than pods may reach a service.
func accessible(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer || service.Spec.Type == corev1.ServiceTypeNodePort ||
		service.Spec.Type == corev1.ServiceTypeClusterIP && len(service.Spec.ExternalIPs) > 0
}

func headless(service *corev1.Service) bool {
	return len(service.Spec.ClusterIPs) == 1 && service.Spec.ClusterIPs[0] == corev1.ClusterIPNone
}

func needsNodePort(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeNodePort ||
		service.Spec.Type == corev1.ServiceTypeLoadBalancer && (service.Spec.AllocateLoadBalancerNodePorts == nil || *service.Spec.AllocateLoadBalancerNodePorts)
}

func needsHealthPort(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// Services are the kind Service.
func Services() Kind {
	doc := corev1.ServiceSpec{}.SwaggerDoc()
	return Kind{
		GVK: CoreV1.WithKind("Service"), Resource: "services", Short: []string{"svc"}, Categories: []string{"all"}, Namespaced: true, Returned: true,
		Shown: Change1(func(s *corev1.Service) {
			if s.Spec.Type == corev1.ServiceTypeExternalName {
				s.Spec.InternalTrafficPolicy = nil // which it was given before it was of this type
			}
		}),
		Columns: []Column{
			Col("Type", "string", doc["type"], func(s *corev1.Service) any { return string(s.Spec.Type) }),
			Col("Cluster-IP", "string", doc["clusterIP"], func(s *corev1.Service) any {
				if len(s.Spec.ClusterIPs) == 0 {
					return "<none>"
				}
				return s.Spec.ClusterIPs[0]
			}),
			Col("External-IP", "string", doc["externalIPs"], func(s *corev1.Service) any { return externalIP(s) }),
			Col("Port(s)", "string", doc["ports"], func(s *corev1.Service) any {
				var ports []string
				for _, port := range s.Spec.Ports {
					if port.NodePort > 0 {
						ports = append(ports, fmt.Sprintf("%d:%d/%s", port.Port, port.NodePort, port.Protocol))
					} else {
						ports = append(ports, fmt.Sprintf("%d/%s", port.Port, port.Protocol))
					}
				}
				if len(ports) == 0 {
					return "<none>"
				}
				return strings.Join(ports, ",")
			}),
			SinceColumn,
			Col("Selector", "string wide", doc["selector"], func(s *corev1.Service) any { return labels.FormatLabels(s.Spec.Selector) }),
		},
		Selectable: []string{"spec.clusterIP", "spec.type"},
		Fields: func(object runtime.Object, set fields.Set) {
			service := object.(*corev1.Service)
			set["spec.clusterIP"], set["spec.type"] = service.Spec.ClusterIP, string(service.Spec.Type)
		},
		Rules: Rules{
			Unconditional: true, Creates: true, Reset: []string{"status"},
			Create: Change1(func(s *corev1.Service) { s.Status = corev1.ServiceStatus{} }),
			Update: Change2(func(s, old *corev1.Service) {
				s.Status = old.Status
				dropOfOtherType(s, old)
			}),
			Validate: Typed1(func(s *corev1.Service) field.ErrorList {
				return append(ValidateMetadata(&s.ObjectMeta, true, validation.NameIsDNSLabel), validateService(s, nil)...)
			}),
			ValidateUpdate: Typed2(validateServiceUpdate),
			Warnings:       Typed1(serviceWarnings),
		},
		Status: &Rules{
			Unconditional: true, Creates: true, Reset: []string{"spec"},
			Update: Change2(func(s, old *corev1.Service) { s.Spec = old.Spec }),
			ValidateUpdate: Typed2(func(s, old *corev1.Service) field.ErrorList {
				f, at := Findings{ValidateMetadataUpdate(s, old)}, field.NewPath("status", "loadBalancer", "ingress")
				if s.Spec.Type != corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) > 0 {
					f.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")
					return f.List
				}
				for i, ingress := range s.Status.LoadBalancer.Ingress {
					here := at.Index(i)
					if ingress.IP != "" {
						f.ip(here.Child("ip"), ingress.IP)
					}
					switch {
					case ingress.IPMode != nil && ingress.IP == "":
						f.forbidden(here.Child("ipMode"), "may not be specified when `ip` is not set")
					case ingress.IPMode != nil:
						oneOf(&f, here.Child("ipMode"), *ingress.IPMode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)
					}
					f.hostname(here.Child("hostname"), ingress.Hostname)
				}
				return f.List
			}),
			Warnings: Typed1(func(s *corev1.Service) []string {
				return balancerWarnings(s.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) string { return i.IP })
			}),
		},
		Allocate: Cluster.allocateService,
	}
}

// hostname checks a name of a load balancer.
func (f *Findings) hostname(at *field.Path, name string) {
	if name == "" {
		return
	}
	f.subdomain(at, name)
	if net.ParseIP(name) != nil {
		f.invalid(at, name, "must be a DNS name, not an IP address")
	}
}

func externalIP(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		if len(s.Spec.ExternalIPs) > 0 {
			return strings.Join(s.Spec.ExternalIPs, ",")
		}
		return "<none>"
	case corev1.ServiceTypeLoadBalancer:
		known := sets.New[string]()
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			if ingress.IP != "" {
				known.Insert(ingress.IP)
			} else if ingress.Hostname != "" {
				known.Insert(ingress.Hostname)
			}
		}
		if ips := append(sets.List(known), s.Spec.ExternalIPs...); len(ips) > 0 {
			return strings.Join(ips, ",")
		}
		return "<pending>"
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	}
	return "<unknown>"
}

func serviceWarnings(s *corev1.Service) (warnings []string) {
	note := func(is bool, text string) {
		if is {
			warnings = append(warnings, text)
		}
	}
	at, external := field.NewPath("spec"), len(s.Spec.ExternalIPs) > 0
	_, hints := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	note(hints, fmt.Sprintf("annotation %s is deprecated, please use %s instead", corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode))
	if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone {
		for i, address := range s.Spec.ClusterIPs {
			warnings = append(warnings, utilvalidation.GetWarningsForIP(at.Child("clusterIPs").Index(i), address)...)
		}
	}
	if headless(s) {
		note(s.Spec.LoadBalancerIP != "", "spec.loadBalancerIP is ignored for headless services")
		note(external, "spec.externalIPs is ignored for headless services")
		note(s.Spec.SessionAffinity != corev1.ServiceAffinityNone, "spec.SessionAffinity is ignored for headless services")
	}
	for i, address := range s.Spec.ExternalIPs {
		warnings = append(warnings, utilvalidation.GetWarningsForIP(at.Child("externalIPs").Index(i), address)...)
	}
	named := s.Spec.Type == corev1.ServiceTypeExternalName
	note(external && !headless(s) && !named, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	if s.Spec.LoadBalancerIP != "" {
		warnings = append(warnings, utilvalidation.GetWarningsForIP(at.Child("loadBalancerIP"), s.Spec.LoadBalancerIP)...)
	}
	for i, cidr := range s.Spec.LoadBalancerSourceRanges {
		warnings = append(warnings, utilvalidation.GetWarningsForCIDR(at.Child("loadBalancerSourceRanges").Index(i), cidr)...)
	}
	note(named && external, `spec.externalIPs is ignored when spec.type is "ExternalName"`)
	note(!named && s.Spec.ExternalName != "", `spec.externalName is ignored when spec.type is not "ExternalName"`)
	note(Deref(s.Spec.TrafficDistribution) == corev1.ServiceTrafficDistributionPreferClose,
		fmt.Sprintf("spec.trafficDistribution: %q is deprecated; use %q", corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone))
	return warnings
}

// dropOfOtherType clears what the old type of a service had and the new one has not, when the user has not changed it.
func dropOfOtherType(s, old *corev1.Service) {
	clusterIP := func(s *corev1.Service) bool { return s.Spec.Type != corev1.ServiceTypeExternalName }
	if clusterIP(old) && !clusterIP(s) && s.Spec.ClusterIP == old.Spec.ClusterIP && slices.Equal(s.Spec.ClusterIPs, old.Spec.ClusterIPs) {
		s.Spec.ClusterIP, s.Spec.ClusterIPs = "", nil
	}
	if clusterIP(old) && !clusterIP(s) {
		if Deref(s.Spec.IPFamilyPolicy) == Deref(old.Spec.IPFamilyPolicy) {
			s.Spec.IPFamilyPolicy = nil
		}
		if slices.Equal(s.Spec.IPFamilies, old.Spec.IPFamilies) {
			s.Spec.IPFamilies = nil
		}
	}
	if needsNodePort(old) && !needsNodePort(s) {
		had := sets.New[int32](0)
		for _, port := range old.Spec.Ports {
			had.Insert(port.NodePort)
		}
		if !slices.ContainsFunc(s.Spec.Ports, func(port corev1.ServicePort) bool { return !had.Has(port.NodePort) }) {
			for i := range s.Spec.Ports {
				s.Spec.Ports[i].NodePort = 0
			}
		}
	}
	if needsHealthPort(old) && !needsHealthPort(s) && s.Spec.HealthCheckNodePort == old.Spec.HealthCheckNodePort {
		s.Spec.HealthCheckNodePort = 0
	}
	balanced := func(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeLoadBalancer }
	if balanced(old) && !balanced(s) {
		if Deref(s.Spec.AllocateLoadBalancerNodePorts) == Deref(old.Spec.AllocateLoadBalancerNodePorts) {
			s.Spec.AllocateLoadBalancerNodePorts = nil
		}
		if Deref(s.Spec.LoadBalancerClass) == Deref(old.Spec.LoadBalancerClass) {
			s.Spec.LoadBalancerClass = nil
		}
	}
	if !balanced(s) {
		s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
	if accessible(old) && !accessible(s) && s.Spec.ExternalTrafficPolicy == old.Spec.ExternalTrafficPolicy {
		s.Spec.ExternalTrafficPolicy = ""
	}
}

func validateServiceUpdate(s, old *corev1.Service) field.ErrorList {
	f, at := Findings{ValidateMetadataUpdate(s, old)}, field.NewPath("spec")
	external := s.Spec.Type == corev1.ServiceTypeExternalName || old.Spec.Type == corev1.ServiceTypeExternalName
	if now, was := s.Spec.ClusterIPs, old.Spec.ClusterIPs; !external && !(headless(s) && headless(old)) {
		switch {
		case len(now) == len(was):
			for i := range was {
				if now[i] != was[i] {
					f.invalid(at.Child("clusterIPs").Index(i), now, "may not change once set")
				}
			}
		case len(now) == 0:
			f.invalid(at.Child("clusterIPs").Index(0), now, "primary clusterIP can not be unset")
		case len(was) > 0 && now[0] != was[0]:
			f.invalid(at.Child("clusterIPs").Index(0), now, "may not change once set")
		}
	}
	if now, was := s.Spec.IPFamilies, old.Spec.IPFamilies; !external && !headless(s) && !headless(old) {
		switch {
		case len(now) == len(was):
			for i := range was {
				if now[i] != was[i] {
					f.invalid(at.Child("ipFamilies").Index(0), now, "may not change once set")
				}
			}
		case len(was) > 0 && len(now) > 0 && now[0] != was[0]:
			f.invalid(at.Child("ipFamilies").Index(0), s.Spec.ClusterIPs, "may not change once set")
		}
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer && Deref(s.Spec.LoadBalancerClass) != Deref(old.Spec.LoadBalancerClass) {
		f.invalid(at.Child("loadBalancerClass"), s.Spec.LoadBalancerClass, "may not change once set")
	}
	f.balancerClass(s)
	if needsHealthPort(s) && needsHealthPort(old) && s.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort {
		f.forbidden(at.Child("healthCheckNodePort"), "field is immutable")
	}
	f.Add(validateService(s, old)...)
	return f.List
}

func (f *Findings) balancerClass(s *corev1.Service) {
	at := field.NewPath("spec", "loadBalancerClass")
	switch class := s.Spec.LoadBalancerClass; {
	case class == nil:
	case s.Spec.Type == corev1.ServiceTypeLoadBalancer:
		f.qualified(at, *class)
	default:
		f.forbidden(at, "may only be used when `type` is 'LoadBalancer'")
	}
}

func validateService(s, old *corev1.Service) field.ErrorList {
	var f Findings
	spec, at := &s.Spec, field.NewPath("spec")
	external := spec.Type == corev1.ServiceTypeExternalName
	if len(spec.Ports) == 0 && !headless(s) && !external {
		f.Required(at.Child("ports"), "")
	}
	switch spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if headless(s) {
			f.invalid(at.Child("clusterIPs").Index(0), spec.ClusterIPs[0], fmt.Sprintf("may not be set to 'None' for %s services", spec.Type))
		}
	case corev1.ServiceTypeExternalName:
		for name, set := range inOrder(as("clusterIPs", len(spec.ClusterIPs) > 0), as("ipFamilies", len(spec.IPFamilies) > 0), as("ipFamilyPolicy", spec.IPFamilyPolicy != nil)) {
			if set {
				f.forbidden(at.Child(name), "may not be set for ExternalName services")
			}
		}
		if name := strings.TrimSuffix(spec.ExternalName, "."); name == "" {
			f.Required(at.Child("externalName"), "")
		} else {
			f.subdomain(at.Child("externalName"), name)
		}
	}
	f.servicePorts(s, at.Child("ports"))
	if spec.Selector != nil {
		f.labels(at.Child("selector"), spec.Selector)
	}
	oneOf(&f, at.Child("sessionAffinity"), spec.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		if seconds := spec.SessionAffinityConfig.ClientIP.TimeoutSeconds; *seconds <= 0 || *seconds > 86400 {
			f.invalid(at.Child("sessionAffinityConfig", "clientIP", "timeoutSeconds"), seconds, "must be greater than 0 and less than 86400")
		}
	}
	if !external {
		f.clusterIPs(s, old, at)
	}
	var ips, ranges []string
	if old != nil {
		ips = old.Spec.ExternalIPs
		for _, value := range old.Spec.LoadBalancerSourceRanges {
			ranges = append(ranges, strings.TrimSpace(value))
		}
	}
	for i, ip := range spec.ExternalIPs {
		if here := at.Child("externalIPs").Index(i); f.ip(here, ip, ips...) {
			f.endpointIP(here, ip)
		}
	}
	oneOf(&f, at.Child("type"), spec.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	f.uniquePorts(s, at.Child("ports"))
	if len(spec.LoadBalancerSourceRanges) > 0 {
		here := at.Child("LoadBalancerSourceRanges")
		if spec.Type != corev1.ServiceTypeLoadBalancer {
			f.forbidden(here, "may only be used when `type` is 'LoadBalancer'")
		}
		for i, value := range spec.LoadBalancerSourceRanges {
			f.cidr(here.Index(i), strings.TrimSpace(value), ranges...)
		}
	}
	if spec.AllocateLoadBalancerNodePorts != nil && spec.Type != corev1.ServiceTypeLoadBalancer {
		f.forbidden(at.Child("allocateLoadBalancerNodePorts"), "may only be used when `type` is 'LoadBalancer'")
	}
	f.balancerClass(s)
	f.trafficPolicies(s, at)
	return f.List
}

func (f *Findings) trafficPolicies(s *corev1.Service, at *field.Path) {
	spec := &s.Spec
	switch here := at.Child("externalTrafficPolicy"); {
	case !accessible(s) && spec.ExternalTrafficPolicy != "":
		f.invalid(here, spec.ExternalTrafficPolicy, "may only be set for externally-accessible services")
	case accessible(s) && spec.ExternalTrafficPolicy == "":
		f.Required(here, "")
	case accessible(s):
		oneOf(f, here, spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	}
	switch here := at.Child("healthCheckNodePort"); {
	case !needsHealthPort(s) && spec.HealthCheckNodePort != 0:
		f.invalid(here, spec.HealthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
	case needsHealthPort(s) && spec.HealthCheckNodePort == 0:
		f.Required(here, "")
	case needsHealthPort(s):
		f.port(here, spec.HealthCheckNodePort)
	}
	if spec.InternalTrafficPolicy != nil {
		oneOf(f, at.Child("internalTrafficPolicy"), *spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)
	}
	if spec.TrafficDistribution != nil {
		oneOfListed(f, at.Child("trafficDistribution"), *spec.TrafficDistribution, corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode)
	}
}

func (f *Findings) servicePorts(s *corev1.Service, at *field.Path) {
	names := sets.New[string]()
	for i, port := range s.Spec.Ports {
		here := at.Index(i)
		if port.Name != "" {
			f.label(here.Child("name"), port.Name)
			if names.Has(port.Name) {
				f.Add(field.Duplicate(here.Child("name"), port.Name))
			}
			names.Insert(port.Name)
		} else if len(s.Spec.Ports) > 1 {
			f.Required(here.Child("name"), "")
		}
		f.port(here.Child("port"), port.Port)
		protocols(f, here.Child("protocol"), port.Protocol)
		f.portOrName(here.Child("targetPort"), port.TargetPort)
		if port.AppProtocol != nil {
			f.qualified(here.Child("appProtocol"), *port.AppProtocol)
		}
	}
}

func (f *Findings) uniquePorts(s *corev1.Service, at *field.Path) {
	type key struct {
		protocol corev1.Protocol
		number   int32
	}
	nodePorts, ports := map[key]bool{}, map[key]bool{}
	for i, port := range s.Spec.Ports {
		if s.Spec.Type == corev1.ServiceTypeClusterIP && port.NodePort != 0 {
			f.forbidden(at.Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'")
		}
	}
	for i, port := range s.Spec.Ports {
		k := key{port.Protocol, port.NodePort}
		if port.NodePort != 0 && nodePorts[k] {
			f.Add(field.Duplicate(at.Index(i).Child("nodePort"), port.NodePort))
		}
		nodePorts[k] = true
	}
	for i, port := range s.Spec.Ports {
		k := key{port.Protocol, port.Port}
		if ports[k] {
			f.Add(field.Duplicate(at.Index(i), corev1.ServicePort{Protocol: port.Protocol, Port: port.Port}))
		}
		ports[k] = true
	}
}

func (f *Findings) clusterIPs(s, old *corev1.Service, at *field.Path) {
	spec, here := &s.Spec, at.Child("clusterIPs")
	switch {
	case spec.ClusterIP != "" && len(spec.ClusterIPs) == 0:
		f.Required(here, "")
	case spec.ClusterIP != "" && spec.ClusterIPs[0] != spec.ClusterIP:
		f.invalid(here, spec.ClusterIPs, "first value must match `clusterIP`")
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		f.invalid(here, spec.ClusterIPs, "must be empty when `clusterIP` is not specified")
	}
	families := sets.New[corev1.IPFamily]()
	for i, family := range spec.IPFamilies {
		oneOf(f, at.Child("ipFamilies").Index(i), family, corev1.IPv4Protocol, corev1.IPv6Protocol)
		if families.Has(family) {
			f.Add(field.Duplicate(at.Child("ipFamilies").Index(i), family))
		}
		families.Insert(family)
	}
	if spec.IPFamilyPolicy != nil {
		oneOf(f, at.Child("ipFamilyPolicy"), *spec.IPFamilyPolicy, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)
	}
	var existing []string
	if old != nil {
		existing = old.Spec.ClusterIPs
	}
	valid := true
	for i, ip := range spec.ClusterIPs {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(spec.ClusterIPs) > 1 {
				valid = false
				f.invalid(here, spec.ClusterIPs, "'None' must be the first and only value")
			}
			continue
		}
		valid = f.ip(here.Index(i), ip, existing...) && valid
	}
	if len(spec.ClusterIPs) > 2 {
		f.invalid(here, spec.ClusterIPs, "may only hold up to 2 values")
	}
	if !valid || headless(s) {
		return
	}
	if len(spec.ClusterIPs) == 2 && isIPv6(spec.ClusterIPs[0]) == isIPv6(spec.ClusterIPs[1]) {
		f.invalid(here, spec.ClusterIPs, "may specify no more than one IP for each IP family")
	}
	for i, ip := range spec.ClusterIPs {
		switch {
		case i >= len(spec.IPFamilies):
		case spec.IPFamilies[i] == corev1.IPv4Protocol && isIPv6(ip):
			f.invalid(here.Index(i), ip, fmt.Sprintf("expected an IPv4 value as indicated by `ipFamilies[%v]`", i))
		case spec.IPFamilies[i] == corev1.IPv6Protocol && !isIPv6(ip):
			f.invalid(here.Index(i), ip, fmt.Sprintf("expected an IPv6 value as indicated by `ipFamilies[%v]`", i))
		}
	}
}

func isIPv6(ip string) bool { return strings.Contains(ip, ":") }

// endpointIP checks an address that others send to.
func (f *Findings) endpointIP(at *field.Path, text string) {
	ip := netutils.ParseIPSloppy(text) // which takes leading zeros
	switch {
	case ip == nil:
		f.invalid(at, text, "must be a valid IP address")
	case ip.IsUnspecified():
		f.invalid(at, text, fmt.Sprintf("may not be unspecified (%v)", text))
	case ip.IsLoopback():
		f.invalid(at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	case ip.IsLinkLocalUnicast():
		f.invalid(at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	case ip.IsLinkLocalMulticast():
		f.invalid(at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	}
}
