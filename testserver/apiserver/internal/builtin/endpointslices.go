package builtin

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DiscoveryKinds are those of discovery.k8s.io.
func DiscoveryKinds() []Kind {
	type slice = discoveryv1.EndpointSlice
	doc := slice{}.SwaggerDoc()
	return []Kind{{
		GVK: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), Resource: "endpointslices", Namespaced: true,
		Columns: []Column{
			Col("AddressType", "string", doc["addressType"], func(s *slice) any { return string(s.AddressType) }),
			Col("Ports", "string", doc["ports"], func(s *slice) any {
				var list []string
				for _, port := range s.Ports {
					switch {
					case port.Port != nil:
						list = append(list, fmt.Sprint(*port.Port))
					case port.Name != nil:
						list = append(list, *port.Name)
					default:
						list = append(list, "*")
					}
				}
				return cmp.Or(listed(list, 3), "<unset>")
			}),
			Col("Endpoints", "string", doc["endpoints"], func(s *slice) any {
				var list []string
				for _, endpoint := range s.Endpoints {
					list = append(list, endpoint.Addresses...)
				}
				return cmp.Or(listed(list, 3), "<unset>")
			}),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true, Spec: Typed1(sliceSpec),
			Create: Change1(dropTopology),
			Update: Change2(func(s, old *slice) {
				if !equality.Semantic.DeepEqual(sliceSpec(s), sliceSpec(old)) { // what is dropped is a change too
					s.Generation = old.Generation + 1
				}
				if !equality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
					dropTopology(s)
				}
			}),
			Validate: Typed1(validateSlice),
			ValidateUpdate: Typed2(func(s, old *slice) field.ErrorList {
				f := Findings{append(validateSlice(s), ValidateMetadataUpdate(s, old)...)}
				f.unchanged(field.NewPath("addressType"), s.AddressType, old.AddressType)
				return f.List
			}),
			Warnings:       Typed1(endpointSliceWarnings),
			UpdateWarnings: Typed2(endpointAddressWarnings),
		},
	}}
}

func sliceSpec(s *discoveryv1.EndpointSlice) any {
	return []any{s.Labels, s.AddressType, s.Endpoints, s.Ports}
}

// dropTopology drops what the version before v1 had.
func dropTopology(s *discoveryv1.EndpointSlice) {
	for i := range s.Endpoints {
		s.Endpoints[i].DeprecatedTopology = nil
	}
}

func (f *Findings) hints(hints *discoveryv1.EndpointHints, at *field.Path) {
	const most = 8
	if zones := hints.ForZones; len(zones) > most {
		f.Add(field.TooMany(at.Child("forZones"), len(zones), most))
		return
	}
	for i, zone := range hints.ForZones {
		here := at.Child("forZones").Index(i).Child("name")
		if slices.Contains(hints.ForZones[:i], zone) {
			f.Add(field.Duplicate(here, zone.Name))
		}
		f.invalid(here, zone.Name, utilvalidation.IsValidLabelValue(zone.Name)...)
	}
	if nodes := hints.ForNodes; len(nodes) > most {
		f.Add(field.TooMany(at.Child("forNodes"), len(nodes), most))
		return
	}
	for i, node := range hints.ForNodes {
		here := at.Child("forNodes").Index(i).Child("name")
		if slices.Contains(hints.ForNodes[:i], node) {
			f.Add(field.Duplicate(here, node.Name))
		}
		f.subdomain(here, node.Name)
	}
}

func discoveryDefaults() []Defaulter {
	return []Defaulter{DefaultsOf(func(port *discoveryv1.EndpointPort) {
		SetPointer(&port.Name, "")
		SetPointer(&port.Protocol, corev1.ProtocolTCP)
	})}
}

func validateSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	f := Findings{ValidateMetadata(&s.ObjectMeta, true, validation.NameIsDNSSubdomain)}
	if s.AddressType == "" {
		f.Required(field.NewPath("addressType"), "")
	} else {
		oneOf(&f, field.NewPath("addressType"), s.AddressType, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN)
	}
	names := sets.New[string]()
	for i, port := range s.Ports {
		here := field.NewPath("ports").Index(i)
		if *port.Name != "" {
			f.label(here.Child("name"), *port.Name)
		}
		if names.Has(*port.Name) {
			f.Add(field.Duplicate(here.Child("name"), port.Name))
		}
		names.Insert(*port.Name)
		oneOf(&f, here.Child("protocol"), *port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		if port.AppProtocol != nil {
			f.qualified(here.Child("appProtocol"), *port.AppProtocol)
		}
	}
	for i, endpoint := range s.Endpoints {
		here := field.NewPath("endpoints").Index(i)
		addresses := here.Child("addresses")
		if len(endpoint.Addresses) == 0 {
			f.Required(addresses, "")
		} else if len(endpoint.Addresses) > 100 {
			f.Add(field.TooMany(addresses, len(endpoint.Addresses), 100))
		}
		for j, address := range endpoint.Addresses {
			f.sliceAddress(s.AddressType, address, addresses, addresses.Index(j))
		}
		if endpoint.NodeName != nil {
			f.subdomain(here.Child("nodeName"), *endpoint.NodeName)
		}
		if endpoint.Hostname != nil {
			f.label(here.Child("hostname"), *endpoint.Hostname)
		}
		if endpoint.Hints != nil {
			f.hints(endpoint.Hints, here.Child("hints"))
		}
	}
	return f.List
}

func (f *Findings) sliceAddress(kind discoveryv1.AddressType, address string, list, at *field.Path) {
	switch kind {
	case discoveryv1.AddressTypeIPv4:
		if f.ip(at, address) {
			if isIPv6(address) {
				f.invalid(list, address, "must be an IPv4 address")
			}
			f.endpointIP(at, address)
		}
	case discoveryv1.AddressTypeIPv6:
		if found := utilvalidation.IsValidIP(at, address); len(found) > 0 {
			f.Add(found...)
			return
		}
		if !isIPv6(address) {
			f.invalid(list, address, "must be an IPv6 address")
		}
		f.endpointIP(at, address)
	case discoveryv1.AddressTypeFQDN:
		f.Add(utilvalidation.IsFullyQualifiedDomainName(at, address)...)
	}
}
