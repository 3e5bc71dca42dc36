// Package vet finds mistakes in Kubernetes reconcilers that the compiler does not find, such as a change of a cached
// object, an error that the controller never receives, or a finalizer that is removed too early.
//
// Each rule is an [analysis.Analyzer]. The rules check programs that use kctrl's runtime, controller-runtime, or
// client-go's listers and work queues. A rule reports only mistakes that it can prove from the types and the dataflow
// in a function and its callees in the module. [Analyzers] lists all analyzers for drivers such as unitchecker and
// kctrl vet.
//
// A comment on the line of a finding, or on the line above, disables a rule for that line:
//
//	//kctrl:ignore blockingsleep: the device needs 50 ms to settle
package vet

import (
	"fmt"
	"go/token"
	"reflect"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

// Rule describes one kind of mistake and how to find it.
type Rule struct {
	// Name identifies the rule in findings and in //kctrl:ignore comments.
	Name string
	// Reason is one sentence that explains why this is a mistake.
	Reason string
	// Hint is the usual correction, as an imperative phrase without a period.
	Hint string
	// Details describes what the rule reports, and what it does not report.
	Details string

	check func(*reporter)
}

// Rules lists all rules, in the order of the documentation.
var Rules = []*Rule{
	cacheMutation,
	staleStatus,
	swallowedError,
	errorAndRequeue,
	requeueBackoff,
	finalizerOrder,
	lateFinalizer,
	deletePrecondition,
	unstableDesired,
	unwatchedRead,
	hidingPredicate,
	contextBackground,
	storedContext,
	blockingSleep,
	lockedCall,
	foreignOwner,
	secretCache,
	unlimitedList,
	observedGeneration,
	maskedUpdate,
}

// Analyzers has one analyzer for each rule, and one that reports //kctrl:ignore comments without a reason or an effect.
var Analyzers = analyzers()

func analyzers() []*analysis.Analyzer {
	var all []*analysis.Analyzer
	for _, rule := range Rules {
		all = append(all, rule.analyzer())
	}
	return append(all, ignoreAnalyzer(slices.Clone(all)))
}

const documentation = "https://github.com/kctrl-dev/kctrl/blob/main/docs/vet.md#"

func (r *Rule) analyzer() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       r.Name,
		Doc:        r.Reason + "\n\n" + r.Details,
		URL:        documentation + r.Name,
		Requires:   []*analysis.Analyzer{code.Analyzer},
		ResultType: reflect.TypeFor[suppressed](),
		Run: func(pass *analysis.Pass) (any, error) {
			p := pass.ResultOf[code.Analyzer].(*code.Package)
			rep := &reporter{Package: p, rule: r, report: pass.Report, suppressed: suppressed{}}
			if p != nil {
				rep.comments = ignoreComments(p)
				r.check(rep)
			}
			return rep.suppressed, nil
		},
	}
}

// suppressed is the set of positions of //kctrl:ignore comments that suppressed a finding.
type suppressed map[token.Pos]bool

// reporter reports the findings of one rule in one package.
type reporter struct {
	*code.Package
	rule       *Rule
	report     func(analysis.Diagnostic)
	comments   []ignoreComment
	suppressed suppressed
	seen       map[token.Pos]bool
}

// at reports a finding, unless a comment suppresses it. It reports at most one finding for each position.
func (r *reporter) at(pos token.Pos, format string, args ...any) {
	r.fix(pos, nil, format, args...)
}

// fix reports a finding as at does, with suggested fixes, which may be nil.
func (r *reporter) fix(pos token.Pos, fixes []analysis.SuggestedFix, format string, args ...any) {
	if !pos.IsValid() || r.seen[pos] {
		return
	}
	if r.seen == nil {
		r.seen = map[token.Pos]bool{}
	}
	r.seen[pos] = true
	at := r.Fset.Position(pos)
	for _, comment := range r.comments {
		if comment.rule == r.rule.Name && comment.reason != "" && comment.covers(at) {
			r.suppressed[comment.pos] = true
			return
		}
	}
	r.report(analysis.Diagnostic{
		Pos:      pos,
		Category: r.rule.Name,
		Message: fmt.Sprintf("%s: %s (%s; %s)", r.rule.Name, fmt.Sprintf(format, args...), clause(r.rule.Reason),
			r.rule.Hint),
		URL:            documentation + r.rule.Name,
		SuggestedFixes: fixes,
	})
}

// clause converts a sentence to a clause: it lowers the first letter and removes the period.
func clause(sentence string) string {
	return string(sentence[0]|0x20) + sentence[1:len(sentence)-1]
}
