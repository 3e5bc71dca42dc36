package release

import (
	"fmt"
	"go/token"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// feature is an optional group of objects.
type feature struct {
	key     string // key in values.yaml that contains the switch
	option  string // name of the switch
	needs   string // additional condition, or ""
	comment string
	has     func(*object, string) bool
}

// features are the optional parts of a chart, in the order of values.yaml. An object belongs to the first feature whose
// function has returns true. The second argument of has is the object's name without the prefix.
var features = []feature{
	{"crds", "install", "",
		"The CRDs of the operator. With keep, helm uninstall keeps them and all objects of these kinds.",
		func(o *object, _ string) bool { return o.kind == "CustomResourceDefinition" }},
	{"serviceAccount", "create", "",
		"The service account of the manager. An empty name means the default name with the prefix of the release.",
		func(o *object, _ string) bool { return o.kind == "ServiceAccount" }},
	{"grafana", "enabled", ".Values.metrics.enabled",
		"A dashboard for the sidecar of Grafana. It needs the metrics, and a Prometheus that collects them.",
		func(o *object, _ string) bool {
			return o.kind == "ConfigMap" && yamlnode.Text(o.Node, "metadata", "labels", "grafana_dashboard") != ""
		}},
	{"prometheus", "enabled", ".Values.metrics.enabled",
		"A monitor and alerts for the Prometheus operator. They need the metrics.",
		func(o *object, _ string) bool { return o.group == "monitoring.coreos.com" }},
	{"networkPolicy", "enabled", "",
		"Network policies that limit connections to the manager.",
		func(o *object, _ string) bool { return o.kind == "NetworkPolicy" }},
	{"certManager", "enabled", "",
		"Certificates of cert-manager, which the cluster must have.",
		func(o *object, _ string) bool { return o.group == "cert-manager.io" }},
	{"metrics", "enabled", "",
		"The metrics of the manager, and the roles for reading them.",
		func(o *object, name string) bool {
			return strings.Contains(name, "metrics") && (o.kind == "Service" || o.group == rbacGroup)
		}},
	{"userRoles", "create", "",
		"Roles for users of the operator's kinds.",
		func(o *object, name string) bool {
			return o.group == rbacGroup && (strings.HasSuffix(name, "-admin-role") ||
				strings.HasSuffix(name, "-editor-role") || strings.HasSuffix(name, "-viewer-role"))
		}},
}

const rbacGroup = "rbac.authorization.k8s.io"

// condition returns the template condition of the objects of a feature.
func (f feature) condition() string {
	at := ".Values." + f.key + "." + f.option
	if f.needs != "" {
		return "and " + f.needs + " " + at
	}
	return at
}

// in returns the switch of a feature in a values.yaml, or nil if the file has no boolean there.
func (f feature) in(values []byte) *yaml.Node {
	document, err := parseRoot(values)
	if err != nil {
		return nil
	}
	node := yamlnode.Value(document, f.key, f.option)
	if node == nil || node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" {
		return nil
	}
	return node
}

// isOn reports whether a switch is on.
func isOn(node *yaml.Node) bool { return strings.EqualFold(node.Value, "true") }

// differs returns a warning about a switch that differs from its default, although the user may not have changed it.
func (f feature) differs(pos token.Position, on bool) *diagnostic.Error {
	state := "is on, but the kustomization does not have"
	if !on {
		state = "is off, but the kustomization has"
	}
	return diagnostic.At(pos,
		fmt.Sprintf("%s.%s %s its objects, and the former default is not known", f.key, f.option, state),
		fmt.Sprintf("write %s: %v if you did not choose the value; later runs keep it", f.option, !on))
}

func featureOf(o *object, name string) (feature, bool) {
	for _, f := range features {
		if f.has(o, name) {
			return f, true
		}
	}
	return feature{}, false
}
