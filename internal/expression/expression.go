// Package expression compiles CEL as API servers do, so that authors see errors without a server.
//
// [Admission] handles the expressions of policies and match conditions. [Rules] handles the rules in the schema of a
// CRD. Both use the environment of API servers of this Kubernetes version. They accept features that older servers
// lack.
package expression

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Problem describes an error in an expression.
type Problem struct {
	// Line and Column are the position, counted from 1. They are 0 for the whole expression.
	Line, Column int
	// Message describes the error in one line.
	Message string
	// Unknown is the field or variable that does not exist. Known lists the names that exist.
	Unknown string
	Known   []string
	// Hint is a correction, if one is known.
	Hint string
}

// HintOr returns the hint, or general if the problem has no hint.
func (p Problem) HintOr(general string) string {
	if near, ok := diagnostic.Near(p.Unknown, p.Known); ok && p.Unknown != "" {
		return "did you mean " + near + "?"
	}
	return diagnostic.OneLine(cmp.Or(p.Hint, general))
}

// Place returns the position in the expression, in words that begin with a comma. It is "" for the whole expression.
func (p Problem) Place() string {
	switch {
	case p.Line > 1:
		return fmt.Sprintf(", line %d, column %d", p.Line, p.Column)
	case p.Line == 1:
		return fmt.Sprintf(", column %d", p.Column)
	}
	return ""
}

// problemOf returns the first error, or nil: later errors of a compiler mostly follow from the first.
func problemOf(issues *cel.Issues) *Problem {
	if issues.Err() == nil {
		return nil
	}
	all := issues.Errors()
	if len(all) == 0 {
		return &Problem{Message: Plain(issues.Err().Error())}
	}
	first := slices.MinFunc(all, func(a, b *cel.Error) int {
		return cmp.Or(a.Location.Line()-b.Location.Line(), a.Location.Column()-b.Location.Column())
	})
	return &Problem{Line: first.Location.Line(), Column: first.Location.Column() + 1, Message: Plain(first.Message)}
}

// Plain returns a compiler message in one line, without the list of expected tokens.
func Plain(message string) string {
	message, _, _ = strings.Cut(message, " expecting {")
	message = strings.NewReplacer("Syntax error: ", "syntax error: ", "mismatched input '<EOF>'", "it ends too early",
		"'<EOF>'", "the end", "cel expression must evaluate to a bool", "want true or false",
		"messageExpression must evaluate to a string", "want a string").Replace(message)
	message = drawnType.ReplaceAllString(message, "selfType")
	return strings.Join(strings.Fields(message), " ")
}

// drawnType matches the name of the type of self or of its parts. The name contains the time and differs in every run.
var drawnType = regexp.MustCompile(`selfType\d+`)

var (
	undefinedField    = regexp.MustCompile(`^undefined field '(.*)'$`)
	undefinedVariable = regexp.MustCompile(`^undeclared reference to '(.*)' \(in container ''\)$`)
)

// name replaces the compiler's message about an unknown name by one that lists the known names.
func (p *Problem) name(fields, variables []string) {
	if m := undefinedField.FindStringSubmatch(p.Message); m != nil {
		p.Unknown, p.Known, p.Message = m[1], fields, "there is no field "+m[1]
	}
	if m := undefinedVariable.FindStringSubmatch(p.Message); m != nil {
		p.Unknown, p.Known, p.Message = m[1], variables, "there is no variable or function "+m[1]
	}
}

func isBool(ast *cel.Ast) bool { return ast.OutputType().IsExactType(cel.BoolType) }

func typeName(t *cel.Type) string {
	switch {
	case t.Kind() == cel.StructKind:
		return "an object"
	case t.Kind() == cel.ListKind:
		return "a list"
	case t.Kind() == cel.MapKind:
		return "a map"
	}
	return "of type " + t.String()
}

// fieldsOf returns the names of all fields in some types, sorted.
func fieldsOf(types ...*apiservercel.DeclType) []string {
	var names []string
	for _, t := range types {
		for _, in := range apiservercel.FieldTypeMap("", t) {
			names = slices.AppendSeq(names, maps.Keys(in.Fields))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
