package builtin

import (
	"strings"

	ipaddressregistry "k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	servicecidrregistry "k8s.io/kubernetes/pkg/registry/networking/servicecidr"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IPAddresses and ServiceCIDRs are stored as written. The server does not use them to allocate the addresses of
// Services.

func addresses() Kind {
	type address = networkingv1.IPAddress
	return Kind{
		GVK: networkingv1.SchemeGroupVersion.WithKind("IPAddress"), Resource: "ipaddresses", Short: []string{"ip"},
		Columns: []Column{
			Col("ParentRef", "string", networkingv1.IPAddressSpec{}.SwaggerDoc()["parentRef"],
				func(a *address) any { return parentText(a.Spec.ParentRef) }),
			{value: SinceColumn.value}, // upstream omits the column's name
		},
		Rules: By(ipaddressregistry.Strategy),
	}
}

func parentText(parent *networkingv1.ParentReference) string {
	if parent == nil {
		return "<none>"
	}
	text := strings.ToLower(schema.GroupResource{Group: parent.Group, Resource: parent.Resource}.String())
	if parent.Namespace != "" {
		text += "/" + parent.Namespace
	}
	return text + "/" + parent.Name
}

func serviceRanges() Kind {
	type ranges = networkingv1.ServiceCIDR
	return Kind{
		GVK: networkingv1.SchemeGroupVersion.WithKind("ServiceCIDR"), Resource: "servicecidrs",
		Columns: []Column{
			Col("CIDRs", "string", networkingv1.ServiceCIDRSpec{}.SwaggerDoc()["cidrs"],
				func(r *ranges) any { return strings.Join(r.Spec.CIDRs, ",") }),
			SinceColumn,
		},
		Rules:  By(servicecidrregistry.Strategy),
		Status: new(By(servicecidrregistry.StatusStrategy)),
	}
}
