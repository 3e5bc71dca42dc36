package builtin

import (
	"encoding/json"
	"fmt"
	"net"
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

// Nodes are the kind Node.
func Nodes() Kind {
	doc := corev1.NodeSystemInfo{}.SwaggerDoc()
	type node = corev1.Node
	info := func(name, field string, value func(n *node) string) Column {
		return Col(name, "string wide", doc[field], func(n *node) any {
			if text := value(n); text != "" {
				return text
			}
			return "<unknown>"
		})
	}
	address := func(name string, kind corev1.NodeAddressType) Column {
		return Col(name, "string wide", corev1.NodeStatus{}.SwaggerDoc()["addresses"], func(n *node) any {
			for _, address := range n.Status.Addresses {
				if address.Type == kind {
					return address.Address
				}
			}
			return "<none>"
		})
	}
	return Kind{
		GVK: CoreV1.WithKind("Node"), Resource: "nodes", Short: []string{"no"},
		Columns: []Column{
			Col("Status", "string", "The status of the node", func(n *node) any { return nodeText(n) }),
			Col("Roles", "string", "The roles of the node", func(n *node) any { return rolesText(n) }),
			SinceColumn,
			Col("Version", "string", doc["kubeletVersion"], func(n *node) any { return n.Status.NodeInfo.KubeletVersion }),
			address("Internal-IP", corev1.NodeInternalIP), address("External-IP", corev1.NodeExternalIP),
			info("OS-Image", "osImage", func(n *node) string { return n.Status.NodeInfo.OSImage }),
			Col("Kernel-Version", "string wide", doc["kernelVersion"], func(n *node) any {
				text := n.Status.NodeInfo.KernelVersion
				Set(&text, "<unknown>")
				if architecture := n.Status.NodeInfo.Architecture; architecture != "" {
					text += " (" + architecture + ")"
				}
				return text
			}),
			info("Container-Runtime", "containerRuntimeVersion", func(n *node) string { return n.Status.NodeInfo.ContainerRuntimeVersion }),
		},
		Selectable: []string{"spec.unschedulable"},
		Fields: func(object runtime.Object, set fields.Set) {
			set["spec.unschedulable"] = fmt.Sprint(object.(*node).Spec.Unschedulable)
		},
		Rules: Rules{
			Unconditional: true, Reset: []string{"status"},
			Update:         Change2(func(n, old *node) { n.Status = old.Status }),
			Validate:       Typed1(validateNode),
			ValidateUpdate: Typed2(validateNodeUpdate),
			Warnings:       Typed1(nodeWarnings),
		},
		Status: &Rules{
			Unconditional: true, Reset: []string{"spec"},
			Update:         Change2(func(n, old *node) { n.Spec = old.Spec }),
			ValidateUpdate: Typed2(validateNodeUpdate),
		},
		Admit: func(_ Cluster, a admission.Attributes) error {
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

func (f *Findings) taints(taints []corev1.Taint, at *field.Path) {
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
			f.Add(problem)
		}
		known[key{taint.Key, taint.Effect}] = true
	}
}

func (f *Findings) nodeResources(n *corev1.Node) {
	for name, list := range inOrder(as("capacity", n.Status.Capacity), as("allocatable", n.Status.Allocatable)) {
		for resource, quantity := range list {
			f.quantity(field.NewPath("status", name, string(resource)), resource, quantity)
		}
	}
}

// nodeAnnotations checks what annotations of old say.
func (f *Findings) nodeAnnotations(annotations map[string]string, at *field.Path) {
	const taintsAnnotation = "scheduler.alpha.kubernetes.io/taints"
	if text := annotations[taintsAnnotation]; text != "" {
		var taints []corev1.Taint
		if err := json.Unmarshal([]byte(text), &taints); err != nil {
			f.invalid(at, taintsAnnotation, err.Error())
			taints = nil
		}
		f.taints(taints, at.Child(taintsAnnotation))
	}
	if text := annotations[corev1.PreferAvoidPodsAnnotationKey]; text != "" {
		var avoids corev1.AvoidPods
		if err := json.Unmarshal([]byte(text), &avoids); err != nil {
			f.invalid(at.Child("AvoidPods"), corev1.PreferAvoidPodsAnnotationKey, err.Error())
			return
		}
		for i, avoid := range avoids.PreferAvoidPods {
			here := at.Child(corev1.PreferAvoidPodsAnnotationKey).Index(i).Child("PodSignature")
			if controller := avoid.PodSignature.PodController; controller == nil {
				f.Required(here, "")
			} else if !Deref(controller.Controller) {
				f.invalid(here.Child("PodController", "Controller"), false, "must point to a controller")
			}
		}
	}
}

func validateNode(n *corev1.Node) field.ErrorList {
	f := Findings{ValidateMetadata(&n.ObjectMeta, false, validation.NameIsDNSSubdomain)}
	f.nodeAnnotations(n.Annotations, field.NewPath("metadata", "annotations"))
	f.taints(n.Spec.Taints, field.NewPath("metadata", "taints"))
	f.nodeResources(n)
	if swap := n.Status.NodeInfo.Swap; swap != nil && swap.Capacity != nil && *swap.Capacity <= 0 {
		f.invalid(field.NewPath("metadata", "nodeSwapStatus", "capacity"), *swap.Capacity, "must be greater than zero")
	}
	f.declaredFeatures(n.Status.DeclaredFeatures, field.NewPath("status", "declaredFeatures"))
	for i, cidr := range n.Spec.PodCIDRs {
		f.cidr(field.NewPath("spec", "podCIDRs").Index(i), cidr)
	}
	if len(n.Spec.PodCIDRs) > 1 {
		f.families(n.Spec.PodCIDRs, field.NewPath("spec", "podCIDRs"))
	}
	return f.List
}

// families checks that there is one range of each family.
func (f *Findings) families(cidrs []string, at *field.Path) {
	six := 0
	for _, cidr := range cidrs {
		address, _, err := net.ParseCIDR(cidr)
		if err != nil {
			f.Add(field.InternalError(at, fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err)))
			f.invalid(at, cidrs, "may specify no more than one CIDR for each IP family")
			return
		}
		if address.To4() == nil {
			six++
		}
	}
	if len(cidrs) > 2 || six != 1 {
		f.invalid(at, cidrs, "may specify no more than one CIDR for each IP family")
	}
}

var featureName = regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*$`)

func (f *Findings) declaredFeatures(features []string, at *field.Path) {
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
			f.Add(field.Duplicate(at.Index(i), feature))
		default:
			f.invalid(at.Index(i), feature, "list must be sorted alphabetically")
		}
	}
}

func validateNodeUpdate(n, old *corev1.Node) field.ErrorList {
	f, at := Findings{append(validateNode(n), ValidateMetadataUpdate(n, old)...)}, field.NewPath("spec")
	f.nodeAnnotations(n.Annotations, field.NewPath("metadata", "annotations"))
	f.nodeResources(n)
	f.declaredFeatures(n.Status.DeclaredFeatures, field.NewPath("status", "declaredFeatures"))
	known := map[corev1.NodeAddress]bool{}
	for i, address := range n.Status.Addresses {
		if known[address] {
			f.Add(field.Duplicate(field.NewPath("status", "addresses").Index(i), address))
		}
		known[address] = true
	}
	for i, cidr := range old.Spec.PodCIDRs {
		shorter := len(n.Spec.PodCIDRs) != len(old.Spec.PodCIDRs)
		if shorter || cidr != n.Spec.PodCIDRs[i] {
			f.forbidden(at.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid")
		}
		if shorter {
			break
		}
	}
	if was, now := old.Spec.ProviderID, n.Spec.ProviderID; was != "" && was != now {
		message := "field cannot be modified once set"
		if now == "" {
			message = "field cannot be cleared once set"
		}
		f.invalid(at.Child("providerID"), nil, message)
	}
	f.taints(n.Spec.Taints, field.NewPath("metadata", "taints"))
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		f.forbidden(at.Child("externalID"), "may not be updated")
	}
	return f.List
}
