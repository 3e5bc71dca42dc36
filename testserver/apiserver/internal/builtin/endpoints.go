package builtin

import (
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

//lint:ignore SA1019 clients still have them
type endpoints = corev1.Endpoints

// Endpoints are the kind of that name.
func Endpoints() Kind {
	return Kind{
		GVK: CoreV1.WithKind("Endpoints"), Resource: "endpoints", Short: []string{"ep"}, Namespaced: true,
		Columns: []Column{
			Col("Endpoints", "string", endpoints{}.SwaggerDoc()["subsets"], func(e *endpoints) any {
				if len(e.Subsets) == 0 {
					return "<none>"
				}
				list, count := []string{}, 0
				for _, subset := range e.Subsets {
					for _, port := range subset.Ports {
						for _, address := range subset.Addresses {
							list, count = append(list, net.JoinHostPort(address.IP, fmt.Sprint(port.Port))), count+1
						}
					}
					if len(subset.Ports) == 0 {
						for _, address := range subset.Addresses {
							list, count = append(list, address.IP), count+1
						}
					}
				}
				return listed(list, 3)
			}),
			SinceColumn,
		},
		Rules: Rules{
			Unconditional: true, Creates: true,
			Validate: Typed1(validateEndpoints),
			ValidateUpdate: Typed2(func(e, old *endpoints) field.ErrorList {
				return append(ValidateMetadataUpdate(e, old), validateEndpoints(e)...)
			}),
			Warnings: Typed1(endpointsWarnings),
		},
	}
}

// listed is a list of which a table shows the first ones.
func listed(list []string, most int) string {
	if len(list) > most {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:most], ","), len(list)-most)
	}
	return strings.Join(list, ",")
}

func validateEndpoints(e *endpoints) field.ErrorList {
	f, at := Findings{ValidateMetadata(&e.ObjectMeta, true, validation.NameIsDNSSubdomain)}, field.NewPath("subsets")
	for i, subset := range e.Subsets {
		here := at.Index(i)
		if len(subset.Addresses)+len(subset.NotReadyAddresses) == 0 {
			f.Required(here, "must specify `addresses` or `notReadyAddresses`")
		}
		for _, lists := range []struct {
			name      string
			addresses []corev1.EndpointAddress
		}{{"addresses", subset.Addresses}, {"notReadyAddresses", subset.NotReadyAddresses}} {
			for j, address := range lists.addresses {
				here := here.Child(lists.name).Index(j)
				f.ip(here.Child("ip"), address.IP)
				if address.Hostname != "" {
					f.label(here.Child("hostname"), address.Hostname)
				}
				if address.NodeName != nil {
					f.subdomain(here.Child("nodeName"), *address.NodeName)
				}
				f.endpointIP(here.Child("ip"), address.IP)
			}
		}
		for j, port := range subset.Ports {
			here := here.Child("ports").Index(j)
			if port.Name != "" {
				f.label(here.Child("name"), port.Name)
			} else if len(subset.Ports) > 1 {
				f.Required(here.Child("name"), "")
			}
			f.port(here.Child("port"), port.Port)
			protocols(&f, here.Child("protocol"), port.Protocol)
			if port.AppProtocol != nil {
				f.qualified(here.Child("appProtocol"), *port.AppProtocol)
			}
		}
	}
	return f.List
}
