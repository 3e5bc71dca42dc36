package expression

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// RuleProblem is what is wrong with a rule in the schema of a CRD.
type RuleProblem struct {
	// Field is where the rule is: the path of the field in objects, with [] behind a list and {} behind a map. Empty means the kind.
	Field string
	// Rule is the expression.
	Rule string
	Problem
}

// What API servers allow the rules of a schema to cost, by their estimate: one, and all of a CRD.
const (
	mostOfRule       = 10_000_000
	mostOfDefinition = 100_000_000
)

// Rules returns what is wrong with the rules of a schema, in the order of the fields: one that does not compile, one that API servers
// estimate to cost too much for what objects may have in them, and all together if only these do. The schema is one that kctrl has
// generated: of one that API servers refuse for another reason nothing is said.
func Rules(schema *apiextensionsv1.JSONSchemaProps) ([]RuleProblem, error) {
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, &props, nil); err != nil {
		return nil, err
	}
	root, err := structural.NewStructural(&props)
	if err != nil {
		return nil, nil // which the check of markers has to say
	}
	w := &rulesWalk{base: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())}
	w.visit("", root, true, 1)
	if len(w.found) == 0 && w.total > mostOfDefinition {
		w.found = append(w.found, RuleProblem{Problem: Problem{Message: fmt.Sprintf("API servers estimate all rules together at %.1f times what they allow", float64(w.total)/mostOfDefinition)}})
	}
	return w.found, errors.Join(w.errs...)
}

// rulesWalk compiles the rules of a schema.
type rulesWalk struct {
	base  *environment.EnvSet
	found []RuleProblem
	errs  []error
	total uint64
}

// unbounded is how often something is in an object that nothing bounds.
const unbounded = math.MaxUint64

// visit compiles the rules of a part of a schema that is in an object so many times at most, and of what is below it.
func (w *rulesWalk) visit(path string, s *structural.Structural, isRoot bool, times uint64) {
	w.rules(path, s, isRoot, times)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := s.Properties[name]
		at := name
		if path != "" {
			at = path + "." + name
		}
		w.visit(at, &child, child.XEmbeddedResource, times)
	}
	if s.Items != nil {
		w.visit(path+"[]", s.Items, s.Items.XEmbeddedResource, product(times, bound(s, false)))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		below := s.AdditionalProperties.Structural
		w.visit(path+"{}", below, below.XEmbeddedResource, product(times, bound(s, true)))
	}
}

// bound returns how many items a list or a map has at most.
func bound(s *structural.Structural, isMap bool) uint64 {
	if s.ValueValidation == nil {
		return unbounded
	}
	most := s.ValueValidation.MaxItems
	if isMap {
		most = s.ValueValidation.MaxProperties
	}
	if most == nil {
		return unbounded
	}
	return uint64(max(0, *most))
}

// product multiplies, and ends at the largest number.
func product(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}

func (w *rulesWalk) rules(path string, s *structural.Structural, isRoot bool, times uint64) {
	if len(s.XValidations) == 0 {
		return
	}
	results, err := schemacel.Compile(s, model.SchemaDeclType(s, isRoot), celconfig.PerCallLimit, w.base, schemacel.NewExpressionsEnvLoader())
	if err != nil {
		w.errs = append(w.errs, err)
		return
	}
	for i, r := range results {
		rule := RuleProblem{Field: path, Rule: s.XValidations[i].Rule}
		switch {
		case r.Error != nil:
			rule.Problem = detailed(r.Error.Detail, s)
			w.found = append(w.found, rule)
			continue
		case r.MessageExpressionError != nil:
			rule.Rule, rule.Problem = s.XValidations[i].MessageExpression, detailed(r.MessageExpressionError.Detail, s)
			w.found = append(w.found, rule)
			continue
		}
		often := times
		if often == unbounded {
			often = r.MaxCardinality
		}
		cost := product(r.MaxCost, often)
		w.total += min(cost, unbounded-w.total)
		if cost > mostOfRule {
			rule.Message = fmt.Sprintf("API servers estimate it at %.1f times what they allow", float64(cost)/mostOfRule)
			w.found = append(w.found, rule)
		}
	}
}

// compilerSays matches the first thing that a compiler says is wrong.
var compilerSays = regexp.MustCompile(`ERROR: <input>:(\d+):(\d+): ([^\n]*)`)

// detailed takes apart how API servers tell of a rule on a value that does not compile.
func detailed(text string, value *structural.Structural) Problem {
	m := compilerSays.FindStringSubmatch(text)
	if m == nil {
		return Problem{Message: plain(text)}
	}
	// The expression has digits where it matches digits.
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	p := Problem{Line: line, Column: column, Message: plain(m[3])}
	p.name(slices.Sorted(maps.Keys(value.Properties)), []string{schemacel.ScopedVarName, schemacel.OldScopedVarName})
	return p
}
