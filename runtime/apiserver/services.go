package apiserver

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func serviceDefaults() []defaulter {
	return []defaulter{defaultsOf(func(service *corev1.Service) {
		spec := &service.Spec
		set(&spec.SessionAffinity, corev1.ServiceAffinityNone)
		switch spec.SessionAffinity {
		case corev1.ServiceAffinityNone:
			spec.SessionAffinityConfig = nil
		case corev1.ServiceAffinityClientIP:
			if config := spec.SessionAffinityConfig; config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
				seconds := corev1.DefaultClientIPServiceAffinitySeconds
				spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
			}
		}
		set(&spec.Type, corev1.ServiceTypeClusterIP)
		for i := range spec.Ports {
			port := &spec.Ports[i]
			set(&port.Protocol, corev1.ProtocolTCP)
			if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
				port.TargetPort = intstr.FromInt32(port.Port)
			}
		}
		if accessible(service) {
			set(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
		}
		if spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeClusterIP {
			setPointer(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
		}
		if spec.Type != corev1.ServiceTypeLoadBalancer {
			return
		}
		setPointer(&spec.AllocateLoadBalancerNodePorts, true)
		for i := range service.Status.LoadBalancer.Ingress {
			if ingress := &service.Status.LoadBalancer.Ingress[i]; ingress.IP != "" {
				setPointer(&ingress.IPMode, corev1.LoadBalancerIPModeVIP)
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

func services() kind {
	doc := corev1.ServiceSpec{}.SwaggerDoc()
	return kind{
		gvk: coreV1.WithKind("Service"), resource: "services", short: []string{"svc"}, categories: []string{"all"}, namespaced: true, returned: true,
		shown: change1(func(s *corev1.Service) {
			if s.Spec.Type == corev1.ServiceTypeExternalName {
				s.Spec.InternalTrafficPolicy = nil // which it was given before it was of this type
			}
		}),
		columns: []column{
			col("Type", "string", doc["type"], func(s *corev1.Service) any { return string(s.Spec.Type) }),
			col("Cluster-IP", "string", doc["clusterIP"], func(s *corev1.Service) any {
				if len(s.Spec.ClusterIPs) == 0 {
					return "<none>"
				}
				return s.Spec.ClusterIPs[0]
			}),
			col("External-IP", "string", doc["externalIPs"], func(s *corev1.Service) any { return externalIP(s) }),
			col("Port(s)", "string", doc["ports"], func(s *corev1.Service) any {
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
			sinceColumn,
			col("Selector", "string wide", doc["selector"], func(s *corev1.Service) any { return labels.FormatLabels(s.Spec.Selector) }),
		},
		selectable: []string{"spec.clusterIP", "spec.type"},
		fields: func(object runtime.Object, set fields.Set) {
			service := object.(*corev1.Service)
			set["spec.clusterIP"], set["spec.type"] = service.Spec.ClusterIP, string(service.Spec.Type)
		},
		rules: rules{
			unconditional: true, creates: true, reset: []string{"status"},
			create: change1(func(s *corev1.Service) { s.Status = corev1.ServiceStatus{} }),
			update: change2(func(s, old *corev1.Service) {
				s.Status = old.Status
				dropOfOtherType(s, old)
			}),
			validate: typed1(func(s *corev1.Service) field.ErrorList {
				return append(validateMetadata(&s.ObjectMeta, true, validation.NameIsDNSLabel), validateService(s, nil)...)
			}),
			validateUpdate: typed2(validateServiceUpdate),
			warnings:       typed1(serviceWarnings),
		},
		status: &rules{
			unconditional: true, creates: true, reset: []string{"spec"},
			update: change2(func(s, old *corev1.Service) { s.Spec = old.Spec }),
			validateUpdate: typed2(func(s, old *corev1.Service) field.ErrorList {
				f, at := findings{validateMetadataUpdate(s, old)}, field.NewPath("status", "loadBalancer", "ingress")
				if s.Spec.Type != corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) > 0 {
					f.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")
					return f.list
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
				return f.list
			}),
			warnings: typed1(func(s *corev1.Service) []string {
				return balancerWarnings(s.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) string { return i.IP })
			}),
		},
		parts:    []extraPart{{name: "proxy", kind: coreV1.WithKind("ServiceProxyOptions"), verbs: proxyVerbs, part: func(*Server, *registry, *kind, family) part { return part{serve: unavailable} }}},
		complete: func(s *Server, r *registry, e *endpoint) { r.allocate = s.allocateService },
	}
}

// hostname checks a name of a load balancer.
func (f *findings) hostname(at *field.Path, name string) {
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
	note(deref(s.Spec.TrafficDistribution) == corev1.ServiceTrafficDistributionPreferClose,
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
		if deref(s.Spec.IPFamilyPolicy) == deref(old.Spec.IPFamilyPolicy) {
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
		if deref(s.Spec.AllocateLoadBalancerNodePorts) == deref(old.Spec.AllocateLoadBalancerNodePorts) {
			s.Spec.AllocateLoadBalancerNodePorts = nil
		}
		if deref(s.Spec.LoadBalancerClass) == deref(old.Spec.LoadBalancerClass) {
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
	f, at := findings{validateMetadataUpdate(s, old)}, field.NewPath("spec")
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
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer && deref(s.Spec.LoadBalancerClass) != deref(old.Spec.LoadBalancerClass) {
		f.invalid(at.Child("loadBalancerClass"), s.Spec.LoadBalancerClass, "may not change once set")
	}
	f.balancerClass(s)
	if needsHealthPort(s) && needsHealthPort(old) && s.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort {
		f.forbidden(at.Child("healthCheckNodePort"), "field is immutable")
	}
	f.add(validateService(s, old)...)
	return f.list
}

func (f *findings) balancerClass(s *corev1.Service) {
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
	var f findings
	spec, at := &s.Spec, field.NewPath("spec")
	external := spec.Type == corev1.ServiceTypeExternalName
	if len(spec.Ports) == 0 && !headless(s) && !external {
		f.required(at.Child("ports"), "")
	}
	switch spec.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if headless(s) {
			f.invalid(at.Child("clusterIPs").Index(0), spec.ClusterIPs[0], fmt.Sprintf("may not be set to 'None' for %s services", spec.Type))
		}
	case corev1.ServiceTypeExternalName:
		for name, set := range map[string]bool{"clusterIPs": len(spec.ClusterIPs) > 0, "ipFamilies": len(spec.IPFamilies) > 0, "ipFamilyPolicy": spec.IPFamilyPolicy != nil} {
			if set {
				f.forbidden(at.Child(name), "may not be set for ExternalName services")
			}
		}
		if name := strings.TrimSuffix(spec.ExternalName, "."); name == "" {
			f.required(at.Child("externalName"), "")
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
	return f.list
}

func (f *findings) trafficPolicies(s *corev1.Service, at *field.Path) {
	spec := &s.Spec
	switch here := at.Child("externalTrafficPolicy"); {
	case !accessible(s) && spec.ExternalTrafficPolicy != "":
		f.invalid(here, spec.ExternalTrafficPolicy, "may only be set for externally-accessible services")
	case accessible(s) && spec.ExternalTrafficPolicy == "":
		f.required(here, "")
	case accessible(s):
		oneOf(f, here, spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	}
	switch here := at.Child("healthCheckNodePort"); {
	case !needsHealthPort(s) && spec.HealthCheckNodePort != 0:
		f.invalid(here, spec.HealthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
	case needsHealthPort(s) && spec.HealthCheckNodePort == 0:
		f.required(here, "")
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

func (f *findings) servicePorts(s *corev1.Service, at *field.Path) {
	names := sets.New[string]()
	for i, port := range s.Spec.Ports {
		here := at.Index(i)
		if port.Name != "" {
			f.label(here.Child("name"), port.Name)
			if names.Has(port.Name) {
				f.add(field.Duplicate(here.Child("name"), port.Name))
			}
			names.Insert(port.Name)
		} else if len(s.Spec.Ports) > 1 {
			f.required(here.Child("name"), "")
		}
		f.port(here.Child("port"), port.Port)
		protocols(f, here.Child("protocol"), port.Protocol)
		f.portOrName(here.Child("targetPort"), port.TargetPort)
		if port.AppProtocol != nil {
			f.qualified(here.Child("appProtocol"), *port.AppProtocol)
		}
	}
}

func (f *findings) uniquePorts(s *corev1.Service, at *field.Path) {
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
			f.add(field.Duplicate(at.Index(i).Child("nodePort"), port.NodePort))
		}
		nodePorts[k] = true
	}
	for i, port := range s.Spec.Ports {
		k := key{port.Protocol, port.Port}
		if ports[k] {
			f.add(field.Duplicate(at.Index(i), corev1.ServicePort{Protocol: port.Protocol, Port: port.Port}))
		}
		ports[k] = true
	}
}

func (f *findings) clusterIPs(s, old *corev1.Service, at *field.Path) {
	spec, here := &s.Spec, at.Child("clusterIPs")
	switch {
	case spec.ClusterIP != "" && len(spec.ClusterIPs) == 0:
		f.required(here, "")
	case spec.ClusterIP != "" && spec.ClusterIPs[0] != spec.ClusterIP:
		f.invalid(here, spec.ClusterIPs, "first value must match `clusterIP`")
	case spec.ClusterIP == "" && len(spec.ClusterIPs) > 0:
		f.invalid(here, spec.ClusterIPs, "must be empty when `clusterIP` is not specified")
	}
	families := sets.New[corev1.IPFamily]()
	for i, family := range spec.IPFamilies {
		oneOf(f, at.Child("ipFamilies").Index(i), family, corev1.IPv4Protocol, corev1.IPv6Protocol)
		if families.Has(family) {
			f.add(field.Duplicate(at.Child("ipFamilies").Index(i), family))
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
func (f *findings) endpointIP(at *field.Path, text string) {
	ip := net.ParseIP(text)
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

// Addresses and ports of services are given out in order, the lowest that no service has: the real server draws them.

var clusterRange, firstAddress = netip.MustParsePrefix("10.0.0.0/24"), netip.MustParseAddr("10.0.0.1")

const firstNodePort, lastNodePort = 30000, 32767

// allocateService fills in what a service does not say itself, before it is validated.
func (s *Server) allocateService(object, existing runtime.Object, dryRun bool) error {
	service := object.(*corev1.Service)
	if existing != nil {
		keepAllocated(service, existing.(*corev1.Service))
	} else if service.Spec.ClusterIP != "" && len(service.Spec.ClusterIPs) == 0 {
		service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
	}
	invalid := func(path *field.Path, value any, message string) error {
		return apierrors.NewInvalid(coreV1.WithKind("Service").GroupKind(), service.Name, field.ErrorList{field.Invalid(path, value, message)})
	}
	at := field.NewPath("spec")
	if service.Spec.Type != corev1.ServiceTypeExternalName {
		var f findings
		old, _ := existing.(*corev1.Service)
		if f.clusterIPs(service, old, at); len(f.list) > 0 {
			return apierrors.NewInvalid(coreV1.WithKind("Service").GroupKind(), service.Name, f.list)
		}
		f.familyPolicy(service, old, at)
		if len(f.list) > 0 {
			return apierrors.NewInvalid(coreV1.WithKind("Service").GroupKind(), service.Name, f.list)
		}
		if headless(service) && len(service.Spec.Selector) == 0 {
			anyFamily(service)
			return nil
		}
		if f.onlyFamily(service, at); len(f.list) > 0 {
			return apierrors.NewInvalid(coreV1.WithKind("Service").GroupKind(), service.Name, f.list)
		}
		if len(service.Spec.IPFamilies) == 0 {
			service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		}
	}
	addresses, ports := s.allocated(service)
	if old, ok := existing.(*corev1.Service); !ok || old.Spec.Type == corev1.ServiceTypeExternalName {
		if err := allocateAddress(service, addresses, dryRun, invalid, at); err != nil {
			return err
		}
	}
	return allocatePorts(service, existing == nil, dryRun, ports, invalid, at)
}

// familyPolicy finds how many families a service is to have, if it does not say it, and checks that it asks for no more.
func (f *findings) familyPolicy(service, old *corev1.Service, at *field.Path) {
	spec, here := &service.Spec, at.Child("ipFamilyPolicy")
	switch {
	case spec.IPFamilyPolicy != nil:
	case old != nil && old.Spec.IPFamilyPolicy != nil:
		spec.IPFamilyPolicy = old.Spec.IPFamilyPolicy
	case headless(service) && len(spec.Selector) == 0:
		setPointer(&spec.IPFamilyPolicy, corev1.IPFamilyPolicyRequireDualStack)
	default:
		setPointer(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	}
	single := *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
	if old != nil && single {
		if slices.Equal(spec.ClusterIPs, old.Spec.ClusterIPs) && len(spec.ClusterIPs) > 1 {
			spec.ClusterIPs = spec.ClusterIPs[:1]
		}
		if slices.Equal(spec.IPFamilies, old.Spec.IPFamilies) && len(spec.IPFamilies) > 1 {
			spec.IPFamilies = spec.IPFamilies[:1]
		}
	}
	if single && len(spec.ClusterIPs) == 2 {
		f.invalid(here, spec.IPFamilyPolicy, "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified")
	}
	if single && len(spec.IPFamilies) == 2 {
		f.invalid(here, spec.IPFamilyPolicy, "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified")
	}
	for i, ip := range spec.ClusterIPs {
		switch {
		case ip == corev1.ClusterIPNone:
			return
		case i < len(spec.IPFamilies):
		case isIPv6(ip):
			f.invalid(at.Child("clusterIPs").Index(i), spec.ClusterIPs, "IPv6 is not configured on this cluster")
		default:
			spec.IPFamilies = append(spec.IPFamilies, corev1.IPv4Protocol)
		}
	}
}

// onlyFamily checks that a service asks for no other family than the one that the cluster has.
func (f *findings) onlyFamily(service *corev1.Service, at *field.Path) {
	if *service.Spec.IPFamilyPolicy == corev1.IPFamilyPolicyRequireDualStack {
		f.invalid(at.Child("ipFamilyPolicy"), service.Spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services")
	}
	for i, family := range service.Spec.IPFamilies {
		if family != corev1.IPv4Protocol {
			f.invalid(at.Child("ipFamilies").Index(i), family, "not configured on this cluster")
		}
	}
}

// anyFamily gives a service without pods of its own both families, whatever the cluster has.
func anyFamily(service *corev1.Service) {
	if *service.Spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack {
		if len(service.Spec.IPFamilies) == 0 {
			service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
		}
		return
	}
	switch {
	case len(service.Spec.IPFamilies) == 0:
		service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	case len(service.Spec.IPFamilies) == 1 && service.Spec.IPFamilies[0] == corev1.IPv4Protocol:
		service.Spec.IPFamilies = append(service.Spec.IPFamilies, corev1.IPv6Protocol)
	case len(service.Spec.IPFamilies) == 1:
		service.Spec.IPFamilies = append(service.Spec.IPFamilies, corev1.IPv4Protocol)
	}
}

// allocated is what all other services have.
func (s *Server) allocated(service *corev1.Service) (addresses sets.Set[string], ports sets.Set[int32]) {
	addresses, ports = sets.New[string](), sets.New[int32]()
	for _, object := range s.readAll("", "v1", "services", "") {
		other := object.(*corev1.Service)
		if other.Namespace == service.Namespace && other.Name == service.Name {
			continue
		}
		addresses.Insert(other.Spec.ClusterIPs...)
		ports.Insert(other.Spec.HealthCheckNodePort)
		for _, port := range other.Spec.Ports {
			ports.Insert(port.NodePort)
		}
	}
	return addresses, ports
}

// allocateAddress gives a service an address, or checks those that it asks for. A dry run takes none, and does not ask whether they are free.
func allocateAddress(service *corev1.Service, taken sets.Set[string], dryRun bool, invalid func(*field.Path, any, string) error, at *field.Path) error {
	if service.Spec.Type == corev1.ServiceTypeExternalName || headless(service) {
		return nil
	}
	if len(service.Spec.ClusterIPs) == 0 && service.Spec.ClusterIP == "" {
		for address := firstAddress.Next(); clusterRange.Contains(address); address = address.Next() {
			if !taken.Has(address.String()) {
				service.Spec.ClusterIP, service.Spec.ClusterIPs = address.String(), []string{address.String()}
				return nil
			}
		}
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP: range is full"))
	}
	for _, ip := range service.Spec.ClusterIPs {
		address, err := netip.ParseAddr(ip)
		switch {
		case err != nil: // validation says so
		case !clusterRange.Contains(address):
			return invalid(at.Child("clusterIPs"), service.Spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %s: the provided IP (%v) is not in the valid range. The range of valid IPs is %s", ip, ip, clusterRange))
		case !dryRun && (taken.Has(ip) || address == firstAddress):
			return invalid(at.Child("clusterIPs"), service.Spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %s: provided IP is already allocated", ip))
		}
	}
	return nil
}

// allocatePorts gives a service ports of nodes, or checks those that it asks for. A dry run does not ask whether there are such ports.
func allocatePorts(service *corev1.Service, created, dryRun bool, taken sets.Set[int32], invalid func(*field.Path, any, string) error, at *field.Path) error {
	free := func() int32 {
		for port := int32(firstNodePort); port <= lastNodePort; port++ {
			if !taken.Has(port) {
				taken.Insert(port)
				return port
			}
		}
		return 0
	}
	if needsNodePort(service) {
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			here := at.Child("ports").Index(i).Child("nodePort")
			switch {
			case port.NodePort == 0:
			case !dryRun && (port.NodePort < firstNodePort || port.NodePort > lastNodePort):
				return invalid(here, port.NodePort, "provided port is not in the valid range. The range of valid ports is 30000-32767")
			case taken.Has(port.NodePort):
				return invalid(here, port.NodePort, "provided port is already allocated")
			}
		}
		given := map[corev1.ServicePort]bool{}
		for _, port := range service.Spec.Ports {
			taken.Insert(port.NodePort)
			one := corev1.ServicePort{Protocol: port.Protocol, NodePort: port.NodePort}
			if !created && port.NodePort != 0 && given[one] {
				return fmt.Errorf("duplicate nodePort: {%s %d}", port.Protocol, port.NodePort) // found before validation does
			}
			given[one] = true
		}
		taken.Insert(service.Spec.HealthCheckNodePort)
		shared := map[int32]int32{} // ports of one number and two protocols get one when they are created
		for _, port := range service.Spec.Ports {
			if shared[port.Port] == 0 {
				shared[port.Port] = port.NodePort
			}
		}
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			if port.NodePort != 0 {
				continue
			}
			if port.NodePort = shared[port.Port]; !created || port.NodePort == 0 {
				port.NodePort = free()
				shared[port.Port] = port.NodePort
			}
		}
	}
	if needsHealthPort(service) && service.Spec.HealthCheckNodePort == 0 {
		service.Spec.HealthCheckNodePort = free()
	}
	return nil
}

// keepAllocated is what an update that does not say it keeps.
func keepAllocated(service, old *corev1.Service) {
	external := func(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeExternalName }
	if !external(service) && !external(old) {
		set(&service.Spec.ClusterIP, old.Spec.ClusterIP)
		if len(service.Spec.ClusterIPs) == 0 {
			service.Spec.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
		}
		if service.Spec.IPFamilyPolicy == nil {
			service.Spec.IPFamilyPolicy = old.Spec.IPFamilyPolicy
		}
		if len(service.Spec.IPFamilies) == 0 {
			service.Spec.IPFamilies = slices.Clone(old.Spec.IPFamilies)
		}
	}
	if needsNodePort(service) && needsNodePort(old) {
		used, named := sets.New[int32](), map[string]int32{}
		for _, port := range service.Spec.Ports {
			used.Insert(port.NodePort)
		}
		for _, port := range old.Spec.Ports {
			named[port.Name] = port.NodePort
		}
		for i := range service.Spec.Ports {
			if port := &service.Spec.Ports[i]; port.NodePort == 0 && !used.Has(named[port.Name]) {
				port.NodePort = named[port.Name]
			}
		}
	}
	if needsHealthPort(service) && needsHealthPort(old) {
		set(&service.Spec.HealthCheckNodePort, old.Spec.HealthCheckNodePort)
	}
	if old.Spec.ClusterIP != service.Spec.ClusterIP && slices.Equal(old.Spec.ClusterIPs, service.Spec.ClusterIPs) {
		service.Spec.ClusterIPs = nil
		if service.Spec.ClusterIP != "" {
			service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
		}
	}
}

// Endpoints.

//lint:ignore SA1019 clients still have them
type endpoints = corev1.Endpoints

func endpointsKind() kind {
	return kind{
		gvk: coreV1.WithKind("Endpoints"), resource: "endpoints", short: []string{"ep"}, namespaced: true,
		columns: []column{
			col("Endpoints", "string", endpoints{}.SwaggerDoc()["subsets"], func(e *endpoints) any {
				if len(e.Subsets) == 0 {
					return "<none>"
				}
				list, count := []string{}, 0
				for _, subset := range e.Subsets {
					for _, port := range subset.Ports {
						for _, address := range subset.Addresses {
							list, count = append(list, net.JoinHostPort(address.IP, fmt.Sprint(port.Port))), count+1
						}
					}
					if len(subset.Ports) == 0 {
						for _, address := range subset.Addresses {
							list, count = append(list, address.IP), count+1
						}
					}
				}
				return listed(list, 3)
			}),
			sinceColumn,
		},
		rules: rules{
			unconditional: true, creates: true,
			validate: typed1(validateEndpoints),
			validateUpdate: typed2(func(e, old *endpoints) field.ErrorList {
				return append(validateMetadataUpdate(e, old), validateEndpoints(e)...)
			}),
			warnings: typed1(endpointsWarnings),
		},
		complete: func(_ *Server, _ *registry, e *endpoint) {
			e.warnings = []string{"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}
		},
	}
}

// listed is a list of which a table shows the first ones.
func listed(list []string, most int) string {
	if len(list) > most {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:most], ","), len(list)-most)
	}
	return strings.Join(list, ",")
}

func validateEndpoints(e *endpoints) field.ErrorList {
	f, at := findings{validateMetadata(&e.ObjectMeta, true, validation.NameIsDNSSubdomain)}, field.NewPath("subsets")
	for i, subset := range e.Subsets {
		here := at.Index(i)
		if len(subset.Addresses)+len(subset.NotReadyAddresses) == 0 {
			f.required(here, "must specify `addresses` or `notReadyAddresses`")
		}
		for _, lists := range []struct {
			name      string
			addresses []corev1.EndpointAddress
		}{{"addresses", subset.Addresses}, {"notReadyAddresses", subset.NotReadyAddresses}} {
			for j, address := range lists.addresses {
				here := here.Child(lists.name).Index(j)
				f.ip(here.Child("ip"), address.IP)
				if address.Hostname != "" {
					f.label(here.Child("hostname"), address.Hostname)
				}
				if address.NodeName != nil {
					f.subdomain(here.Child("nodeName"), *address.NodeName)
				}
				f.endpointIP(here.Child("ip"), address.IP)
			}
		}
		for j, port := range subset.Ports {
			here := here.Child("ports").Index(j)
			if port.Name != "" {
				f.label(here.Child("name"), port.Name)
			} else if len(subset.Ports) > 1 {
				f.required(here.Child("name"), "")
			}
			f.port(here.Child("port"), port.Port)
			protocols(&f, here.Child("protocol"), port.Protocol)
			if port.AppProtocol != nil {
				f.qualified(here.Child("appProtocol"), *port.AppProtocol)
			}
		}
	}
	return f.list
}
