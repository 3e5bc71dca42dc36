package builtin

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podWarnings are those of a pod, or of a template, whose path is at.
func podWarnings(metadata *metav1.ObjectMeta, spec *corev1.PodSpec, at *field.Path) []string {
	var c cautions
	c.nodeLabels(spec, at.Child("spec"))
	for _, old := range deprecatedAnnotations {
		if _, there := metadata.Annotations[old[0]]; there {
			c.warn("%s: %s", at.Child("metadata", "annotations").Key(old[0]), old[1])
		}
	}
	c.volumes(spec.Volumes, at.Child("spec", "volumes"))
	c.twice(spec, at.Child("spec"))
	c.wholeBytes(at.Child("spec"), amounts{"overhead", spec.Overhead})
	c.securityAnnotation(metadata, corev1.SeccompPodAnnotationKey, spec.SecurityContext != nil && spec.SecurityContext.SeccompProfile != nil, at)
	EachContainer(spec, at.Child("spec"), func(container *corev1.Container, here *field.Path) {
		c.securityAnnotation(metadata, corev1.SeccompContainerAnnotationKeyPrefix+container.Name, container.SecurityContext != nil && container.SecurityContext.SeccompProfile != nil, at)
		c.templateArmor(metadata, spec, container, at)
		c.wholeBytes(here.Child("resources"), amounts{"limits", container.Resources.Limits}, amounts{"requests", container.Resources.Requests})
		c.variables(container.Env, here.Child("env"))
	})
	c.ports(spec, at.Child("spec"))
	if spec.TerminationGracePeriodSeconds != nil && *spec.TerminationGracePeriodSeconds < 0 {
		c.warn("%s: must be >= 0; negative values are invalid and will be treated as 1", at.Child("spec", "terminationGracePeriodSeconds"))
	}
	c.affinities(spec.Affinity, at.Child("spec", "affinity"))
	if spec.DNSConfig != nil {
		for i, ip := range spec.DNSConfig.Nameservers {
			c.address(at.Child("spec", "dnsConfig", "nameservers").Index(i), ip)
		}
	}
	for i, alias := range spec.HostAliases {
		c.address(at.Child("spec", "hostAliases").Index(i).Child("ip"), alias.IP)
	}
	return c
}

var (
	deprecatedNodeLabels = map[string]string{
		"beta.kubernetes.io/arch":                       `deprecated since v1.14; use "kubernetes.io/arch" instead`,
		"beta.kubernetes.io/os":                         `deprecated since v1.14; use "kubernetes.io/os" instead`,
		"failure-domain.beta.kubernetes.io/region":      `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
		"failure-domain.beta.kubernetes.io/zone":        `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
		"beta.kubernetes.io/instance-type":              `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
		"app.kubernetes.io/created-by":                  `deprecated since v1.9`,
		"scheduler.alpha.kubernetes.io/preferAvoidPods": `deprecated since v1.22; use Taints and Tolerations instead`,
		"node-role.kubernetes.io/master":                `use "node-role.kubernetes.io/control-plane" instead`,
	}
	deprecatedAnnotations = [][2]string{
		{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
		{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
		{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	}
)

// nodeLabels warns of labels that nodes had once, and of spreads that select nothing.
func (c *cautions) nodeLabels(spec *corev1.PodSpec, at *field.Path) {
	for _, name := range sortedMap(spec.NodeSelector) {
		if message, old := deprecatedNodeLabels[name]; old {
			c.warn("%s: %s", at.Child("nodeSelector").Key(name), message)
		}
	}
	if nodes := nodeAffinity(spec); nodes != nil {
		at := at.Child("affinity", "nodeAffinity")
		if required := nodes.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			for i, term := range required.NodeSelectorTerms {
				c.nodeTerm(term, false, at.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Index(i))
			}
		}
		for i, term := range nodes.PreferredDuringSchedulingIgnoredDuringExecution {
			c.nodeTerm(term.Preference, true, at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference"))
		}
	}
	for i, constraint := range spec.TopologySpreadConstraints {
		here := at.Child("topologySpreadConstraints").Index(i)
		if message, old := deprecatedNodeLabels[constraint.TopologyKey]; old {
			c.warn("%s: %s is %s", here.Child("topologyKey"), constraint.TopologyKey, message)
		}
		c.selectsNothing(constraint.LabelSelector, here)
	}
}

func (c *cautions) nodeTerm(term corev1.NodeSelectorTerm, values bool, at *field.Path) {
	for i, expression := range term.MatchExpressions {
		here := at.Child("matchExpressions").Index(i)
		if message, old := deprecatedNodeLabels[expression.Key]; old {
			c.warn("%s: %s is %s", here.Child("key"), expression.Key, message)
		}
		for j, value := range expression.Values {
			for _, message := range utilvalidation.IsValidLabelValue(value) {
				if values {
					c.warn("%s: %s is invalid, %s", here.Child("values").Index(j), value, message)
				}
			}
		}
	}
}

func (c *cautions) selectsNothing(selector *metav1.LabelSelector, at *field.Path) {
	if selector == nil {
		c.warn("%s: a null labelSelector results in matching no pod", at.Child("labelSelector"))
	}
}

func (c *cautions) affinities(affinity *corev1.Affinity, at *field.Path) {
	if affinity == nil {
		return
	}
	terms := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, at *field.Path) {
		for i, term := range required {
			c.selectsNothing(term.LabelSelector, at.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))
		}
		for i, term := range preferred {
			c.selectsNothing(term.PodAffinityTerm.LabelSelector, at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm"))
		}
	}
	if pods := affinity.PodAffinity; pods != nil {
		terms(pods.RequiredDuringSchedulingIgnoredDuringExecution, pods.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAffinity"))
	}
	if pods := affinity.PodAntiAffinity; pods != nil {
		terms(pods.RequiredDuringSchedulingIgnoredDuringExecution, pods.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAntiAffinity"))
	}
}

// volumes warns of types that are gone, and of files of one volume of which one is in the place of another.
func (c *cautions) volumes(volumes []corev1.Volume, at *field.Path) {
	for i, v := range volumes {
		for _, old := range []struct {
			is            bool
			name, message string
		}{
			{v.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
			{v.GitRepo != nil, "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
			{v.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
			{v.Flocker != nil, "flocker", "deprecated in v1.22, non-functional in v1.25+"},
			{v.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Quobyte != nil, "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		} {
			if old.is {
				c.warn("%s: %s", at.Index(i).Child(old.name), old.message)
			}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			c.wholeStorage(&v.Ephemeral.VolumeClaimTemplate.Spec, at.Index(i).Child("ephemeral", "volumeClaimTemplate", "spec"))
		}
		if v.CephFS != nil {
			c.warn("%s: deprecated in v1.28, non-functional in v1.31+", at.Index(i).Child("cephfs"))
		}
		if v.RBD != nil {
			c.warn("%s: deprecated in v1.28, non-functional in v1.31+", at.Index(i).Child("rbd"))
		}
	}
	for i := range volumes {
		c.overlaps(&volumes[i])
	}
}

// placed is a file of a volume, and where it comes from, if that may differ.
type placed struct{ path, source string }

func (p placed) String() string {
	if p.source != "" {
		return fmt.Sprintf("%q (%s)", p.path, p.source)
	}
	return fmt.Sprintf("%q", p.path)
}

func (c *cautions) overlaps(v *corev1.Volume) {
	var files []placed
	var what string
	items := func(items []corev1.KeyToPath, source string) {
		for _, item := range items {
			files = append(files, placed{item.Path, source})
		}
	}
	fields := func(items []corev1.DownwardAPIVolumeFile, source string) {
		for _, item := range items {
			files = append(files, placed{item.Path, source})
		}
	}
	switch {
	case v.ConfigMap != nil:
		what = fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name)
		items(v.ConfigMap.Items, "")
	case v.Secret != nil:
		what = fmt.Sprintf("Secret %q", v.Secret.SecretName)
		items(v.Secret.Items, "")
	case v.DownwardAPI != nil:
		what = "DownwardAPI"
		fields(v.DownwardAPI.Items, "")
	case v.Projected != nil:
		what = "Projected"
		for _, source := range v.Projected.Sources {
			switch {
			case source == (corev1.VolumeProjection{}):
				c.warn("volume %q (Projected) has no sources provided", v.Name)
			case source.ConfigMap != nil:
				items(source.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", source.ConfigMap.Name))
			case source.Secret != nil:
				items(source.Secret.Items, fmt.Sprintf("Secret %q", source.Secret.Name))
			case source.DownwardAPI != nil:
				fields(source.DownwardAPI.Items, "DownwardAPI")
			case source.ServiceAccountToken != nil:
				files = append(files, placed{source.ServiceAccountToken.Path, "ServiceAccountToken"})
			case source.ClusterTrustBundle != nil:
				name := Deref(source.ClusterTrustBundle.Name)
				Set(&name, Deref(source.ClusterTrustBundle.SignerName))
				files = append(files, placed{source.ClusterTrustBundle.Path, fmt.Sprintf("ClusterTrustBundle %q", name)})
			}
		}
	}
	inside := func(path, other string) bool { return strings.HasPrefix(path+"/", other+"/") }
	for i := range files {
		files[i].path = strings.TrimRight(files[i].path, "/")
		for _, other := range files[:i] {
			if files[i].path != "" && other.path != "" && (inside(files[i].path, other.path) || inside(other.path, files[i].path)) {
				c.warn("volume %q (%s): overlapping paths: %s with %s", v.Name, what, files[i], other)
			}
		}
	}
}

// twice warns of aliases and secrets that are there twice, and of secrets without a name.
func (c *cautions) twice(spec *corev1.PodSpec, at *field.Path) {
	known := sets.New[string]()
	for i, alias := range spec.HostAliases {
		if known.Has(alias.IP) {
			c.warn("%s: duplicate ip %q", at.Child("hostAliases").Index(i).Child("ip"), alias.IP)
		}
		known.Insert(alias.IP)
	}
	known = sets.New[string]()
	for i, secret := range spec.ImagePullSecrets {
		if known.Has(secret.Name) {
			c.warn("%s: duplicate name %q", at.Child("imagePullSecrets").Index(i).Child("name"), secret.Name)
		}
		known.Insert(secret.Name)
	}
	for i, secret := range spec.ImagePullSecrets {
		if secret.Name == "" {
			c.warn("%s: invalid empty name %q", at.Child("imagePullSecrets").Index(i).Child("name"), "")
		}
	}
}

// amounts are a list of resources, by the name of its field.
type amounts struct {
	name string
	list corev1.ResourceList
}

func (c *cautions) wholeBytes(at *field.Path, lists ...amounts) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		for _, of := range lists {
			c.whole(name, of, at)
		}
	}
}

// whole warns of parts of a byte.
func (c *cautions) whole(name corev1.ResourceName, of amounts, at *field.Path) {
	if quantity := of.list[name]; quantity.MilliValue()%1000 != 0 {
		c.warn("%s: fractional byte value %q is invalid, must be an integer", at.Child(of.name).Key(string(name)), quantity.String())
	}
}

func (c *cautions) securityAnnotation(metadata *metav1.ObjectMeta, key string, field bool, at *field.Path) {
	if _, there := metadata.Annotations[key]; there && !field {
		c.warn(`%s: non-functional in v1.27+; use the "seccompProfile" field instead`, at.Child("metadata", "annotations").Key(key))
	}
}

func (c *cautions) variables(variables []corev1.EnvVar, at *field.Path) {
	names := sets.New[string]()
	for i, variable := range variables {
		reference := "$(" + variable.Name + ")"
		if names.Has(variable.Name) && (variable.ValueFrom != nil || variable.Value == reference || !strings.Contains(variable.Value, reference)) {
			c.warn("%s: hides previous definition of %q, which may be dropped when using apply", at.Index(i), variable.Name)
		}
		names.Insert(variable.Name)
	}
}

// ports warns of ports of any containers that are one port, and of names of two.
func (c *cautions) ports(spec *corev1.PodSpec, at *field.Path) {
	type definition struct {
		at   *field.Path
		port corev1.ContainerPort
	}
	known, names := map[string][]definition{}, map[string]*field.Path{}
	EachContainer(spec, at, func(container *corev1.Container, at *field.Path) {
		for i, port := range container.Ports {
			here := at.Child("ports").Index(i)
			if port.HostIP != "" && port.HostPort == 0 {
				c.warn("%s: hostIP set without hostPort: %+v", here, port)
			}
			key := fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol)
			for _, other := range known[key] {
				switch {
				case port.HostIP == other.port.HostIP && port.HostPort == other.port.HostPort:
					c.warn("%s: duplicate port definition with %s", here, other.at)
				case port.HostPort == 0 || other.port.HostPort == 0:
					c.warn("%s: overlapping port definition with %s", here, other.at)
				case port.HostPort == other.port.HostPort && (port.HostIP == "") != (other.port.HostIP == ""):
					c.warn("%s: dangerously ambiguous port definition with %s", here, other.at)
				}
			}
			known[key] = append(known[key], definition{here, port})
		}
	})
	EachContainer(spec, at, func(container *corev1.Container, at *field.Path) {
		for i, port := range container.Ports {
			here := at.Child("ports").Index(i)
			switch other, there := names[port.Name]; {
			case port.Name == "":
			case there:
				c.warn("%s: duplicate port name %q with %s, services and probes that select ports by name will use %s", here, port.Name, other, other)
			default:
				names[port.Name] = here
			}
		}
	})
}

// dnsLabelWarning is that of a name from which others make the names of hosts.
func dnsLabelWarning(name, used string) []string {
	messages := utilvalidation.IsDNS1123Label(name)
	if len(messages) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in %s, which can result in surprising behavior; a DNS label is recommended: %v", used, messages)}
}
