package builtin

import (
	"cmp"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// DiscoveryKinds returns the kinds of the group discovery.k8s.io.
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
		Rules: sliceRules(),
	}}
}
