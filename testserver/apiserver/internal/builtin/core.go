package builtin

import (
	"context"
	"crypto/tls"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	pvutil "k8s.io/kubernetes/pkg/api/persistentvolume"
	pvcutil "k8s.io/kubernetes/pkg/api/persistentvolumeclaim"
	serviceutil "k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/certificates"
	certificatesvalidation "k8s.io/kubernetes/pkg/apis/certificates/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/discovery"
	discoveryvalidation "k8s.io/kubernetes/pkg/apis/discovery/validation"
	volumevalidation "k8s.io/kubernetes/pkg/volume/validation"
)

// This file contains rules on internal types for kinds whose upstream strategies have too many dependencies (see Own).

// without adapts a check that does not need a context.
func without[T any](check func(object T) field.ErrorList) func(context.Context, T) field.ErrorList {
	return func(_ context.Context, object T) field.ErrorList { return check(object) }
}

// without2 adapts a check of updates that does not need a context.
func without2[T any](check func(object, old T) field.ErrorList) func(_ context.Context, object, old T) field.ErrorList {
	return func(_ context.Context, object, old T) field.ErrorList { return check(object, old) }
}

func configMapRules() Rules {
	return Own[*core.ConfigMap]{
		Validate:       without(corevalidation.ValidateConfigMap),
		ValidateUpdate: without2(corevalidation.ValidateConfigMapUpdate),
	}.Rules()
}

func secretRules() Rules {
	return Own[*core.Secret]{
		Update:         func(_ context.Context, s, old *core.Secret) { Set(&s.Type, old.Type) },
		Validate:       without(corevalidation.ValidateSecret),
		ValidateUpdate: without2(corevalidation.ValidateSecretUpdate),
		Warnings: func(_ context.Context, s, _ *core.Secret) []string {
			if s.Type != core.SecretTypeTLS {
				return nil
			}
			if _, err := tls.X509KeyPair(s.Data[core.TLSCertKey], s.Data[core.TLSPrivateKeyKey]); err != nil {
				return []string{err.Error()}
			}
			return nil
		},
	}.Rules()
}

// AccountRules returns the rules of service accounts.
func AccountRules() Rules {
	const mountable = "kubernetes.io/enforce-mountable-secrets"
	namesOnly := func(_ context.Context, a, _ *core.ServiceAccount) {
		for i, secret := range a.Secrets {
			a.Secrets[i] = core.ObjectReference{Name: secret.Name}
		}
	}
	return Own[*core.ServiceAccount]{
		Create:         func(ctx context.Context, a *core.ServiceAccount) { namesOnly(ctx, a, nil) },
		Update:         namesOnly,
		Validate:       without(corevalidation.ValidateServiceAccount),
		ValidateUpdate: without2(corevalidation.ValidateServiceAccountUpdate),
		Warnings: func(_ context.Context, a, old *core.ServiceAccount) []string {
			if old != nil {
				if _, there := old.Annotations[mountable]; there {
					return nil
				}
			}
			if _, there := a.Annotations[mountable]; there {
				return []string{"metadata.annotations[" + mountable + "]: deprecated in v1.32+; " +
					"prefer separate namespaces to isolate access to mounted secrets"}
			}
			return nil
		},
	}.Rules()
}

// NamespaceRules returns the rules of namespaces, of their status, and of the subresource that finalizes them.
func NamespaceRules() (rules, status, finalize Rules) {
	rules = Own[*core.Namespace]{
		Cluster: true, Reset: []string{"status"},
		Create: func(_ context.Context, n *core.Namespace) {
			n.Status = core.NamespaceStatus{Phase: core.NamespaceActive}
			if !slices.Contains(n.Spec.Finalizers, core.FinalizerKubernetes) {
				n.Spec.Finalizers = append(n.Spec.Finalizers, core.FinalizerKubernetes)
			}
		},
		Update: func(_ context.Context, n, old *core.Namespace) {
			n.Spec.Finalizers, n.Status = old.Spec.Finalizers, old.Status
		},
		Canonicalize: func(n *core.Namespace) {
			n.Labels = orMake(n.Labels)
			n.Labels["kubernetes.io/metadata.name"] = n.Name
		},
		Validate: without(corevalidation.ValidateNamespace),
		ValidateUpdate: func(_ context.Context, n, old *core.Namespace) field.ErrorList {
			return append(corevalidation.ValidateNamespace(n), corevalidation.ValidateNamespaceUpdate(n, old)...)
		},
	}.Rules()
	status = Own[*core.Namespace]{
		Cluster: true, Reset: []string{"spec"},
		Update:         func(_ context.Context, n, old *core.Namespace) { n.Spec = old.Spec },
		ValidateUpdate: without2(corevalidation.ValidateNamespaceStatusUpdate),
	}.Rules()
	finalize = Own[*core.Namespace]{
		Cluster: true, Reset: []string{"status"},
		Update:         func(_ context.Context, n, old *core.Namespace) { n.Status = old.Status },
		ValidateUpdate: without2(corevalidation.ValidateNamespaceFinalizeUpdate),
	}.Rules()
	return rules, status, finalize
}

// ipWarnings returns the warnings for the addresses in a list, each with its path.
func ipWarnings[T any](list []T, at *field.Path, name string, ip func(item T) string) (warnings []string) {
	for i, item := range list {
		if text := ip(item); text != "" {
			here := at.Index(i)
			if name != "" {
				here = here.Child(name)
			}
			warnings = append(warnings, utilvalidation.GetWarningsForIP(here, text)...)
		}
	}
	return warnings
}

func endpointsRules() Rules {
	return Own[*core.Endpoints]{
		Creates: true, Validate: without(corevalidation.ValidateEndpointsCreate),
		ValidateUpdate: without2(corevalidation.ValidateEndpointsUpdate),
		Warnings: func(_ context.Context, e, _ *core.Endpoints) (warnings []string) {
			if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
				return nil
			}
			ip := func(a core.EndpointAddress) string { return a.IP }
			for i, subset := range e.Subsets {
				at := field.NewPath("subsets").Index(i)
				warnings = append(warnings, ipWarnings(subset.Addresses, at.Child("addresses"), "ip", ip)...)
				warnings = append(warnings, ipWarnings(subset.NotReadyAddresses, at.Child("notReadyAddresses"), "ip", ip)...)
			}
			return warnings
		},
	}.Rules()
}

func sliceRules() Rules {
	ips := func(s *discovery.EndpointSlice) (warnings []string) {
		by := s.Labels["endpointslice.kubernetes.io/managed-by"]
		if by == "endpointslice-controller.k8s.io" || by == "endpointslicemirroring-controller.k8s.io" {
			return nil
		}
		for i, endpoint := range s.Endpoints {
			at := field.NewPath("endpoints").Index(i).Child("addresses")
			warnings = append(warnings, ipWarnings(endpoint.Addresses, at, "", func(ip string) string { return ip })...)
		}
		return warnings
	}
	return Own[*discovery.EndpointSlice]{
		Spec: func(s *discovery.EndpointSlice) any {
			all := *s
			all.ObjectMeta = metav1.ObjectMeta{Labels: s.Labels}
			return all
		},
		Create:         func(_ context.Context, s *discovery.EndpointSlice) { dropTopology(s, nil) },
		Update:         func(_ context.Context, s, old *discovery.EndpointSlice) { dropTopology(s, old) },
		Validate:       without(discoveryvalidation.ValidateEndpointSliceCreate),
		ValidateUpdate: without2(discoveryvalidation.ValidateEndpointSliceUpdate),
		Warnings: func(_ context.Context, s, old *discovery.EndpointSlice) []string {
			if old == nil && s.AddressType == discovery.AddressTypeFQDN {
				return append([]string{"spec.addressType: FQDN endpoints are deprecated"}, ips(s)...)
			}
			return ips(s)
		},
	}.Rules()
}

// dropTopology removes the deprecated topology from changed endpoints, because only old versions could set it. It keeps
// the node name.
func dropTopology(s, old *discovery.EndpointSlice) {
	const host = "kubernetes.io/hostname"
	known := map[string]bool{}
	if old != nil {
		if equality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
			return
		}
		for _, endpoint := range old.Endpoints {
			known[endpoint.DeprecatedTopology[host]] = true
		}
	}
	for i := range s.Endpoints {
		endpoint := &s.Endpoints[i]
		name := endpoint.DeprecatedTopology[host]
		if endpoint.NodeName == nil && name != "" && known[name] && len(corevalidation.ValidateNodeName(name, false)) == 0 {
			endpoint.NodeName = &name
		}
		endpoint.DeprecatedTopology = nil
	}
}

func eventRules() Rules {
	version := func(ctx context.Context) schema.GroupVersion {
		info, _ := request.RequestInfoFrom(ctx)
		return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	}
	return Own[*core.Event]{
		Creates: true, Policy: rest.Unsupported,
		Validate: func(ctx context.Context, e *core.Event) field.ErrorList {
			return corevalidation.ValidateEventCreate(e, version(ctx))
		},
		ValidateUpdate: func(ctx context.Context, e, old *core.Event) field.ErrorList {
			return corevalidation.ValidateEventUpdate(e, old, version(ctx))
		},
	}.Rules()
}

func volumeRules() (rules, status Rules) {
	check := func(v, old *core.PersistentVolume) field.ErrorList {
		problems := corevalidation.ValidatePersistentVolume(v, corevalidation.ValidationOptionsForPersistentVolume(v, old))
		return append(problems, volumevalidation.ValidatePersistentVolume(v)...)
	}
	rules = Own[*core.PersistentVolume]{
		Cluster: true, Reset: []string{"status"},
		Create: func(_ context.Context, v *core.PersistentVolume) {
			pvutil.DropDisabledSpecFields(&v.Spec, nil)
			v.Status = core.PersistentVolumeStatus{Phase: core.VolumePending, LastPhaseTransitionTime: new(metav1.Now())}
		},
		Update: func(_ context.Context, v, old *core.PersistentVolume) {
			v.Status = old.Status
			pvutil.DropDisabledSpecFields(&v.Spec, &old.Spec)
		},
		Validate: func(_ context.Context, v *core.PersistentVolume) field.ErrorList { return check(v, nil) },
		ValidateUpdate: func(_ context.Context, v, old *core.PersistentVolume) field.ErrorList {
			options := corevalidation.ValidationOptionsForPersistentVolume(v, old)
			return append(check(v, old), corevalidation.ValidatePersistentVolumeUpdate(v, old, options)...)
		},
		Warnings: func(_ context.Context, v, _ *core.PersistentVolume) []string {
			return pvutil.GetWarningsForPersistentVolume(v)
		},
	}.Rules()
	status = Own[*core.PersistentVolume]{
		Cluster: true, Reset: []string{"spec"},
		Update: func(_ context.Context, v, old *core.PersistentVolume) {
			v.Spec = old.Spec
			switch now, was := v.Status.LastPhaseTransitionTime, old.Status.LastPhaseTransitionTime; {
			case v.Status.Phase == old.Status.Phase && now == nil:
				v.Status.LastPhaseTransitionTime = was
			case v.Status.Phase != old.Status.Phase && (now == nil || now.Equal(was)):
				v.Status.LastPhaseTransitionTime = new(metav1.Now())
			}
		},
		ValidateUpdate: without2(corevalidation.ValidatePersistentVolumeStatusUpdate),
	}.Rules()
	return rules, status
}

func claimRules() (rules, status Rules) {
	options := corevalidation.ValidationOptionsForPersistentVolumeClaim
	prepare := func(c *core.PersistentVolumeClaim, old *core.PersistentVolumeClaimSpec) {
		pvcutil.DropDisabledFields(&c.Spec, old)
		pvcutil.EnforceDataSourceBackwardsCompatibility(&c.Spec, old)
		pvcutil.NormalizeDataSources(&c.Spec)
	}
	rules = Own[*core.PersistentVolumeClaim]{
		Reset: []string{"status"},
		Create: func(_ context.Context, c *core.PersistentVolumeClaim) {
			c.Status = core.PersistentVolumeClaimStatus{} // readers see the phase, but it is stored only by the next update
			prepare(c, nil)
		},
		Update: func(_ context.Context, c, old *core.PersistentVolumeClaim) {
			c.Status = old.Status
			prepare(c, &old.Spec)
			pvcutil.NormalizeDataSources(&old.Spec)
		},
		Validate: func(_ context.Context, c *core.PersistentVolumeClaim) field.ErrorList {
			return corevalidation.ValidatePersistentVolumeClaim(c, options(c, nil))
		},
		ValidateUpdate: func(_ context.Context, c, old *core.PersistentVolumeClaim) field.ErrorList {
			return corevalidation.ValidatePersistentVolumeClaimUpdate(c, old, options(c, old))
		},
		Warnings: func(_ context.Context, c, _ *core.PersistentVolumeClaim) []string {
			return pvcutil.GetWarningsForPersistentVolumeClaim(c)
		},
	}.Rules()
	status = Own[*core.PersistentVolumeClaim]{
		Reset: []string{"spec"},
		Update: func(_ context.Context, c, old *core.PersistentVolumeClaim) {
			c.Spec = old.Spec
			pvcutil.DropDisabledFieldsFromStatus(c, old)
		},
		ValidateUpdate: func(_ context.Context, c, old *core.PersistentVolumeClaim) field.ErrorList {
			return corevalidation.ValidatePersistentVolumeClaimStatusUpdate(c, old, options(c, old))
		},
	}.Rules()
	return rules, status
}

func nodeRules() (rules, status Rules) {
	rules = Own[*core.Node]{
		Cluster: true, Reset: []string{"status"},
		Create: func(_ context.Context, n *core.Node) {
			//lint:ignore SA1019 clients still send it
			n.Spec.ConfigSource, n.Status.Config, n.Spec.PodPreemptionPolicy = nil, nil, nil
		},
		Update: func(_ context.Context, n, old *core.Node) {
			n.Status = old.Status
			//lint:ignore SA1019 clients still send it
			if old.Spec.ConfigSource == nil {
				//lint:ignore SA1019 clients still send it
				n.Spec.ConfigSource = nil
			}
			if old.Spec.PodPreemptionPolicy == nil { // the feature is disabled
				n.Spec.PodPreemptionPolicy = nil
			}
		},
		Validate: without(corevalidation.ValidateNode),
		ValidateUpdate: func(_ context.Context, n, old *core.Node) field.ErrorList {
			return append(corevalidation.ValidateNode(n), corevalidation.ValidateNodeUpdate(n, old)...)
		},
		Warnings: func(_ context.Context, n, _ *core.Node) (warnings []string) {
			//lint:ignore SA1019 clients still send it
			if n.Spec.ConfigSource != nil {
				warnings = append(warnings, "spec.configSource: the feature is removed")
			}
			if n.Spec.DoNotUseExternalID != "" {
				warnings = append(warnings, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
			}
			for i, value := range n.Spec.PodCIDRs {
				at := field.NewPath("spec", "podCIDRs").Index(i)
				warnings = append(warnings, utilvalidation.GetWarningsForCIDR(at, value)...)
			}
			return warnings
		},
	}.Rules()
	status = Own[*core.Node]{
		Cluster: true, Reset: []string{"spec"},
		Update: func(_ context.Context, n, old *core.Node) {
			n.Spec = old.Spec
			if old.Status.Config == nil {
				n.Status.Config = nil
			}
		},
		ValidateUpdate: without2(corevalidation.ValidateNodeUpdate),
	}.Rules()
	return rules, status
}

func serviceRules() (rules, status Rules) {
	rules = Own[*core.Service]{
		Creates: true, Reset: []string{"status"},
		Create: func(_ context.Context, s *core.Service) { s.Status = core.ServiceStatus{} },
		Update: func(_ context.Context, s, old *core.Service) {
			s.Status = old.Status
			dropOfOtherType(s, old)
		},
		Validate:       without(corevalidation.ValidateServiceCreate),
		ValidateUpdate: without2(corevalidation.ValidateServiceUpdate),
		Warnings: func(_ context.Context, s, old *core.Service) []string {
			return serviceutil.GetWarningsForService(s, old)
		},
	}.Rules()
	status = Own[*core.Service]{
		Creates: true, Reset: []string{"spec"},
		Update:         func(_ context.Context, s, old *core.Service) { s.Spec = old.Spec },
		ValidateUpdate: without2(corevalidation.ValidateServiceStatusUpdate),
		Warnings: func(_ context.Context, s, _ *core.Service) []string {
			at, ip := field.NewPath("status", "loadBalancer", "ingress"), func(i core.LoadBalancerIngress) string { return i.IP }
			return ipWarnings(s.Status.LoadBalancer.Ingress, at, "", ip)
		},
	}.Rules()
	return rules, status
}

// dropOfOtherType clears the fields that belong to a service's old type and not to the new one, unless the update has
// changed them.
func dropOfOtherType(s, old *core.Service) {
	now, was := &s.Spec, &old.Spec
	lost := func(needs func(s *core.Service) bool) bool { return needs(old) && !needs(s) }
	same := equality.Semantic.DeepEqual
	if lost(func(s *core.Service) bool { return s.Spec.Type != core.ServiceTypeExternalName }) {
		if now.ClusterIP == was.ClusterIP && same(now.ClusterIPs, was.ClusterIPs) {
			now.ClusterIP, now.ClusterIPs = "", nil
		}
		if same(now.IPFamilies, was.IPFamilies) {
			now.IPFamilies = nil
		}
		if same(now.IPFamilyPolicy, was.IPFamilyPolicy) {
			now.IPFamilyPolicy = nil
		}
	}
	if lost(func(s *core.Service) bool {
		return s.Spec.Type == core.ServiceTypeNodePort || s.Spec.Type == core.ServiceTypeLoadBalancer
	}) {
		dropNodePorts(now.Ports, was.Ports)
	}
	if lost(serviceutil.NeedsHealthCheck) && now.HealthCheckNodePort == was.HealthCheckNodePort {
		now.HealthCheckNodePort = 0
	}
	if lost(func(s *core.Service) bool { return s.Spec.Type == core.ServiceTypeLoadBalancer }) {
		if same(now.AllocateLoadBalancerNodePorts, was.AllocateLoadBalancerNodePorts) {
			now.AllocateLoadBalancerNodePorts = nil
		}
		if same(now.LoadBalancerClass, was.LoadBalancerClass) {
			now.LoadBalancerClass = nil
		}
	}
	if lost(serviceutil.ExternallyAccessible) && now.ExternalTrafficPolicy == was.ExternalTrafficPolicy {
		now.ExternalTrafficPolicy = ""
	}
	if now.Type != core.ServiceTypeLoadBalancer {
		s.Status.LoadBalancer = core.LoadBalancerStatus{}
	}
}

// dropNodePorts clears the node ports unless one of them is new.
func dropNodePorts(ports, old []core.ServicePort) {
	had := map[int32]bool{0: true}
	for _, port := range old {
		had[port.NodePort] = true
	}
	for _, port := range ports {
		if !had[port.NodePort] {
			return
		}
	}
	for i := range ports {
		ports[i].NodePort = 0
	}
}

type signing = certificates.CertificateSigningRequest

func signingRules() (rules, status, approval Rules) {
	rules = Own[*signing]{
		Cluster: true, Reset: []string{"spec", "status"},
		Create: func(ctx context.Context, r *signing) {
			r.Spec.Username, r.Spec.UID, r.Spec.Groups, r.Spec.Extra = "", "", nil, nil
			if who, ok := request.UserFrom(ctx); ok {
				r.Spec.Username, r.Spec.UID, r.Spec.Groups = who.GetName(), who.GetUID(), who.GetGroups()
				for key, value := range who.GetExtra() {
					r.Spec.Extra = orMake(r.Spec.Extra)
					r.Spec.Extra[key] = value
				}
			}
			conditions := []certificates.CertificateSigningRequestCondition{} // empty instead of nil
			r.Status = certificates.CertificateSigningRequestStatus{Conditions: conditions}
		},
		Update:         func(_ context.Context, r, old *signing) { r.Spec, r.Status = old.Spec, old.Status },
		Validate:       without(certificatesvalidation.ValidateCertificateSigningRequestCreate),
		ValidateUpdate: without2(certificatesvalidation.ValidateCertificateSigningRequestUpdate),
	}.Rules()
	status = Own[*signing]{
		Cluster: true, Reset: []string{"spec", "status.conditions"},
		Update: func(_ context.Context, r, old *signing) {
			r.Spec = old.Spec
			sameVerdicts(r, old, certificates.CertificateApproved)
			sameVerdicts(r, old, certificates.CertificateDenied)
			dateConditions(r, old)
		},
		ValidateUpdate: without2(certificatesvalidation.ValidateCertificateSigningRequestStatusUpdate),
	}.Rules()
	approval = Own[*signing]{
		Cluster: true, Reset: []string{"spec", "status.certificate"},
		Update: func(_ context.Context, r, old *signing) {
			dateConditions(r, old)
			conditions := r.Status.Conditions
			r.Spec, r.Status = old.Spec, old.Status
			r.Status.Conditions = conditions
		},
		ValidateUpdate: without2(certificatesvalidation.ValidateCertificateSigningRequestApprovalUpdate),
	}.Rules()
	return rules, status, approval
}

// sameVerdicts restores the old conditions of a type. If their number has changed, it keeps them, and validation
// rejects the update.
func sameVerdicts(r, old *signing, of certificates.RequestConditionType) {
	verdicts := func(r *signing) (found []*certificates.CertificateSigningRequestCondition) {
		for i := range r.Status.Conditions {
			if r.Status.Conditions[i].Type == of {
				found = append(found, &r.Status.Conditions[i])
			}
		}
		return found
	}
	was, now := verdicts(old), verdicts(r)
	if len(was) != len(now) {
		return
	}
	for i := range now {
		*now[i] = *was[i]
	}
}

// dateConditions sets the missing times of conditions.
func dateConditions(r, old *signing) {
	now := metav1.Now()
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		for _, was := range old.Status.Conditions {
			if was.Type == c.Type && was.Status == c.Status && !was.LastTransitionTime.IsZero() {
				c.LastTransitionTime = was.LastTransitionTime
				break
			}
		}
	}
}
