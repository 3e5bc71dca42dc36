package apiserver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
)

// Defaults of pods, and of the templates of pods that other kinds have.

func podDefaults() []defaulter {
	return []defaulter{
		defaultsOf(func(list *corev1.ResourceList) {
			for name, quantity := range *list {
				quantity.RoundUp(resource.Milli)
				(*list)[name] = quantity
			}
		}),
		defaultsOf(func(pod *corev1.Pod) {
			if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
				pod.Spec.TerminationGracePeriodSeconds = new(int64)
				*pod.Spec.TerminationGracePeriodSeconds = 1
			}
			setPointer(&pod.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
			for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for i := range containers {
					defaultRequests(&containers[i].Resources)
					for j := range containers[i].Ports {
						if pod.Spec.HostNetwork {
							set(&containers[i].Ports[j].HostPort, containers[i].Ports[j].ContainerPort)
						}
					}
				}
			}
		}),
		defaultsOf(func(status *corev1.PodStatus) {
			switch {
			case status.PodIP == "" && len(status.PodIPs) > 0:
				status.PodIP = status.PodIPs[0].IP
			case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
				status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
			}
		}),
		defaultsOf(func(spec *corev1.PodSpec) {
			set(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
			spec.DeprecatedServiceAccount = spec.ServiceAccountName
			set(&spec.DNSPolicy, corev1.DNSClusterFirst)
			set(&spec.RestartPolicy, corev1.RestartPolicyAlways)
			setPointer(&spec.SecurityContext, corev1.PodSecurityContext{})
			setPointer(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
			set(&spec.SchedulerName, corev1.DefaultSchedulerName)
		}),
		defaultsOf(defaultContainer),
		defaultsOf(func(container *corev1.EphemeralContainer) {
			defaultContainer((*corev1.Container)(&container.EphemeralContainerCommon))
		}),
		defaultsOf(func(probe *corev1.Probe) {
			set(&probe.TimeoutSeconds, 1)
			set(&probe.PeriodSeconds, 10)
			set(&probe.SuccessThreshold, 1)
			set(&probe.FailureThreshold, 3)
		}),
		defaultsOf(func(action *corev1.HTTPGetAction) {
			set(&action.Path, "/")
			set(&action.Scheme, corev1.URISchemeHTTP)
			action.Protocol = nil // of a feature that is off
		}),
		defaultsOf(func(lifecycle *corev1.Lifecycle) { lifecycle.StopSignal = nil }), // the same
		defaultsOf(func(volume *corev1.Volume) {
			if volume.VolumeSource == (corev1.VolumeSource{}) {
				volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
			}
			if volume.Image != nil {
				set(&volume.Image.PullPolicy, pullPolicyOf(volume.Image.Reference))
			}
		}),
		defaultsOf(func(source *corev1.SecretVolumeSource) {
			setPointer(&source.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
		}),
		defaultsOf(func(source *corev1.ConfigMapVolumeSource) {
			setPointer(&source.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
		}),
		defaultsOf(func(source *corev1.DownwardAPIVolumeSource) {
			setPointer(&source.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		}),
		defaultsOf(func(source *corev1.ProjectedVolumeSource) {
			setPointer(&source.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		}),
		defaultsOf(func(source *corev1.ServiceAccountTokenProjection) { setPointer(&source.ExpirationSeconds, 3600) }),
		defaultsOf(func(source *corev1.HostPathVolumeSource) { setPointer(&source.Type, corev1.HostPathUnset) }),
		defaultsOf(func(source *corev1.AzureDiskVolumeSource) {
			setPointer(&source.CachingMode, corev1.AzureDataDiskCachingReadWrite)
			setPointer(&source.Kind, corev1.AzureSharedBlobDisk)
		}),
		defaultsOf(func(selector *corev1.ObjectFieldSelector) { set(&selector.APIVersion, "v1") }),
	}
}

func defaultContainer(container *corev1.Container) {
	set(&container.ImagePullPolicy, pullPolicyOf(container.Image))
	set(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	set(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
}

// Names of images, of which the tag decides when they are pulled.
var (
	imageDomain = `(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
	imagePart   = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	imageName   = regexp.MustCompile(`^(?:` + imageDomain + `/)?` + imagePart + `(?:/` + imagePart + `)*(?::([\w][\w.-]{0,127}))?(@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`)
	imageHash   = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

func pullPolicyOf(image string) corev1.PullPolicy {
	parts := imageName.FindStringSubmatch(image)
	if parts != nil && !imageHash.MatchString(image) && (parts[1] == "latest" || parts[1] == "" && parts[2] == "") {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultRequests(resources *corev1.ResourceRequirements) {
	if resources.Limits != nil && resources.Requests == nil {
		resources.Requests = corev1.ResourceList{}
	}
	for name, quantity := range resources.Limits {
		if _, ok := resources.Requests[name]; !ok {
			resources.Requests[name] = quantity.DeepCopy()
		}
	}
}

// eachContainer visits all containers of a pod with their paths.
func eachContainer(spec *corev1.PodSpec, at *field.Path, visit func(*corev1.Container, *field.Path)) {
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i], at.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i], at.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		visit((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon), at.Child("ephemeralContainers").Index(i))
	}
}

// podChecks are those of one pod, or of one template.
type podChecks struct {
	findings
	spec    *corev1.PodSpec
	volumes map[string]corev1.VolumeSource // those that are valid
	isPod   bool
}

func validateTemplate(template *corev1.PodTemplateSpec, at *field.Path) field.ErrorList {
	c := podChecks{spec: &template.Spec}
	c.labels(at.Child("labels"), template.Labels)
	c.add(validation.ValidateAnnotations(template.Annotations, at.Child("annotations"))...)
	c.annotations(template.Annotations, at.Child("annotations"))
	c.check(nil, at.Child("spec"))
	if len(template.Spec.EphemeralContainers) > 0 {
		c.forbidden(at.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template")
	}
	return c.list
}

func (c *podChecks) annotations(annotations map[string]string, at *field.Path) {
	if value, ok := annotations[corev1.MirrorPodAnnotationKey]; ok && c.spec.NodeName == "" {
		c.invalid(at.Key(corev1.MirrorPodAnnotationKey), value, "must set spec.nodeName if mirror pod annotation is set")
	}
	if cost, ok := annotations[corev1.PodDeletionCost]; ok {
		number, err := strconv.ParseInt(cost, 10, 32)
		if err != nil || strconv.FormatInt(number, 10) != cost {
			c.invalid(at.Key(corev1.PodDeletionCost), cost, "must be a 32bit integer")
		}
	}
}

func (c *podChecks) check(metadata *metav1.ObjectMeta, at *field.Path) {
	spec := c.spec
	c.checkVolumes(metadata, at.Child("volumes"))
	c.containers(at)
	c.podResources(at)
	if spec.HostNetwork {
		for i, container := range spec.Containers {
			for j, port := range container.Ports {
				if (c.isPod || port.HostPort != 0) && port.HostPort != port.ContainerPort {
					c.invalid(at.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort, "must match `containerPort` when `hostNetwork` is true")
				}
			}
		}
	}
	oneOfOrRequired(&c.findings, at.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	oneOfOrRequired(&c.findings, at.Child("dnsPolicy"), spec.DNSPolicy, corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)
	c.labels(at.Child("nodeSelector"), spec.NodeSelector)
	c.podSecurity(at.Child("securityContext"))
	if deref(spec.ShareProcessNamespace) && spec.HostPID {
		c.invalid(at.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	c.affinity(at.Child("affinity"))
	c.dns(at.Child("dnsConfig"))
	for i, gate := range spec.ReadinessGates {
		c.qualified(at.Child("readinessGates").Index(i).Child("conditionType"), string(gate.ConditionType))
	}
	gates := sets.New[string]()
	for i, gate := range spec.SchedulingGates {
		here := at.Child("schedulingGates").Index(i)
		c.qualified(here, gate.Name)
		if gates.Has(gate.Name) {
			c.add(field.Duplicate(here, gate.Name))
		}
		gates.Insert(gate.Name)
	}
	c.topology(at.Child("topologySpreadConstraints"))
	if spec.HostUsers != nil && !*spec.HostUsers {
		if spec.HostNetwork {
			c.forbidden(at.Child("hostNetwork"), "when `hostUsers` is false")
		}
		if spec.HostPID {
			c.forbidden(at.Child("HostPID"), "when `hostUsers` is false")
		}
		if spec.HostIPC {
			c.forbidden(at.Child("HostIPC"), "when `hostUsers` is false")
		}
	}
	c.names(at)
	if seconds := spec.ActiveDeadlineSeconds; seconds != nil && (*seconds < 1 || *seconds > math.MaxInt32) {
		c.invalid(at.Child("activeDeadlineSeconds"), *seconds, utilvalidation.InclusiveRangeError(1, math.MaxInt32))
	}
	c.add(validateTolerations(spec.Tolerations, at.Child("tolerations"))...)
	for i, alias := range spec.HostAliases {
		here := at.Child("hostAliases").Index(i)
		c.ip(here.Child("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			c.subdomain(here.Child("hostnames").Index(j), name)
		}
	}
	if spec.PreemptionPolicy != nil {
		oneOfOrRequired(&c.findings, at.Child("preemptionPolicy"), *spec.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
	if spec.Overhead != nil {
		c.requirements(&corev1.ResourceRequirements{Limits: spec.Overhead}, at.Child("overhead"), containerResourceName)
	}
	if spec.OS != nil {
		switch spec.OS.Name {
		case "":
			c.required(at.Child("os").Child("name"), "cannot be empty")
		default:
			oneOf(&c.findings, at.Child("os").Child("name"), spec.OS.Name, corev1.Linux, corev1.Windows)
		}
	}
}

// names are the references to other objects, and the names of hosts.
func (c *podChecks) names(at *field.Path) {
	spec := c.spec
	named := func(name, value string) {
		if value != "" {
			c.subdomain(at.Child(name), value)
		}
	}
	if spec.HostnameOverride != nil {
		here := at.Child("hostnameOverride")
		if deref(spec.SetHostnameAsFQDN) {
			c.forbidden(here, "may not be specified when setHostnameAsFQDN is true")
		}
		if spec.HostNetwork {
			c.forbidden(here, "may not be specified when hostNetwork is true")
		}
		if len(*spec.HostnameOverride) > 64 {
			c.add(field.TooLong(here, "", 64))
		}
		c.subdomain(here, *spec.HostnameOverride)
	}
	named("serviceAccountName", spec.ServiceAccountName)
	named("nodeName", spec.NodeName)
	if spec.Hostname != "" {
		c.label(at.Child("hostname"), spec.Hostname)
	}
	if spec.Subdomain != "" {
		c.label(at.Child("subdomain"), spec.Subdomain)
	}
	named("priorityClassName", spec.PriorityClassName)
	if spec.RuntimeClassName != nil {
		c.subdomain(at.Child("runtimeClassName"), *spec.RuntimeClassName)
	}
}

func (c *podChecks) containers(at *field.Path) {
	spec, here := c.spec, at.Child("containers")
	if len(spec.Containers) == 0 {
		c.required(here, "")
	}
	names := sets.New[string]()
	for i := range spec.Containers {
		container, here := &spec.Containers[i], here.Index(i)
		c.container(container, here)
		if names.Has(container.Name) {
			c.add(field.Duplicate(here.Child("name"), container.Name))
		}
		names.Insert(container.Name)
		c.lifecycle(container, here)
		c.restartPolicy(container, here)
	}
	c.hostPorts(spec.Containers, here)
	here = at.Child("initContainers")
	for i := range spec.InitContainers {
		container, here := &spec.InitContainers[i], here.Index(i)
		c.container(container, here)
		c.restartPolicy(container, here)
		if names.Has(container.Name) {
			c.add(field.Duplicate(here.Child("name"), container.Name))
		} else if container.Name != "" {
			names.Insert(container.Name)
		}
		c.hostPorts([]corev1.Container{*container}, at.Child("initContainers"))
		sidecar := deref(container.RestartPolicy) == corev1.ContainerRestartPolicyAlways
		if sidecar {
			c.lifecycle(container, here)
			continue
		}
		for name, set := range map[string]bool{"lifecycle": container.Lifecycle != nil, "livenessProbe": container.LivenessProbe != nil, "readinessProbe": container.ReadinessProbe != nil, "startupProbe": container.StartupProbe != nil} {
			if set {
				c.forbidden(here.Child(name), "may not be set for init containers without restartPolicy=Always")
			}
		}
		for j, policy := range container.ResizePolicy {
			if policy.RestartPolicy == corev1.RestartContainer {
				c.invalid(here.Child("resizePolicy").Index(j).Child("restartPolicy"), policy.RestartPolicy, "must not be set to 'RestartContainer' for non-sidecar initContainers")
			}
		}
	}
	c.ephemeral(names, at.Child("ephemeralContainers"))
}

func (c *podChecks) ephemeral(others sets.Set[string], at *field.Path) {
	names := others.Clone()
	for i := range c.spec.EphemeralContainers {
		container, here := &c.spec.EphemeralContainers[i], at.Index(i)
		c.container((*corev1.Container)(&container.EphemeralContainerCommon), here)
		if names.Has(container.Name) {
			c.add(field.Duplicate(here.Child("name"), container.Name))
		}
		names.Insert(container.Name)
		if container.TargetContainerName != "" && !others.Has(container.TargetContainerName) {
			c.add(field.NotFound(here.Child("targetContainerName"), container.TargetContainerName))
		}
		for _, name := range []string{"Ports", "LivenessProbe", "ReadinessProbe", "StartupProbe", "Lifecycle", "Resources", "ResizePolicy", "RestartPolicy", "RestartPolicyRules"} {
			if v := reflect.ValueOf(container.EphemeralContainerCommon).FieldByName(name); !v.IsZero() {
				c.forbidden(here.Child(strings.ToLower(name[:1])+name[1:]), "cannot be set for an Ephemeral Container")
			}
		}
		for j, mount := range container.VolumeMounts {
			if mount.SubPath != "" {
				c.forbidden(here.Child("volumeMounts").Index(j).Child("subPath"), "cannot be set for an Ephemeral Container")
			}
			if mount.SubPathExpr != "" {
				c.forbidden(here.Child("volumeMounts").Index(j).Child("subPathExpr"), "cannot be set for an Ephemeral Container")
			}
		}
	}
}

func (c *podChecks) restartPolicy(container *corev1.Container, at *field.Path) {
	if container.RestartPolicy == nil {
		if len(container.RestartPolicyRules) > 0 {
			c.required(at.Child("restartPolicy"), "must specify restartPolicy when restart rules are used")
		}
	} else {
		oneOf(&c.findings, at.Child("restartPolicy"), *container.RestartPolicy, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	}
	if rules := len(container.RestartPolicyRules); rules > 20 {
		c.add(field.TooMany(at.Child("restartPolicyRules"), rules, 20))
	}
	for i, rule := range container.RestartPolicyRules {
		here := at.Child("restartPolicyRules").Index(i)
		oneOf(&c.findings, here.Child("action"), rule.Action, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
		if rule.ExitCodes == nil {
			c.required(here.Child("exitCodes"), "must be specified")
			continue
		}
		oneOf(&c.findings, here.Child("exitCodes", "operator"), rule.ExitCodes.Operator, corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
	}
}

func (c *podChecks) hostPorts(containers []corev1.Container, at *field.Path) {
	known := sets.New[string]()
	for i, container := range containers {
		for j, port := range container.Ports {
			text := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if port.HostPort != 0 && known.Has(text) {
				c.add(field.Duplicate(at.Index(i).Child("ports").Index(j).Child("hostPort"), text))
			}
			known.Insert(text)
		}
	}
}

func (c *podChecks) container(container *corev1.Container, at *field.Path) {
	if container.Name == "" {
		c.required(at.Child("name"), "")
	} else {
		c.label(at.Child("name"), container.Name)
	}
	if container.Image == "" {
		c.required(at.Child("image"), "")
	}
	oneOfOrRequired(&c.findings, at.Child("terminationMessagePolicy"), container.TerminationMessagePolicy, corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	c.ports(container.Ports, at.Child("ports"))
	c.environment(container, at)
	c.mounts(container, at)
	switch container.ImagePullPolicy {
	case "":
		c.required(at.Child("imagePullPolicy"), "")
	default:
		oneOf(&c.findings, at.Child("imagePullPolicy"), container.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	}
	c.requirements(&container.Resources, at.Child("resources"), containerResourceName)
	c.resize(container.ResizePolicy, at.Child("resizePolicy"))
	c.security(container.SecurityContext, at.Child("securityContext"))
}

func (c *podChecks) resize(policies []corev1.ContainerResizePolicy, at *field.Path) {
	known := sets.New[corev1.ResourceName]()
	for i, policy := range policies {
		if known.Has(policy.ResourceName) {
			c.add(field.Duplicate(at.Index(i), policy.ResourceName))
		}
		known.Insert(policy.ResourceName)
		if policy.ResourceName == "" {
			c.required(at, "")
		} else {
			oneOf(&c.findings, at, policy.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		}
		if policy.RestartPolicy == "" {
			c.required(at, "")
		} else {
			oneOf(&c.findings, at, policy.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		}
		if c.spec.RestartPolicy == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired {
			c.invalid(at, policy.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
		}
	}
}

func protocols(f *findings, at *field.Path, protocol corev1.Protocol) {
	if protocol == "" {
		f.required(at, "")
		return
	}
	oneOf(f, at, protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
}

func (c *podChecks) ports(ports []corev1.ContainerPort, at *field.Path) {
	names := sets.New[string]()
	for i, port := range ports {
		here := at.Index(i)
		if port.Name != "" {
			if messages := utilvalidation.IsValidPortName(port.Name); len(messages) > 0 {
				c.invalid(here.Child("name"), port.Name, messages...)
			} else if names.Has(port.Name) {
				c.add(field.Duplicate(here.Child("name"), port.Name))
			}
			names.Insert(port.Name)
		}
		if port.ContainerPort == 0 {
			c.required(here.Child("containerPort"), "")
		} else {
			c.port(here.Child("containerPort"), port.ContainerPort)
		}
		if port.HostPort != 0 {
			c.port(here.Child("hostPort"), port.HostPort)
		}
		protocols(&c.findings, here.Child("protocol"), port.Protocol)
	}
}

func (c *podChecks) environment(container *corev1.Container, at *field.Path) {
	for i, variable := range container.Env {
		here := at.Child("env").Index(i)
		if variable.Name == "" {
			c.required(here.Child("name"), "")
		} else {
			c.invalid(here.Child("name"), variable.Name, utilvalidation.IsRelaxedEnvVarName(variable.Name)...)
		}
		c.valueFrom(variable, here.Child("valueFrom"))
	}
	for i, source := range container.EnvFrom {
		here := at.Child("envFrom").Index(i)
		if source.Prefix != "" {
			c.invalid(here.Child("prefix"), source.Prefix, utilvalidation.IsRelaxedEnvVarName(source.Prefix)...)
		}
		sources := 0
		named := func(name, value string) {
			sources++
			if value == "" {
				c.required(here.Child(name, "name"), "")
			} else {
				c.invalid(here.Child(name, "name"), value, validation.NameIsDNSSubdomain(value, true)...)
			}
		}
		if source.ConfigMapRef != nil {
			named("configMapRef", source.ConfigMapRef.Name)
		}
		if source.SecretRef != nil {
			named("secretRef", source.SecretRef.Name)
		}
		switch sources {
		case 0:
			c.invalid(at.Child("envFrom"), "", "must specify one of: `configMapRef` or `secretRef`")
		case 2:
			c.invalid(at.Child("envFrom"), "", "may not have more than one field specified at a time")
		}
	}
}

func (c *podChecks) valueFrom(variable corev1.EnvVar, at *field.Path) {
	from := variable.ValueFrom
	if from == nil {
		return
	}
	sources := 0
	if from.FieldRef != nil {
		sources++
		c.fieldRef(from.FieldRef, at.Child("fieldRef"), "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
	}
	if from.ResourceFieldRef != nil {
		sources++
		c.resourceRef(from.ResourceFieldRef, at.Child("resourceFieldRef"), false)
	}
	key := func(name, object, key string) {
		sources++
		c.subdomain(at.Child(name, "name"), object)
		if key == "" {
			c.required(at.Child(name, "key"), "")
		} else {
			c.invalid(at.Child(name, "key"), key, utilvalidation.IsConfigMapKey(key)...)
		}
	}
	if from.ConfigMapKeyRef != nil {
		key("configMapKeyRef", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
	}
	if from.SecretKeyRef != nil {
		key("secretKeyRef", from.SecretKeyRef.Name, from.SecretKeyRef.Key)
	}
	if from.FileKeyRef != nil {
		sources++
	}
	switch {
	case sources == 0:
		c.invalid(at, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`")
	case variable.Value != "":
		c.invalid(at, "", "may not be specified when `value` is not empty")
	case sources > 1:
		c.invalid(at, "", "may not have more than one field specified at a time")
	}
}

// fieldLabels are the fields of pods that others may refer to.
var fieldLabels = sets.New("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName",
	"spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")

func (c *podChecks) fieldRef(selector *corev1.ObjectFieldSelector, at *field.Path, supported ...string) {
	switch {
	case selector.APIVersion == "":
		c.required(at.Child("apiVersion"), "")
		return
	case selector.FieldPath == "":
		c.required(at.Child("fieldPath"), "")
		return
	case selector.APIVersion != "v1":
		c.invalid(at.Child("fieldPath"), selector.FieldPath, fmt.Sprintf("error converting fieldPath: unsupported pod version: %s", selector.APIVersion))
		return
	}
	path, subscript, subscripted := strings.Cut(strings.TrimSuffix(selector.FieldPath, "']"), "['")
	subscripted = subscripted && strings.HasSuffix(selector.FieldPath, "']")
	if !subscripted {
		path = selector.FieldPath
	}
	if path == "spec.host" {
		path = "spec.nodeName"
	}
	switch {
	case subscripted && path == "metadata.annotations":
		c.qualified(at, strings.ToLower(subscript))
	case subscripted && path == "metadata.labels":
		c.qualified(at, subscript)
	case subscripted:
		c.invalid(at.Child("fieldPath"), selector.FieldPath, fmt.Sprintf("error converting fieldPath: field label does not support subscript: %s", selector.FieldPath))
	case !fieldLabels.Has(path):
		c.invalid(at.Child("fieldPath"), selector.FieldPath, fmt.Sprintf("error converting fieldPath: field label not supported: %s", selector.FieldPath))
	default:
		oneOf(&c.findings, at.Child("fieldPath"), path, supported...)
	}
}

func (c *podChecks) resourceRef(selector *corev1.ResourceFieldSelector, at *field.Path, volume bool) {
	name := selector.Resource
	hugePages := strings.HasPrefix(name, "requests.hugepages-") || strings.HasPrefix(name, "limits.hugepages-")
	switch {
	case volume && selector.ContainerName == "":
		c.required(at.Child("containerName"), "")
	case name == "":
		c.required(at.Child("resource"), "")
	case !hugePages:
		oneOf(&c.findings, at.Child("resource"), name, "limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage")
	}
	if selector.Divisor.IsZero() {
		return
	}
	_, kind, _ := strings.Cut(name, ".")
	units, label := []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}, map[string]string{"memory": "memory", "ephemeral-storage": "local ephemeral storage"}[kind]
	if hugePages {
		label = "hugepages"
	}
	switch {
	case kind == "cpu" && !slices.Contains([]string{"1m", "1"}, selector.Divisor.String()):
		c.invalid(at.Child("divisor"), name, "only divisor's values 1m and 1 are supported with the cpu resource")
	case label != "" && !slices.Contains(units, selector.Divisor.String()):
		c.invalid(at.Child("divisor"), name, fmt.Sprintf("only divisor's values %s are supported with the %s resource", strings.Join(units, ", "), label))
	}
}

func (c *podChecks) mounts(container *corev1.Container, at *field.Path) {
	paths, devices := sets.New[string](), map[string]string{}
	for _, device := range container.VolumeDevices {
		devices[device.Name] = device.DevicePath
	}
	taken := func(path string, of map[string]string) bool {
		for _, other := range of {
			if other == path {
				return true
			}
		}
		return false
	}
	mounts := map[string]string{}
	for i, mount := range container.VolumeMounts {
		list := at.Child("volumeMounts")
		here := list.Index(i)
		mounts[mount.Name] = mount.MountPath
		if mount.Name == "" {
			c.required(here.Child("name"), "")
		}
		if _, ok := c.volumes[mount.Name]; !ok {
			c.add(field.NotFound(here.Child("name"), mount.Name))
		}
		if mount.MountPath == "" {
			c.required(here.Child("mountPath"), "")
		}
		if paths.Has(mount.MountPath) {
			c.invalid(here.Child("mountPath"), mount.MountPath, "must be unique")
		}
		paths.Insert(mount.MountPath)
		if _, ok := devices[mount.Name]; ok {
			c.invalid(here.Child("name"), mount.Name, "must not already exist in volumeDevices")
		}
		if taken(mount.MountPath, devices) {
			c.invalid(here.Child("mountPath"), mount.MountPath, "must not already exist as a path in volumeDevices")
		}
		if mount.SubPath != "" {
			c.descending(mount.SubPath, list.Child("subPath"))
		}
		if mount.SubPathExpr != "" {
			if mount.SubPath != "" {
				c.invalid(here.Child("subPathExpr"), mount.SubPathExpr, "subPathExpr and subPath are mutually exclusive")
			}
			c.descending(mount.SubPathExpr, list.Child("subPathExpr"))
		}
		c.propagation(container, mount, list)
	}
	paths, names := sets.New[string](), sets.New[string]()
	for i, device := range container.VolumeDevices {
		here := at.Child("volumeDevices").Index(i)
		source, found := c.volumes[device.Name]
		if device.Name == "" {
			c.required(here.Child("name"), "")
		}
		if names.Has(device.Name) {
			c.invalid(here.Child("name"), device.Name, "must be unique")
		}
		if found && source.PersistentVolumeClaim == nil && source.Ephemeral == nil {
			c.invalid(here.Child("name"), device.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		}
		if !found {
			c.add(field.NotFound(here.Child("name"), device.Name))
		}
		if device.DevicePath == "" {
			c.required(here.Child("devicePath"), "")
		}
		if paths.Has(device.DevicePath) {
			c.invalid(here.Child("devicePath"), device.DevicePath, "must be unique")
		}
		if slices.Contains(strings.Split(device.DevicePath, "/"), "..") {
			c.invalid(here.Child("devicePath"), device.DevicePath, "can not contain backsteps ('..')")
		} else {
			paths.Insert(device.DevicePath)
		}
		if _, ok := mounts[device.Name]; ok {
			c.invalid(here.Child("name"), device.Name, "must not already exist in volumeMounts")
		}
		if taken(device.DevicePath, mounts) {
			c.invalid(here.Child("devicePath"), device.DevicePath, "must not already exist as a path in volumeMounts")
		}
		if device.Name != "" {
			names.Insert(device.Name)
		}
	}
}

func (c *podChecks) propagation(container *corev1.Container, mount corev1.VolumeMount, list *field.Path) {
	if mount.MountPropagation != nil {
		here := list.Child("mountPropagation")
		oneOf(&c.findings, here, *mount.MountPropagation, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)
		if *mount.MountPropagation == corev1.MountPropagationBidirectional && (container.SecurityContext == nil || !deref(container.SecurityContext.Privileged)) {
			c.forbidden(here, "Bidirectional mount propagation is available only to privileged containers")
		}
	}
	if mount.RecursiveReadOnly == nil {
		return
	}
	here := list.Child("recursiveReadOnly")
	switch *mount.RecursiveReadOnly {
	case corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible:
		if !mount.ReadOnly {
			c.forbidden(here, "may only be specified when readOnly is true")
		}
		if mount.MountPropagation != nil && *mount.MountPropagation != corev1.MountPropagationNone {
			c.forbidden(here, "may only be specified when mountPropagation is None or not specified")
		}
	default:
		oneOf(&c.findings, here, *mount.RecursiveReadOnly, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled)
	}
}

func (c *podChecks) descending(target string, at *field.Path) {
	if path.IsAbs(target) {
		c.invalid(at, target, "must be a relative path")
	}
	c.noBacksteps(target, at)
}

func (c *podChecks) noBacksteps(target string, at *field.Path) {
	if slices.Contains(strings.Split(target, "/"), "..") {
		c.invalid(at, target, "must not contain '..'")
	}
}

// local checks a path in a volume, of which those that begin with two dots are reserved.
func (c *podChecks) local(target string, at *field.Path) {
	c.descending(target, at)
	if strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "../") {
		c.invalid(at, target, "must not start with '..'")
	}
}

func (c *podChecks) lifecycle(container *corev1.Container, at *field.Path) {
	if container.Lifecycle != nil {
		here := at.Child("lifecycle")
		for name, handler := range map[string]*corev1.LifecycleHandler{"postStart": container.Lifecycle.PostStart, "preStop": container.Lifecycle.PreStop} {
			if handler != nil {
				c.handler(corev1.ProbeHandler{Exec: handler.Exec, HTTPGet: handler.HTTPGet, TCPSocket: handler.TCPSocket}, handler.Sleep, here.Child(name))
			}
		}
	}
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		probe := map[string]*corev1.Probe{"livenessProbe": container.LivenessProbe, "readinessProbe": container.ReadinessProbe, "startupProbe": container.StartupProbe}[name]
		if probe == nil {
			continue
		}
		here := at.Child(name)
		c.probe(probe, here)
		if name == "readinessProbe" {
			if probe.TerminationGracePeriodSeconds != nil {
				c.invalid(here.Child("terminationGracePeriodSeconds"), probe.TerminationGracePeriodSeconds, "must not be set for readinessProbes")
			}
		} else if probe.SuccessThreshold != 1 {
			c.invalid(here.Child("successThreshold"), probe.SuccessThreshold, "must be 1")
		}
	}
}

func (c *podChecks) probe(probe *corev1.Probe, at *field.Path) {
	c.handler(probe.ProbeHandler, nil, at)
	c.notNegative(at.Child("initialDelaySeconds"), int64(probe.InitialDelaySeconds))
	c.notNegative(at.Child("timeoutSeconds"), int64(probe.TimeoutSeconds))
	c.notNegative(at.Child("periodSeconds"), int64(probe.PeriodSeconds))
	c.notNegative(at.Child("successThreshold"), int64(probe.SuccessThreshold))
	c.notNegative(at.Child("failureThreshold"), int64(probe.FailureThreshold))
	if seconds := probe.TerminationGracePeriodSeconds; seconds != nil && *seconds <= 0 {
		c.invalid(at.Child("terminationGracePeriodSeconds"), *seconds, "must be greater than 0")
	}
}

func (c *podChecks) handler(handler corev1.ProbeHandler, sleep *corev1.SleepAction, at *field.Path) {
	handlers := 0
	one := func(name string, set bool, check func(at *field.Path)) {
		switch {
		case !set:
			return
		case handlers > 0:
			c.forbidden(at.Child(name), "may not specify more than 1 handler type")
		default:
			handlers++
			check(at.Child(name))
		}
	}
	one("exec", handler.Exec != nil, func(at *field.Path) {
		if len(handler.Exec.Command) == 0 {
			c.required(at.Child("command"), "")
		}
	})
	one("httpGet", handler.HTTPGet != nil, func(at *field.Path) { c.httpGet(handler.HTTPGet, at) })
	one("tcpSocket", handler.TCPSocket != nil, func(at *field.Path) { c.portOrName(at.Child("port"), handler.TCPSocket.Port) })
	one("grpc", handler.GRPC != nil, func(at *field.Path) {
		c.invalid(at.Child("port"), int(handler.GRPC.Port), utilvalidation.IsValidPortNum(int(handler.GRPC.Port))...)
	})
	one("sleep", sleep != nil, func(at *field.Path) {
		if grace := c.spec.TerminationGracePeriodSeconds; grace != nil && (sleep.Seconds < 0 || sleep.Seconds > *grace) {
			c.invalid(at, sleep.Seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))
		}
	})
	if handlers == 0 {
		c.required(at, "must specify a handler type")
	}
}

func (c *podChecks) httpGet(action *corev1.HTTPGetAction, at *field.Path) {
	if action.Path == "" {
		c.required(at.Child("path"), "")
	}
	c.portOrName(at.Child("port"), action.Port)
	oneOf(&c.findings, at.Child("scheme"), action.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
	for _, header := range action.HTTPHeaders {
		c.invalid(at.Child("httpHeaders"), header.Name, utilvalidation.IsHTTPHeaderName(header.Name)...)
	}
}

// Resources.

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// standardResources are those without a domain that anything may name.
var standardResources = sets.New[corev1.ResourceName]("cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage", "limits.cpu", "limits.memory",
	"limits.ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims", "storage", "requests.storage",
	"services.nodeports", "services.loadbalancers")

func (f *findings) resourceName(at *field.Path, name corev1.ResourceName) bool {
	before := len(f.list)
	f.invalid(at, name, utilvalidation.IsQualifiedName(string(name))...)
	if len(f.list) > before {
		return false
	}
	if !strings.Contains(string(name), "/") && !standardResources.Has(name) && !isHugePages(name) {
		f.invalid(at, name, "must be a standard resource type or fully qualified")
		return false
	}
	return true
}

func containerResourceName(f *findings, at *field.Path, name corev1.ResourceName) {
	f.resourceName(at, name)
	switch {
	case !strings.Contains(string(name), "/"):
		if name != "cpu" && name != "memory" && name != "ephemeral-storage" && !isHugePages(name) {
			f.invalid(at, name, "must be a standard resource for containers")
		}
	case !isNative(name) && !isExtended(name):
		f.invalid(at, name, "doesn't follow extended resource name standard")
	}
}

func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

func isExtended(name corev1.ResourceName) bool {
	return !isNative(name) && !strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) &&
		len(utilvalidation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

func mayOvercommit(name corev1.ResourceName) bool { return isNative(name) && !isHugePages(name) }

// quantity checks how much of a resource there is.
func (f *findings) quantity(at *field.Path, name corev1.ResourceName, quantity resource.Quantity) {
	f.notNegativeQuantity(at, quantity)
	whole := name == "pods" || name == "resourcequotas" || name == "services" || name == "replicationcontrollers" || name == "secrets" || name == "configmaps" ||
		name == "persistentvolumeclaims" || name == "services.nodeports" || name == "services.loadbalancers" || isExtended(name)
	if whole && quantity.MilliValue()%1000 != 0 {
		f.invalid(at, quantity, "must be an integer")
	}
}

func (c *podChecks) requirements(resources *corev1.ResourceRequirements, at *field.Path, named func(*findings, *field.Path, corev1.ResourceName)) {
	compute, huge := false, false
	for _, name := range sortedMap(resources.Limits) {
		here, quantity := at.Child("limits").Key(string(name)), resources.Limits[name]
		named(&c.findings, here, name)
		c.quantity(here, name, quantity)
		c.hugePages(here, name, quantity)
		compute, huge = compute || name == "cpu" || name == "memory", huge || isHugePages(name)
	}
	for _, name := range sortedMap(resources.Requests) {
		here, quantity := at.Child("requests").Key(string(name)), resources.Requests[name]
		named(&c.findings, here, name)
		c.quantity(here, name, quantity)
		limit, ok := resources.Limits[name]
		switch {
		case ok && quantity.Cmp(limit) != 0 && !mayOvercommit(name):
			c.invalid(at.Child("requests"), quantity.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String()))
		case ok && quantity.Cmp(limit) > 0:
			c.invalid(at.Child("requests"), quantity.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()))
		case !ok && !mayOvercommit(name):
			c.required(at.Child("limits"), "Limit must be set for non overcommitable resources")
		}
		c.hugePages(here, name, quantity)
		compute, huge = compute || name == "cpu" || name == "memory", huge || isHugePages(name)
	}
	if huge && !compute {
		c.forbidden(at, "HugePages require cpu or memory")
	}
	claims := sets.New[string]()
	for _, claim := range c.spec.ResourceClaims {
		claims.Insert(claim.Name)
	}
	for i, claim := range resources.Claims {
		if claim.Name == "" {
			c.required(at.Child("claims").Index(i), "")
		}
		if !claims.Has(claim.Name) {
			problem := field.NotFound(at.Child("claims").Index(i), claim.Name)
			problem.Detail = "must be one of the names in pod.spec.resourceClaims"
			if len(claims) == 0 {
				problem.Detail += " which is empty"
			} else {
				problem.Detail += ": " + strings.Join(sets.List(claims), ", ")
			}
			c.add(problem)
		}
	}
}

func (c *podChecks) hugePages(at *field.Path, name corev1.ResourceName, quantity resource.Quantity) {
	if !isHugePages(name) {
		return
	}
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	if err != nil || size.Sign() <= 0 || quantity.Value()%size.Value() != 0 {
		c.invalid(at, quantity.String(), fmt.Sprintf("%s is not positive integer multiple of %s", quantity.String(), name))
	}
}

func (c *podChecks) podResources(at *field.Path) {
	if c.spec.Resources == nil {
		return
	}
	at = at.Child("resources")
	if c.spec.Resources.Claims != nil {
		c.forbidden(at.Child("claims"), "claims may not be set for Resources at pod-level")
	}
	c.requirements(c.spec.Resources, at, func(f *findings, at *field.Path, name corev1.ResourceName) {
		if f.resourceName(at, name) && name != "cpu" && name != "memory" && !isHugePages(name) {
			f.add(field.NotSupported(at, name, []corev1.ResourceName{"cpu", "hugepages-", "memory"}))
		}
	})
}

// Security.

func (c *podChecks) ids(at *field.Path, user, group *int64) {
	if user != nil {
		c.invalid(at.Child("runAsUser"), *user, utilvalidation.IsValidUserID(*user)...)
	}
	if group != nil {
		c.invalid(at.Child("runAsGroup"), *group, utilvalidation.IsValidGroupID(*group)...)
	}
}

func (c *podChecks) security(context *corev1.SecurityContext, at *field.Path) {
	if context == nil {
		return
	}
	c.ids(at, context.RunAsUser, context.RunAsGroup)
	if context.ProcMount != nil {
		oneOfListed(&c.findings, at.Child("procMount"), *context.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
		if (c.spec.HostUsers == nil || *c.spec.HostUsers) && *context.ProcMount == corev1.UnmaskedProcMount {
			c.invalid(at.Child("procMount"), context.ProcMount, "`hostUsers` must be false to use `Unmasked`")
		}
	}
	c.seccomp(context.SeccompProfile, at.Child("seccompProfile"))
	if context.AllowPrivilegeEscalation != nil && !*context.AllowPrivilegeEscalation {
		if deref(context.Privileged) {
			c.invalid(at, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		}
		if context.Capabilities != nil && slices.Contains(context.Capabilities.Add, "CAP_SYS_ADMIN") {
			c.invalid(at, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
		}
	}
	c.appArmor(context.AppArmorProfile, at.Child("appArmorProfile"))
}

func (c *podChecks) seccomp(profile *corev1.SeccompProfile, at *field.Path) {
	if profile == nil {
		return
	}
	if profile.Type == "" {
		c.required(at.Child("type"), "type is required when seccompProfile is set")
	} else {
		oneOfListed(&c.findings, at.Child("type"), profile.Type, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	}
	switch {
	case profile.Type != corev1.SeccompProfileTypeLocalhost && profile.LocalhostProfile != nil:
		c.invalid(at.Child("localhostProfile"), profile, "can only be set when seccomp type is Localhost")
	case profile.Type == corev1.SeccompProfileTypeLocalhost && profile.LocalhostProfile == nil:
		c.required(at.Child("localhostProfile"), "must be set when seccomp type is Localhost")
	case profile.Type == corev1.SeccompProfileTypeLocalhost:
		c.descending(*profile.LocalhostProfile, at.Child("localhostProfile"))
	}
}

func (c *podChecks) appArmor(profile *corev1.AppArmorProfile, at *field.Path) {
	if profile == nil {
		return
	}
	switch profile.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		if strings.TrimSpace(deref(profile.LocalhostProfile)) == "" {
			c.required(at.Child("localhostProfile"), "must be set when AppArmor type is Localhost")
		} else if strings.TrimSpace(*profile.LocalhostProfile) != *profile.LocalhostProfile {
			c.invalid(at.Child("localhostProfile"), *profile.LocalhostProfile, "must not be padded with whitespace")
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if profile.LocalhostProfile != nil {
			c.invalid(at.Child("localhostProfile"), profile.LocalhostProfile, "can only be set when AppArmor type is Localhost")
		}
	case "":
		c.required(at.Child("type"), "type is required when appArmorProfile is set")
	default:
		oneOfListed(&c.findings, at.Child("type"), profile.Type, corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	}
}

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

func (c *podChecks) podSecurity(at *field.Path) {
	context := c.spec.SecurityContext
	if context == nil {
		return
	}
	if context.FSGroup != nil {
		c.invalid(at.Child("fsGroup"), *context.FSGroup, utilvalidation.IsValidGroupID(*context.FSGroup)...)
	}
	c.ids(at, context.RunAsUser, context.RunAsGroup)
	for i, group := range context.SupplementalGroups {
		c.invalid(at.Child("supplementalGroups").Index(i), group, utilvalidation.IsValidGroupID(group)...)
	}
	names := sets.New[string]()
	for i, sysctl := range context.Sysctls {
		here := at.Child("sysctls").Index(i).Child("name")
		switch {
		case sysctl.Name == "":
			c.required(here, "")
		case len(sysctl.Name) > 253 || !sysctlName.MatchString(sysctl.Name):
			c.invalid(here, sysctl.Name, fmt.Sprintf("must have at most %d characters and match regex %s", 253, sysctlName))
		case names.Has(sysctl.Name):
			c.add(field.Duplicate(here, sysctl.Name))
		}
		names.Insert(sysctl.Name)
	}
	if context.FSGroupChangePolicy != nil {
		oneOf(&c.findings, at.Child("fsGroupChangePolicy"), *context.FSGroupChangePolicy, corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways)
	}
	c.seccomp(context.SeccompProfile, at.Child("seccompProfile"))
	c.appArmor(context.AppArmorProfile, at.Child("appArmorProfile"))
	if context.SupplementalGroupsPolicy != nil {
		oneOf(&c.findings, at.Child("supplementalGroupsPolicy"), *context.SupplementalGroupsPolicy, corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	}
	if context.SELinuxChangePolicy != nil {
		oneOf(&c.findings, at.Child("seLinuxChangePolicy"), *context.SELinuxChangePolicy, corev1.SELinuxChangePolicyRecursive, corev1.SELinuxChangePolicyMountOption)
	}
}

// Where pods run.

func (c *podChecks) affinity(at *field.Path) {
	affinity := c.spec.Affinity
	if affinity == nil {
		return
	}
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if node := affinity.NodeAffinity; node != nil {
		here := at.Child("nodeAffinity")
		if node.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			c.nodeSelector(node.RequiredDuringSchedulingIgnoredDuringExecution, here.Child(required))
		}
		for i, term := range node.PreferredDuringSchedulingIgnoredDuringExecution {
			here := here.Child(preferred).Index(i)
			c.weight(term.Weight, here)
			c.nodeTerm(term.Preference, here.Child("preference"), true)
		}
	}
	terms := func(at *field.Path, must []corev1.PodAffinityTerm, should []corev1.WeightedPodAffinityTerm) {
		for i, term := range must {
			c.podTerm(term, at.Child(required).Index(i))
		}
		for i, term := range should {
			c.weight(term.Weight, at.Child(preferred).Index(i))
			c.podTerm(term.PodAffinityTerm, at.Child(preferred).Index(i).Child("podAffinityTerm"))
		}
	}
	if pod := affinity.PodAffinity; pod != nil {
		terms(at.Child("podAffinity"), pod.RequiredDuringSchedulingIgnoredDuringExecution, pod.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if pod := affinity.PodAntiAffinity; pod != nil {
		terms(at.Child("podAntiAffinity"), pod.RequiredDuringSchedulingIgnoredDuringExecution, pod.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func (c *podChecks) weight(weight int32, at *field.Path) {
	if weight <= 0 || weight > 100 {
		c.invalid(at.Child("weight"), weight, "must be in the range 1-100")
	}
}

func (f *findings) nodeSelector(selector *corev1.NodeSelector, at *field.Path) {
	at = at.Child("nodeSelectorTerms")
	if len(selector.NodeSelectorTerms) == 0 {
		f.required(at, "must have at least one node selector term")
	}
	for i, term := range selector.NodeSelectorTerms {
		f.nodeTerm(term, at.Index(i), false)
	}
}

func (f *findings) nodeTerm(term corev1.NodeSelectorTerm, at *field.Path, lenient bool) {
	for i, expression := range term.MatchExpressions {
		here := at.Child("matchExpressions").Index(i)
		switch expression.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(expression.Values) == 0 {
				f.required(here.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
			}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			if len(expression.Values) > 0 {
				f.forbidden(here.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
			}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			if len(expression.Values) != 1 {
				f.required(here.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
			}
		default:
			f.invalid(here.Child("operator"), expression.Operator, "not a valid selector operator")
		}
		f.labelName(here.Child("key"), expression.Key)
		for j, value := range expression.Values {
			if !lenient {
				f.invalid(here.Child("values").Index(j), value, utilvalidation.IsValidLabelValue(value)...)
			}
		}
	}
	for i, expression := range term.MatchFields {
		here := at.Child("matchFields").Index(i)
		switch expression.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(expression.Values) != 1 {
				f.required(here.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
			}
		default:
			f.invalid(here.Child("operator"), expression.Operator, "not a valid selector operator")
		}
		if expression.Key != metav1.ObjectNameField {
			f.invalid(here.Child("key"), expression.Key, "not a valid field selector key")
			continue
		}
		for j, value := range expression.Values {
			f.subdomain(here.Child("values").Index(j), value)
		}
	}
}

func (c *podChecks) podTerm(term corev1.PodAffinityTerm, at *field.Path) {
	c.selector(at.Child("labelSelector"), term.LabelSelector)
	c.selector(at.Child("namespaceSelector"), term.NamespaceSelector)
	for _, name := range term.Namespaces {
		c.label(at.Child("namespace"), name)
	}
	for name, keys := range map[string][]string{"matchLabelKeys": term.MatchLabelKeys, "mismatchLabelKeys": term.MismatchLabelKeys} {
		c.labelKeys(keys, term.LabelSelector, at.Child(name))
	}
	if term.TopologyKey == "" {
		c.required(at.Child("topologyKey"), "can not be empty")
	}
	c.labelName(at.Child("topologyKey"), term.TopologyKey)
}

func (c *podChecks) labelKeys(keys []string, selector *metav1.LabelSelector, at *field.Path) {
	if len(keys) > 0 && selector == nil {
		c.forbidden(at, "must not be specified when labelSelector is not set")
		return
	}
	for i, key := range keys {
		c.labelName(at.Index(i), key)
	}
}

func (c *podChecks) topology(at *field.Path) {
	for i, constraint := range c.spec.TopologySpreadConstraints {
		here := at.Index(i)
		c.positive(here.Child("maxSkew"), int64(constraint.MaxSkew))
		if constraint.TopologyKey == "" {
			c.required(here.Child("topologyKey"), "can not be empty")
		}
		oneOf(&c.findings, here.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
		for _, other := range c.spec.TopologySpreadConstraints[i+1:] {
			if other.TopologyKey == constraint.TopologyKey && other.WhenUnsatisfiable == constraint.WhenUnsatisfiable {
				c.add(field.Duplicate(here.Child("{topologyKey, whenUnsatisfiable}"), fmt.Sprintf("{%v, %v}", constraint.TopologyKey, constraint.WhenUnsatisfiable)))
				break
			}
		}
		if domains := constraint.MinDomains; domains != nil {
			c.positive(here.Child("minDomains"), int64(*domains))
			if constraint.WhenUnsatisfiable != corev1.DoNotSchedule {
				c.invalid(here.Child("minDomains"), domains, fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, constraint.WhenUnsatisfiable))
			}
		}
		for name, policy := range map[string]*corev1.NodeInclusionPolicy{"nodeAffinityPolicy": constraint.NodeAffinityPolicy, "nodeTaintsPolicy": constraint.NodeTaintsPolicy} {
			if policy != nil {
				oneOf(&c.findings, here.Child(name), *policy, corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor)
			}
		}
		c.labelKeys(constraint.MatchLabelKeys, constraint.LabelSelector, here.Child("matchLabelKeys"))
		c.selector(here.Child("labelSelector"), constraint.LabelSelector)
	}
}

func validateTolerations(tolerations []corev1.Toleration, at *field.Path) field.ErrorList {
	var f findings
	for i, toleration := range tolerations {
		here := at.Index(i)
		if toleration.Key != "" {
			f.labelName(here.Child("key"), toleration.Key)
		} else if toleration.Operator != corev1.TolerationOpExists {
			f.invalid(here.Child("operator"), toleration.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
			f.invalid(here.Child("effect"), toleration.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		switch toleration.Operator {
		case corev1.TolerationOpEqual, "":
			if messages := utilvalidation.IsValidLabelValue(toleration.Value); len(messages) > 0 {
				f.invalid(here.Child("operator"), toleration.Value, strings.Join(messages, ";"))
			}
		case corev1.TolerationOpExists:
			if toleration.Value != "" {
				f.invalid(here.Child("operator"), toleration.Value, "value must be empty when `operator` is 'Exists'")
			}
		case corev1.TolerationOpLt, corev1.TolerationOpGt:
			f.add(field.NotSupported(here.Child("operator"), toleration.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}))
		default:
			f.add(field.NotSupported(here.Child("operator"), toleration.Operator, []corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
		}
		if toleration.Effect != "" {
			oneOfListed(&f, here.Child("effect"), toleration.Effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
		}
	}
	return f.list
}

func (c *podChecks) dns(at *field.Path) {
	config := c.spec.DNSConfig
	if c.spec.DNSPolicy == corev1.DNSNone {
		if config == nil {
			c.required(at, fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone))
			return
		}
		if len(config.Nameservers) == 0 {
			c.required(at.Child("nameservers"), fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone))
			return
		}
	}
	if config == nil {
		return
	}
	if len(config.Nameservers) > 3 {
		c.invalid(at.Child("nameservers"), config.Nameservers, "must not have more than 3 nameservers")
	}
	for i, server := range config.Nameservers {
		c.ip(at.Child("nameservers").Index(i), server)
	}
	if len(config.Searches) > 32 {
		c.invalid(at.Child("searches"), config.Searches, "must not have more than 32 search paths")
	}
	for i, search := range config.Searches {
		if search != "." {
			search = strings.TrimSuffix(search, ".")
			c.invalid(at.Child("searches").Index(i), search, utilvalidation.IsDNS1123SubdomainWithUnderscore(search)...)
		}
	}
	for i, option := range config.Options {
		if option.Name == "" {
			c.required(at.Child("options").Index(i), "must not be empty")
		}
	}
}

// Pods themselves.

func validatePodSpecOf(pod *corev1.Pod) field.ErrorList {
	at := field.NewPath("spec")
	c := podChecks{spec: &pod.Spec, isPod: true}
	c.add(validateMetadata(&pod.ObjectMeta, true, validation.NameIsDNSSubdomain)...)
	c.annotations(pod.Annotations, field.NewPath("metadata", "annotations"))
	c.check(&pod.ObjectMeta, at)
	if pod.Spec.ServiceAccountName == "" {
		for i, volume := range pod.Spec.Volumes {
			if volume.Projected == nil {
				continue
			}
			for j, source := range volume.Projected.Sources {
				if source.ServiceAccountToken != nil {
					c.forbidden(at.Child("volumes").Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"), "must not be specified when serviceAccountName is not set")
				}
			}
		}
	}
	if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		c.notNegative(at.Child("terminationGracePeriodSeconds"), *seconds)
	}
	for name, containers := range map[string][]corev1.Container{"containers": pod.Spec.Containers, "initContainers": pod.Spec.InitContainers} {
		for i, container := range containers {
			if strings.TrimSpace(container.Image) != container.Image {
				c.invalid(at.Child(name).Index(i).Child("image"), container.Image, "must not have leading or trailing whitespace")
			}
		}
	}
	return c.list
}

func validatePod(pod *corev1.Pod) field.ErrorList {
	f, at := findings{validatePodSpecOf(pod)}, field.NewPath("spec")
	if len(pod.Spec.EphemeralContainers) > 0 {
		f.forbidden(at.Child("ephemeralContainers"), "cannot be set on create")
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		f.forbidden(at.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
	}
	return f.list
}

// mutableFields is what an update of a pod may change.
const mutableFields = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

func validatePodUpdate(pod, old *corev1.Pod) field.ErrorList {
	at := field.NewPath("spec")
	f := findings{append(validateMetadataUpdate(pod, old), validatePodSpecOf(pod)...)}
	for _, lists := range []struct {
		name     string
		now, was []corev1.Container
	}{{"containers", pod.Spec.Containers, old.Spec.Containers}, {"initContainers", pod.Spec.InitContainers, old.Spec.InitContainers}} {
		here := at.Child(lists.name)
		if len(lists.now) != len(lists.was) {
			f.forbidden(here, "pod updates may not add or remove containers")
			return f.list
		}
		for i, container := range lists.now {
			if container.Image == "" {
				f.required(here.Index(i).Child("image"), "")
			}
			if strings.TrimSpace(container.Image) != container.Image {
				f.invalid(here.Index(i).Child("image"), container.Image, "must not have leading or trailing whitespace")
			}
		}
	}
	here, now, was := at.Child("activeDeadlineSeconds"), pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds
	switch {
	case now != nil && (*now < 0 || *now > math.MaxInt32):
		f.invalid(here, *now, utilvalidation.InclusiveRangeError(0, math.MaxInt32))
		return f.list
	case now != nil && was != nil && *was < *now:
		f.invalid(here, *now, "must be less than or equal to previous value")
		return f.list
	case now == nil && was != nil:
		f.invalid(here, now, "must not update from a positive integer to nil value")
	}
	f.add(validateAddedTolerations(pod.Spec.Tolerations, old.Spec.Tolerations, at.Child("tolerations"))...)
	known := sets.New[string]()
	for _, gate := range old.Spec.SchedulingGates {
		known.Insert(gate.Name)
	}
	for i, gate := range pod.Spec.SchedulingGates {
		if !known.Has(gate.Name) {
			f.forbidden(at.Child("schedulingGates").Index(i).Child("name"), fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name))
		}
	}
	if rest := withoutMutable(pod, old); !equality.Semantic.DeepEqual(rest, old.Spec) {
		f.forbidden(at, mutableFields+diff.Diff(goValue{old.Spec}, goValue{rest}))
	}
	return f.list
}

// withoutMutable is the spec of a pod with what may change as it was.
func withoutMutable(pod, old *corev1.Pod) corev1.PodSpec {
	spec := *pod.Spec.DeepCopy()
	for i := range spec.Containers {
		spec.Containers[i].Image = old.Spec.Containers[i].Image
	}
	for i := range spec.InitContainers {
		spec.InitContainers[i].Image = old.Spec.InitContainers[i].Image
	}
	spec.ActiveDeadlineSeconds, spec.SchedulingGates, spec.Tolerations = old.Spec.ActiveDeadlineSeconds, old.Spec.SchedulingGates, old.Spec.Tolerations
	if len(old.Spec.SchedulingGates) > 0 { // until it is scheduled, where it may run can be narrowed
		spec.NodeSelector = old.Spec.NodeSelector
	}
	return spec
}

func validateAddedTolerations(now, was []corev1.Toleration, at *field.Path) field.ErrorList {
	for _, old := range was {
		kept := slices.ContainsFunc(now, func(toleration corev1.Toleration) bool {
			old.TolerationSeconds = toleration.TolerationSeconds
			return reflect.DeepEqual(old, toleration)
		})
		if !kept {
			return field.ErrorList{field.Forbidden(at, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return validateTolerations(now, at)
}

func validatePodStatus(pod, old *corev1.Pod) field.ErrorList {
	at := field.NewPath("status")
	f := findings{validateMetadataUpdate(pod, old)}
	for i, condition := range pod.Status.Conditions {
		here := at.Child("conditions").Index(i)
		if condition.ObservedGeneration < 0 {
			f.invalid(here.Child("observedGeneration"), condition.ObservedGeneration, "must be a non-negative integer")
		}
		if condition.Type != corev1.PodScheduled && condition.Type != corev1.PodReady && condition.Type != corev1.PodInitialized {
			f.qualified(here.Child("Type"), string(condition.Type))
		}
	}
	if name := pod.Status.NominatedNodeName; name != old.Status.NominatedNodeName && name != "" {
		f.subdomain(at.Child("nominatedNodeName"), name)
	}
	if pod.Status.ObservedGeneration < 0 {
		f.invalid(at.Child("observedGeneration"), pod.Status.ObservedGeneration, "must be a non-negative integer")
	}
	f.immutable(at.Child("qosClass"), pod.Status.QOSClass, old.Status.QOSClass)
	for _, lists := range []struct {
		name     string
		now, was []corev1.ContainerStatus
	}{{"containerStatuses", pod.Status.ContainerStatuses, old.Status.ContainerStatuses}, {"initContainerStatuses", pod.Status.InitContainerStatuses, old.Status.InitContainerStatuses}} {
		for i, before := range lists.was {
			if before.State.Terminated == nil || mayRestart(&old.Spec, before) {
				continue
			}
			for _, status := range lists.now {
				if status.Name == before.Name && status.State.Terminated == nil {
					f.forbidden(at.Child(lists.name).Index(i).Child("state"), "may not be transitioned to non-terminated state")
				}
			}
		}
	}
	var ips []string
	for _, ip := range old.Status.PodIPs {
		ips = append(ips, ip.IP)
	}
	for i, ip := range pod.Status.PodIPs {
		f.ip(at.Child("podIPs").Index(i), ip.IP, ips...)
	}
	if len(pod.Status.HostIPs) > 0 && pod.Status.HostIP != pod.Status.HostIPs[0].IP {
		f.invalid(at.Child("hostIPs").Index(0).Child("ip"), pod.Status.HostIPs[0].IP, "must be equal to `hostIP`")
	}
	return f.list
}

func mayRestart(spec *corev1.PodSpec, status corev1.ContainerStatus) bool {
	restart := false
	eachContainer(spec, nil, func(container *corev1.Container, _ *field.Path) {
		if container.Name != status.Name {
			return
		}
		policy := spec.RestartPolicy
		if container.RestartPolicy != nil {
			policy = corev1.RestartPolicy(*container.RestartPolicy)
		}
		restart = policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && status.State.Terminated.ExitCode != 0
	})
	return restart
}

// qosOf is how well a pod is served, by its requests and limits.
func qosOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	guaranteed := true
	add := func(list, sum corev1.ResourceList) (found int) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			quantity, ok := list[name]
			if !ok || quantity.Sign() <= 0 {
				continue
			}
			found++
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
		return found
	}
	if spec.Resources != nil {
		add(spec.Resources.Requests, requests)
		guaranteed = add(spec.Resources.Limits, limits) == 2
	} else {
		for _, container := range slices.Concat(spec.Containers, spec.InitContainers) {
			add(container.Resources.Requests, requests)
			guaranteed = add(container.Resources.Limits, limits) == 2 && guaranteed
		}
	}
	switch {
	case len(requests) == 0 && len(limits) == 0:
		return corev1.PodQOSBestEffort
	case guaranteed && equality.Semantic.DeepEqual(requests, limits):
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// podWarnings are those of a pod, or of a template.
func podWarnings(metadata *metav1.ObjectMeta, spec *corev1.PodSpec, at *field.Path) (warnings []string) {
	warn := func(format string, arguments ...any) { warnings = append(warnings, fmt.Sprintf(format, arguments...)) }
	specAt := at.Child("spec")
	for i, constraint := range spec.TopologySpreadConstraints {
		if constraint.LabelSelector == nil {
			warn("%s: a null labelSelector results in matching no pod", specAt.Child("topologySpreadConstraints").Index(i).Child("labelSelector"))
		}
	}
	for i, volume := range spec.Volumes {
		if volume.GitRepo != nil {
			warn("%s: deprecated in v1.11, and disabled by default in v1.33+", specAt.Child("volumes").Index(i).Child("gitRepo"))
		}
	}
	secrets := sets.New[string]()
	for i, secret := range spec.ImagePullSecrets {
		here := specAt.Child("imagePullSecrets").Index(i).Child("name")
		if secrets.Has(secret.Name) {
			warn("%s: duplicate name %q", here, secret.Name)
		}
		if secret.Name == "" {
			defer func() { warn("%s: invalid empty name %q", here, "") }()
		}
		secrets.Insert(secret.Name)
	}
	eachContainer(spec, specAt, func(container *corev1.Container, at *field.Path) {
		for _, lists := range []struct {
			name string
			list corev1.ResourceList
		}{{"limits", container.Resources.Limits}, {"requests", container.Resources.Requests}} {
			for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
				if quantity, ok := lists.list[name]; ok && quantity.MilliValue()%1000 != 0 {
					warn("%s: fractional byte value %q is invalid, must be an integer", at.Child("resources", lists.name).Key(string(name)), quantity.String())
				}
			}
		}
		names := sets.New[string]()
		for i, variable := range container.Env {
			reference := "$(" + variable.Name + ")"
			if names.Has(variable.Name) && (variable.ValueFrom != nil || variable.Value == reference || !strings.Contains(variable.Value, reference)) {
				warn("%s: hides previous definition of %q, which may be dropped when using apply", at.Child("env").Index(i), variable.Name)
			}
			names.Insert(variable.Name)
		}
	})
	warnings = append(warnings, portWarnings(spec, specAt)...)
	if spec.TerminationGracePeriodSeconds != nil && *spec.TerminationGracePeriodSeconds < 0 {
		warn("%s: must be >= 0; negative values are invalid and will be treated as 1", specAt.Child("terminationGracePeriodSeconds"))
	}
	return warnings
}

func portWarnings(spec *corev1.PodSpec, at *field.Path) (warnings []string) {
	type definition struct {
		at   *field.Path
		port corev1.ContainerPort
	}
	known := map[string][]definition{}
	eachContainer(spec, at, func(container *corev1.Container, at *field.Path) {
		for i, port := range container.Ports {
			here := at.Child("ports").Index(i)
			key := fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol)
			for _, other := range known[key] {
				switch {
				case port.HostIP == other.port.HostIP && port.HostPort == other.port.HostPort:
					warnings = append(warnings, fmt.Sprintf("%s: duplicate port definition with %s", here, other.at))
				case port.HostPort == 0 || other.port.HostPort == 0:
					warnings = append(warnings, fmt.Sprintf("%s: overlapping port definition with %s", here, other.at))
				}
			}
			known[key] = append(known[key], definition{here, port})
		}
	})
	return warnings
}

// dnsLabelWarning is that of a name from which others make the names of hosts.
func dnsLabelWarning(name, used string) []string {
	messages := utilvalidation.IsDNS1123Label(name)
	if len(messages) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in %s, which can result in surprising behavior; a DNS label is recommended: %v", used, messages)}
}

var podKind = coreV1.WithKind("Pod")

func pods() kind {
	status, spec := corev1.PodStatus{}.SwaggerDoc(), corev1.PodSpec{}.SwaggerDoc()
	orNone := func(text string) string {
		if text == "" {
			return "<none>"
		}
		return text
	}
	return kind{
		gvk: podKind, resource: "pods", short: []string{"po"}, categories: []string{"all"}, namespaced: true, returned: true,
		columns: []column{
			col("Ready", "string", "The aggregate readiness state of this pod for accepting traffic.", func(p *corev1.Pod) any { return summaryOf(p).ready }),
			col("Status", "string", "The aggregate status of the containers in this pod.", func(p *corev1.Pod) any { return summaryOf(p).reason }),
			col("Restarts", "string", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.", func(p *corev1.Pod) any { return summaryOf(p).restarts }),
			sinceColumn,
			col("IP", "string wide", status["podIP"], func(p *corev1.Pod) any {
				if len(p.Status.PodIPs) == 0 {
					return "<none>"
				}
				return orNone(p.Status.PodIPs[0].IP)
			}),
			col("Node", "string wide", spec["nodeName"], func(p *corev1.Pod) any { return orNone(p.Spec.NodeName) }),
			col("Nominated Node", "string wide", status["nominatedNodeName"], func(p *corev1.Pod) any { return orNone(p.Status.NominatedNodeName) }),
			col("Readiness Gates", "string wide", spec["readinessGates"], func(p *corev1.Pod) any { return gatesOf(p) }),
		},
		conditions: func(object runtime.Object) []metav1.TableRowCondition {
			switch object.(*corev1.Pod).Status.Phase {
			case corev1.PodSucceeded:
				return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(corev1.PodSucceeded), Message: "The pod has completed successfully."}}
			case corev1.PodFailed:
				return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(corev1.PodFailed), Message: "The pod failed."}}
			}
			return nil
		},
		selectable: []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"},
		fields: func(object runtime.Object, set fields.Set) {
			pod := object.(*corev1.Pod)
			set["spec.nodeName"], set["spec.restartPolicy"], set["spec.schedulerName"] = pod.Spec.NodeName, string(pod.Spec.RestartPolicy), pod.Spec.SchedulerName
			set["spec.serviceAccountName"], set["spec.hostNetwork"] = pod.Spec.ServiceAccountName, strconv.FormatBool(pod.Spec.HostNetwork)
			set["status.phase"], set["status.nominatedNodeName"], set["status.podIP"] = string(pod.Status.Phase), pod.Status.NominatedNodeName, ""
			if len(pod.Status.PodIPs) > 0 {
				set["status.podIP"] = pod.Status.PodIPs[0].IP
			}
		},
		rules: rules{
			unconditional: true, reset: []string{"status"}, spec: typed1(func(p *corev1.Pod) any { return p.Spec }),
			create: change1(func(p *corev1.Pod) {
				p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosOf(&p.Spec)}
				if len(p.Spec.SchedulingGates) > 0 {
					p.Status.Conditions = []corev1.PodCondition{{
						Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
						Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: metav1.Now(),
					}}
				}
			}),
			update:         change2(func(p, old *corev1.Pod) { p.Status = old.Status }),
			validate:       typed1(validatePod),
			validateUpdate: typed2(validatePodUpdate),
			warnings: typed1(func(p *corev1.Pod) []string {
				return append(dnsLabelWarning(p.Name, "the Pod's hostname"), podWarnings(&p.ObjectMeta, &p.Spec, nil)...)
			}),
			updateWarnings: func(runtime.Object, runtime.Object) []string { return nil },
			grace:          podGrace,
		},
		status: &rules{
			unconditional: true, reset: []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
			update: change2(func(p, old *corev1.Pod) {
				p.Spec, p.DeletionTimestamp, p.OwnerReferences = old.Spec, nil, old.OwnerReferences
				set(&p.Status.QOSClass, old.Status.QOSClass)
				set(&p.Status.ObservedGeneration, old.Status.ObservedGeneration)
			}),
			validateUpdate: typed2(validatePodStatus),
		},
		parts: []extraPart{
			{name: "attach", kind: coreV1.WithKind("PodAttachOptions"), verbs: []string{"create", "get"}, part: streamPart},
			{name: "binding", kind: coreV1.WithKind("Binding"), verbs: []string{"create"}, part: bindingPart},
			{name: "ephemeralcontainers", kind: podKind, verbs: partVerbs, part: podPart("ephemeralcontainers", ephemeralRules())},
			{name: "eviction", kind: evictionKind, verbs: []string{"create"}, part: evictionPart},
			{name: "exec", kind: coreV1.WithKind("PodExecOptions"), verbs: []string{"create", "get"}, part: streamPart},
			{name: "log", kind: podKind, verbs: []string{"get"}, part: logPart},
			{name: "portforward", kind: coreV1.WithKind("PodPortForwardOptions"), verbs: []string{"create", "get"}, part: streamPart},
			{name: "proxy", kind: coreV1.WithKind("PodProxyOptions"), verbs: proxyVerbs, part: streamPart},
			{name: "resize", kind: podKind, verbs: partVerbs, part: podPart("resize", resizeRules())},
		},
		admit: admitPod,
	}
}

var proxyVerbs = []string{"create", "delete", "get", "patch", "update"}

// podGrace is how long a pod may take to end: one that runs nowhere ends at once.
func podGrace(object runtime.Object, options *metav1.DeleteOptions) bool {
	pod := object.(*corev1.Pod)
	period := deref(pod.Spec.TerminationGracePeriodSeconds)
	if options.GracePeriodSeconds != nil {
		period = *options.GracePeriodSeconds
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	options.GracePeriodSeconds = &period
	return true
}

// podSummary is what a table says of the containers of a pod.
type podSummary struct{ ready, reason, restarts string }

func summaryOf(pod *corev1.Pod) podSummary {
	reason, total, ready, restarts := string(pod.Status.Phase), len(pod.Spec.Containers), 0, 0
	var last metav1.Time
	if pod.Status.Reason != "" {
		reason = pod.Status.Reason
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated {
			reason = corev1.PodReasonSchedulingGated
		}
	}
	sidecars := map[string]bool{}
	for _, container := range pod.Spec.InitContainers {
		if deref(container.RestartPolicy) == corev1.ContainerRestartPolicyAlways {
			sidecars[container.Name] = true
			total++
		}
	}
	count := func(status corev1.ContainerStatus) {
		restarts += int(status.RestartCount)
		if ended := status.LastTerminationState.Terminated; ended != nil && last.Before(&ended.FinishedAt) {
			last = ended.FinishedAt
		}
	}
	terminated := func(prefix string, state *corev1.ContainerStateTerminated) string {
		switch {
		case state.Reason != "":
			return prefix + state.Reason
		case state.Signal != 0:
			return fmt.Sprintf("%sSignal:%d", prefix, state.Signal)
		}
		return fmt.Sprintf("%sExitCode:%d", prefix, state.ExitCode)
	}
	initializing := false
	for i, status := range pod.Status.InitContainerStatuses {
		count(status)
		state := status.State
		switch {
		case state.Terminated != nil && state.Terminated.ExitCode == 0:
			continue
		case sidecars[status.Name] && deref(status.Started):
			if status.Ready {
				ready++
			}
			continue
		case state.Terminated != nil:
			reason = terminated("Init:", state.Terminated)
		case state.Waiting != nil && state.Waiting.Reason != "" && state.Waiting.Reason != "PodInitializing":
			reason = "Init:" + state.Waiting.Reason
		default:
			reason = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		initializing = true
		break
	}
	initialized := podConditionTrue(pod, corev1.PodInitialized)
	if !initializing || initialized {
		restarts, last = 0, metav1.Time{}
		for _, status := range pod.Status.InitContainerStatuses {
			if sidecars[status.Name] {
				count(status)
			}
		}
		running, failure := false, ""
		for _, status := range slices.Backward(pod.Status.ContainerStatuses) {
			count(status)
			switch state := status.State; {
			case state.Waiting != nil && state.Waiting.Reason != "":
				reason = state.Waiting.Reason
			case state.Terminated != nil:
				reason = terminated("", state.Terminated)
				if state.Terminated.ExitCode != 0 {
					failure = reason
				}
			case status.Ready && state.Running != nil:
				running = true
				ready++
			}
		}
		if reason == "Completed" {
			switch {
			case running && podConditionTrue(pod, corev1.PodReady):
				reason = "Running"
			case failure != "":
				reason = failure
			case running:
				reason = "NotReady"
			}
		}
	}
	if pod.DeletionTimestamp != nil && pod.Status.Reason == "NodeLost" {
		reason = "Unknown"
	} else if pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		reason = "Terminating"
	}
	text := strconv.Itoa(restarts)
	if restarts != 0 && !last.IsZero() {
		text = fmt.Sprintf("%d (%s ago)", restarts, since(last))
	}
	return podSummary{fmt.Sprintf("%d/%d", ready, total), reason, text}
}

func podConditionTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

func gatesOf(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	open := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if podConditionTrue(pod, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(pod.Spec.ReadinessGates))
}

// admitPod does what the admission plugins do with pods that each server has: priorities, and tolerations of nodes that are away.
func admitPod(s *Server, a admission.Attributes) error {
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || a.GetSubresource() != "" {
		return nil
	}
	if old, ok := a.GetOldObject().(*corev1.Pod); ok && a.GetOperation() == admission.Update {
		if pod.Spec.Priority == nil {
			pod.Spec.Priority = old.Spec.Priority
		}
		if pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
	} else if err := s.prioritize(pod); err != nil {
		return admission.NewForbidden(a, err)
	}
	tolerated := func(key string) bool {
		return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		})
	}
	seconds := int64(300)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if !tolerated(key) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
	return nil
}

// prioritize gives a pod the priority of its class, or of the one that is for all others.
func (s *Server) prioritize(pod *corev1.Pod) error {
	var class *schedulingv1.PriorityClass
	if name := pod.Spec.PriorityClassName; name != "" {
		object, err := s.readObject("scheduling.k8s.io", "v1", "priorityclasses", "", name)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("no PriorityClass with name %v was found", name)
		}
		if err != nil {
			return err
		}
		class = object.(*schedulingv1.PriorityClass)
	} else {
		for _, object := range s.readAll("scheduling.k8s.io", "v1", "priorityclasses", "") {
			if one := object.(*schedulingv1.PriorityClass); one.GlobalDefault && (class == nil || one.Value < class.Value) {
				class = one
			}
		}
	}
	priority, policy := int32(0), corev1.PreemptLowerPriority
	if class != nil {
		pod.Spec.PriorityClassName, priority = class.Name, class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
	}
	if pod.Spec.Priority != nil && *pod.Spec.Priority != priority {
		return fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *pod.Spec.Priority, priority)
	}
	pod.Spec.Priority = &priority
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != policy {
		return fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *pod.Spec.PreemptionPolicy, policy)
	}
	pod.Spec.PreemptionPolicy = &policy
	return nil
}

// Subresources of pods.

// podPart is a subresource that changes some of a pod.
func podPart(name string, r rules) func(s *Server, objects *registry, k *kind, f family) part {
	return func(s *Server, objects *registry, k *kind, f family) part {
		changed := objects.with(&kindStrategy{f.scheme, s.names, genericStoreOnly{}, k, r})
		return part{storage: subresource{changed}, scope: newScope(k, f, name, nil, objects)}
	}
}

func ephemeralRules() rules {
	return rules{
		unconditional: true, spec: typed1(func(p *corev1.Pod) any { return p.Spec }),
		update: change2(func(p, old *corev1.Pod) {
			containers := p.Spec.EphemeralContainers
			p.Spec, p.Status = *old.Spec.DeepCopy(), old.Status
			metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
			p.Spec.EphemeralContainers = containers
		}),
		validateUpdate: typed2(func(p, old *corev1.Pod) field.ErrorList {
			f := findings{validatePodSpecOf(p)}
			for i, container := range old.Spec.EphemeralContainers {
				at := slices.IndexFunc(p.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == container.Name })
				if here := field.NewPath("spec", "ephemeralContainers"); at < 0 {
					f.forbidden(here, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", container.Name))
				} else if !equality.Semantic.DeepEqual(container, p.Spec.EphemeralContainers[at]) {
					f.forbidden(here.Index(i), fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", container.Name, diff.Diff(container, p.Spec.EphemeralContainers[at])))
				}
			}
			return f.list
		}),
	}
}

func resizeRules() rules {
	return rules{
		unconditional: true, spec: typed1(func(p *corev1.Pod) any { return p.Spec }),
		update: change2(func(p, old *corev1.Pod) {
			if len(p.Spec.Containers) != len(old.Spec.Containers) || len(p.Spec.InitContainers) != len(old.Spec.InitContainers) {
				return
			}
			spec := old.Spec.DeepCopy()
			for i := range spec.Containers {
				spec.Containers[i].Resources, spec.Containers[i].ResizePolicy = p.Spec.Containers[i].Resources, p.Spec.Containers[i].ResizePolicy
			}
			p.Spec, p.Status = *spec, old.Status
			metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta)
		}),
		validateUpdate: typed2(func(p, old *corev1.Pod) field.ErrorList {
			f, at := findings{validatePodSpecOf(p)}, field.NewPath("spec")
			if qos := qosOf(&p.Spec); qos != old.Status.QOSClass {
				f.invalid(at, old.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
			}
			return f.list
		}),
	}
}

// streamPart answers for what a kubelet would serve.
func streamPart(s *Server, objects *registry, k *kind, _ family) part {
	return part{serve: func(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
		object, err := objects.Get(request.WithNamespace(r.Context(), info.Namespace), info.Name, &metav1.GetOptions{})
		if err == nil {
			err = apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", info.Name))
			if node := object.(*corev1.Pod).Spec.NodeName; node != "" {
				err = apierrors.NewNotFound(coreV1.WithResource("nodes").GroupResource(), node)
			}
		}
		responsewriters.ErrorNegotiated(err, metaCodecs, coreV1, w, r)
	}}
}

// logPart has no lines: nothing runs.
func logPart(s *Server, objects *registry, k *kind, _ family) part {
	return part{serve: func(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
		object, err := objects.Get(request.WithNamespace(r.Context(), info.Namespace), info.Name, &metav1.GetOptions{})
		if err == nil {
			err = containerProblem(object.(*corev1.Pod), r.URL.Query().Get("container"))
		}
		if err != nil {
			responsewriters.ErrorNegotiated(err, metaCodecs, coreV1, w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
	}}
}

func containerProblem(pod *corev1.Pod, name string) error {
	var names []string
	eachContainer(&pod.Spec, nil, func(container *corev1.Container, _ *field.Path) { names = append(names, container.Name) })
	switch {
	case name == "" && len(pod.Spec.Containers) != 1:
		return apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
	case name != "" && !slices.Contains(names, name):
		return apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	}
	return nil
}

// creater makes what is not kept.
type creater struct {
	new    func() runtime.Object
	create func(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error)
}

func (c creater) New() runtime.Object { return c.new() }
func (c creater) Destroy()            {}
func (c creater) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	return c.create(ctx, name, object, validate, options)
}

func bindingPart(s *Server, objects *registry, k *kind, f family) part {
	bind := func(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
		binding := object.(*corev1.Binding)
		if binding.Name != name {
			return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
		}
		var problems findings
		at := field.NewPath("target")
		if kind := binding.Target.Kind; kind != "" && kind != "Node" {
			problems.add(field.NotSupported(at.Child("kind"), kind, []string{"Node", "<empty>"}))
		}
		if binding.Target.Name == "" {
			problems.required(at.Child("name"), "")
		}
		if err := problems.list.ToAggregate(); err != nil {
			return nil, err
		}
		if validate != nil {
			if err := validate(ctx, binding.DeepCopyObject()); err != nil {
				return nil, err
			}
		}
		return &metav1.Status{Status: metav1.StatusSuccess}, objects.bind(ctx, binding, options)
	}
	kind := coreV1.WithKind("Binding")
	return part{creater: creater{func() runtime.Object { return &corev1.Binding{} }, bind}, scope: newScopeOf(k, f, kind, coreV1, "binding", nil, objects)}
}

// bind says on which node a pod runs.
func (r *registry) bind(ctx context.Context, binding *corev1.Binding, options *metav1.CreateOptions) error {
	key, err := r.key(ctx, binding.Name)
	if err != nil {
		return err
	}
	var preconditions storage.Preconditions
	if binding.UID != "" {
		preconditions.UID = &binding.UID
	}
	_, err = r.guarded(ctx, key, false, preconditions, dryrun.IsDryRun(options.DryRun), func(existing runtime.Object) (runtime.Object, error) {
		pod := existing.(*corev1.Pod)
		switch {
		case pod.DeletionTimestamp != nil:
			return nil, fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
		case pod.Spec.NodeName != "":
			return nil, fmt.Errorf("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
		case len(pod.Spec.SchedulingGates) > 0:
			return nil, fmt.Errorf("pod %v has non-empty .spec.schedulingGates", pod.Name)
		}
		pod.Spec.NodeName = binding.Target.Name
		for name, value := range binding.Annotations {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, name, value)
		}
		setPodCondition(pod, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
		return pod, nil
	})
	var status *apierrors.StatusError
	if err = storageerrors.InterpretUpdateError(err, r.qualified(ctx), binding.Name); err == nil || errors.As(err, &status) {
		return err
	}
	return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, binding.Name, err)
}

func setPodCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	condition.LastTransitionTime = metav1.Now()
	for i, known := range pod.Status.Conditions {
		if known.Type == condition.Type {
			if known.Status == condition.Status {
				condition.LastTransitionTime = known.LastTransitionTime
			}
			pod.Status.Conditions[i] = condition
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, condition)
}
