package builtin

import (
	"fmt"
	"net"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
)

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
