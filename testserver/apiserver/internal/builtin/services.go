package builtin

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
)

func headless(service *corev1.Service) bool {
	return len(service.Spec.ClusterIPs) == 1 && service.Spec.ClusterIPs[0] == corev1.ClusterIPNone
}

func needsNodePort(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeNodePort ||
		service.Spec.Type == corev1.ServiceTypeLoadBalancer && (service.Spec.AllocateLoadBalancerNodePorts == nil ||
			*service.Spec.AllocateLoadBalancerNodePorts)
}

func needsHealthPort(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// Services returns the kind Service.
func Services() Kind {
	rules, part := serviceRules()
	doc := corev1.ServiceSpec{}.SwaggerDoc()
	return Kind{
		GVK: CoreV1.WithKind("Service"), Resource: "services", Short: []string{"svc"}, Categories: []string{"all"},
		Namespaced: true, Returned: true,
		Shown: func(object runtime.Object) {
			s := object.(*corev1.Service)
			if s.Spec.Type == corev1.ServiceTypeExternalName {
				s.Spec.InternalTrafficPolicy = nil // set while the service had another type
			}
		},
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
				return orNone(strings.Join(ports, ","))
			}),
			SinceColumn,
			Col("Selector", "string wide", doc["selector"],
				func(s *corev1.Service) any { return labels.FormatLabels(s.Spec.Selector) }),
		},
		Fields: func(object runtime.Object, set fields.Set) {
			service := object.(*corev1.Service)
			set["spec.clusterIP"], set["spec.type"] = service.Spec.ClusterIP, string(service.Spec.Type)
		},
		Rules:    rules,
		Status:   &part,
		Allocate: Cluster.allocateService,
	}
}

func externalIP(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return orNone(strings.Join(s.Spec.ExternalIPs, ","))
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
