package object

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// helpers are functions in a file that copy types without methods of their own: those that are not exported, are left out
// by a marker, or belong to packages without deep copies. The zero value has none.
type helpers struct {
	names map[string]string // by type
	code  map[string]string // by name
}

// helper returns the name of the function that makes a shallow copy of a type a deep one, and writes it the first time.
func (w *writer) helper(t *types.Named) string {
	key := types.TypeString(t, nil)
	if name, known := w.helpers.names[key]; known {
		return name
	}
	if w.helpers.names == nil {
		w.helpers = helpers{names: map[string]string{}, code: map[string]string{}}
	}
	name := w.helperName(t)
	w.helpers.names[key], w.helpers.code[name] = name, ""
	h := &writer{emitter: w.emitter, of: w.of, place: w.place}
	h.line("\n// %s makes out a deep copy of in, of which it is a shallow one.", name)
	h.line("func %s(in, out *%s) {", name, w.name(t))
	if structure, ok := t.Underlying().(*types.Struct); ok {
		h.value("in", "out", structure)
	} else {
		h.referenceValue("(*in)", "(*out)", t, t.Underlying())
	}
	h.line("}")
	w.helpers.code[name] = h.String()
	return name
}

// helperName returns a name that nothing else in the package has.
func (w *writer) helperName(t *types.Named) string {
	base := t.Obj().Name()
	if pkg := t.Obj().Pkg(); pkg != w.pkg.Types {
		base = capital(pkg.Name()) + base
	}
	base = "deepCopy" + capital(base)
	name := base
	for i := 2; ; i++ {
		if _, taken := w.helpers.code[name]; !taken && w.pkg.Types.Scope().Lookup(name) == nil {
			return name
		}
		name = fmt.Sprintf("%s%d", base, i)
	}
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// String returns the functions by name.
func (h helpers) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.code)) {
		text.WriteString(h.code[name])
	}
	return text.String()
}

// hasParameters reports whether a type has parameters in it, which only the methods of a generic type know.
func hasParameters(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return true
	case *types.Named:
		return slices.ContainsFunc(slices.Collect(t.TypeArgs().Types()), hasParameters)
	case *types.Map:
		return hasParameters(t.Key()) || hasParameters(t.Elem())
	case interface{ Elem() types.Type }:
		return hasParameters(t.Elem())
	}
	return false
}
