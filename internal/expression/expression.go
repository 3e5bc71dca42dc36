// Package expression compiles CEL as API servers do, so that what they would refuse is told when it is written, without asking one.
//
// [Admission] has the expressions of policies and match conditions, and [Rules] those that a CRD has in its schema. Both use the
// environment of API servers of this Kubernetes: what an older one does not know yet passes here.
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

// Problem is what is wrong with an expression.
type Problem struct {
	// Line and Column are where, both counted from 1; 0 where it is the expression as a whole.
	Line, Column int
	// Message says what, in one line.
	Message string
	// Unknown says that a field or a variable is named that there is not, and Known has the names that there are.
	Unknown string
	Known   []string
	// Hint says what to write, where that is known.
	Hint string
}

// HintOr returns what to write, if that is known, or a hint that says more generally what can be written.
func (p Problem) HintOr(general string) string {
	if near, ok := diagnostic.Near(p.Unknown, p.Known); ok && p.Unknown != "" {
		return "did you mean " + near + "?"
	}
	return diagnostic.OneLine(cmp.Or(p.Hint, general))
}

// Place says where in the expression the problem is, in words that begin with a comma; "" where it is the expression as a whole.
func (p Problem) Place() string {
	switch {
	case p.Line > 1:
		return fmt.Sprintf(", line %d, column %d", p.Line, p.Column)
	case p.Line == 1:
		return fmt.Sprintf(", column %d", p.Column)
	}
	return ""
}

// problemOf returns the first thing that is wrong, or nil: what a compiler says after it mostly follows from it.
func problemOf(issues *cel.Issues) *Problem {
	if issues.Err() == nil {
		return nil
	}
	all := issues.Errors()
	if len(all) == 0 {
		return &Problem{Message: plain(issues.Err().Error())}
	}
	first := slices.MinFunc(all, func(a, b *cel.Error) int {
		if a.Location.Line() != b.Location.Line() {
			return a.Location.Line() - b.Location.Line()
		}
		return a.Location.Column() - b.Location.Column()
	})
	return &Problem{Line: first.Location.Line(), Column: first.Location.Column() + 1, Message: plain(first.Message)}
}

// Plain returns what a compiler says in one line, without all that the grammar would have allowed.
func Plain(message string) string { return plain(message) }

func plain(message string) string {
	message, _, _ = strings.Cut(message, " expecting {")
	message = strings.NewReplacer("Syntax error: ", "syntax error: ", "mismatched input '<EOF>'", "it ends too early", "'<EOF>'", "the end", "cel expression must evaluate to a bool", "want true or false", "messageExpression must evaluate to a string", "want a string").Replace(message)
	message = drawnType.ReplaceAllString(message, "selfType")
	return strings.Join(strings.Fields(message), " ")
}

// drawnType is the name of the type of self, or of a part of it: it has the time, and is another one in every run.
var drawnType = regexp.MustCompile(`selfType\d+`)

var (
	undefinedField    = regexp.MustCompile(`^undefined field '(.*)'$`)
	undefinedVariable = regexp.MustCompile(`^undeclared reference to '(.*)' \(in container ''\)$`)
)

// name says which name a compiler does not know, and which there are, in place of how it says so.
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
