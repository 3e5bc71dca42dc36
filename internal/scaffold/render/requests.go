package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// Requests select the requests that a webhook or a policy handles, and the result of these requests while it cannot
// answer. The zero value selects creations and updates, and rejects them in that case.
type Requests struct {
	// Verbs are create, update, delete and connect. Empty means the first two.
	Verbs []string
	// FailurePolicy is fail or ignore. Empty means fail.
	FailurePolicy string
	// Timeout is the time that API servers wait for a webhook, in whole seconds up to 30. Zero means 10 seconds.
	Timeout time.Duration
	// NamespaceSelector and ObjectSelector are label selectors in kubectl's syntax. An empty selector selects everything.
	NamespaceSelector, ObjectSelector string
	// MatchConditions have the form name=expression. The CEL expression must be true for the requests to handle.
	MatchConditions []string
}

// requestVerbs are the operations of admission requests.
var requestVerbs = []string{"create", "update", "delete", "connect"}

// Operations returns the selected operations, or the default ones.
func (r Requests) Operations() []string {
	if len(r.Verbs) == 0 {
		return []string{"create", "update"}
	}
	return r.Verbs
}

// IsZero reports whether no option is set.
func (r Requests) IsZero() bool {
	return len(r.Verbs)+len(r.MatchConditions) == 0 && r.FailurePolicy+r.NamespaceSelector+r.ObjectSelector == "" &&
		r.Timeout == 0
}

// Validate rejects options that API servers would reject.
func (r Requests) Validate() error {
	for _, verb := range r.Verbs {
		if !slices.Contains(requestVerbs, verb) {
			return WrongOption("--verbs", verb, "want "+strings.Join(requestVerbs, ", "), "write --verbs=create,update,delete")
		}
	}
	if len(r.Verbs) == 1 && r.Verbs[0] == "connect" {
		return WrongOption("--verbs", "connect", "want another one too",
			"write --verbs=create,connect: connections are to subresources, such as pods/exec")
	}
	if r.FailurePolicy != "" && r.FailurePolicy != "fail" && r.FailurePolicy != "ignore" {
		return WrongOption("--failure-policy", r.FailurePolicy, "want fail or ignore", "write --failure-policy=ignore")
	}
	if r.Timeout%time.Second != 0 || r.Timeout < 0 || r.Timeout > 30*time.Second {
		return WrongOption("--timeout", r.Timeout.String(), "want whole seconds, at most 30", "write --timeout=5s")
	}
	_, err := r.selection()
	return err
}

func WrongOption(flag, got, want, hint string) error {
	return diagnostic.Usage(fmt.Sprintf("%s: %s, got %s", flag, want, diagnostic.Quote(got)), hint)
}

// selection has the selectors in the form of the API's fields.
type selection struct {
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	ObjectSelector    *metav1.LabelSelector `json:"objectSelector,omitempty"`
	MatchConditions   []matchCondition      `json:"matchConditions,omitempty"`
}

type matchCondition struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

func (r Requests) selection() (selection, error) {
	var s selection
	for _, o := range []struct {
		flag, text string
		to         **metav1.LabelSelector
	}{{"--namespace-selector", r.NamespaceSelector, &s.NamespaceSelector},
		{"--object-selector", r.ObjectSelector, &s.ObjectSelector}} {
		if o.text == "" {
			continue
		}
		selector, err := metav1.ParseToLabelSelector(o.text)
		if err != nil {
			return s, WrongOption(o.flag, o.text, "want a label selector",
				"write "+o.flag+`="environment=production,tier in (front, back)"`)
		}
		*o.to = selector
	}
	for _, condition := range r.MatchConditions {
		name, expression, _ := strings.Cut(condition, "=")
		expression = strings.TrimSpace(expression)
		switch {
		case expression == "" || len(apivalidation.IsQualifiedName(name)) > 0:
			return s, WrongOption("--match-condition", condition, "want a name, = and a CEL expression",
				`write --match-condition='not-mine=request.userInfo.username != "me"'`)
		case slices.ContainsFunc(s.MatchConditions, func(c matchCondition) bool { return c.Name == name }):
			return s, WrongOption("--match-condition", condition, "want a name for each condition", "give this one another name")
		}
		s.MatchConditions = append(s.MatchConditions, matchCondition{name, expression})
	}
	return s, nil
}

// view returns the template data about the requests. Webhooks for external kinds exclude the namespaces of the operator
// and of the control plane, because otherwise a stopped manager could block the objects that it needs to start.
func (r Requests) view(kind templates.KindView, foreign bool) (webhook, policy templates.AdmissionView, err error) {
	s, err := r.selection()
	if err != nil {
		return webhook, policy, err
	}
	view := templates.AdmissionView{KindView: kind, Foreign: foreign, FailurePolicy: "fail", Verbs: r.Operations()}
	if r.FailurePolicy != "" {
		view.FailurePolicy = r.FailurePolicy
	}
	view.SelectedLabels = matchingLabels(s.ObjectSelector)
	webhook, policy = view, view
	policy.NamespaceSelector, policy.ObjectSelector, policy.MatchConditions = compactJSON(s.NamespaceSelector),
		compactJSON(s.ObjectSelector), compactJSON(s.MatchConditions)
	if r.Timeout > 0 {
		webhook.More += fmt.Sprintf(",timeoutSeconds=%d", r.Timeout/time.Second)
	}
	if foreign && s.NamespaceSelector == nil && (kind.NamespacedKind || kind.Kind == "Namespace") {
		s.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn,
			Values: []string{"kube-system", "system"}, // kustomize inserts the namespace for "system"
		}}}
	}
	if patch := compactJSON(s); patch != "{}" {
		webhook.More += ",patch=`" + patch + "`"
	}
	return webhook, policy, nil
}

// matchingLabels returns labels that satisfy the label requirements of a selector.
func matchingLabels(selector *metav1.LabelSelector) map[string]string {
	if selector == nil {
		return nil
	}
	labels := maps.Clone(selector.MatchLabels)
	for _, r := range selector.MatchExpressions {
		if labels == nil {
			labels = map[string]string{}
		}
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			labels[r.Key] = r.Values[0]
		case metav1.LabelSelectorOpExists:
			labels[r.Key] = ""
		}
	}
	return labels
}

// compactJSON returns readable JSON that fits between the backquotes of a marker, or "" for nil.
func compactJSON(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	// No error: the values are texts, lists and structs of them.
	_ = encoder.Encode(value)
	text := strings.ReplaceAll(strings.TrimSpace(b.String()), "`", `\u0060`)
	if text == "null" {
		return ""
	}
	return text
}

// policyRules parses --rule flags of the form message=expression, where the CEL expression must be true. Like the rules
// of CRDs, a rule that uses oldObject or object applies only to requests that have this object.
func (o AdmissionOptions) policyRules(verbs []string) ([]templates.PolicyRule, error) {
	var rules []templates.PolicyRule
	for _, text := range o.Rules {
		message, expression, _ := strings.Cut(text, "=")
		message, expression = strings.TrimSpace(message), strings.TrimSpace(expression)
		switch {
		case message == "" || expression == "" || strings.ContainsAny(message[len(message)-1:], "<>!") ||
			expression[0] == '=' || strings.ContainsAny(message, "\r\n"):
			return nil, WrongOption("--rule", text, "want a message on one line, = and a CEL expression",
				`write --rule='the size may only grow=object.spec.size >= oldObject.spec.size'`)
		case slices.ContainsFunc(rules, func(r templates.PolicyRule) bool { return r.Message == message }):
			return nil, WrongOption("--rule", text, "want a message for each rule", "describe the error in this one")
		}
		rules = append(rules, templates.PolicyRule{Message: message, Expression: WhereThereIs(expression, verbs)})
	}
	return rules, nil
}

var (
	oldObjectName   = regexp.MustCompile(`\boldObject\b`)
	objectName      = regexp.MustCompile(`\bobject\b`)
	absenceHandling = regexp.MustCompile(`\b(object|oldObject) *[!=]= *null\b|\brequest\.operation\b`)
)

// WhereThereIs returns an expression that is true for requests without the object that it uses: creations have no
// oldObject, and deletions have no object. It returns an expression that already checks this unchanged.
func WhereThereIs(expression string, verbs []string) string {
	if absenceHandling.MatchString(expression) {
		return expression
	}
	for _, there := range []struct {
		name *regexp.Regexp
		is   string
		verb string
	}{{objectName, "object", "delete"}, {oldObjectName, "oldObject", "create"}} {
		if slices.Contains(verbs, there.verb) && there.name.MatchString(expression) {
			expression = there.is + " == null || (" + expression + ")"
		}
	}
	return expression
}
