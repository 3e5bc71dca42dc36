package builtin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// Nodes returns the kind Node.
func Nodes() Kind {
	rules, part := nodeRules()
	doc := corev1.NodeSystemInfo{}.SwaggerDoc()
	type node = corev1.Node
	info := func(name, field string, value func(n *node) string) Column {
		return Col(name, "string wide", doc[field], func(n *node) any { return cmp.Or(value(n), "<unknown>") })
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
				text := cmp.Or(n.Status.NodeInfo.KernelVersion, "<unknown>")
				if architecture := n.Status.NodeInfo.Architecture; architecture != "" {
					text += " (" + architecture + ")"
				}
				return text
			}),
			info("Container-Runtime", "containerRuntimeVersion",
				func(n *node) string { return n.Status.NodeInfo.ContainerRuntimeVersion }),
		},
		Fields: func(object runtime.Object, set fields.Set) {
			set["spec.unschedulable"] = fmt.Sprint(object.(*node).Spec.Unschedulable)
		},
		Rules:  rules,
		Status: &part,
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
	return orNone(strings.Join(roles, ","))
}
