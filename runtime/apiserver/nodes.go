package apiserver

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
)

func nodes() kind {
	doc := corev1.NodeSystemInfo{}.SwaggerDoc()
	type node = corev1.Node
	info := func(name, field string, value func(n *node) string) column {
		return col(name, "string wide", doc[field], func(n *node) any {
			if text := value(n); text != "" {
				return text
			}
			return "<unknown>"
		})
	}
	address := func(name string, kind corev1.NodeAddressType) column {
		return col(name, "string wide", corev1.NodeStatus{}.SwaggerDoc()["addresses"], func(n *node) any {
			for _, address := range n.Status.Addresses {
				if address.Type == kind {
					return address.Address
				}
			}
			return "<none>"
		})
	}
	return kind{
		gvk: coreV1.WithKind("Node"), resource: "nodes", short: []string{"no"},
		columns: []column{
			col("Status", "string", "The status of the node", func(n *node) any { return nodeText(n) }),
			col("Roles", "string", "The roles of the node", func(n *node) any { return rolesText(n) }),
			sinceColumn,
			col("Version", "string", doc["kubeletVersion"], func(n *node) any { return n.Status.NodeInfo.KubeletVersion }),
			address("Internal-IP", corev1.NodeInternalIP), address("External-IP", corev1.NodeExternalIP),
			info("OS-Image", "osImage", func(n *node) string { return n.Status.NodeInfo.OSImage }),
			col("Kernel-Version", "string wide", doc["kernelVersion"], func(n *node) any {
				text := n.Status.NodeInfo.KernelVersion
				set(&text, "<unknown>")
				if architecture := n.Status.NodeInfo.Architecture; architecture != "" {
					text += " (" + architecture + ")"
				}
				return text
			}),
			info("Container-Runtime", "containerRuntimeVersion", func(n *node) string { return n.Status.NodeInfo.ContainerRuntimeVersion }),
		},
		selectable: []string{"spec.unschedulable"},
		fields: func(object runtime.Object, set fields.Set) {
			set["spec.unschedulable"] = fmt.Sprint(object.(*node).Spec.Unschedulable)
		},
		rules: rules{
			unconditional: true, reset: []string{"status"},
			update:         change2(func(n, old *node) { n.Status = old.Status }),
			validate:       typed1(validateNode),
			validateUpdate: typed2(validateNodeUpdate),
			warnings:       typed1(nodeWarnings),
		},
		status: &rules{
			unconditional: true, reset: []string{"spec"},
			update:         change2(func(n, old *node) { n.Spec = old.Spec }),
			validateUpdate: typed2(validateNodeUpdate),
		},
		parts: []extraPart{{name: "proxy", kind: coreV1.WithKind("NodeProxyOptions"), verbs: proxyVerbs, part: func(*Server, *registry, *kind, family) part { return part{serve: unavailable} }}},
		admit: func(_ *Server, a admission.Attributes) error {
			n, ok := a.GetObject().(*node)
			if ok && a.GetOperation() == admission.Create {
				taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
				if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
					n.Spec.Taints = append(n.Spec.Taints, taint)
				}
			}
			return nil
		},
	}
}

func nodeText(n *corev1.Node) string {
	status := "Unknown"
	for _, condition := range n.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			status = "NotReady"
			if condition.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

func rolesText(n *corev1.Node) string {
	var roles []string
	for _, name := range sortedMap(n.Labels) {
		if role, ok := strings.CutPrefix(name, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if name == "kubernetes.io/role" && n.Labels[name] != "" {
			roles = append(roles, n.Labels[name])
		}
	}
	slices.Sort(roles)
	if len(roles) == 0 {
		return "<none>"
	}
	return strings.Join(roles, ",")
}

func (f *findings) taints(taints []corev1.Taint, at *field.Path) {
	type key struct {
		key    string
		effect corev1.TaintEffect
	}
	known := map[key]bool{}
	for i, taint := range taints {
		here := at.Index(i)
		f.labelName(here.Child("key"), taint.Key)
		if messages := utilvalidation.IsValidLabelValue(taint.Value); len(messages) > 0 {
			f.invalid(here.Child("value"), taint.Value, strings.Join(messages, ";"))
		}
		oneOfOrRequired(f, here.Child("effect"), taint.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
		if known[key{taint.Key, taint.Effect}] {
			problem := field.Duplicate(here, taint)
			problem.Detail = "taints must be unique by key and effect pair"
			f.add(problem)
		}
		known[key{taint.Key, taint.Effect}] = true
	}
}

func (f *findings) nodeResources(n *corev1.Node) {
	for name, list := range map[string]corev1.ResourceList{"capacity": n.Status.Capacity, "allocatable": n.Status.Allocatable} {
		for resource, quantity := range list {
			f.quantity(field.NewPath("status", name, string(resource)), resource, quantity)
		}
	}
}

func validateNode(n *corev1.Node) field.ErrorList {
	f := findings{validateMetadata(&n.ObjectMeta, false, validation.NameIsDNSSubdomain)}
	f.taints(n.Spec.Taints, field.NewPath("metadata", "taints"))
	f.nodeResources(n)
	for i, cidr := range n.Spec.PodCIDRs {
		f.cidr(field.NewPath("spec", "podCIDRs").Index(i), cidr)
	}
	if cidrs := n.Spec.PodCIDRs; len(cidrs) > 2 || len(cidrs) == 2 && isIPv6(cidrs[0]) == isIPv6(cidrs[1]) {
		f.invalid(field.NewPath("spec", "podCIDRs"), cidrs, "may specify no more than one CIDR for each IP family")
	}
	f.declaredFeatures(n.Status.DeclaredFeatures, field.NewPath("status", "declaredFeatures"))
	return f.list
}

var featureName = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*$`)

func (f *findings) declaredFeatures(features []string, at *field.Path) {
	for i, feature := range features {
		switch here := at.Index(i); {
		case len(feature) > utilvalidation.DNS1123SubdomainMaxLength:
			f.invalid(here, feature, fmt.Sprintf("invalid feature name %q: must be no more than %d characters", feature, utilvalidation.DNS1123SubdomainMaxLength))
		case !featureName.MatchString(feature):
			f.invalid(here, feature, fmt.Sprintf("invalid feature name %q: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes", feature))
		}
		switch {
		case i == 0 || features[i-1] < feature:
		case features[i-1] == feature:
			f.add(field.Duplicate(at.Index(i), feature))
		default:
			f.invalid(at.Index(i), feature, "list must be sorted alphabetically")
		}
	}
}

func validateNodeUpdate(n, old *corev1.Node) field.ErrorList {
	f, at := findings{append(validateNode(n), validateMetadataUpdate(n, old)...)}, field.NewPath("spec")
	f.nodeResources(n)
	known := map[corev1.NodeAddress]bool{}
	for i, address := range n.Status.Addresses {
		if known[address] {
			f.add(field.Duplicate(field.NewPath("status", "addresses").Index(i), address))
		}
		known[address] = true
	}
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		f.forbidden(at.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid")
	}
	if was, now := old.Spec.ProviderID, n.Spec.ProviderID; was != "" && was != now {
		message := "field cannot be modified once set"
		if now == "" {
			message = "field cannot be cleared once set"
		}
		f.invalid(at.Child("providerID"), nil, message)
	}
	f.taints(n.Spec.Taints, field.NewPath("metadata", "taints"))
	return f.list
}
