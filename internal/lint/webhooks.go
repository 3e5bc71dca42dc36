package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gobuffalo/flect"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiserverwebhook "k8s.io/apiserver/pkg/util/webhook"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// checkWebhook reports webhook markers that the API server rejects, and rules that match no request.
func (c *checker) checkWebhook(at markers.Marker, config webhook.Config) {
	c.webhookChoices(at, config)
	c.webhookAddress(at, config)
	c.checkGroups(at, config.Groups)
	c.checkResources(at, config.Groups, config.Resources)
	c.webhookTarget(at, config)
}

// webhookChoices reports arguments whose value is not one that the API server supports.
func (c *checker) webhookChoices(at markers.Marker, config webhook.Config) {
	for _, options := range []struct {
		argument string
		given    []string
		known    []string
	}{
		{"verbs", config.Verbs, []string{"create", "update", "delete", "connect", "*"}},
		{"failurePolicy", given(config.FailurePolicy), []string{"fail", "ignore"}},
		{"matchPolicy", given(config.MatchPolicy), []string{"Exact", "Equivalent"}},
		{"reinvocationPolicy", given(config.ReinvocationPolicy), []string{"Never", "IfNeeded"}},
	} {
		for _, value := range options.given {
			if !slices.ContainsFunc(options.known, func(known string) bool { return strings.EqualFold(known, value) }) {
				c.refusedArgument(at, options.argument, value, fmt.Sprintf("want %s, got %q", choice(options.known), value),
					nearest(value, options.known))
			}
		}
	}
	if len(config.Verbs) > 1 && slices.Contains(config.Verbs, "*") {
		c.refusedArgument(at, "verbs", "*", "* means all verbs and cannot be combined", "remove the other verbs")
	}
	if !slices.ContainsFunc(config.AdmissionReviewVersions, func(v string) bool { return v == "v1" || v == "v1beta1" }) &&
		len(config.AdmissionReviewVersions) > 0 {
		c.refusedArgument(at, "admissionReviewVersions", config.AdmissionReviewVersions[0],
			fmt.Sprintf("must include at least one of v1, v1beta1, got %q", strings.Join(config.AdmissionReviewVersions, ";")),
			"write v1")
	}
}

func given(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// nearest returns a hint with the nearest of the known words, or "".
func nearest(value string, known []string) string {
	if near, ok := diagnostic.Near(value, known); ok {
		return "write " + near
	}
	return ""
}

// webhookAddress reports a name, a path or a URL that the API server rejects.
func (c *checker) webhookAddress(at markers.Marker, config webhook.Config) {
	if errs := validation.IsFullyQualifiedName(field.NewPath("name"), config.Name); len(errs) > 0 {
		c.refusedArgument(at, "name", config.Name, errs[0].ErrorBody(), "write "+longName(config.Name))
	}
	if config.Path != "" {
		service := field.NewPath("service")
		errs := apiserverwebhook.ValidateWebhookService(service, "system", "webhook-service", &config.Path, 443)
		if len(errs) > 0 {
			hint := ""
			if !strings.HasPrefix(config.Path, "/") {
				hint = "write /" + config.Path
			}
			c.refusedArgument(at, "path", config.Path, errs[0].ErrorBody(), hint) // further errors have the same cause
		}
	}
	if config.URL != "" {
		if errs := apiserverwebhook.ValidateWebhookURL(field.NewPath("url"), config.URL, true); len(errs) > 0 {
			c.refusedArgument(at, "url", config.URL, errs[0].ErrorBody(), "write https://"+hostOf(config.URL))
		}
	}
}

// longName returns a name with the number of dots that the API server requires.
func longName(name string) string {
	name = strings.ToLower(strings.Trim(name, "."))
	if strings.Contains(name, ".") {
		return "v" + name + ".com"
	}
	return "v" + name + ".example.com"
}

func hostOf(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		return rest
	}
	return address
}

// refusedArgument reports a word in an argument of a marker that the API server rejects.
func (c *checker) refusedArgument(at markers.Marker, argument, word, message, hint string) {
	c.reportRule(at, argument, word, problem(CodeValue,
		fmt.Sprintf("+%s: %s: %s", at.Definition.Name, argument, diagnostic.OneLine(message)), hint))
}

// checkGroups reports groups that cannot exist, because they contain a version or upper-case letters.
func (c *checker) checkGroups(at markers.Marker, groups []string) {
	for _, group := range groups {
		if name, version, ok := strings.Cut(group, "/"); ok {
			c.refusedArgument(at, "groups", group, fmt.Sprintf("%q has the version %s, and matches no request", group, version),
				"write "+name)
		} else if strings.ToLower(group) != group {
			c.refusedArgument(at, "groups", group, fmt.Sprintf("%q matches no request: groups are in lower case", group),
				"write "+strings.ToLower(group))
		}
	}
}

// singulars are singular names of Kubernetes kinds, which users often write instead of the resource.
var singulars = []string{
	"pod", "service", "secret", "configmap", "node", "namespace", "event", "serviceaccount", "persistentvolume",
	"persistentvolumeclaim", "deployment", "statefulset", "daemonset", "replicaset", "job", "cronjob", "ingress",
	"networkpolicy", "lease", "role", "rolebinding", "clusterrole", "clusterrolebinding", "customresourcedefinition",
	"poddisruptionbudget", "horizontalpodautoscaler", "storageclass",
}

// kubernetesGroups are the groups of these kinds.
var kubernetesGroups = []string{
	"", "core", "apps", "batch", "networking.k8s.io", "coordination.k8s.io", "rbac.authorization.k8s.io",
	"apiextensions.k8s.io", "policy", "autoscaling", "storage.k8s.io",
}

// checkResources reports resources that cannot exist in the groups, because their names are singular or have upper-case
// letters.
func (c *checker) checkResources(at markers.Marker, groups, resources []string) {
	for _, resource := range resources {
		name, sub, _ := strings.Cut(resource, "/")
		plural := strings.ToLower(name)
		if slices.Contains(singulars, plural) && slices.ContainsFunc(groups,
			func(g string) bool { return slices.Contains(kubernetesGroups, g) }) {
			plural = flect.Pluralize(plural)
		}
		if own := c.ownPlural(groups, strings.ToLower(name)); own != "" {
			plural = own
		}
		if plural == name {
			continue
		}
		if sub != "" {
			plural += "/" + sub
		}
		c.refusedArgument(at, "resources", resource, fmt.Sprintf("%q matches no request: resources are plural and in lower "+
			"case", resource), "write "+plural)
	}
}

type ownKind struct {
	group, version, plural string
	decl                   *typeDecl
}

// kinds returns the kinds of the project whose markers determine the group, version and resource.
func (c *checker) kinds() []ownKind {
	if c.own != nil {
		return *c.own
	}
	var own []ownKind
	for _, pkg := range c.decls.all {
		group, ok := packageValue(pkg, "groupName")
		if !ok {
			continue
		}
		version, named := packageValue(pkg, "versionName")
		if !named {
			version = pkg.Name
		}
		for _, t := range pkg.types {
			if embedded := markers.EmbeddedTypes(t.spec); embedded["TypeMeta"] && embedded["ObjectMeta"] {
				own = append(own, ownKind{group, version, pluralOf(pkg, t), t})
			}
		}
	}
	c.own = &own
	return own
}

func pluralOf(pkg *packageDecls, t *typeDecl) string {
	plural := strings.ToLower(flect.Pluralize(t.name))
	for _, at := range pkg.Markers {
		if resource, ok := at.Value.(crdmarkers.Resource); ok && at.Node == t.spec && resource.Path != "" {
			plural = resource.Path
		}
	}
	return plural
}

func packageValue(pkg *packageDecls, name string) (string, bool) {
	for _, value := range pkg.Values(name) {
		if text, ok := value.(string); ok {
			return text, true
		}
	}
	return "", false
}

// ownPlural returns the resource name of the project's kind with the lower-case name, or "" if there is none.
func (c *checker) ownPlural(groups []string, name string) string {
	for _, k := range c.kinds() {
		if slices.Contains(groups, k.group) && strings.ToLower(k.decl.name) == name {
			return k.plural
		}
	}
	return ""
}

// webhookTarget reports versions that a kind of the project does not serve. It also reports a path whose prefix
// belongs to the other type of webhook, mutating or validating.
func (c *checker) webhookTarget(at markers.Marker, config webhook.Config) {
	var served []string
	isOwn := false
	for _, k := range c.kinds() {
		if slices.Contains(config.Groups, k.group) && slices.Contains(config.Resources, k.plural) {
			isOwn = true
			if !c.unserved(k) {
				served = append(served, k.version)
			}
		}
	}
	// If the marker has further groups or resources, they may serve the version.
	if isOwn && len(config.Groups) == 1 && len(config.Resources) == 1 {
		for _, version := range config.Versions {
			if version != "*" && !slices.Contains(served, version) {
				newest := slices.Max(append(served, ""))
				c.refusedArgument(at, "versions", version, fmt.Sprintf("%s does not serve version %s, so the webhook matches no "+
					"request", config.Resources[0], version), "write "+newest)
			}
		}
	}
	switch {
	case config.Mutating && strings.HasPrefix(config.Path, "/validate-"):
		c.otherSort(at, config, "mutating=true is for webhooks that change objects",
			"/mutate-"+strings.TrimPrefix(config.Path, "/validate-"))
	case !config.Mutating && strings.HasPrefix(config.Path, "/mutate-"):
		c.otherSort(at, config, "mutating=false is for webhooks that validate objects",
			"/validate-"+strings.TrimPrefix(config.Path, "/mutate-"))
	}
}

func (c *checker) unserved(k ownKind) bool {
	return slices.ContainsFunc(k.decl.pkg.Markers, func(at markers.Marker) bool {
		return at.Node == k.decl.spec && at.Counts() && (at.Definition.Name == "kubebuilder:unservedversion" ||
			at.Definition.Name == "kubebuilder:skipversion")
	})
}

func (c *checker) otherSort(at markers.Marker, config webhook.Config, why, path string) {
	c.reportRule(at, "path", config.Path, problem(CodeContradiction,
		fmt.Sprintf("+%s: path: %s, but the path is for the other kind of webhook", at.Definition.Name, why),
		"write "+path))
}
