package vet

import (
	"go/token"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/kctrl-dev/kctrl/vet/internal/code"
)

// otherTool is the rule name in //kctrl:ignore comments for kctrl rbac.
const otherTool = "rbac"

// ignoreDirective is the prefix of comments that disable a rule.
const ignoreDirective = "//kctrl:ignore"

// ignoreComment is a comment "//kctrl:ignore rule: reason".
type ignoreComment struct {
	pos          token.Pos
	at           token.Position
	rule, reason string
}

// covers reports whether the comment is on the line of a finding or on the line above.
func (c *ignoreComment) covers(at token.Position) bool {
	return c.at.Filename == at.Filename && (c.at.Line == at.Line || c.at.Line == at.Line-1)
}

func ignoreComments(p *code.Package) []ignoreComment {
	var all []ignoreComment
	for _, file := range p.SourceFiles() {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				text, found := strings.CutPrefix(comment.Text, ignoreDirective)
				if !found || text != "" && text[0] != ' ' {
					continue
				}
				rule, reason, _ := strings.Cut(text, ":")
				all = append(all, ignoreComment{
					comment.Pos(), p.Fset.Position(comment.Pos()), strings.TrimSpace(rule), strings.TrimSpace(reason),
				})
			}
		}
	}
	return all
}

// ignoreAnalyzer returns an analyzer that reports //kctrl:ignore comments that have no reason, name an unknown rule, or
// suppress no finding.
func ignoreAnalyzer(rules []*analysis.Analyzer) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       "ignorecomment",
		Doc:        "report //kctrl:ignore comments that have no reason or no effect",
		URL:        documentation + "ignore",
		Requires:   append(rules, code.Analyzer),
		ResultType: reflect.TypeFor[suppressed](),
		Run: func(pass *analysis.Pass) (any, error) {
			p := pass.ResultOf[code.Analyzer].(*code.Package)
			if p == nil {
				return suppressed{}, nil
			}
			for _, comment := range ignoreComments(p) {
				if message := problem(pass, comment); message != "" {
					pass.Report(analysis.Diagnostic{Pos: comment.pos, Category: "ignorecomment",
						Message: "ignorecomment: " + message})
				}
			}
			return suppressed{}, nil
		},
	}
}

// problem returns the message about an invalid comment, or "" for a valid one.
func problem(pass *analysis.Pass, comment ignoreComment) string {
	if comment.rule == otherTool && comment.reason != "" {
		return ""
	}
	i := slices.IndexFunc(Rules, func(r *Rule) bool { return r.Name == comment.rule })
	switch {
	case i < 0 && comment.rule != otherTool:
		return "//kctrl:ignore names no rule: \"" + comment.rule + "\" (kctrl vet --rules lists the rules)"
	case comment.reason == "":
		return "//kctrl:ignore " + comment.rule + " has no reason (write //kctrl:ignore " + comment.rule + ": why)"
	case !pass.ResultOf[ruleAnalyzer(pass, comment.rule)].(suppressed)[comment.pos]:
		return "//kctrl:ignore " + comment.rule + " suppresses no finding (remove the comment)"
	}
	return ""
}

func ruleAnalyzer(pass *analysis.Pass, name string) *analysis.Analyzer {
	for a := range pass.ResultOf {
		if a.Name == name {
			return a
		}
	}
	return nil
}
