package applyconfig

import (
	"cmp"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// addInstances adds the instantiations of generic types that kinds are made of. Each has an apply configuration of its
// own, as if it had been declared in the package, under a name that is made of those of the type and its arguments.
func (g *generation) addInstances(reached map[*types.Named]bool) {
	known := map[string]types.Type{}
	for _, t := range g.types {
		known[t.name] = t.named
	}
	byPath := func(a, b *types.Named) int { return cmp.Compare(types.TypeString(a, nil), types.TypeString(b, nil)) }
	for _, named := range slices.SortedFunc(maps.Keys(reached), byPath) {
		if named.TypeArgs().Len() == 0 {
			continue
		}
		name := g.nameOf(named).name
		if other := known[name]; other != nil {
			if !types.Identical(other, named) {
				g.pkg.AddError(loader.ErrFromNode(fmt.Errorf("%s and %s would have the same name in apply configurations: %s", other, named, name), named.Origin().Obj()))
			}
			continue
		}
		known[name] = named
		_, doc := g.above(named.Origin().Obj())
		g.types = append(g.types, &apiType{name: name, named: named, comment: withoutMarkers(doc), applies: true, instance: true})
	}
	slices.SortStableFunc(g.types, func(a, b *apiType) int { return cmp.Compare(a.name, b.name) })
}

// plainName returns a name for a type that is none of a generic type: BoxOfListOfString for Box[[]string]. Types of
// another package than the one given have the name of theirs before their own.
func plainName(t types.Type, in *types.Package) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		name := t.Obj().Name()
		if pkg := t.Obj().Pkg(); pkg != nil && pkg != in {
			name = upper(pkg.Name()) + upper(name)
		}
		var arguments []string
		for argument := range t.TypeArgs().Types() {
			arguments = append(arguments, plainName(argument, in))
		}
		if len(arguments) > 0 {
			name += "Of" + strings.Join(arguments, "And")
		}
		return name
	case *types.Pointer:
		return "PointerTo" + plainName(t.Elem(), in)
	case *types.Slice:
		return "ListOf" + plainName(t.Elem(), in)
	case *types.Array:
		return fmt.Sprintf("Array%dOf%s", t.Len(), plainName(t.Elem(), in))
	case *types.Map:
		return "MapOf" + plainName(t.Elem(), in)
	case *types.Basic:
		return upper(t.Name())
	}
	return "Any"
}
