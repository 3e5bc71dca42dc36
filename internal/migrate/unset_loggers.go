package migrate

import (
	"go/ast"
	"go/types"
	"strings"
)

// A logr.Logger that nobody has set logs nothing, and a *slog.Logger that is nil panics: so one that logs nothing is written where a struct
// of the project is made without its logger, as tests do, and where a logger is declared without a value.

// unsetLoggers are the rules for both.
var unsetLoggers = []Rule{
	{
		Name: "a struct without its logger",
		Matches: func(f *file, n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			return ok && !f.wrapped[n] && !f.isAsserted() && len(f.loggersUnset(literal)) > 0
		},
		Rewrite: func(f *file, n ast.Node) string {
			f.wrapped[n] = true
			literal := n.(*ast.CompositeLit)
			fields, begin := f.loggersUnset(literal), f.offset(literal.Lbrace)+1
			for i, name := range fields {
				fields[i] = name + fill(": {slog}.New({slog}.DiscardHandler)")
			}
			text := strings.Join(fields, ", ")
			switch {
			case strings.Contains(f.raw(literal)[begin-f.offset(n.Pos()):], "\n"):
				text = "\n" + strings.Join(fields, ",\n") + ","
			case len(literal.Elts) > 0:
				text += ", "
			}
			var before, after []edit
			for _, e := range f.within(n) {
				if e.from < begin {
					before = append(before, e)
				} else {
					after = append(after, e)
				}
			}
			return f.spliceRange(f.offset(n.Pos()), begin, before) + text + f.spliceRange(begin, f.offset(n.End()), after)
		},
		Reason: "a slog.Logger that is nil panics",
	},
	{
		Name: "a logger without a value",
		Matches: func(f *file, n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			return ok && spec.Type != nil && len(spec.Values) == 0 && f.typeOf(spec.Type) == "logr.Logger"
		},
		Rewrite: func(f *file, n ast.Node) string {
			values := make([]string, len(n.(*ast.ValueSpec).Names))
			for i := range values {
				values[i] = fill("{slog}.New({slog}.DiscardHandler)")
			}
			return f.inside(n) + " = " + strings.Join(values, ", ")
		},
		Reason: "a slog.Logger that is nil panics",
	},
}

// isAsserted reports whether what is looked at is a value of which only the type is asked: var _ Interface = &T{}.
func (f *file) isAsserted() bool {
	for i := range 2 {
		if spec, ok := f.around(i).(*ast.ValueSpec); ok {
			return isAssertion(spec)
		}
	}
	return false
}

// loggersUnset returns the fields with loggers that a literal of a struct of the project does not set, and could.
func (f *file) loggersUnset(literal *ast.CompositeLit) (names []string) {
	t := f.info.TypeOf(literal)
	if t == nil || !f.isOwn(packageName(namedOf(t))) {
		return nil
	}
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	structure, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	set := map[string]bool{}
	for _, element := range literal.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return nil // all of its fields are there
		}
		set[f.raw(field.Key)] = true
	}
	for field := range structure.Fields() {
		if typeKey(field.Type()) == "logr.Logger" && !set[field.Name()] && (field.Exported() || field.Pkg() == f.pkg.Types) {
			names = append(names, field.Name())
		}
	}
	return names
}
