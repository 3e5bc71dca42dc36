package builtin

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// The server allocates the lowest free address or port for a service. The real server chooses one at random.

var clusterRange, firstAddress = netip.MustParsePrefix("10.0.0.0/24"), netip.MustParseAddr("10.0.0.1")

const firstNodePort, lastNodePort = 30000, 32767

// allocateService sets the values that a service leaves to the server. It runs before validation.
func (cluster Cluster) allocateService(object, existing runtime.Object, dryRun bool) error {
	service := object.(*corev1.Service)
	if existing != nil {
		keepAllocated(service, existing.(*corev1.Service))
	} else if service.Spec.ClusterIP != "" && len(service.Spec.ClusterIPs) == 0 {
		service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
	}
	invalid := func(problems ...*field.Error) error {
		if len(problems) == 0 {
			return nil
		}
		return apierrors.NewInvalid(CoreV1.WithKind("Service").GroupKind(), service.Name, problems)
	}
	at := field.NewPath("spec")
	old, _ := existing.(*corev1.Service)
	if service.Spec.Type != corev1.ServiceTypeExternalName {
		if problems := chooseFamilies(service, old, at); len(problems) > 0 {
			return invalid(problems...)
		}
		if headless(service) && len(service.Spec.Selector) == 0 {
			return nil
		}
	}
	addresses, ports := cluster.allocated(service, old == nil)
	if old == nil || old.Spec.Type == corev1.ServiceTypeExternalName {
		if err := allocateAddress(service, addresses, dryRun, invalid, at); err != nil {
			return err
		}
	}
	return allocatePorts(service, old == nil, dryRun, ports, invalid, at)
}

// chooseFamilies sets the IP families and their policy in a service, or reports why the requested ones are invalid. old
// is nil if the service is created.
func chooseFamilies(service, old *corev1.Service, at *field.Path) field.ErrorList {
	var was *core.Service
	if old != nil {
		was = internalOf(old).(*core.Service)
	}
	problems := corevalidation.ValidateServiceClusterIPsRelatedFields(internalOf(service).(*core.Service), was)
	if len(problems) > 0 {
		return problems
	}
	if problems := familyPolicy(service, old, at); len(problems) > 0 {
		return problems
	}
	if headless(service) && len(service.Spec.Selector) == 0 {
		anyFamily(service)
		return nil
	}
	if problems := onlyFamily(service, at); len(problems) > 0 {
		return problems
	}
	if len(service.Spec.IPFamilies) == 0 {
		service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	return nil
}

// familyPolicy sets the IP family policy of a service if it is unset, and checks that the service has at most the
// number of IP families that the policy allows.
func familyPolicy(service, old *corev1.Service, at *field.Path) (problems field.ErrorList) {
	spec, here := &service.Spec, at.Child("ipFamilyPolicy")
	reject := func(message string) { problems = append(problems, field.Invalid(here, spec.IPFamilyPolicy, message)) }
	switch {
	case spec.IPFamilyPolicy != nil:
	case old != nil && old.Spec.IPFamilyPolicy != nil:
		spec.IPFamilyPolicy = old.Spec.IPFamilyPolicy
	case headless(service) && len(spec.Selector) == 0:
		SetPointer(&spec.IPFamilyPolicy, corev1.IPFamilyPolicyRequireDualStack)
	default:
		SetPointer(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	}
	single := *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
	if old != nil && single {
		if slices.Equal(spec.ClusterIPs, old.Spec.ClusterIPs) && len(spec.ClusterIPs) > 1 {
			spec.ClusterIPs = spec.ClusterIPs[:1]
		}
		if slices.Equal(spec.IPFamilies, old.Spec.IPFamilies) && len(spec.IPFamilies) > 1 {
			spec.IPFamilies = spec.IPFamilies[:1]
		}
	}
	if old != nil && !single {
		if n := len(spec.ClusterIPs); n > 0 && n < len(old.Spec.ClusterIPs) {
			reject("must be 'SingleStack' to release the secondary cluster IP")
		}
		if n := len(spec.IPFamilies); n > 0 && n < len(old.Spec.IPFamilies) {
			reject("must be 'SingleStack' to release the secondary IP family")
		}
	}
	if single && len(spec.ClusterIPs) == 2 {
		reject("must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified")
	}
	if single && len(spec.IPFamilies) == 2 {
		reject("must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified")
	}
	for i, ip := range spec.ClusterIPs {
		switch {
		case ip == corev1.ClusterIPNone:
			return problems
		case i < len(spec.IPFamilies):
		case strings.Contains(ip, ":"):
			problems = append(problems, field.Invalid(at.Child("clusterIPs").Index(i), spec.ClusterIPs,
				"IPv6 is not configured on this cluster"))
		default:
			spec.IPFamilies = append(spec.IPFamilies, corev1.IPv4Protocol)
		}
	}
	return problems
}

// onlyFamily checks that a service requests only the IP family of the cluster.
func onlyFamily(service *corev1.Service, at *field.Path) (problems field.ErrorList) {
	if policy := service.Spec.IPFamilyPolicy; *policy == corev1.IPFamilyPolicyRequireDualStack {
		problems = append(problems, field.Invalid(at.Child("ipFamilyPolicy"), policy,
			"this cluster is not configured for dual-stack services"))
	}
	for i, family := range service.Spec.IPFamilies {
		if family != corev1.IPv4Protocol {
			problems = append(problems, field.Invalid(at.Child("ipFamilies").Index(i), family, "not configured on this cluster"))
		}
	}
	return problems
}

// anyFamily sets the IP families of a service without a selector. They do not depend on the families of the cluster.
func anyFamily(service *corev1.Service) {
	families := &service.Spec.IPFamilies
	if len(*families) == 0 {
		*families = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if *service.Spec.IPFamilyPolicy != corev1.IPFamilyPolicySingleStack && len(*families) == 1 {
		second := corev1.IPv4Protocol
		if (*families)[0] == corev1.IPv4Protocol {
			second = corev1.IPv6Protocol
		}
		*families = append(*families, second)
	}
}

// allocated returns the allocations of all services. For an update, it omits the allocations of the same service. It
// includes them for a creation, because a second service of the same name conflicts with the allocations of the first.
func (cluster Cluster) allocated(service *corev1.Service,
	created bool) (addresses sets.Set[string], ports sets.Set[int32]) {
	addresses, ports = sets.New[string](), sets.New[int32]()
	for _, object := range cluster.ReadAll("", "v1", "services", "") {
		other := object.(*corev1.Service)
		if !created && other.Namespace == service.Namespace && other.Name == service.Name {
			continue
		}
		addresses.Insert(other.Spec.ClusterIPs...)
		ports.Insert(other.Spec.HealthCheckNodePort)
		for _, port := range other.Spec.Ports {
			ports.Insert(port.NodePort)
		}
	}
	return addresses, ports
}

// assignable reports whether a Service may have an address. The first and the last address of the range are the network
// and the broadcast address.
func assignable(address netip.Addr) bool {
	return clusterRange.Contains(address) && clusterRange.Contains(address.Prev()) && clusterRange.Contains(address.Next())
}

// allocateAddress assigns an address to a service, or checks the requested addresses. A dry run does not check whether
// addresses are free.
func allocateAddress(service *corev1.Service, taken sets.Set[string], dryRun bool,
	invalid func(...*field.Error) error, at *field.Path) error {
	if service.Spec.Type == corev1.ServiceTypeExternalName || headless(service) {
		return nil
	}
	if len(service.Spec.ClusterIPs) == 0 && service.Spec.ClusterIP == "" {
		for address := firstAddress; assignable(address); address = address.Next() {
			if !taken.Has(address.String()) {
				service.Spec.ClusterIP, service.Spec.ClusterIPs = address.String(), []string{address.String()}
				return nil
			}
		}
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP: range is full"))
	}
	reject := func(format string, values ...any) error {
		return invalid(field.Invalid(at.Child("clusterIPs"), service.Spec.ClusterIPs, fmt.Sprintf(format, values...)))
	}
	for _, ip := range service.Spec.ClusterIPs {
		address, err := netip.ParseAddr(ip)
		switch {
		case err != nil: // validation reports the error
		case !assignable(address) && dryRun:
			return reject("failed to allocate IP %s: the provided IP (%[1]s) is not in the valid range. "+
				"The range of valid IPs is %s", ip, clusterRange)
		case !assignable(address):
			return reject("failed to allocate IP %s: the provided network does not match the current range", ip)
		case !dryRun && taken.Has(ip):
			return reject("failed to allocate IP %s: provided IP is already allocated", ip)
		}
	}
	return nil
}

// allocatePorts assigns node ports to a service, or checks the requested ports. A dry run does not check whether they
// are in the valid range.
func allocatePorts(service *corev1.Service, created, dryRun bool, taken sets.Set[int32],
	invalid func(...*field.Error) error, at *field.Path) error {
	free := func() int32 {
		for port := int32(firstNodePort); port <= lastNodePort; port++ {
			if !taken.Has(port) {
				taken.Insert(port)
				return port
			}
		}
		return 0
	}
	if needsNodePort(service) {
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			here := at.Child("ports").Index(i).Child("nodePort")
			switch {
			case port.NodePort == 0:
			case !dryRun && (port.NodePort < firstNodePort || port.NodePort > lastNodePort):
				return invalid(field.Invalid(here, port.NodePort,
					"provided port is not in the valid range. The range of valid ports is 30000-32767"))
			case taken.Has(port.NodePort):
				return invalid(field.Invalid(here, port.NodePort, "provided port is already allocated"))
			}
		}
		given := map[corev1.ServicePort]bool{}
		for _, port := range service.Spec.Ports {
			taken.Insert(port.NodePort)
			one := corev1.ServicePort{Protocol: port.Protocol, NodePort: port.NodePort}
			if !created && port.NodePort != 0 && given[one] {
				return fmt.Errorf("duplicate nodePort: {%s %d}", port.Protocol, port.NodePort) // found before validation runs
			}
			given[one] = true
		}
		taken.Insert(service.Spec.HealthCheckNodePort)
		shared := map[int32]int32{} // in a new service, ports with the same number and different protocols share a node port
		for _, port := range service.Spec.Ports {
			if shared[port.Port] == 0 {
				shared[port.Port] = port.NodePort
			}
		}
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			if port.NodePort != 0 {
				continue
			}
			if port.NodePort = shared[port.Port]; !created || port.NodePort == 0 {
				port.NodePort = free()
				shared[port.Port] = port.NodePort
			}
		}
	}
	if needsHealthPort(service) && service.Spec.HealthCheckNodePort == 0 {
		service.Spec.HealthCheckNodePort = free()
	}
	return nil
}

// keepAllocated keeps allocated values that an update leaves unset.
func keepAllocated(service, old *corev1.Service) {
	external := func(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeExternalName }
	if !external(service) && !external(old) {
		Set(&service.Spec.ClusterIP, old.Spec.ClusterIP)
		if len(service.Spec.ClusterIPs) == 0 {
			service.Spec.ClusterIPs = slices.Clone(old.Spec.ClusterIPs)
		}
	}
	if needsNodePort(service) && needsNodePort(old) {
		used, named := sets.New[int32](), map[string]int32{}
		for _, port := range service.Spec.Ports {
			used.Insert(port.NodePort)
		}
		for _, port := range old.Spec.Ports {
			named[port.Name] = port.NodePort
		}
		for i := range service.Spec.Ports {
			if port := &service.Spec.Ports[i]; port.NodePort == 0 && !used.Has(named[port.Name]) {
				port.NodePort = named[port.Name]
			}
		}
	}
	if needsHealthPort(service) && needsHealthPort(old) {
		Set(&service.Spec.HealthCheckNodePort, old.Spec.HealthCheckNodePort)
	}
	if old.Spec.ClusterIP != service.Spec.ClusterIP && slices.Equal(old.Spec.ClusterIPs, service.Spec.ClusterIPs) {
		service.Spec.ClusterIPs = nil
		if service.Spec.ClusterIP != "" {
			service.Spec.ClusterIPs = []string{service.Spec.ClusterIP}
		}
	}
}
