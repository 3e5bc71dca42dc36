package apiserver

import (
	"fmt"
	"math"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
			eachAction(&pod.Spec, func(action *corev1.HTTPGetAction) { setPointer(&action.Protocol, corev1.HTTPProtocolHTTP1) })
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
		}),
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

// eachAction visits the HTTP requests of all containers.
func eachAction(spec *corev1.PodSpec, visit func(*corev1.HTTPGetAction)) {
	eachContainer(spec, nil, func(container *corev1.Container, _ *field.Path) {
		for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
			if probe != nil && probe.HTTPGet != nil {
				visit(probe.HTTPGet)
			}
		}
		if container.Lifecycle == nil {
			return
		}
		for _, handler := range []*corev1.LifecycleHandler{container.Lifecycle.PostStart, container.Lifecycle.PreStop} {
			if handler != nil && handler.HTTPGet != nil {
				visit(handler.HTTPGet)
			}
		}
	})
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
		if container.Lifecycle.StopSignal != nil && c.spec.OS == nil {
			c.forbidden(here.Child("stopSignal"), "may not be set for containers with empty `spec.os.name`")
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
	if action.Protocol == nil {
		return
	}
	switch {
	case *action.Protocol != corev1.HTTPProtocolHTTP2:
		oneOf(&c.findings, at.Child("protocol"), *action.Protocol, corev1.HTTPProtocolHTTP1, corev1.HTTPProtocolHTTP2)
	case action.Scheme != corev1.URISchemeHTTP:
		c.invalid(at.Child("protocol"), *action.Protocol, "is only supported with HTTP (H2C)")
	case action.Host != "":
		c.invalid(at.Child("host"), action.Host, "must be empty when `protocol` is \"HTTP2\"")
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
		f.forbidden(at, mutableFields+strings.ReplaceAll(diff.Diff(old.Spec, rest), "v1.", "core."))
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
