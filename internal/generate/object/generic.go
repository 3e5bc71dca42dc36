package object

import (
	"fmt"
	"go/ast"
	"go/types"

	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Write runs the generator of controller-tools on the roots of ctx. That one does not know generic types. While it runs,
// every type that has an instantiation in it is replaced by one where a plain type stands for the instantiation, and every
// generic type by one without fields; what it writes for them is corrected on its way out.
func Write(ctx genall.GenerationContext, g deepcopy.Generator) error {
	rule := &correcting{OutputRule: ctx.OutputRule, substitutes: map[*loader.Package]*substitutes{}}
	for _, root := range ctx.Roots {
		ctx.Checker.Check(root)
		root.NeedTypesInfo()
		s := newSubstitutes(root)
		s.replace()
		defer s.restore()
		if s.needed() {
			rule.substitutes[root] = s
		}
	}
	ctx.OutputRule = rule
	return g.Generate(&ctx)
}

// substitutes are the types that stand for those of a package that have to do with generic types.
type substitutes struct {
	pkg *loader.Package
	// generic are the declarations with parameters.
	generic map[string]*types.Named
	// instances are the instantiations, by the name of the type that stands for them.
	instances map[string]*types.Named
	// plain are the types that stand for others.
	plain map[types.Type]types.Type
	// replaced are the objects of the package that are replaced.
	replaced map[*ast.Ident]types.Object
}

func newSubstitutes(pkg *loader.Package) *substitutes {
	return &substitutes{
		pkg:       pkg,
		generic:   map[string]*types.Named{},
		instances: map[string]*types.Named{},
		plain:     map[types.Type]types.Type{},
		replaced:  map[*ast.Ident]types.Object{},
	}
}

// needed reports whether there is anything to correct.
func (s *substitutes) needed() bool { return len(s.generic) > 0 || len(s.instances) > 0 }

// replace puts the substitutes in the place of the types.
func (s *substitutes) replace() {
	loader.EachType(s.pkg, func(_ *ast.File, _ *ast.GenDecl, spec *ast.TypeSpec) {
		object := s.pkg.TypesInfo.Defs[spec.Name]
		if object == nil {
			return
		}
		named, ok := object.Type().(*types.Named)
		if !ok {
			return
		}
		if spec.TypeParams != nil {
			s.generic[spec.Name.Name] = named
			s.define(spec.Name, s.rename(named, spec.Name.Name, outline(named)))
			return
		}
		if underlying, changed := s.within(named.Underlying()); changed {
			s.define(spec.Name, s.rename(named, spec.Name.Name, underlying))
		}
	})
}

func (s *substitutes) define(name *ast.Ident, as *types.Named) {
	s.replaced[name] = s.pkg.TypesInfo.Defs[name]
	s.pkg.TypesInfo.Defs[name] = as.Obj()
}

// restore takes the substitutes away.
func (s *substitutes) restore() {
	for name, object := range s.replaced {
		s.pkg.TypesInfo.Defs[name] = object
	}
}

// outline is of the same sort as a generic type: one that needs pointers to be changed, one that does not, or one that
// needs no deep copy.
func outline(generic *types.Named) types.Type {
	switch generic.Underlying().(type) {
	case *types.Slice, *types.Map, *types.Pointer:
		return types.NewSlice(types.Typ[types.String])
	case *types.Basic:
		return types.Typ[types.String]
	}
	return types.NewStruct(nil, nil)
}

// within replaces the instantiations in what a type consists of.
func (s *substitutes) within(t types.Type) (types.Type, bool) {
	structure, ok := t.(*types.Struct)
	if !ok {
		return s.of(t)
	}
	var fields []*types.Var
	var tags []string
	changed := false
	for i := range structure.NumFields() {
		field := structure.Field(i)
		plain, differs := s.of(field.Type())
		if differs {
			changed = true
			field = types.NewField(field.Pos(), field.Pkg(), field.Name(), plain, field.Embedded())
		}
		fields, tags = append(fields, field), append(tags, structure.Tag(i))
	}
	return types.NewStruct(fields, tags), changed
}

// of returns a type without instantiations, and whether that is another one.
func (s *substitutes) of(t types.Type) (types.Type, bool) {
	switch t := t.(type) {
	case *types.Alias:
		if plain, changed := s.of(t.Rhs()); changed {
			return plain, true
		}
	case *types.Named:
		return s.named(t)
	case *types.Pointer:
		if elem, changed := s.of(t.Elem()); changed {
			return types.NewPointer(elem), true
		}
	case *types.Slice:
		if elem, changed := s.of(t.Elem()); changed {
			return types.NewSlice(elem), true
		}
	case *types.Map:
		key, keyChanged := s.of(t.Key())
		elem, elemChanged := s.of(t.Elem())
		if keyChanged || elemChanged {
			return types.NewMap(key, elem), true
		}
	}
	return t, false
}

// named replaces instantiations, and names of lists and maps that have them. Structs have methods of their own.
func (s *substitutes) named(t *types.Named) (types.Type, bool) {
	if known := s.plain[t]; known != nil {
		return known, known != t
	}
	s.plain[t] = t
	_, isStruct := t.Underlying().(*types.Struct)
	underlying, changed := t.Underlying(), false
	if !isStruct {
		underlying, changed = s.of(underlying)
	}
	switch {
	case t.TypeArgs().Len() > 0:
		name := fmt.Sprintf("%s%d", placeholder, len(s.instances))
		s.instances[name] = t
		s.plain[t] = s.rename(t, name, underlying)
	case changed:
		s.plain[t] = s.renameIn(t.Obj().Pkg(), t, t.Obj().Name(), underlying)
	}
	return s.plain[t], s.plain[t] != t
}

// placeholder begins the names of types that stand for instantiations.
const placeholder = "instantiation__"

// rename makes a type of the package with the methods of t for deep copies.
func (s *substitutes) rename(t *types.Named, name string, underlying types.Type) *types.Named {
	return s.renameIn(s.pkg.Types, t, name, underlying)
}

func (s *substitutes) renameIn(pkg *types.Package, t *types.Named, name string, underlying types.Type) *types.Named {
	named := types.NewNamed(types.NewTypeName(t.Obj().Pos(), pkg, name, nil), underlying, nil)
	for method := range t.Methods() {
		if method.Name() != "DeepCopy" && method.Name() != "DeepCopyInto" {
			continue
		}
		signature := method.Signature()
		receiver := types.NewParam(method.Pos(), pkg, "", renamed(signature.Recv().Type(), named, t.Obj()))
		named.AddMethod(types.NewFunc(method.Pos(), pkg, method.Name(), types.NewSignatureType(
			receiver, nil, nil, renamedAll(signature.Params(), named, t.Obj()), renamedAll(signature.Results(), named, t.Obj()), false,
		)))
	}
	return named
}

// renamed puts a type in the place of the one that was declared under a name.
func renamed(t types.Type, as *types.Named, declared *types.TypeName) types.Type {
	switch t := t.(type) {
	case *types.Pointer:
		return types.NewPointer(renamed(t.Elem(), as, declared))
	case *types.Named:
		if t.Obj() == declared {
			return as
		}
	}
	return t
}

func renamedAll(of *types.Tuple, as *types.Named, declared *types.TypeName) *types.Tuple {
	var found []*types.Var
	for v := range of.Variables() {
		found = append(found, types.NewParam(v.Pos(), v.Pkg(), v.Name(), renamed(v.Type(), as, declared)))
	}
	return types.NewTuple(found...)
}
