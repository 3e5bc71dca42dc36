// Package definition checks one CustomResourceDefinition with the libraries of API servers.
//
// [Refused] returns the problems for which the API server of the linked Kubernetes version rejects the CRD, with the
// API server's reasons. [Dead] returns parts that the API server accepts but that have no effect, such as a printer
// column for a field that does not exist. Both return the place in the manifest; callers map it to a file or Go type.
package definition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/expression"
)

// The codes of problems.
const (
	CodeName       = "crd-name"             // names of the kind, its group and its versions
	CodeVersion    = "crd-version"          // all versions together: storage, served, deprecation
	CodeSchema     = "crd-schema"           // the schema is not structural, or a keyword is wrong
	CodeDefault    = "crd-default"          // a default that the schema rejects
	CodeListKey    = "crd-list-type"        // list types, map types and keys of lists
	CodeRule       = "crd-rule"             // a CEL validation rule
	CodeColumn     = "crd-printer-column"   // a printer column
	CodeSelectable = "crd-selectable-field" // a selectable field
	CodeScale      = "crd-subresource"      // the subresources status and scale
	CodeConversion = "crd-conversion"       // the conversion between versions
	CodeFormat     = "crd-format"           // a format that API servers ignore
	CodeBound      = "crd-bound"            // a bound outside of the range of the format
	CodeSize       = "crd-size"             // the size of the manifest
)

// Problem is one problem of a CRD.
type Problem struct {
	Path Path
	Code string
	// Message is the problem in one line. If the API server rejects the CRD, it contains its reason.
	Message string
	// Hint is how to fix it. It may be empty.
	Hint string
	// Rule is the text of the validation rule with the problem. Place is the place in the rule, as text that starts with a
	// comma.
	Rule, Place string
}

// Text returns the place and the message.
func (p Problem) Text() string { return p.Path.String() + p.Place + ": " + p.Message }

// Refused returns the problems for which the API server rejects a CRD, by version and place.
func Refused(crd *apiextensionsv1.CustomResourceDefinition) ([]Problem, error) {
	internal, err := asCreated(crd)
	if err != nil {
		return nil, err
	}
	found := validate(internal)
	if len(found) == 0 {
		return nil, nil
	}
	r := &refusal{crd: crd, rules: map[int][]expression.RuleProblem{}}
	var problems []Problem
	for _, e := range found {
		problems = append(problems, r.problem(e))
	}
	return inOrder(append(problems, r.hidden(problems)...)), nil
}

// totalReason is part of the error for a schema whose rules together cost too much. The API server then also reports an
// error with shareReason for each rule.
const (
	totalReason = "estimated rule cost total for entire"
	shareReason = "contributed to estimated rule cost total"
	ruleReason  = "exceeds budget"
	// storageReason always causes storedReason too.
	storageReason = "exactly one version marked as storage version"
	storedReason  = "must have at least one stored version"
)

// inOrder sorts problems, because validation iterates over maps, and removes duplicates. If a single rule exceeds its
// cost limit, inOrder removes the error about the total cost of all rules.
func inOrder(problems []Problem) []Problem {
	costly := map[int]bool{}
	for _, p := range problems {
		if p.Code == CodeRule && strings.Contains(p.Message, ruleReason) && !strings.Contains(p.Message, totalReason) {
			costly[p.Path.Version] = true
		}
	}
	isUnstored := slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.Message, storageReason) })
	problems = slices.DeleteFunc(problems, func(p Problem) bool {
		isTotal := strings.Contains(p.Message, totalReason) || strings.Contains(p.Message, shareReason)
		return costly[p.Path.Version] && isTotal || isUnstored && strings.Contains(p.Message, storedReason)
	})
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path.Version, b.Path.Version), slices.Compare(a.Path.Steps, b.Path.Steps),
			cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a.Text() == b.Text() })
}

// validate returns the errors of the API server's validation. If the validation panics, as it does for selectable
// fields with an invalid schema, the API server also fails. validate then repeats the validation without selectable
// fields.
func validate(crd *apiextensions.CustomResourceDefinition) (found field.ErrorList) {
	defer func() {
		if reason := recover(); reason != nil {
			without := crd.DeepCopy()
			without.Spec.SelectableFields = nil
			for i := range without.Spec.Versions {
				without.Spec.Versions[i].SelectableFields = nil
			}
			found = validation.ValidateCustomResourceDefinition(context.Background(), without)
			if len(found) == 0 {
				found = field.ErrorList{field.InternalError(field.NewPath("spec"),
					fmt.Errorf("the validation of the API server fails: %v", reason))}
			}
		}
	}()
	return validation.ValidateCustomResourceDefinition(context.Background(), crd)
}

// asCreated returns a CRD as the API server validates it: with defaults, in the internal form, and with an initial
// status.
func asCreated(crd *apiextensionsv1.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, error) {
	given := *crd
	if crd.Spec.Conversion != nil {
		given.Spec.Conversion = crd.Spec.Conversion.DeepCopy()
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&given)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&given,
		internal, nil); err != nil {
		return nil, err
	}
	internal.Status = apiextensions.CustomResourceDefinitionStatus{}
	for _, version := range internal.Spec.Versions {
		if version.Storage {
			internal.Status.StoredVersions = []string{version.Name}
			break
		}
	}
	return internal, nil
}

// refusal converts the errors of one CRD to problems.
type refusal struct {
	crd *apiextensionsv1.CustomResourceDefinition
	// rules has the problems of rules by the index of the version, for versions that problemsOfRules has checked.
	rules map[int][]expression.RuleProblem
}

func (r *refusal) problem(e *field.Error) Problem {
	p := Problem{Path: parsePath(e.Field, r.crd), Message: reason(e)}
	if e.Field == "status.storedVersions" {
		// A missing storage version also causes an error about the status.
		p.Path = parsePath("spec.versions", r.crd)
	}
	p.Code = codeOf(p.Path)
	switch {
	case p.Code == CodeRule && strings.Contains(e.Detail, shareReason):
		r.explainTotal(&p)
	case p.Code == CodeRule:
		r.explainRule(&p)
	case p.Path.InSchema && len(p.Path.Object) == 0 && p.Path.Key == "" && strings.Contains(e.Detail, totalReason):
		p.Code = CodeRule
		r.explainTotal(&p)
	default:
		p.Hint = hintFor(p.Path, e)
	}
	return p
}

// reason returns the error of the API server in one line. It shortens long values.
func reason(e *field.Error) string {
	const longest = 120
	body := e.ErrorBody()
	if len(body)-len(e.Detail) > longest {
		brief := *e
		brief.BadValue = field.OmitValueType{}
		body = brief.ErrorBody()
	}
	if first, rest, compiled := strings.Cut(body, "ERROR: <input>:"); compiled {
		body = first + expression.Plain(afterPosition(rest))
	}
	return diagnostic.OneLine(body)
}

// afterPosition returns a compiler message without the rest of a position at its beginning.
func afterPosition(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if _, message, ok := strings.Cut(line, ": "); ok {
		return message
	}
	return line
}

// versionCodes and schemaCodes are the codes for keywords of versions and of schemas.
var versionCodes = map[string]string{
	"name": CodeName, "additionalPrinterColumns": CodeColumn, "selectableFields": CodeSelectable,
	"subresources": CodeScale, "schema": CodeSchema,
}

var schemaCodes = map[string]string{
	"default": CodeDefault, "x-kubernetes-validations": CodeRule, "x-kubernetes-list-type": CodeListKey,
	"x-kubernetes-list-map-keys": CodeListKey, "x-kubernetes-map-type": CodeListKey,
}

// codeOf returns the code for a place.
func codeOf(p Path) string {
	place := strings.Join(p.Steps[:min(len(p.Steps), 2)], ".")
	switch {
	case p.InSchema:
		return cmp.Or(schemaCodes[p.Key], CodeSchema)
	case p.Version >= 0:
		return cmp.Or(versionCodes[p.Key], CodeVersion)
	case place == "spec.versions":
		return CodeVersion
	case place == "spec.conversion":
		return CodeConversion
	}
	return CodeName
}

// problemsOfRules returns the problems of the rules of a version.
func (r *refusal) problemsOfRules(version int) []expression.RuleProblem {
	known, asked := r.rules[version]
	if !asked {
		if s := r.crd.Spec.Versions[version].Schema; s != nil {
			// Ignore the error, because the API server reports the same one.
			known, _ = expression.Rules(s.OpenAPIV3Schema)
		}
		r.rules[version] = known
	}
	return known
}

// explainRule adds the rule and a hint to a problem.
func (r *refusal) explainRule(p *Problem) {
	p.Hint = "write a CEL rule: self is the value of the field, and the result true means valid"
	if s := p.Path.schema; s != nil && p.Path.Index >= 0 && p.Path.Index < len(s.XValidations) {
		p.Rule = s.XValidations[p.Path.Index].Rule
	}
	for _, found := range r.problemsOfRules(max(p.Path.Version, 0)) {
		if found.Argument == p.Path.Argument && found.Index == p.Path.Index && found.Field() == p.Path.Field() {
			p.Place, p.Hint = found.Place(), found.HintOr(p.Hint)
			return
		}
	}
}

// hidden returns the problems of rules that the API server reports only after other problems are fixed, because it does
// not compile the rules of a value if a rule below is malformed. If the schema has other problems, hidden cannot check
// its rules.
func (r *refusal) hidden(found []Problem) []Problem {
	onlyRules := map[int]bool{} // by version: whether all problems of the schema are about rules
	for _, p := range found {
		if only, known := onlyRules[p.Path.Version]; p.Path.InSchema {
			onlyRules[p.Path.Version] = (only || !known) && p.Code == CodeRule
		}
	}
	var hidden []Problem
	for version, only := range onlyRules {
		if !only {
			continue
		}
		for _, rule := range r.problemsOfRules(version) {
			known := slices.ContainsFunc(found, func(p Problem) bool {
				return p.Path.Version == version && p.Path.Index == rule.Index && p.Path.Field() == rule.Field()
			})
			if rule.Argument != "" && !known {
				hidden = append(hidden, r.problemOfRule(version, rule))
			}
		}
	}
	return hidden
}

// problemOfRule converts a problem of a rule that the API server has not reported yet.
func (r *refusal) problemOfRule(version int, rule expression.RuleProblem) Problem {
	path := fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", version)
	for _, step := range rule.Path {
		switch step {
		case expression.Items:
			path += ".items"
		case expression.Values:
			path += ".additionalProperties"
		default:
			path += ".properties[" + step + "]"
		}
	}
	path += fmt.Sprintf(".x-kubernetes-validations[%d].%s", rule.Index, rule.Argument)
	return Problem{
		Path: parsePath(path, r.crd), Code: CodeRule, Message: rule.Message, Hint: rule.HintOr(""), Rule: rule.Rule,
		Place: rule.Place(),
	}
}

// explainTotal adds the most expensive rules of a schema and a hint to a problem.
func (r *refusal) explainTotal(p *Problem) {
	p.Hint = "limit the lists, maps and strings that the rules iterate over with maxItems, maxProperties and maxLength"
	for _, found := range r.problemsOfRules(max(p.Path.Version, 0)) {
		if found.Hint != "" {
			p.Hint = found.Hint
			return
		}
	}
}

// hintFor returns the hint for a problem whose reason does not contain one.
func hintFor(path Path, e *field.Error) string {
	switch {
	case path.Key == "default" && path.InSchema:
		return "write a default that the schema of the field allows, without unknown fields"
	case strings.Contains(e.Detail, `must be spec.names.plural+"."+spec.group`):
		return "name it <plural>.<group>"
	case strings.Contains(e.Detail, "api-approved.kubernetes.io"):
		return "groups that end in k8s.io or kubernetes.io belong to Kubernetes: use your own group, or add the annotation"
	case strings.Contains(e.Detail, "should be a domain with at least one dot"):
		return "append a domain to the group, such as .example.com"
	case strings.Contains(e.Detail, "x-kubernetes-list-type=set") && path.InSchema:
		return "use listType=map with the key of the items, or listType=atomic, or make the items mapType=atomic"
	case strings.Contains(e.Detail, "this property is in x-kubernetes-list-map-keys"):
		return "make the field required, or give it a default"
	case strings.Contains(e.Detail, storageReason):
		return fmt.Sprintf("set storage: true in one version, which is +%s on its Go type", "kubebuilder:storageversion")
	}
	return ""
}
