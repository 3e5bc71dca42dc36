// Package vet finds mistakes of Kubernetes reconcilers that compile: a change of a cached object, an error that the
// controller never sees, a finalizer that is removed too early.
//
// Each rule is an [analysis.Analyzer], for programs on kctrl's runtime, on controller-runtime, and on the listers and
// work queues of client-go. A rule reports what types and dataflow in a function and its callees in the module prove,
// and nothing else. [Analyzers] has all of them for drivers such as unitchecker; kctrl vet is one.
//
// A comment on the line of a finding or on the line above disables a rule there:
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

// Rule is a class of mistakes.
type Rule struct {
	// Name identifies the rule in findings and in //kctrl:ignore comments.
	Name string
	// Reason is one sentence: why this is a mistake.
	Reason string
	// Hint is the usual correction, in the imperative.
	Hint string
	// Details describes what the rule reports, and what it does not report.
	Details string

	check func(*reporter)
}

// Rules lists the rules.
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

// Analyzers has one analyzer for each rule, and one that reports useless //kctrl:ignore comments.
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

// suppressed has the positions of //kctrl:ignore comments that suppressed a finding.
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

// at reports a finding, unless a comment suppresses it. A position is reported once.
func (r *reporter) at(pos token.Pos, format string, args ...any) {
	r.fix(pos, nil, format, args...)
}

// fix reports a finding with a correction, which may be nil.
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

// clause returns a sentence as part of another one.
func clause(sentence string) string {
	return string(sentence[0]|0x20) + sentence[1:len(sentence)-1]
}
