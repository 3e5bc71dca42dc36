package builtin

import (
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

//lint:ignore SA1019 clients still have them
type endpoints = corev1.Endpoints

// Endpoints returns the kind Endpoints.
func Endpoints() Kind {
	return Kind{
		GVK: CoreV1.WithKind("Endpoints"), Resource: "endpoints", Short: []string{"ep"}, Namespaced: true,
		Columns: []Column{
			Col("Endpoints", "string", endpoints{}.SwaggerDoc()["subsets"], func(e *endpoints) any {
				if len(e.Subsets) == 0 {
					return "<none>"
				}
				var list []string
				for _, subset := range e.Subsets {
					for _, port := range subset.Ports {
						for _, address := range subset.Addresses {
							list = append(list, net.JoinHostPort(address.IP, fmt.Sprint(port.Port)))
						}
					}
					if len(subset.Ports) == 0 {
						for _, address := range subset.Addresses {
							list = append(list, address.IP)
						}
					}
				}
				return listed(list, 3)
			}),
			SinceColumn,
		},
		Rules: endpointsRules(),
	}
}

// listed formats a list. It shows at most the given number of elements, and how many more exist.
func listed(list []string, most int) string {
	if len(list) > most {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:most], ","), len(list)-most)
	}
	return strings.Join(list, ",")
}
