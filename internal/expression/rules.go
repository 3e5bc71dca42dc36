package expression

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// RuleProblem describes an error of a rule in the schema of a CRD.
type RuleProblem struct {
	// Path is the position of the rule in objects: names of fields, Items for list items, and Values for map values. An
	// empty path is the kind.
	Path []string
	// Rule is the text of the rule, empty if the problem is not about a single rule. Argument is the part of the rule
	// that the problem is about. Index is the index of the rule among the rules of its value.
	Rule, Argument string
	Index          int
	Problem
}

// The steps of a path to all items of a list and to all values of a map.
const (
	Items  = "[]"
	Values = "{}"
)

// Field returns the path in one text, such as spec.ports[].name.
func (p RuleProblem) Field() string {
	text := strings.Join(p.Path, ".")
	return strings.NewReplacer("."+Items, Items, "."+Values, Values).Replace(text)
}

// The limits of API servers for estimated costs: of one rule, and of all rules of a CRD.
const (
	mostOfRule       = 10_000_000
	mostOfDefinition = 100_000_000
)

// Rules returns the problems of the rules of a schema, in the order of the fields:
//
//   - rules that do not compile
//   - rules that use an old value where none is available
//   - rules whose estimated cost exceeds the limit for the largest allowed objects
//   - the sum of the costs, if only the sum exceeds its limit
//
// kctrl has generated the schema. If API servers reject it for another reason, Rules returns nothing.
func Rules(schema *apiextensionsv1.JSONSchemaProps) ([]RuleProblem, error) {
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, &props,
		nil); err != nil {
		return nil, err
	}
	root, err := structural.NewStructural(&props)
	if err != nil {
		return nil, nil // the check of markers reports it
	}
	w := &rulesWalk{base: environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())}
	w.visit(place{isRoot: true, times: 1}, root)
	if len(w.found) == 0 && w.total > mostOfDefinition {
		w.found = append(w.found, RuleProblem{Problem: Problem{
			Message: "API servers estimate them all together at " + times(w.total, mostOfDefinition),
			Hint:    w.worst.hint(mostOfDefinition / 10),
		}})
	}
	return w.found, errors.Join(w.errs...)
}

// rulesWalk compiles the rules of a schema.
type rulesWalk struct {
	base  *environment.EnvSet
	found []RuleProblem
	errs  []error
	total uint64
	// worst is the most expensive rule within the limit.
	worst costly
}

// unbounded is the number of occurrences of a value without an upper bound.
const unbounded = math.MaxUint64

// place is the position of a part of a schema.
type place struct {
	path   []string
	isRoot bool
	// times is the maximum number of occurrences in an object.
	times uint64
	// unmatched is set for values in a list whose items are not matched with old items.
	unmatched bool
	// above are the lists and maps that contain the place, outermost first.
	above []container
}

// below returns the place of a part that each value contains at most often times.
func (at place) below(step string, s *structural.Structural, often uint64) place {
	above := at.above
	if step == Items || step == Values {
		above = append(slices.Clip(above), container{at.path, step, often})
	}
	return place{append(slices.Clip(at.path), step), s.XEmbeddedResource, product(at.times, often), at.unmatched, above}
}

// visit compiles the rules of a part of a schema and of its subschemas.
func (w *rulesWalk) visit(at place, s *structural.Structural) {
	w.rules(at, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := s.Properties[name]
		w.visit(at.below(name, &child, 1), &child)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		child := s.AdditionalProperties.Structural
		w.visit(at.below(Values, child, bound(s, true)), child)
	}
	if s.Items != nil {
		if s.XListType == nil || *s.XListType != "map" {
			at.unmatched = true
		}
		w.visit(at.below(Items, s.Items, bound(s, false)), s.Items)
	}
}

// bound returns the maximum number of items of a list or keys of a map.
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

// product multiplies and saturates at the largest number.
func product(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}

const costHint = "bound what rules go through, by maxItems, maxProperties and maxLength of it and of what it is in"

// times returns the factor by which an estimate exceeds the limit.
func times(cost, most uint64) string {
	if cost/most >= 100 {
		return "more than 100 times what they allow"
	}
	return fmt.Sprintf("%.1f times what they allow", float64(cost)/float64(most))
}

func (w *rulesWalk) rules(at place, s *structural.Structural) {
	if len(s.XValidations) == 0 {
		return
	}
	results, err := schemacel.Compile(s, model.SchemaDeclType(s, at.isRoot), celconfig.PerCallLimit, w.base,
		schemacel.NewExpressionsEnvLoader())
	if err != nil {
		w.errs = append(w.errs, err)
		return
	}
	for i, r := range results {
		rule := s.XValidations[i]
		argument, problem := w.problem(at, s, rule, r)
		if argument != "" {
			w.found = append(w.found, RuleProblem{Path: at.path, Rule: rule.Rule, Argument: argument, Index: i,
				Problem: problem})
		}
	}
}

// problem returns the problem of a compiled rule and the argument that it is about, which is "" without a problem.
func (w *rulesWalk) problem(at place, s *structural.Structural, rule apiextensionsv1.ValidationRule,
	r schemacel.CompilationResult) (argument string, problem Problem) {
	const expression, message = "rule", "messageExpression"
	switch {
	case strings.TrimSpace(rule.Rule) == "":
		return expression, Problem{Message: "it is empty"}
	case r.Error != nil:
		return expression, detailed(r.Error.Detail, s)
	case r.MessageExpressionError != nil:
		return message, detailed(r.MessageExpressionError.Detail, s)
	case r.UsesOldSelf && at.unmatched:
		return expression, Problem{Message: "there is no oldSelf in a list that is not one of +listType=map",
			Hint: "give its items a key (+listType=map, or key=name in --field), or write the rule above it"}
	case !r.UsesOldSelf && rule.OptionalOldSelf != nil:
		return "optionalOldSelf", Problem{Message: "the rule has no oldSelf",
			Hint: "leave optionalOldSelf out, or use oldSelf"}
	case strings.Contains(strings.TrimSpace(rule.Rule), "\n") && strings.TrimSpace(rule.Message) == "":
		return "message", Problem{Message: "a rule of several lines has to have one", Hint: "add message=\"what is wrong\""}
	}
	if rule.FieldPath != "" {
		if _, _, err := schemacel.ValidFieldPath(rule.FieldPath, s); err != nil {
			return "fieldPath", Problem{Message: Plain(err.Error()),
				Hint: "name a field below the value of the rule, such as .name"}
		}
	}
	often := at.times
	if often == unbounded {
		often = r.MaxCardinality
	}
	cost := product(r.MaxCost, often)
	w.total += min(cost, unbounded-w.total)
	w.total += min(r.MessageExpressionMaxCost, unbounded-w.total)
	c := costly{walk: w, at: at, schema: s, rule: rule.Rule, cost: cost}
	switch {
	case cost > mostOfRule:
		return expression, Problem{Message: "API servers estimate it at " + times(cost, mostOfRule), Hint: c.hint(mostOfRule)}
	case r.MessageExpressionMaxCost > mostOfRule:
		return message, Problem{Message: "API servers estimate it at " + times(r.MessageExpressionMaxCost, mostOfRule),
			Hint: costHint}
	}
	if cost > w.worst.cost {
		w.worst = c
	}
	return "", Problem{}
}

// compilerSays matches the first error in the output of a compiler.
var compilerSays = regexp.MustCompile(`ERROR: <input>:(\d+):(\d+): ([^\n]*)`)

// detailed parses an API server's message about a rule that does not compile.
func detailed(text string, value *structural.Structural) Problem {
	m := compilerSays.FindStringSubmatch(text)
	if m == nil {
		return Problem{Message: Plain(text)}
	}
	// Atoi cannot fail, because the expression matches only digits here.
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	p := Problem{Line: line, Column: column, Message: Plain(m[3])}
	p.name(slices.Sorted(maps.Keys(value.Properties)), []string{schemacel.ScopedVarName, schemacel.OldScopedVarName})
	return p
}
