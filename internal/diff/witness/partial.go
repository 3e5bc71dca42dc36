package witness

import (
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/kctrl-dev/kctrl/internal/diff/change"
)

// always reports whether a rule evaluates to result for every valid object of a schema and every previous object. If
// present is not empty, it considers only objects with this field. False means unknown.
//
// It evaluates the rule for each combination of the values of those fields that have few values. A field of which the
// rule uses only the presence is either present or missing. All other fields are unknown to CEL, whose partial
// evaluation has a result only if the unknown values do not matter.
func always(rule string, s *props, present string, result ref.Val) bool {
	env, err := dynamic()
	if err != nil {
		return false
	}
	compiled, issues := env.Compile(rule)
	if issues.Err() != nil {
		return false
	}
	program, err := env.Program(compiled, cel.EvalOptions(cel.OptPartialEval))
	if err != nil {
		return false
	}
	if items := change.ItemsOf(s); items != nil {
		return alwaysOfItems(compiled, program, items, result)
	}
	uses, whole := usesOf(compiled)
	if whole || !closed(s) {
		return false
	}
	p := partial{schema: s, present: present, uses: uses, objects: []pairOfObjects{{"self": {}, "oldSelf": {}}}}
	for name := range s.Properties {
		p.vary(name)
	}
	if len(p.objects) > mostCombined {
		return false
	}
	for _, o := range p.objects {
		vars, err := cel.PartialVars(map[string]any{"self": o["self"], "oldSelf": o["oldSelf"]}, p.unknown...)
		if err != nil {
			return false
		}
		if got, _, err := program.Eval(vars); err != nil || got != result {
			return false
		}
	}
	return true
}

// closed reports whether a schema lists all fields of its values.
func closed(s *props) bool {
	return change.TypeOf(s) == "object" && !change.Preserves(s) && change.ValuesOf(s) == nil
}

// alwaysOfItems reports whether a rule evaluates to result for every list of items of a schema. It handles rules that
// only iterate over the list. These rules may refer only to fields that the items do not have, so they cannot
// distinguish the items.
func alwaysOfItems(compiled *cel.Ast, program cel.Program, items *props, result ref.Val) bool {
	if !closed(items) {
		return false
	}
	variables, selfs, alike := map[string]bool{}, 0, true
	ast.PreOrderVisit(compiled.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case isSelf(e):
			selfs++
		case e.Kind() == ast.ComprehensionKind && isSelf(e.AsComprehension().IterRange()):
			selfs--
			variables[e.AsComprehension().IterVar()] = true
		case e.Kind() == ast.SelectKind && names(variables, e.AsSelect().Operand()):
			field := e.AsSelect().FieldName()
			if unescaped, ok := apiservercel.Unescape(field); ok {
				field = unescaped
			}
			alike = alike && property(items, field) == nil
			selfs-- // the variable, which is visited next
		case names(variables, e):
			selfs++
		}
	}))
	if !alike || selfs != 0 || len(variables) == 0 {
		return false
	}
	for n := range 4 { // no item, one, and several
		list := make([]any, n)
		for i := range list {
			list[i] = map[string]any{}
		}
		if got, _, err := program.Eval(map[string]any{"self": list}); err != nil || got != result {
			return false
		}
	}
	return true
}

// names reports whether an expression is one of the variables.
func names(variables map[string]bool, e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && variables[e.AsIdent()]
}

// mostCombined is the maximum number of combinations of fields for which a rule is evaluated.
const mostCombined = 500

// dynamic returns the environment for compiling rules without types.
var dynamic = sync.OnceValues(func() (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("self", cel.DynType), cel.Variable("oldSelf", cel.DynType)},
	})
	if err != nil {
		return nil, err
	}
	return set.StoredExpressionsEnv(), nil
})

// pairOfObjects contains the values of self and oldSelf.
type pairOfObjects map[string]map[string]any

// partial collects the values for which a rule is evaluated.
type partial struct {
	schema  *props
	present string
	uses    map[use]bool
	objects []pairOfObjects
	unknown []*cel.AttributePatternType
}

// use is a field of self or oldSelf in a rule.
type use struct{ of, name string }

// usesOf returns the fields that a rule uses, and for each whether the rule uses the value or only the presence. whole
// reports whether the rule also uses self or oldSelf without a field.
func usesOf(compiled *cel.Ast) (uses map[use]bool, whole bool) {
	uses = map[use]bool{}
	alone := 0
	ast.PreOrderVisit(compiled.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if isSelf(e) {
			alone++
		}
		if e.Kind() == ast.SelectKind && isSelf(e.AsSelect().Operand()) {
			alone--
			u := use{e.AsSelect().Operand().AsIdent(), e.AsSelect().FieldName()}
			uses[u] = uses[u] || !e.AsSelect().IsTestOnly()
		}
	}))
	return uses, alone != 0
}

func isSelf(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && (e.AsIdent() == "self" || e.AsIdent() == "oldSelf")
}

// vary adds the values of a field to the objects, or makes the field unknown.
func (p *partial) vary(field string) {
	name, ok := apiservercel.Escape(field)
	if !ok {
		return // rules cannot refer to it
	}
	of := property(p.schema, field)
	required := field == p.present || slices.Contains(p.schema.Required, field) || of.Default != nil
	for _, variable := range []string{"self", "oldSelf"} {
		u := use{variable, name}
		reads, used := p.uses[u]
		if !used {
			continue
		}
		values := []any{true}
		switch {
		case reads && len(of.Enum) > 0:
			values = nil
			for _, e := range of.Enum {
				values = append(values, decode(e))
			}
		case reads && of.Type == "boolean":
			values = []any{true, false}
		case reads:
			p.unknown = append(p.unknown, cel.AttributePattern(variable).QualString(name))
			continue
		}
		p.multiply(u, values, required)
	}
}

// multiply replaces each object by one object per value, and keeps the object itself if the field is optional.
func (p *partial) multiply(u use, values []any, required bool) {
	var all []pairOfObjects
	for _, o := range p.objects {
		if !required {
			all = append(all, o)
		}
		for _, v := range values {
			next := pairOfObjects{"self": o["self"], "oldSelf": o["oldSelf"]}
			next[u.of] = with(o[u.of], u.name, v)
			all = append(all, next)
		}
		if len(all) > mostCombined {
			break
		}
	}
	p.objects = all
}
