package builtin

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// EachContainer visits all containers of a pod with their paths.
func EachContainer(spec *corev1.PodSpec, at *field.Path, visit func(*corev1.Container, *field.Path)) {
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
	Findings
	spec    *corev1.PodSpec
	volumes map[string]corev1.VolumeSource // those that are valid
	isPod   bool
}

func validateTemplate(template *corev1.PodTemplateSpec, at *field.Path) field.ErrorList {
	c := podChecks{spec: &template.Spec}
	c.labels(at.Child("labels"), template.Labels)
	c.Add(validation.ValidateAnnotations(template.Annotations, at.Child("annotations"))...)
	c.annotations(template.Annotations, at.Child("annotations"))
	c.check(nil, at.Child("spec"))
	c.sameProfiles(template.Annotations, &template.Spec, at.Child("spec"))
	if len(template.Spec.EphemeralContainers) > 0 {
		c.forbidden(at.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template")
	}
	return c.List
}

// resourceClaims checks the claims of a pod, of which nothing else here knows.
func (c *podChecks) resourceClaims(metadata *metav1.ObjectMeta, at *field.Path) {
	names := sets.New[string]()
	for i, claim := range c.spec.ResourceClaims {
		here := at.Index(i)
		if metadata != nil {
			if _, mirror := metadata.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
				c.forbidden(field.NewPath(""), "static pods do not support resource claims")
				continue
			}
		}
		switch {
		case claim.Name == "":
			c.Required(here.Child("name"), "")
		case names.Has(claim.Name):
			c.Add(field.Duplicate(here.Child("name"), claim.Name))
		default:
			c.label(here.Child("name"), claim.Name)
			names.Insert(claim.Name)
		}
		switch {
		case claim.ResourceClaimName != nil && claim.ResourceClaimTemplateName != nil:
			c.invalid(here, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
		case claim.ResourceClaimName == nil && claim.ResourceClaimTemplateName == nil:
			c.invalid(here, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
		}
		if name := claim.ResourceClaimName; name != nil {
			c.subdomain(here.Child("resourceClaimName"), *name)
		}
		if name := claim.ResourceClaimTemplateName; name != nil {
			c.subdomain(here.Child("resourceClaimTemplateName"), *name)
		}
	}
}

func (c *podChecks) annotations(annotations map[string]string, at *field.Path) {
	if value, ok := annotations[corev1.MirrorPodAnnotationKey]; ok && c.spec.NodeName == "" {
		c.invalid(at.Key(corev1.MirrorPodAnnotationKey), value, "must set spec.nodeName if mirror pod annotation is set")
	}
	if text := annotations[corev1.TolerationsAnnotationKey]; text != "" {
		var tolerations []corev1.Toleration
		if err := json.Unmarshal([]byte(text), &tolerations); err != nil {
			c.invalid(at, corev1.TolerationsAnnotationKey, err.Error())
		}
		c.Add(validateTolerations(tolerations, at.Child(corev1.TolerationsAnnotationKey))...)
	}
	if cost, ok := annotations[corev1.PodDeletionCost]; ok {
		number, err := strconv.ParseInt(cost, 10, 32)
		if err != nil || strconv.FormatInt(number, 10) != cost {
			c.invalid(at.Key(corev1.PodDeletionCost), cost, "must be a 32bit integer")
		}
	}
	c.profileAnnotations(annotations, at)
}

func (c *podChecks) check(metadata *metav1.ObjectMeta, at *field.Path) {
	spec := c.spec
	c.checkVolumes(metadata, at.Child("volumes"))
	c.resourceClaims(metadata, at.Child("resourceClaims"))
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
	oneOfOrRequired(&c.Findings, at.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	oneOfOrRequired(&c.Findings, at.Child("dnsPolicy"), spec.DNSPolicy, corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)
	c.labels(at.Child("nodeSelector"), spec.NodeSelector)
	c.podSecurity(at.Child("securityContext"))
	if Deref(spec.ShareProcessNamespace) && spec.HostPID {
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
			c.Add(field.Duplicate(here, gate.Name))
		}
		gates.Insert(gate.Name)
	}
	c.topology(at.Child("topologySpreadConstraints"))
	c.hostProcess(at)
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
	if spec.Hostname != "" {
		c.label(at.Child("hostname"), spec.Hostname)
	}
	if spec.Subdomain != "" {
		c.label(at.Child("subdomain"), spec.Subdomain)
	}
	c.Add(validateTolerations(spec.Tolerations, at.Child("tolerations"))...)
	for i, alias := range spec.HostAliases {
		here := at.Child("hostAliases").Index(i)
		c.ip(here.Child("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			c.subdomain(here.Child("hostnames").Index(j), name)
		}
	}
	if spec.PriorityClassName != "" {
		c.subdomain(at.Child("priorityClassName"), spec.PriorityClassName)
	}
	if spec.RuntimeClassName != nil {
		c.subdomain(at.Child("runtimeClassName"), *spec.RuntimeClassName)
	}
	if spec.PreemptionPolicy != nil {
		oneOfOrRequired(&c.Findings, at.Child("preemptionPolicy"), *spec.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
	if spec.Overhead != nil {
		c.requirements(&corev1.ResourceRequirements{Limits: spec.Overhead}, at.Child("overhead"), containerResourceName)
	}
	c.system(at)
	c.fileKeyVolumes(at)
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
		if Deref(spec.SetHostnameAsFQDN) {
			c.forbidden(here, "may not be specified when setHostnameAsFQDN is true")
		}
		if spec.HostNetwork {
			c.forbidden(here, "may not be specified when hostNetwork is true")
		}
		if len(*spec.HostnameOverride) > 64 {
			c.Add(field.TooLong(here, "", 64))
		}
		c.subdomain(here, *spec.HostnameOverride)
	}
	named("serviceAccountName", spec.ServiceAccountName)
	named("nodeName", spec.NodeName)
}

func (c *podChecks) containers(at *field.Path) {
	spec, here := c.spec, at.Child("containers")
	if len(spec.Containers) == 0 {
		c.Required(here, "")
	}
	names := sets.New[string]()
	for i := range spec.Containers {
		container, here := &spec.Containers[i], here.Index(i)
		c.container(container, here)
		if names.Has(container.Name) {
			c.Add(field.Duplicate(here.Child("name"), container.Name))
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
		if container.RestartPolicy != nil || len(container.RestartPolicyRules) == 0 {
			c.restartPolicy(container, here)
		} else {
			c.Required(here.Child("restartPolicy"), "must specify restartPolicy when restart rules are used")
		}
		if names.Has(container.Name) {
			c.Add(field.Duplicate(here.Child("name"), container.Name))
		} else if container.Name != "" {
			names.Insert(container.Name)
		}
		c.hostPorts([]corev1.Container{*container}, at.Child("initContainers"))
		sidecar := Deref(container.RestartPolicy) == corev1.ContainerRestartPolicyAlways
		if sidecar {
			c.lifecycle(container, here)
			continue
		}
		for name, set := range inOrder(as("lifecycle", container.Lifecycle != nil), as("livenessProbe", container.LivenessProbe != nil), as("readinessProbe", container.ReadinessProbe != nil), as("startupProbe", container.StartupProbe != nil)) {
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
	for _, container := range spec.InitContainers { // with names that are none, which ephemeral containers may not have either
		names.Insert(container.Name)
	}
	c.ephemeral(names, at.Child("ephemeralContainers"))
}

func (c *podChecks) ephemeral(others sets.Set[string], at *field.Path) {
	names := others.Clone()
	for i := range c.spec.EphemeralContainers {
		container, here := &c.spec.EphemeralContainers[i], at.Index(i)
		c.container((*corev1.Container)(&container.EphemeralContainerCommon), here)
		if strings.TrimSpace(container.Image) != container.Image {
			c.invalid(here.Child("image"), container.Image, "must not have leading or trailing whitespace")
		}
		if names.Has(container.Name) {
			c.Add(field.Duplicate(here.Child("name"), container.Name))
		}
		names.Insert(container.Name)
		if container.TargetContainerName != "" && !others.Has(container.TargetContainerName) {
			c.Add(field.NotFound(here.Child("targetContainerName"), container.TargetContainerName))
		}
		for _, name := range []string{"Ports", "Resources", "ResizePolicy", "RestartPolicy", "RestartPolicyRules", "LivenessProbe", "ReadinessProbe", "StartupProbe", "Lifecycle"} {
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
			c.Required(at.Child("restartPolicy"), "must specify restartPolicy when restart rules are used")
		}
	} else {
		oneOf(&c.Findings, at.Child("restartPolicy"), *container.RestartPolicy, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	}
	if rules := len(container.RestartPolicyRules); rules > 20 {
		c.Add(field.TooMany(at.Child("restartPolicyRules"), rules, 20))
	}
	for i, rule := range container.RestartPolicyRules {
		here := at.Child("restartPolicyRules").Index(i)
		oneOf(&c.Findings, here.Child("action"), rule.Action, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
		if rule.ExitCodes == nil {
			c.Required(here.Child("exitCodes"), "must be specified")
			continue
		}
		oneOf(&c.Findings, here.Child("exitCodes", "operator"), rule.ExitCodes.Operator, corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		if codes := len(rule.ExitCodes.Values); codes > 255 {
			c.Add(field.TooMany(here.Child("exitCodes", "values"), codes, 255))
		}
	}
}

func (c *podChecks) hostPorts(containers []corev1.Container, at *field.Path) {
	known := sets.New[string]()
	for i, container := range containers {
		for j, port := range container.Ports {
			text := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if port.HostPort != 0 && known.Has(text) {
				c.Add(field.Duplicate(at.Index(i).Child("ports").Index(j).Child("hostPort"), text))
			}
			known.Insert(text)
		}
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
			c.Required(here, "")
		case len(sysctl.Name) > 253 || !sysctlName.MatchString(sysctl.Name):
			c.invalid(here, sysctl.Name, fmt.Sprintf("must have at most %d characters and match regex %s", 253, sysctlName))
		case names.Has(sysctl.Name):
			c.Add(field.Duplicate(here, sysctl.Name))
		}
		names.Insert(sysctl.Name)
	}
	if context.FSGroupChangePolicy != nil {
		oneOf(&c.Findings, at.Child("fsGroupChangePolicy"), *context.FSGroupChangePolicy, corev1.FSGroupChangeOnRootMismatch, corev1.FSGroupChangeAlways)
	}
	c.seccomp(context.SeccompProfile, at.Child("seccompProfile"))
	c.windowsOptions(context.WindowsOptions, at.Child("windowsOptions"))
	c.appArmor(context.AppArmorProfile, at.Child("appArmorProfile"))
	if context.SupplementalGroupsPolicy != nil {
		oneOf(&c.Findings, at.Child("supplementalGroupsPolicy"), *context.SupplementalGroupsPolicy, corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	}
	if context.SELinuxChangePolicy != nil {
		oneOf(&c.Findings, at.Child("seLinuxChangePolicy"), *context.SELinuxChangePolicy, corev1.SELinuxChangePolicyRecursive, corev1.SELinuxChangePolicyMountOption)
	}
}

func (c *podChecks) dns(at *field.Path) {
	config := c.spec.DNSConfig
	if c.spec.DNSPolicy == corev1.DNSNone {
		if config == nil {
			c.Required(at, fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone))
			return
		}
		if len(config.Nameservers) == 0 {
			c.Required(at.Child("nameservers"), fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone))
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
	if len(strings.Join(config.Searches, " ")) > 2048 {
		c.invalid(at.Child("searches"), config.Searches, "must not have more than 2048 characters (including spaces) in the search list")
	}
	for i, search := range config.Searches {
		if search != "." {
			search = strings.TrimSuffix(search, ".")
			c.invalid(at.Child("searches").Index(i), search, utilvalidation.IsDNS1123SubdomainWithUnderscore(search)...)
		}
	}
	for i, option := range config.Options {
		if option.Name == "" {
			c.Required(at.Child("options").Index(i), "must not be empty")
		}
	}
}
