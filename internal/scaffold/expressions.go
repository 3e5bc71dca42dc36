package scaffold

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/expression"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// CheckExpressions compiles the CEL expressions of the options as API servers do, and returns their errors with the
// position in the expression. If the plan has the CRD of the kind, it also checks the fields in the expressions.
func (o WebhookOptions) CheckExpressions(p *plan.Plan, proj *project.Project) error {
	given := o.expressions()
	if len(given) == 0 {
		return nil
	}
	r := project.Resource{Group: o.Group, Domain: proj.Domain, Version: o.Version, Kind: o.Kind}
	schema, err := schemaOf(p, proj, r)
	if err != nil {
		return err
	}
	admission, err := expression.NewAdmission(o.Kind, schema)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range given {
		if problem := admission.Check(e.text, e.stored); problem != nil {
			errs = append(errs, e.error(problem))
		}
	}
	return errors.Join(errs...)
}

// givenExpression is the CEL expression of a flag, and the form in which API servers receive it.
type givenExpression struct{ flag, text, stored string }

// expressions returns the CEL expressions of the flags. [PlanWebhook] has already checked their syntax.
func (o WebhookOptions) expressions() []givenExpression {
	var given []givenExpression
	for _, rule := range o.Rules {
		_, text, _ := strings.Cut(rule, "=")
		text = strings.TrimSpace(text)
		given = append(given, givenExpression{"--rule", text, render.WhereThereIs(text, o.Requests.Operations())})
	}
	for _, condition := range o.Requests.MatchConditions {
		_, text, _ := strings.Cut(condition, "=")
		text = strings.TrimSpace(text)
		given = append(given, givenExpression{"--match-condition", text, text})
	}
	return given
}

func (e givenExpression) error(p *expression.Problem) error {
	hint := "write an expression in CEL that is true or false, such as size(object.metadata.name) < 20"
	if p.Unknown != "" {
		hint = "the variables are object, oldObject, request, namespaceObject and authorizer; the fields of the kind are in " + layout.CRDDir
	}
	return diagnostic.Usage(fmt.Sprintf("%s: %s%s: %s", e.flag, diagnostic.Quote(e.text), p.Place(), p.Message),
		p.HintOr(hint))
}

// CheckRules compiles the rules in the planned CRD of the kind, and estimates their cost as API servers do.
func (o APIOptions) CheckRules(p *plan.Plan, proj *project.Project) error {
	if !o.Resource {
		return nil
	}
	r := project.Resource{Group: o.Group, Domain: proj.Domain, Version: o.Version, Kind: o.Kind}
	schema, err := schemaOf(p, proj, r)
	if err != nil || schema == nil {
		return err
	}
	problems, err := expression.Rules(schema)
	errs := []error{err}
	for _, problem := range problems {
		message := problem.Message
		switch problem.Argument {
		case "":
			message = "the rules of the kind: " + message
		case "rule":
			message = fmt.Sprintf("the rule %s%s: %s", diagnostic.Quote(problem.Rule), problem.Place(), message)
		default:
			message = fmt.Sprintf("the rule %s: %s%s: %s", diagnostic.Quote(problem.Rule), problem.Argument, problem.Place(),
				message)
		}
		if field := problem.Field(); field != "" {
			message = field + ": " + message
		}
		errs = append(errs, diagnostic.Usage(message,
			problem.HintOr("write a rule that API servers take: in CEL, with self for the value of "+
				"the field, and true where it may stay")))
	}
	return errors.Join(errs...)
}

// schemaOf returns the schema of a version of a kind from its CRD, or nil if the plan has no CRD.
func schemaOf(p *plan.Plan, proj *project.Project, wanted project.Resource) (*apiextensionsv1.JSONSchemaProps, error) {
	r, found := proj.Find(wanted.APIGroup(), wanted.Version, wanted.Kind)
	if !found || !r.API {
		return nil, nil
	}
	name := path.Join(layout.CRDDir, layout.KindView(proj, *r, "").CRDBase)
	text, err := p.ReadIfExists(name)
	if err != nil || text == nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, diagnostic.YAML(name, text, err, "kctrl manifests writes it again")
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == r.Version && v.Schema != nil {
			return v.Schema.OpenAPIV3Schema, nil
		}
	}
	return nil, nil
}
