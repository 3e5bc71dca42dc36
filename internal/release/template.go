package release

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// author converts the objects of one chart to templates.
type author struct {
	*sheet
	chart     string // name of the chart
	prefix    string // prefix of names, with its hyphen
	namespace string // namespace of the objects
	account   string // service account of the manager
	tokens    *regexp.Regexp
}

func newAuthor(chart string, r *released) *author {
	a := &author{sheet: newSheet(r.content()), chart: chart, prefix: r.prefix, namespace: r.namespace}
	for _, o := range r.all() {
		if o.isManager() {
			a.account = yamlnode.Text(o.podSpec(), "serviceAccountName")
		}
	}
	names := []string{}
	for _, o := range r.all() {
		if r.prefix != "" && strings.HasPrefix(o.name, r.prefix) && o.kind != "Namespace" {
			names = append(names, regexp.QuoteMeta(o.name))
		}
		// cert-manager creates the Secret of a certificate, but the Secret's name must also be unique for each release.
		if secret := yamlnode.Text(o.Node, "spec", "secretName"); r.prefix != "" && o.kind == "Certificate" &&
			strings.HasPrefix(secret, r.prefix) {
			names = append(names, regexp.QuoteMeta(secret))
		}
	}
	if r.namespace != "" {
		names = append(names, regexp.QuoteMeta(r.namespace))
	}
	// Longest first, because a name may be a prefix of another.
	slices.SortFunc(names, func(x, y string) int { return len(y) - len(x) })
	if len(names) > 0 {
		a.tokens = regexp.MustCompile(`(^|[^A-Za-z0-9-])(` + strings.Join(names, "|") + `)($|[^A-Za-z0-9-])`)
	}
	return a
}

// short returns a name without the prefix of the chart.
func (a *author) short(name string) string { return strings.TrimPrefix(name, a.prefix) }

// template returns the template of an object.
func (a *author) template(o *object) (string, error) {
	node := yamlnode.Clone(o.Node)
	o = &object{Node: node, group: o.group, kind: o.kind, namespace: o.namespace, name: o.name}
	if o.kind == "CustomResourceDefinition" {
		a.definition(o)
	} else {
		a.accounts(o)
		a.names(node)
	}
	a.managedBy(node)
	if o.kind == "ServiceAccount" && o.name == a.account {
		a.annotated(yamlnode.Insert{}.Ensure(node, "metadata"), "annotations", ".Values.serviceAccount.annotations")
	}
	if o.isManager() {
		a.manager(o)
	}
	content, err := a.render(node)
	if err != nil {
		return "", err
	}
	if f, ok := featureOf(o, a.short(o.name)); ok {
		content = "{{- if " + f.condition() + " }}\n" + content + "{{- end }}\n"
	}
	return content, nil
}

// accounts templates the service account of the manager, and references to it. It does not change other objects with
// the same name.
func (a *author) accounts(o *object) {
	if o.kind == "ServiceAccount" {
		a.accountAt(yamlnode.Value(o.Node, "metadata"), "name")
	}
	a.accountAt(o.podSpec(), "serviceAccountName")
	a.accountAt(o.podSpec(), "serviceAccount")
	for _, subject := range yamlnode.Items(o.Node, "subjects") {
		if yamlnode.Text(subject, "kind") == "ServiceAccount" {
			a.accountAt(subject, "name")
		}
	}
}

func (a *author) accountAt(node *yaml.Node, key string) {
	if a.account != "" && yamlnode.Text(node, key) == a.account {
		yamlnode.Insert{}.Set(node, key, a.value(`{{ include "`+a.chart+`.serviceAccountName" . }}`))
	}
}

// names templates the namespace and the prefix of names in all values.
func (a *author) names(node *yaml.Node) {
	if node == nil || a.tokens == nil {
		return
	}
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		node.Value = a.named(node.Value)
		return
	}
	for i, child := range node.Content {
		if node.Kind != yaml.MappingNode || i%2 == 1 {
			a.names(child)
		}
	}
}

func (a *author) named(value string) string {
	if value == a.namespace {
		return a.at("{{ .Release.Namespace | quote }}")
	}
	// Replace twice, because two names that share a boundary do not both match in one pass.
	for range 2 {
		value = a.tokens.ReplaceAllStringFunc(value, func(found string) string {
			parts := a.tokens.FindStringSubmatch(found)
			return parts[1] + a.token(parts[2]) + parts[3]
		})
	}
	return value
}

// token returns the mark for a name.
func (a *author) token(name string) string {
	if name == a.namespace {
		return a.at("{{ .Release.Namespace }}")
	}
	return a.at(`{{ include "`+a.chart+`.prefix" . }}`) + "-" + strings.TrimPrefix(name, a.prefix)
}

// managedBy templates the managed-by label of an object, if kustomize has set it.
func (a *author) managedBy(node *yaml.Node) {
	for _, keys := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}} {
		if labels := yamlnode.Value(node, keys...); yamlnode.Text(labels, managedByLabel) != "" {
			yamlnode.Insert{}.Set(labels, managedByLabel, a.value("{{ .Release.Service }}"))
		}
	}
}

const managedByLabel = "app.kubernetes.io/managed-by"

// definition templates a CRD. Only the CRD's webhook depends on the chart.
func (a *author) definition(o *object) {
	metadata := yamlnode.Insert{}.Ensure(o.Node, "metadata")
	annotations := yamlnode.Insert{}.Ensure(metadata, "annotations")
	a.names(annotations)
	a.names(yamlnode.Value(o.Node, "spec", "conversion"))
	a.entry(annotations, "{{- if .Values.crds.keep }}\nhelm.sh/resource-policy: keep\n{{- end }}")
}

// annotated adds the pairs of a value to a mapping. The template omits the mapping if both it and the value are empty.
func (a *author) annotated(metadata *yaml.Node, key, value string) {
	if pairs := yamlnode.Value(metadata, key); pairs != nil {
		a.entry(pairs, "{{- with "+value+" }}\n{{- toYaml . | nindent @ }}\n{{- end }}")
		return
	}
	a.entry(metadata, "{{- with "+value+" }}\n"+key+":\n  {{- toYaml . | nindent 2@ }}\n{{- end }}")
}

// manager templates the workload of the manager.
func (a *author) manager(o *object) {
	spec := yamlnode.Value(o.Node, "spec")
	yamlnode.Insert{}.Set(spec, "replicas", a.value("{{ .Values.manager.replicas }}"))
	metadata := yamlnode.Insert{}.Ensure(yamlnode.Value(spec, "template"), "metadata")
	a.annotated(metadata, "annotations", ".Values.manager.podAnnotations")
	a.annotated(metadata, "labels", ".Values.manager.podLabels")
	pod := o.podSpec()
	for _, key := range podKeys {
		a.replace(pod, key, "{{- with .Values.manager."+key+" }}\n"+key+":\n  {{- toYaml . | nindent 2@ }}\n{{- end }}")
	}
	for _, key := range podScalars {
		a.replace(pod, key, "{{- with .Values.manager."+key+" }}\n"+key+": {{ . }}\n{{- end }}")
	}
	if container := o.managerContainer(); container != nil {
		a.container(container)
	}
}

// podKeys and podScalars are the values for the manager's pods.
var (
	podKeys    = []string{"imagePullSecrets", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints"}
	podScalars = []string{"priorityClassName"}
)

const metricsFlag = "--metrics-bind-address="

func (a *author) container(c *yaml.Node) {
	yamlnode.Insert{}.Set(c, "image", a.value(`{{ include "`+a.chart+`.image" . | quote }}`))
	a.replace(c, "imagePullPolicy", "{{- with .Values.manager.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}")
	a.replace(c, "resources", "resources:\n  {{- toYaml .Values.manager.resources | nindent 2@ }}")
	a.list(c, "args", ".Values.manager.extraArgs")
	a.list(c, "env", ".Values.manager.extraEnv")
	for _, arg := range yamlnode.Items(c, "args") {
		if address, ok := strings.CutPrefix(arg.Value, metricsFlag); ok && arg.Kind == yaml.ScalarNode {
			arg.Value = metricsFlag + a.at("{{ if .Values.metrics.enabled }}"+address+"{{ else }}0{{ end }}")
		}
	}
}

// list adds the items of a value to a list. The template omits the list if both it and the value are empty.
func (a *author) list(c *yaml.Node, key, value string) {
	if items := yamlnode.Value(c, key); items != nil && items.Kind == yaml.SequenceNode && len(items.Content) > 0 {
		a.item(items, "{{- with "+value+" }}\n{{- toYaml . | nindent @ }}\n{{- end }}")
		return
	}
	a.replace(c, key, "{{- with "+value+" }}\n"+key+":\n  {{- toYaml . | nindent 2@ }}\n{{- end }}")
}
