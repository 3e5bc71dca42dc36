package lint

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// These are the usual verbs of rules. The API server accepts any word as a verb.
var (
	usualVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	otherVerbs = []string{
		"*", "approve", "attest", "bind", "connect", "escalate", "head", "impersonate", "options", "post", "proxy", "put",
		"sign", "use",
	}
)

func (c *checker) checkRule(at markers.Marker) {
	if c.allowed(at.Text) {
		return
	}
	switch value := at.Value.(type) {
	case rbac.Rule:
		c.checkRBAC(at, value)
	case webhook.Config:
		c.checkWebhook(at, value)
	}
}

// checkRBAC reports RBAC markers that the API server rejects, rules that match no request, and verbs that look
// misspelled.
func (c *checker) checkRBAC(at markers.Marker, rule rbac.Rule) {
	c.noteCore(rule)
	c.checkGroups(at, rule.Groups)
	c.checkResources(at, rule.Groups, rule.Resources)
	for _, url := range rule.URLs {
		if !strings.HasPrefix(url, "/") && url != "*" {
			c.refusedArgument(at, "urls", url, fmt.Sprintf("%q matches no request: paths start with a slash", url),
				"write /"+url)
		}
	}
	for _, verb := range rule.Verbs {
		if usual, ok := meantVerb(verb); ok {
			c.reportRule(at, "verbs", verb, problem(CodeValue,
				fmt.Sprintf("+kubebuilder:rbac: verbs: %q looks like a misspelled %q", verb, usual),
				"write "+usual+", or allow it with --allow-unknown "+rbac.RuleDefinition.Name))
		}
	}
	refused := diagnostic.Error{Code: CodeContradiction}
	switch {
	case len(rule.URLs) == 0 && len(rule.Resources) == 0:
		refused.Message = "neither resources nor urls: the API server rejects the rule"
		refused.Hint = "add groups= and resources=, or urls="
	case len(rule.URLs) > 0 && len(rule.Resources)+len(rule.Groups)+len(rule.ResourceNames) > 0:
		refused.Message = "a rule with urls cannot have groups and resources: the API server rejects it"
		refused.Hint = "write two markers"
	case len(rule.URLs) > 0 && rule.Namespace != "":
		refused.Message = "urls have no namespace: the API server rejects the rule"
		refused.Hint = "remove namespace="
	case len(rule.URLs) == 0 && len(rule.Groups) == 0 && !c.joinsCore(rule):
		refused.Message = "no groups: the API server rejects the rule"
		refused.Hint = "name the group of the resources; pods and other core resources have groups=\"\""
	default:
		return
	}
	refused.Message = "+kubebuilder:rbac: " + refused.Message
	c.reportRule(at, "", "", refused)
}

// coreRule is a rule about one resource of the core group. controller-gen merges later rules that do not set groups
// into it.
type coreRule struct{ role, namespace, resource, names string }

func coreRules(rule rbac.Rule) []coreRule {
	var all []coreRule
	for _, resource := range rule.Resources {
		names := slices.Sorted(slices.Values(rule.ResourceNames))
		all = append(all, coreRule{rule.RoleName, rule.Namespace, resource, strings.Join(names, "&")})
	}
	return all
}

// noteCore records the rules about the core group, in the order in which controller-gen processes them.
func (c *checker) noteCore(rule rbac.Rule) {
	if len(rule.URLs) > 0 || len(rule.Groups) != 1 || rule.Groups[0] != "" && rule.Groups[0] != "core" {
		return
	}
	for _, r := range coreRules(rule) {
		c.core[r] = true
	}
}

// joinsCore reports whether controller-gen merges a rule that does not set groups, with all its resources, into earlier
// rules about the core group.
func (c *checker) joinsCore(rule rbac.Rule) bool {
	return !slices.ContainsFunc(coreRules(rule), func(r coreRule) bool { return !c.core[r] })
}

// reportRule reports a word in an argument of an RBAC marker. If argument is empty, it reports the marker.
func (c *checker) reportRule(at markers.Marker, argument, word string, d diagnostic.Error) {
	offset := 0
	if argument != "" {
		offset = markers.ArgumentValueOffset(at.Text, argument)
		offset += max(0, strings.Index(at.Text[offset:], word))
	}
	c.report(at.Pos+token.Pos(offset), c.reaches(at), d)
}

// meantVerb returns the usual verb that differs from word only in case or by one typing error. It returns false if
// there is none.
func meantVerb(word string) (string, bool) {
	if slices.Contains(usualVerbs, word) || slices.Contains(otherVerbs, word) {
		return "", false
	}
	lower := strings.ToLower(word)
	for _, usual := range usualVerbs {
		switch {
		case lower == usual:
			return usual, true
		case lower == "" || lower[0] != usual[0] && !sameLetters(lower, usual):
		case diagnostic.IsSlip(lower, usual), strings.ReplaceAll(strings.ReplaceAll(lower, "-", ""), "_", "") == usual:
			return usual, true
		}
	}
	return "", false
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return string(x) == string(y)
}
