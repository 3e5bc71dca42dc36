package builtin

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// IPAddresses and ServiceCIDRs, as their writers left them: the addresses of Services are given out without these.

func addresses() Kind {
	type address = networkingv1.IPAddress
	parent := field.NewPath("spec", "parentRef")
	check := func(a *address) field.ErrorList {
		f := Findings{ValidateMetadata(&a.ObjectMeta, false, func(name string, _ bool) (messages []string) {
			for _, problem := range utilvalidation.IsValidIP(nil, name) {
				messages = append(messages, problem.Detail)
			}
			return messages
		})}
		f.parentReference(a.Spec.ParentRef, parent)
		return f.List
	}
	return Kind{
		GVK: networkingv1.SchemeGroupVersion.WithKind("IPAddress"), Resource: "ipaddresses", Short: []string{"ip"},
		Columns: []Column{
			Col("ParentRef", "string", networkingv1.IPAddressSpec{}.SwaggerDoc()["parentRef"], func(a *address) any { return parentText(a.Spec.ParentRef) }),
			{value: SinceColumn.value}, // which upstream has forgotten to name
		},
		Rules: Rules{
			Unconditional: true, LiteralNames: true,
			Validate: Typed1(check),
			ValidateUpdate: Typed2(func(a, old *address) field.ErrorList {
				f := Findings{append(check(a), ValidateMetadataUpdate(a, old)...)}
				f.unchanged(parent, a.Spec.ParentRef, old.Spec.ParentRef)
				return f.List
			}),
		},
	}
}

func (f *Findings) parentReference(parent *networkingv1.ParentReference, at *field.Path) {
	if parent == nil {
		f.Required(at, "")
		return
	}
	if parent.Group != "" {
		f.invalid(at.Child("group"), parent.Group, utilvalidation.IsDNS1123Subdomain(parent.Group)...)
	}
	f.segment(at.Child("resource"), parent.Resource)
	f.segment(at.Child("name"), parent.Name)
	if parent.Namespace != "" {
		f.segment(at.Child("namespace"), parent.Namespace)
	}
}

// segment checks what is to be a part of a path.
func (f *Findings) segment(at *field.Path, name string) {
	if name == "" {
		f.Required(at, "")
		return
	}
	f.invalid(at, name, content.IsPathSegmentName(name)...)
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
			Col("CIDRs", "string", networkingv1.ServiceCIDRSpec{}.SwaggerDoc()["cidrs"], func(r *ranges) any { return strings.Join(r.Spec.CIDRs, ",") }),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true,
			Reset:         []string{"status"},
			Create:        Change1(func(r *ranges) { r.Status = networkingv1.ServiceCIDRStatus{} }),
			Update:        Change2(func(r, old *ranges) { r.Status = old.Status }),
			Validate: Typed1(func(r *ranges) field.ErrorList {
				f := Findings{ValidateMetadata(&r.ObjectMeta, false, validation.NameIsDNSSubdomain)}
				f.serviceRanges(&r.Spec)
				return f.List
			}),
			ValidateUpdate: Typed2(func(r, old *ranges) field.ErrorList {
				f := Findings{ValidateMetadataUpdate(r, old)}
				f.serviceRangesKept(&r.Spec, &old.Spec)
				return f.List
			}),
		},
		Status: &Rules{
			Unconditional: true,
			Reset:         []string{"metadata", "spec"},
			Update: Change2(func(r, old *ranges) {
				r.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&r.ObjectMeta, &old.ObjectMeta)
			}),
			ValidateUpdate: Typed2(func(r, old *ranges) field.ErrorList { return ValidateMetadataUpdate(r, old) }),
		},
	}
}

var rangesPath = field.NewPath("spec", "cidrs")

// serviceRanges checks that there is a range, and at most one of each family.
func (f *Findings) serviceRanges(spec *networkingv1.ServiceCIDRSpec) {
	switch {
	case len(spec.CIDRs) == 0:
		f.Required(rangesPath, "at least one CIDR required")
		return
	case len(spec.CIDRs) > 2:
		f.invalid(rangesPath, spec, "may only hold up to 2 values")
		return
	}
	for i, one := range spec.CIDRs {
		f.Add(utilvalidation.IsValidCIDR(rangesPath.Index(i), one)...)
	}
	if family := rangeFamily(spec.CIDRs[0]); len(spec.CIDRs) == 2 && family != "" && family == rangeFamily(spec.CIDRs[1]) {
		f.invalid(rangesPath, spec.CIDRs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64")
	}
}

// rangeFamily is that of a range of any form that once was valid, and nothing for what is no range.
func rangeFamily(cidr string) corev1.IPFamily {
	if len(utilvalidation.IsValidCIDRForLegacyField(nil, cidr, false, nil)) > 0 {
		return ""
	}
	if prefix, err := netip.ParsePrefix(cidr); isIPv6(cidr) && (err != nil || !prefix.Addr().Is4In6()) {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// serviceRangesKept checks that ranges stay; a second one may come.
func (f *Findings) serviceRangesKept(spec, old *networkingv1.ServiceCIDRSpec) {
	kept := func(n int) {
		for i := range n {
			if spec.CIDRs[i] != old.CIDRs[i] {
				f.invalid(rangesPath.Index(i), spec.CIDRs[i], validation.FieldImmutableErrorMsg)
			}
		}
	}
	switch {
	case len(old.CIDRs) == len(spec.CIDRs):
		kept(len(old.CIDRs))
	case len(old.CIDRs) == 1 && len(spec.CIDRs) == 2:
		kept(1)
		f.serviceRanges(spec)
	default:
		f.invalid(rangesPath, spec.CIDRs, validation.FieldImmutableErrorMsg)
	}
}
