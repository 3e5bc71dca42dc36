package builtin

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *podChecks) container(container *corev1.Container, at *field.Path) {
	if container.Name == "" {
		c.Required(at.Child("name"), "")
	} else {
		c.label(at.Child("name"), container.Name)
	}
	if container.Image == "" {
		c.Required(at.Child("image"), "")
	}
	oneOfOrRequired(&c.Findings, at.Child("terminationMessagePolicy"), container.TerminationMessagePolicy, corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	c.ports(container.Ports, at.Child("ports"))
	c.environment(container, at)
	c.mounts(container, at)
	switch container.ImagePullPolicy {
	case "":
		c.Required(at.Child("imagePullPolicy"), "")
	default:
		oneOf(&c.Findings, at.Child("imagePullPolicy"), container.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	}
	c.requirements(&container.Resources, at.Child("resources"), containerResourceName)
	c.resize(container.ResizePolicy, at.Child("resizePolicy"))
	c.security(container.SecurityContext, at.Child("securityContext"))
}

func (c *podChecks) resize(policies []corev1.ContainerResizePolicy, at *field.Path) {
	known := sets.New[corev1.ResourceName]()
	for i, policy := range policies {
		if known.Has(policy.ResourceName) {
			c.Add(field.Duplicate(at.Index(i), policy.ResourceName))
		}
		known.Insert(policy.ResourceName)
		if policy.ResourceName == "" {
			c.Required(at, "")
		} else {
			oneOf(&c.Findings, at, policy.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		}
		if policy.RestartPolicy == "" {
			c.Required(at, "")
		} else {
			oneOf(&c.Findings, at, policy.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		}
		if c.spec.RestartPolicy == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired {
			c.invalid(at, policy.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
		}
	}
}

func protocols(f *Findings, at *field.Path, protocol corev1.Protocol) {
	if protocol == "" {
		f.Required(at, "")
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
				c.Add(field.Duplicate(here.Child("name"), port.Name))
			}
			names.Insert(port.Name)
		}
		if port.ContainerPort == 0 {
			c.Required(here.Child("containerPort"), "")
		} else {
			c.port(here.Child("containerPort"), port.ContainerPort)
		}
		if port.HostPort != 0 {
			c.port(here.Child("hostPort"), port.HostPort)
		}
		protocols(&c.Findings, here.Child("protocol"), port.Protocol)
	}
}

func (c *podChecks) environment(container *corev1.Container, at *field.Path) {
	for i, variable := range container.Env {
		here := at.Child("env").Index(i)
		if variable.Name == "" {
			c.Required(here.Child("name"), "")
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
				c.Required(here.Child(name, "name"), "")
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
			c.Required(at.Child(name, "key"), "")
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
		c.fileKey(from.FileKeyRef, at.Child("fileKeyRef"))
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

func (c *podChecks) fileKey(file *corev1.FileKeySelector, at *field.Path) {
	if file.Key == "" {
		c.Required(at.Child("key"), "")
	} else {
		c.invalid(at.Child("key"), file.Key, utilvalidation.IsRelaxedEnvVarName(file.Key)...)
	}
	if file.VolumeName == "" {
		c.Required(at.Child("volumeName"), "")
	} else {
		c.label(at.Child("volumeName"), file.VolumeName)
	}
	if file.Path == "" {
		c.Required(at.Child("path"), "")
	} else if slices.Contains(strings.Split(file.Path, "/"), "..") {
		c.invalid(at.Child("path"), file.Path, "must not contain '..'")
	}
}

// fileKeyVolumes checks that files of variables are in volumes that are there, and empty at first.
func (c *podChecks) fileKeyVolumes(at *field.Path) {
	check := func(variables []corev1.EnvVar, at *field.Path) {
		for i, variable := range variables {
			if variable.ValueFrom == nil || variable.ValueFrom.FileKeyRef == nil {
				continue
			}
			name, here := variable.ValueFrom.FileKeyRef.VolumeName, at.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName")
			switch i := slices.IndexFunc(c.spec.Volumes, func(v corev1.Volume) bool { return v.Name == name }); {
			case i < 0:
				c.Add(field.NotFound(here, name))
			case c.spec.Volumes[i].EmptyDir == nil:
				c.invalid(here, name, "referenced volume must be of type emptyDir")
			}
		}
	}
	for i := range c.spec.InitContainers {
		check(c.spec.InitContainers[i].Env, at.Child("initContainers").Index(i))
	}
	for i := range c.spec.Containers {
		check(c.spec.Containers[i].Env, at.Child("containers").Index(i))
	}
	for i := range c.spec.EphemeralContainers {
		check(c.spec.EphemeralContainers[i].Env, at.Child("ephemeralContainers").Index(i))
	}
}

// fieldLabels are the fields of pods that others may refer to.
var fieldLabels = sets.New("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName",
	"spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")

func (c *podChecks) fieldRef(selector *corev1.ObjectFieldSelector, at *field.Path, supported ...string) {
	switch {
	case selector.APIVersion == "":
		c.Required(at.Child("apiVersion"), "")
		return
	case selector.FieldPath == "":
		c.Required(at.Child("fieldPath"), "")
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
		oneOf(&c.Findings, at.Child("fieldPath"), path, supported...)
	}
}

func (c *podChecks) resourceRef(selector *corev1.ResourceFieldSelector, at *field.Path, volume bool) {
	name := selector.Resource
	hugePages := strings.HasPrefix(name, "requests.hugepages-") || strings.HasPrefix(name, "limits.hugepages-")
	switch {
	case volume && selector.ContainerName == "":
		c.Required(at.Child("containerName"), "")
	case name == "":
		c.Required(at.Child("resource"), "")
	case !hugePages:
		oneOf(&c.Findings, at.Child("resource"), name, "limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage")
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
			c.Required(here.Child("name"), "")
		}
		if _, ok := c.volumes[mount.Name]; !ok {
			c.Add(field.NotFound(here.Child("name"), mount.Name))
		}
		if mount.MountPath == "" {
			c.Required(here.Child("mountPath"), "")
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
			c.Required(here.Child("name"), "")
		}
		if names.Has(device.Name) {
			c.invalid(here.Child("name"), device.Name, "must be unique")
		}
		if found && source.PersistentVolumeClaim == nil && source.Ephemeral == nil {
			c.invalid(here.Child("name"), device.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		}
		if !found {
			c.Add(field.NotFound(here.Child("name"), device.Name))
		}
		if device.DevicePath == "" {
			c.Required(here.Child("devicePath"), "")
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
		oneOf(&c.Findings, here, *mount.MountPropagation, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)
		if *mount.MountPropagation == corev1.MountPropagationBidirectional && (container.SecurityContext == nil || !Deref(container.SecurityContext.Privileged)) {
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
		oneOf(&c.Findings, here, *mount.RecursiveReadOnly, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled)
	}
}

func (f *Findings) descending(target string, at *field.Path) {
	if path.IsAbs(target) {
		f.invalid(at, target, "must be a relative path")
	}
	f.noBacksteps(target, at)
}

func (f *Findings) noBacksteps(target string, at *field.Path) {
	if slices.Contains(strings.Split(target, "/"), "..") {
		f.invalid(at, target, "must not contain '..'")
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
		for name, handler := range inOrder(as("postStart", container.Lifecycle.PostStart), as("preStop", container.Lifecycle.PreStop)) {
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
			c.Required(at.Child("command"), "")
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
		c.Required(at, "must specify a handler type")
	}
}

func (c *podChecks) httpGet(action *corev1.HTTPGetAction, at *field.Path) {
	if action.Path == "" {
		c.Required(at.Child("path"), "")
	}
	c.portOrName(at.Child("port"), action.Port)
	oneOf(&c.Findings, at.Child("scheme"), action.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
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

func (f *Findings) resourceName(at *field.Path, name corev1.ResourceName) bool {
	before := len(f.List)
	f.invalid(at, name, utilvalidation.IsQualifiedName(string(name))...)
	if len(f.List) > before {
		return false
	}
	if !strings.Contains(string(name), "/") && !standardResources.Has(name) && !isHugePages(name) {
		f.invalid(at, name, "must be a standard resource type or fully qualified")
		return false
	}
	return true
}

func containerResourceName(f *Findings, at *field.Path, name corev1.ResourceName) {
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
func (f *Findings) quantity(at *field.Path, name corev1.ResourceName, quantity resource.Quantity) {
	f.notNegativeQuantity(at, quantity)
	whole := name == "pods" || name == "resourcequotas" || name == "services" || name == "replicationcontrollers" || name == "secrets" || name == "configmaps" ||
		name == "persistentvolumeclaims" || name == "services.nodeports" || name == "services.loadbalancers" || isExtended(name)
	if whole && quantity.MilliValue()%1000 != 0 {
		f.invalid(at, quantity, "must be an integer")
	}
}

func (c *podChecks) requirements(resources *corev1.ResourceRequirements, at *field.Path, named func(*Findings, *field.Path, corev1.ResourceName)) {
	compute, huge := false, false
	for _, name := range sortedMap(resources.Limits) {
		here, quantity := at.Child("limits").Key(string(name)), resources.Limits[name]
		named(&c.Findings, here, name)
		c.quantity(here, name, quantity)
		c.hugePages(here, name, quantity)
		compute, huge = compute || name == "cpu" || name == "memory", huge || isHugePages(name)
	}
	for _, name := range sortedMap(resources.Requests) {
		here, quantity := at.Child("requests").Key(string(name)), resources.Requests[name]
		named(&c.Findings, here, name)
		c.quantity(here, name, quantity)
		limit, ok := resources.Limits[name]
		switch {
		case ok && quantity.Cmp(limit) != 0 && !mayOvercommit(name):
			c.invalid(at.Child("requests"), quantity.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String()))
		case ok && quantity.Cmp(limit) > 0:
			c.invalid(at.Child("requests"), quantity.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()))
		case !ok && !mayOvercommit(name):
			c.Required(at.Child("limits"), "Limit must be set for non overcommitable resources")
		}
		c.hugePages(here, name, quantity)
		compute, huge = compute || name == "cpu" || name == "memory", huge || isHugePages(name)
	}
	if huge && !compute {
		c.forbidden(at, "HugePages require cpu or memory")
	}
	claims := sets.New[string]()
	for _, claim := range c.spec.ResourceClaims {
		if claim.Name != "" {
			claims.Insert(claim.Name)
		}
	}
	asked := sets.New[string]() // claims, and requests of claims
	for i, claim := range resources.Claims {
		if claim.Name == "" {
			c.Required(at.Child("claims").Index(i), "")
			continue
		}
		key := claim.Name
		if claim.Request != "" && !asked.Has(claim.Name) {
			c.label(at.Child("claims").Index(i).Child("request"), claim.Request)
			key += "/" + claim.Request
		}
		if asked.Has(key) {
			c.Add(field.Duplicate(at.Child("claims").Index(i), key))
		} else if claim.Request == "" {
			for _, other := range sets.List(asked) {
				if strings.HasPrefix(other, claim.Name+"/") {
					c.Add(field.Duplicate(at.Child("claims").Index(i), claim.Name))
				}
			}
		}
		asked.Insert(key)
		if !claims.Has(claim.Name) {
			problem := field.NotFound(at.Child("claims").Index(i), claim.Name)
			problem.Detail = "must be one of the names in pod.spec.resourceClaims"
			if len(claims) == 0 {
				problem.Detail += " which is empty"
			} else {
				problem.Detail += ": " + strings.Join(sets.List(claims), ", ")
			}
			c.Add(problem)
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
		oneOfListed(&c.Findings, at.Child("procMount"), *context.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
		if (c.spec.HostUsers == nil || *c.spec.HostUsers) && *context.ProcMount == corev1.UnmaskedProcMount {
			c.invalid(at.Child("procMount"), context.ProcMount, "`hostUsers` must be false to use `Unmasked`")
		}
	}
	c.seccomp(context.SeccompProfile, at.Child("seccompProfile"))
	if context.AllowPrivilegeEscalation != nil && !*context.AllowPrivilegeEscalation {
		if Deref(context.Privileged) {
			c.invalid(at, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		}
		if context.Capabilities != nil && slices.Contains(context.Capabilities.Add, "CAP_SYS_ADMIN") {
			c.invalid(at, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
		}
	}
	c.windowsOptions(context.WindowsOptions, at.Child("windowsOptions"))
	c.appArmor(context.AppArmorProfile, at.Child("appArmorProfile"))
}

func (c *podChecks) seccomp(profile *corev1.SeccompProfile, at *field.Path) {
	if profile == nil {
		return
	}
	if profile.Type == "" {
		c.Required(at.Child("type"), "type is required when seccompProfile is set")
	} else {
		oneOfListed(&c.Findings, at.Child("type"), profile.Type, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	}
	switch {
	case profile.Type != corev1.SeccompProfileTypeLocalhost && profile.LocalhostProfile != nil:
		c.invalid(at.Child("localhostProfile"), profile, "can only be set when seccomp type is Localhost")
	case profile.Type == corev1.SeccompProfileTypeLocalhost && profile.LocalhostProfile == nil:
		c.Required(at.Child("localhostProfile"), "must be set when seccomp type is Localhost")
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
		if strings.TrimSpace(Deref(profile.LocalhostProfile)) == "" {
			c.Required(at.Child("localhostProfile"), "must be set when AppArmor type is Localhost")
		} else if strings.TrimSpace(*profile.LocalhostProfile) != *profile.LocalhostProfile {
			c.invalid(at.Child("localhostProfile"), *profile.LocalhostProfile, "must not be padded with whitespace")
		}
		if len(Deref(profile.LocalhostProfile)) > maxProfile {
			c.Add(field.TooLong(at.Child("localhostProfile"), "", maxProfile))
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if profile.LocalhostProfile != nil {
			c.invalid(at.Child("localhostProfile"), profile.LocalhostProfile, "can only be set when AppArmor type is Localhost")
		}
	case "":
		c.Required(at.Child("type"), "type is required when appArmorProfile is set")
	default:
		oneOfListed(&c.Findings, at.Child("type"), profile.Type, corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	}
}
