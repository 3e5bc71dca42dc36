package release

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// manifest is what the objects of an operator are to OLM: parts of a ClusterServiceVersion, or objects beside it.
type manifest struct {
	namespace   string // of the manager
	deployments []*object
	definitions []*object // CRDs, as OLM gets them
	webhooks    []webhook
	permissions map[string][]*yaml.Node // rules in the namespaces that are watched, by service account
	cluster     map[string][]*yaml.Node // rules everywhere, by service account
	others      []*object               // in files of their own, CRDs among them
	namespaced  bool                    // whether the manager watches its own namespace alone
	notes       []*diagnostic.Error
}

// installable are the kinds that OLM installs besides what is in a ClusterServiceVersion.
var installable = []string{
	"CustomResourceDefinition", "Secret", "ConfigMap", "ServiceAccount", "Service", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
	"PrometheusRule", "ServiceMonitor", "PodDisruptionBudget", "PriorityClass", "NetworkPolicy", "VerticalPodAutoscaler",
	"ConsoleYAMLSample", "ConsoleQuickStart", "ConsoleCLIDownload", "ConsoleLink", "ConsolePlugin",
}

func newManifest(objects []*object) *manifest {
	m := &manifest{permissions: map[string][]*yaml.Node{}, cluster: map[string][]*yaml.Node{}}
	var rest []*object
	for _, o := range objects {
		o = &object{Node: yamlnode.Clone(o.Node), group: o.group, kind: o.kind, namespace: o.namespace, name: o.name}
		switch {
		case o.kind == "Deployment" && o.group == "apps":
			m.deployments = append(m.deployments, o)
			if o.isManager() || m.namespace == "" {
				m.namespace = o.namespace
			}
		default:
			rest = append(rest, o)
		}
	}
	rest = m.takeWebhooks(rest)
	rest = m.takeAccounts(rest)
	for _, o := range rest {
		m.add(o)
	}
	m.watched()
	return m
}

// add takes an object that is in no ClusterServiceVersion.
func (m *manifest) add(o *object) {
	switch {
	case o.kind == "Namespace" && o.name == m.namespace:
		return // OLM has made it before.
	case !slices.Contains(installable, o.kind):
		m.leaveOut(o, "OLM does not install objects of this kind")
		return
	case o.kind == "CustomResourceDefinition":
		m.definitions = append(m.definitions, o)
	case o.namespace != "" && o.namespace != m.namespace:
		m.leaveOut(o, "OLM installs objects in one namespace, and this one is in "+o.namespace)
		return
	}
	yamlnode.Remove(yamlnode.Value(o.Node, "metadata"), "namespace")
	m.others = append(m.others, o)
}

// leaveOut tells of an object that the bundle does not have.
func (m *manifest) leaveOut(o *object, why string) {
	m.notes = append(m.notes, &diagnostic.Error{
		Message: o.kind + " " + o.name + " is not in the bundle: " + why,
		Hint:    "say in the description of the operator who installs it, or build the bundle of a kustomization without it: -k",
	})
}

// owns reports whether a kind is one of the operator's own.
func (m *manifest) owns(apiVersion, kind string) bool {
	group, version, _ := strings.Cut(apiVersion, "/")
	return slices.ContainsFunc(m.definitions, func(o *object) bool {
		return text(o.Node, "spec", "group") == group && text(o.Node, "spec", "names", "kind") == kind &&
			slices.ContainsFunc(served(o), func(v *yaml.Node) bool { return text(v, "name") == version })
	})
}

// served returns the versions of a CRD that clients can use.
func served(crd *object) []*yaml.Node {
	return slices.DeleteFunc(slices.Clone(contentOf(yamlnode.Value(crd.Node, "spec", "versions"))), func(v *yaml.Node) bool {
		return text(v, "served") == "false"
	})
}

// image returns what the manager runs.
func (m *manifest) image() string {
	for _, o := range m.deployments {
		if container := o.managerContainer(); container != nil && (o.isManager() || len(m.deployments) == 1) {
			return text(container, "image")
		}
	}
	return ""
}

// takeAccounts takes the service accounts that run the deployments, and what they may do: the roles that are bound to them. A role
// that is bound to others too stays.
func (m *manifest) takeAccounts(objects []*object) (rest []*object) {
	accounts := map[string]bool{}
	for _, o := range m.deployments {
		accounts[text(o.podSpec(), "serviceAccountName")] = true
	}
	delete(accounts, "")
	taken, kept := map[*object]bool{}, map[*object]bool{} // roles
	for _, o := range objects {
		if o.kind == "ServiceAccount" && accounts[o.name] && o.namespace == m.namespace {
			continue
		}
		role := roleOf(o, objects)
		if role == nil || !m.grant(o, role, accounts) {
			kept[role] = true
			rest = append(rest, o)
			continue
		}
		taken[role] = true
	}
	return slices.DeleteFunc(rest, func(o *object) bool { return taken[o] && !kept[o] })
}

// roleOf returns the role that a binding refers to, if it is among the objects.
func roleOf(binding *object, objects []*object) *object {
	if binding.kind != "RoleBinding" && binding.kind != "ClusterRoleBinding" {
		return nil
	}
	kind, name := text(binding.Node, "roleRef", "kind"), text(binding.Node, "roleRef", "name")
	at := slices.IndexFunc(objects, func(o *object) bool {
		return o.kind == kind && o.name == name && (kind == "ClusterRole" || o.namespace == binding.namespace)
	})
	if at < 0 {
		return nil
	}
	return objects[at]
}

// grant notes what a binding lets service accounts of the deployments do, and reports whether it says no more than that.
func (m *manifest) grant(binding, role *object, accounts map[string]bool) bool {
	to := m.cluster
	if binding.kind == "RoleBinding" {
		if to = m.permissions; binding.namespace != m.namespace {
			return false
		}
	}
	subjects := contentOf(yamlnode.Value(binding.Node, "subjects"))
	for _, s := range subjects {
		if text(s, "kind") != "ServiceAccount" || text(s, "namespace") != m.namespace || !accounts[text(s, "name")] {
			return false
		}
	}
	for _, s := range subjects {
		to[text(s, "name")] = append(to[text(s, "name")], contentOf(yamlnode.Value(role.Node, "rules"))...)
	}
	return len(subjects) > 0
}

type (
	installation struct {
		Spec     installationSpec `yaml:"spec"`
		Strategy string           `yaml:"strategy"`
	}
	installationSpec struct {
		ClusterPermissions []permission `yaml:"clusterPermissions,omitempty"`
		Deployments        []deployed   `yaml:"deployments"`
		Permissions        []permission `yaml:"permissions,omitempty"`
	}
	permission struct {
		Rules   []*yaml.Node `yaml:"rules"`
		Account string       `yaml:"serviceAccountName"`
	}
	deployed struct {
		Label *yaml.Node `yaml:"label,omitempty"`
		Name  string     `yaml:"name"`
		Spec  *yaml.Node `yaml:"spec"`
	}
	installMode struct {
		Supported bool   `yaml:"supported"`
		Type      string `yaml:"type"`
	}
)

// install returns how OLM runs the operator.
func (m *manifest) install() installation {
	spec := installationSpec{ClusterPermissions: permissions(m.cluster), Permissions: permissions(m.permissions), Deployments: []deployed{}}
	for _, o := range m.deployments {
		spec.Deployments = append(spec.Deployments, deployed{
			Label: yamlnode.Value(o.Node, "metadata", "labels"), Name: o.name, Spec: yamlnode.Value(o.Node, "spec"),
		})
	}
	return installation{spec, "deployment"}
}

func permissions(rules map[string][]*yaml.Node) (list []permission) {
	for _, account := range slices.Sorted(maps.Keys(rules)) {
		list = append(list, permission{rules[account], account})
	}
	return list
}

// watchVariable says which namespaces a manager watches, to kubebuilder's projects and to kctrl's.
const watchVariable = "WATCH_NAMESPACE"

// watched lets OLM say which namespaces a manager watches that is told so by a variable. OLM converts versions only for operators
// that watch all namespaces: of these the flag goes.
func (m *manifest) watched() {
	everywhere := m.converts()
	for _, o := range m.deployments {
		for _, container := range o.containers() {
			for _, variable := range contentOf(yamlnode.Value(container, "env")) {
				field := yamlnode.Value(variable, "valueFrom", "fieldRef", "fieldPath")
				if text(variable, "name") != watchVariable || field == nil || field.Value != "metadata.namespace" {
					continue
				}
				m.namespaced = true
				field.Value = "metadata.annotations['olm.targetNamespaces']"
				if args := yamlnode.Value(container, "args"); args != nil && everywhere {
					args.Content = slices.DeleteFunc(args.Content, func(arg *yaml.Node) bool {
						return arg.Value == "--namespaces=$("+watchVariable+")"
					})
				}
			}
		}
	}
	if m.namespaced && everywhere {
		m.notes = append(m.notes, &diagnostic.Error{
			Message: "OLM converts between versions of a kind only for operators that watch all namespaces: in the bundle the manager does",
			Hint:    "say the same in the project: kctrl edit --namespaced=false",
		})
	}
}

// converts reports whether the operator has kinds that a webhook converts.
func (m *manifest) converts() bool {
	return slices.ContainsFunc(m.webhooks, func(w webhook) bool { return len(w.ConversionCRDs) > 0 })
}

// installModes returns which namespaces OLM may have the operator watch.
func (m *manifest) installModes() []installMode {
	some := m.namespaced && !m.converts()
	return []installMode{{some, "OwnNamespace"}, {some, "SingleNamespace"}, {some, "MultiNamespace"}, {!some, "AllNamespaces"}}
}

// webhook is one that OLM makes the configuration of.
type webhook struct {
	AdmissionReviewVersions *yaml.Node `yaml:"admissionReviewVersions"`
	ContainerPort           int        `yaml:"containerPort"`
	ConversionCRDs          []string   `yaml:"conversionCRDs,omitempty"`
	DeploymentName          string     `yaml:"deploymentName,omitempty"`
	FailurePolicy           string     `yaml:"failurePolicy,omitempty"`
	GenerateName            string     `yaml:"generateName"`
	MatchPolicy             string     `yaml:"matchPolicy,omitempty"`
	ObjectSelector          *yaml.Node `yaml:"objectSelector,omitempty"`
	ReinvocationPolicy      string     `yaml:"reinvocationPolicy,omitempty"`
	Rules                   *yaml.Node `yaml:"rules,omitempty"`
	SideEffects             string     `yaml:"sideEffects"`
	TargetPort              *yaml.Node `yaml:"targetPort,omitempty"`
	TimeoutSeconds          *yaml.Node `yaml:"timeoutSeconds,omitempty"`
	Type                    string     `yaml:"type"`
	WebhookPath             string     `yaml:"webhookPath,omitempty"`
}

// takeWebhooks takes what has the API server call the operator, and all that is there for that: the Service, and certificates. Those
// OLM makes itself.
func (m *manifest) takeWebhooks(objects []*object) (rest []*object) {
	services := map[*object]bool{}
	for _, o := range objects {
		switch o.kind {
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			for _, w := range contentOf(yamlnode.Value(o.Node, "webhooks")) {
				m.webhooks = append(m.webhooks, m.admission(strings.TrimSuffix(o.kind, "WebhookConfiguration"), w, objects, services))
			}
			continue
		case "CustomResourceDefinition":
			if conversion := yamlnode.Value(o.Node, "spec", "conversion", "webhook"); conversion != nil {
				m.webhooks = append(m.webhooks, m.conversion(o, conversion, objects, services))
				yamlnode.Remove(yamlnode.Value(o.Node, "spec"), "conversion")
			}
			metadata := yamlnode.Value(o.Node, "metadata")
			annotations := yamlnode.Value(metadata, "annotations")
			if yamlnode.Remove(annotations, "cert-manager.io/inject-ca-from") && len(annotations.Content) == 0 {
				yamlnode.Remove(metadata, "annotations")
			}
		}
		rest = append(rest, o)
	}
	m.certificates(rest)
	return slices.DeleteFunc(rest, func(o *object) bool {
		forNobody := o.group == "cert-manager.io" && (o.kind == "Issuer" || !m.mounts(text(o.Node, "spec", "secretName")))
		return services[o] || forNobody || len(m.webhooks) > 0 && ownCertificate(o)
	})
}

// ownCertificate reports whether an object lets a manager keep a certificate of its own, and have the API server trust it.
func ownCertificate(o *object) bool {
	return o.group == rbacGroup && (strings.HasSuffix(o.name, "webhook-certificates") || strings.HasSuffix(o.name, "webhook-trust"))
}

// admission returns a webhook of a configuration.
func (m *manifest) admission(which string, w *yaml.Node, objects []*object, services map[*object]bool) webhook {
	made := m.called(yamlnode.Value(w, "clientConfig", "service"), objects, services)
	made.Type = which + "AdmissionWebhook"
	made.GenerateName = text(w, "name")
	made.AdmissionReviewVersions = yamlnode.Value(w, "admissionReviewVersions")
	made.FailurePolicy, made.MatchPolicy = text(w, "failurePolicy"), text(w, "matchPolicy")
	made.ReinvocationPolicy, made.SideEffects = text(w, "reinvocationPolicy"), text(w, "sideEffects")
	made.ObjectSelector, made.Rules, made.TimeoutSeconds = yamlnode.Value(w, "objectSelector"), yamlnode.Value(w, "rules"), yamlnode.Value(w, "timeoutSeconds")
	for _, key := range []string{"namespaceSelector", "matchConditions"} {
		if len(contentOf(yamlnode.Value(w, key))) > 0 {
			m.notes = append(m.notes, &diagnostic.Error{
				Message: "the webhook " + made.GenerateName + " has " + key + ", which OLM does not know: in the bundle it is called without",
				Hint:    "ask in the webhook too, or use an objectSelector",
			})
		}
	}
	return made
}

// conversion returns the webhook that converts the versions of a CRD.
func (m *manifest) conversion(crd *object, conversion *yaml.Node, objects []*object, services map[*object]bool) webhook {
	made := m.called(yamlnode.Value(conversion, "clientConfig", "service"), objects, services)
	made.Type, made.SideEffects = "ConversionWebhook", "None"
	made.GenerateName, made.ConversionCRDs = "c"+crd.name, []string{crd.name}
	made.AdmissionReviewVersions = yamlnode.Value(conversion, "conversionReviewVersions")
	return made
}

// called returns where a webhook is called: at a Service that OLM makes for a deployment.
func (m *manifest) called(service *yaml.Node, objects []*object, services map[*object]bool) webhook {
	made := webhook{ContainerPort: 443, WebhookPath: text(service, "path")}
	if port := yamlnode.Value(service, "port"); port != nil {
		_ = port.Decode(&made.ContainerPort)
	}
	if len(m.deployments) > 0 {
		made.DeploymentName = m.deployments[0].name
	}
	at := slices.IndexFunc(objects, func(o *object) bool {
		return o.kind == "Service" && o.name == text(service, "name") && o.namespace == text(service, "namespace")
	})
	if at < 0 {
		return made
	}
	services[objects[at]] = true
	for _, port := range contentOf(yamlnode.Value(objects[at].Node, "spec", "ports")) {
		var number int
		if yamlnode.Value(port, "port").Decode(&number) == nil && number == made.ContainerPort {
			made.TargetPort = yamlnode.Value(port, "targetPort")
		}
	}
	for _, o := range m.deployments {
		if selects(yamlnode.Value(objects[at].Node, "spec", "selector"), yamlnode.Value(o.Node, "spec", "template", "metadata", "labels")) {
			made.DeploymentName = o.name
		}
	}
	return made
}

func selects(selector, labels *yaml.Node) bool {
	for i, pairs := 0, contentOf(selector); i+1 < len(pairs); i += 2 {
		if text(labels, pairs[i].Value) != pairs[i+1].Value {
			return false
		}
	}
	return len(contentOf(selector)) > 0
}

// olmCertificates is where OLM mounts the certificate of webhooks, as tls.crt and tls.key.
const olmCertificates = "/tmp/k8s-webhook-server/serving-certs"

// certificates has deployments serve webhooks with the certificate of OLM, and metrics with one of their own: nobody makes the Secrets
// that have others.
func (m *manifest) certificates(objects []*object) {
	secrets := map[string]bool{}
	for _, o := range objects {
		if o.kind == "Certificate" {
			secrets[text(o.Node, "spec", "secretName")] = true
		}
	}
	for _, o := range m.deployments {
		for _, container := range o.containers() {
			if len(m.webhooks) > 0 {
				removeVolume(o.podSpec(), unmount(container, useCertificate(container)), secrets)
			}
			removeVolume(o.podSpec(), unmount(container, forgetCertificate(container, o.podSpec(), secrets)), secrets)
		}
	}
}

// mounts reports whether a deployment needs a Secret.
func (m *manifest) mounts(secret string) bool {
	return slices.ContainsFunc(m.deployments, func(o *object) bool {
		return slices.ContainsFunc(contentOf(yamlnode.Value(o.podSpec(), "volumes")), func(volume *yaml.Node) bool {
			return text(volume, "secret", "secretName") == secret
		})
	})
}

// useCertificate tells a container where the certificate of its webhooks is, and returns where it was before.
func useCertificate(container *yaml.Node) (before string) {
	before = olmCertificates
	const flag = "--webhook-cert-path="
	for _, arg := range contentOf(yamlnode.Value(container, "args")) {
		if was, ok := strings.CutPrefix(arg.Value, flag); ok {
			before, arg.Value = was, flag+olmCertificates
		}
	}
	for _, variable := range contentOf(yamlnode.Value(container, "env")) {
		switch name := yamlnode.Value(variable, "name"); name.Value {
		case "MANAGER_WEBHOOK_TARGETS":
			name.Value = "MANAGER_WEBHOOK_CERT_PATH"
			yamlnode.Insert{}.Set(variable, "value", scalar(olmCertificates))
		case "MANAGER_WEBHOOK_CERT_PATH":
			before = text(variable, "value")
			yamlnode.Insert{}.Set(variable, "value", scalar(olmCertificates))
		}
	}
	return before
}

// forgetCertificate has a container make a certificate for its metrics, if the one it has is in a Secret that will not be there, and
// returns where that is.
func forgetCertificate(container, pod *yaml.Node, secrets map[string]bool) (folder string) {
	const flag = "--metrics-cert-path="
	args := yamlnode.Value(container, "args")
	for _, arg := range contentOf(args) {
		if was, ok := strings.CutPrefix(arg.Value, flag); ok && fromSecret(container, pod, was, secrets) {
			folder = was
		}
	}
	if folder != "" {
		args.Content = slices.DeleteFunc(args.Content, func(arg *yaml.Node) bool { return arg.Value == flag+folder })
	}
	return folder
}

// fromSecret reports whether a folder of a container has what is in one of the secrets.
func fromSecret(container, pod *yaml.Node, folder string, secrets map[string]bool) bool {
	for _, mount := range contentOf(yamlnode.Value(container, "volumeMounts")) {
		for _, volume := range contentOf(yamlnode.Value(pod, "volumes")) {
			if text(mount, "mountPath") == folder && text(volume, "name") == text(mount, "name") && secrets[text(volume, "secret", "secretName")] {
				return true
			}
		}
	}
	return false
}

// unmount takes the volume at a path from a container, and returns its name.
func unmount(container *yaml.Node, path string) (volume string) {
	mounts := yamlnode.Value(container, "volumeMounts")
	if mounts == nil || path == "" {
		return ""
	}
	mounts.Content = slices.DeleteFunc(mounts.Content, func(mount *yaml.Node) bool {
		if text(mount, "mountPath") == path {
			volume = text(mount, "name")
		}
		return text(mount, "mountPath") == path
	})
	if len(mounts.Content) == 0 {
		yamlnode.Remove(container, "volumeMounts")
	}
	return volume
}

// removeVolume takes a volume with one of the secrets from a pod.
func removeVolume(pod *yaml.Node, name string, secrets map[string]bool) {
	volumes := yamlnode.Value(pod, "volumes")
	if volumes == nil {
		return
	}
	volumes.Content = slices.DeleteFunc(volumes.Content, func(volume *yaml.Node) bool {
		return text(volume, "name") == name && secrets[text(volume, "secret", "secretName")]
	})
	if len(volumes.Content) == 0 {
		yamlnode.Remove(pod, "volumes")
	}
}
