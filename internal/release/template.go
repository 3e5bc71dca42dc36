package release

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// author makes templates of the objects of one chart.
type author struct {
	*sheet
	chart     string // its name
	prefix    string // of names, with its hyphen
	namespace string // of the objects
	account   string // the service account of the manager
	tokens    *regexp.Regexp
}

func newAuthor(chart string, r *released) *author {
	a := &author{sheet: newSheet(r.content()), chart: chart, prefix: r.prefix, namespace: r.namespace}
	for _, o := range r.all() {
		if o.isManager() {
			a.account = text(o.podSpec(), "serviceAccountName")
		}
	}
	names := []string{}
	for _, o := range r.all() {
		if r.prefix != "" && strings.HasPrefix(o.name, r.prefix) && o.kind != "Namespace" {
			names = append(names, regexp.QuoteMeta(o.name))
		}
		// The Secret of a certificate is cert-manager's to make, and as much the release's own.
		if secret := text(o.Node, "spec", "secretName"); r.prefix != "" && o.kind == "Certificate" && strings.HasPrefix(secret, r.prefix) {
			names = append(names, regexp.QuoteMeta(secret))
		}
	}
	if r.namespace != "" {
		names = append(names, regexp.QuoteMeta(r.namespace))
	}
	// The longest comes first, since a name may begin another.
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

// accounts lets Helm fill in the service account of the manager where an object is it, or refers to it. Another object may have
// the same name.
func (a *author) accounts(o *object) {
	if o.kind == "ServiceAccount" {
		a.accountAt(yamlnode.Value(o.Node, "metadata"), "name")
	}
	a.accountAt(o.podSpec(), "serviceAccountName")
	a.accountAt(o.podSpec(), "serviceAccount")
	for _, subject := range contentOf(yamlnode.Value(o.Node, "subjects")) {
		if text(subject, "kind") == "ServiceAccount" {
			a.accountAt(subject, "name")
		}
	}
}

func (a *author) accountAt(node *yaml.Node, key string) {
	if a.account != "" && text(node, key) == a.account {
		yamlnode.Insert{}.Set(node, key, a.value(`{{ include "`+a.chart+`.serviceAccountName" . }}`))
	}
}

// names lets Helm fill in the namespace and the beginning of names, wherever a value has them.
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
	// Twice, since of two names that share a boundary the first takes it.
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

// managedBy lets Helm say who manages an object, where kustomize has said it.
func (a *author) managedBy(node *yaml.Node) {
	for _, keys := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}} {
		if labels := yamlnode.Value(node, keys...); text(labels, managedByLabel) != "" {
			yamlnode.Insert{}.Set(labels, managedByLabel, a.value("{{ .Release.Service }}"))
		}
	}
}

const managedByLabel = "app.kubernetes.io/managed-by"

// definition makes the template of a CRD, of which only what is about its webhook depends on the chart.
func (a *author) definition(o *object) {
	metadata := yamlnode.Insert{}.Ensure(o.Node, "metadata")
	annotations := yamlnode.Insert{}.Ensure(metadata, "annotations")
	a.names(annotations)
	a.names(yamlnode.Value(o.Node, "spec", "conversion"))
	a.entry(annotations, "{{- if .Values.crds.keep }}\nhelm.sh/resource-policy: keep\n{{- end }}")
}

// annotated adds the pairs of a value to a mapping, which appears with them.
func (a *author) annotated(metadata *yaml.Node, key, value string) {
	if pairs := yamlnode.Value(metadata, key); pairs != nil {
		a.entry(pairs, "{{- with "+value+" }}\n{{- toYaml . | nindent @ }}\n{{- end }}")
		return
	}
	a.entry(metadata, "{{- with "+value+" }}\n"+key+":\n  {{- toYaml . | nindent 2@ }}\n{{- end }}")
}

// manager makes the template of the workload that runs the manager.
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

// podKeys and podScalars are what values say of the manager's pods.
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
	for _, arg := range contentOf(yamlnode.Value(c, "args")) {
		if address, ok := strings.CutPrefix(arg.Value, metricsFlag); ok && arg.Kind == yaml.ScalarNode {
			arg.Value = metricsFlag + a.at("{{ if .Values.metrics.enabled }}"+address+"{{ else }}0{{ end }}")
		}
	}
}

// list adds the items of a value to a list, which appears with them.
func (a *author) list(c *yaml.Node, key, value string) {
	if items := yamlnode.Value(c, key); items != nil && items.Kind == yaml.SequenceNode && len(items.Content) > 0 {
		a.item(items, "{{- with "+value+" }}\n{{- toYaml . | nindent @ }}\n{{- end }}")
		return
	}
	a.replace(c, key, "{{- with "+value+" }}\n"+key+":\n  {{- toYaml . | nindent 2@ }}\n{{- end }}")
}
