package builtin

import (
	"fmt"
	"strings"

	ingressregistry "k8s.io/kubernetes/pkg/registry/networking/ingress"
	ingressclassregistry "k8s.io/kubernetes/pkg/registry/networking/ingressclass"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
)

// NetworkingKinds returns the kinds of the group networking.k8s.io.
func NetworkingKinds() []Kind {
	return []Kind{ingresses(), ingressClasses(), addresses(), networkPolicies(), serviceRanges()}
}

func ingresses() Kind {
	type ingress = networkingv1.Ingress
	return Kind{
		GVK: networkingv1.SchemeGroupVersion.WithKind("Ingress"), Resource: "ingresses", Short: []string{"ing"},
		Namespaced: true,
		Columns: []Column{
			Col("Class", "string", "The name of the IngressClass resource that should be used for additional configuration",
				func(i *ingress) any { return textOr(i.Spec.IngressClassName, "<none>") }),
			Col("Hosts", "string", "Hosts that incoming requests are matched against before the ingress rule",
				func(i *ingress) any { return hostsText(i.Spec.Rules) }),
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
		Rules:  By(ingressregistry.Strategy),
		Status: new(By(ingressregistry.StatusStrategy)),
		Admit: func(cluster Cluster, a admission.Attributes) error {
			i, ok := a.GetObject().(*ingress)
			if !ok || a.GetOperation() != admission.Create || i.Spec.IngressClassName != nil ||
				i.Annotations["kubernetes.io/ingress.class"] != "" {
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

func ingressClasses() Kind {
	type class = networkingv1.IngressClass
	return Kind{
		GVK: networkingv1.SchemeGroupVersion.WithKind("IngressClass"), Resource: "ingressclasses",
		Columns: []Column{
			nameOr(func(c *class) string {
				if isDefaultClass(c) {
					return c.Name + " (default)"
				}
				return c.Name
			}),
			Col("Controller", "string", "Controller that is responsible for handling this class",
				func(c *class) any { return c.Spec.Controller }),
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
		Rules: By(ingressclassregistry.Strategy),
	}
}

// nameOr returns the name column of a kind whose names may have a mark, such as the mark of a default class.
func nameOr[T runtime.Object](text func(object T) string) Column {
	return Column{nameColumn, func(object runtime.Object) any { return text(object.(T)) }}
}
