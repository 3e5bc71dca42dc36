package builtin

// NetworkingKinds returns the kinds of the group networking.k8s.io.
func NetworkingKinds() []Kind {
	return []Kind{ingresses(), ingressClasses(), addresses(), networkPolicies(), serviceRanges()}
}
