package access

import (
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// gvk is a kind that a program specifies by group and kind. It has no version, because permissions have none.
type gvk struct{ group, kind string }

// settings are the values that a program sets as kinds of unstructured objects, by the object.
type settings struct {
	gvks     map[ssa.Value][]ssa.Value // arguments of SetGroupVersionKind
	versions map[ssa.Value][]ssa.Value // arguments of SetAPIVersion
	kinds    map[ssa.Value][]ssa.Value // arguments of SetKind
	content  map[ssa.Value][]ssa.Value // maps that are stored in the field Object
}

// newSettings finds the settings in all reached functions.
func (f *flow) newSettings() *settings {
	s := &settings{
		gvks: map[ssa.Value][]ssa.Value{}, versions: map[ssa.Value][]ssa.Value{}, kinds: map[ssa.Value][]ssa.Value{},
		content: map[ssa.Value][]ssa.Value{},
	}
	for _, instr := range f.instructions() {
		f.noteSetting(s, instr)
	}
	return s
}

func (f *flow) noteSetting(s *settings, instr ssa.Instruction) {
	if store, ok := instr.(*ssa.Store); ok {
		addr, ok := store.Addr.(*ssa.FieldAddr)
		_, isMap := store.Val.Type().Underlying().(*types.Map)
		if ok && isMap && isUntyped(addr.X.Type()) {
			for _, root := range f.roots(addr.X) {
				s.content[root] = append(s.content[root], store.Val)
			}
		}
		return
	}
	if update, ok := instr.(*ssa.MapUpdate); ok {
		if key, ok := update.Key.(*ssa.Const); ok && key.Value != nil && key.Value.Kind() == constant.String {
			f.noteKey(s, update.Map, constant.StringVal(key.Value), update.Value)
		}
		return
	}
	call, ok := instr.(ssa.CallInstruction)
	if !ok {
		return
	}
	common := call.Common()
	if calledName(common) == "SetNestedField" && len(common.Args) == 3 {
		if keys, complete := f.constants(place{common.Args[2], element}, false); complete && len(keys) == 1 {
			f.noteKey(s, common.Args[0], keys[0], common.Args[1])
		}
		return
	}
	var to map[ssa.Value][]ssa.Value
	switch calledName(common) {
	case "SetGroupVersionKind":
		to = s.gvks
	case "SetAPIVersion":
		to = s.versions
	case "SetKind":
		to = s.kinds
	default:
		return
	}
	receiver, args := common.Value, common.Args
	if !common.IsInvoke() && len(args) > 1 {
		receiver, args = args[0], args[1:]
	}
	if len(args) != 1 {
		return
	}
	for _, root := range f.roots(receiver) {
		to[root] = append(to[root], args[0])
	}
}

// noteKey notes that the program sets a key of a map if the map is the field Object of an unstructured object.
func (f *flow) noteKey(s *settings, content ssa.Value, key string, value ssa.Value) {
	to := map[string]map[ssa.Value][]ssa.Value{"apiVersion": s.versions, "kind": s.kinds}[key]
	loaded, ok := content.(*ssa.UnOp)
	if to == nil || !ok {
		return
	}
	addr, ok := loaded.X.(*ssa.FieldAddr)
	if !ok || !isUntyped(addr.X.Type()) {
		return
	}
	for _, root := range f.roots(addr.X) {
		to[root] = append(to[root], unwrapped(value))
	}
}

// roots returns the variables to which a pointer can point. For a pointer to a field, it returns the struct.
func (f *flow) roots(v ssa.Value) (all []ssa.Value) {
	seen := map[ssa.Value]bool{}
	queue := []ssa.Value{v}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for {
			addr, ok := next.(*ssa.FieldAddr)
			if !ok {
				break
			}
			next = addr.X
		}
		if seen[next] {
			continue
		}
		seen[next] = true
		found, _ := f.origins(place{next, ""}, true, nil)
		for _, p := range found {
			switch root := p.v.(type) {
			case *ssa.Call:
				common := root.Common()
				switch {
				case calledName(common) != "GetObjectKind":
					all = append(all, root)
				case common.IsInvoke() || len(common.Args) == 0:
					queue = append(queue, common.Value)
				default:
					queue = append(queue, common.Args[0])
				}
			case *ssa.MakeInterface:
				queue = append(queue, root.X)
			default:
				all = append(all, root)
			}
		}
	}
	return all
}

// gvks returns the kinds that a program sets for an unstructured object.
func (s *site) gvks(v ssa.Value) (found []gvk, complete bool) {
	if s.settings == nil {
		s.analysis.settings = s.newSettings()
	}
	complete = true
	add := func(more []gvk, all bool) {
		complete = complete && all && len(more) > 0
		for _, g := range more {
			if !slices.Contains(found, g) {
				found = append(found, g)
			}
		}
	}
	roots := s.roots(v)
	for _, root := range roots {
		if t := root.Type(); !isUntyped(t) && len(s.settings.gvks[root]) == 0 {
			if _, isNil := root.(*ssa.Const); !isNil && types.IsInterface(t) {
				complete = false
			}
			continue
		}
		set := false
		for _, value := range s.settings.gvks[root] {
			more, all := s.structured(place{value, ""})
			add(more, all)
			set = true
		}
		if kinds := s.settings.kinds[root]; len(kinds) > 0 {
			add(s.pairs(s.settings.versions[root], kinds))
			set = true
		}
		for _, content := range s.settings.content[root] {
			if more, all := s.mapped(content); len(more) > 0 || !set {
				add(more, all)
			}
		}
		set = set || len(s.settings.content[root]) > 0
		if !set {
			more, all := s.typeMeta(root)
			add(more, all)
		}
	}
	return found, complete && len(roots) > 0
}

// pairs combines the API versions and the kinds that values can be.
func (s *site) pairs(versions, kinds []ssa.Value) (found []gvk, complete bool) {
	complete = true
	var groups []string
	for _, v := range versions {
		all, known := s.groupsAt(place{v, ""})
		groups, complete = append(groups, all...), complete && known
	}
	for _, k := range kinds {
		all, known := s.kindsAt(place{k, ""})
		complete = complete && known
		for _, name := range all {
			for _, group := range groups {
				found = append(found, gvk{group, name})
			}
		}
	}
	return found, complete
}

// groupsAt returns the groups of the API versions that a place can have: constants, and the results of String for a
// schema.GroupVersion.
func (s *site) groupsAt(at place) (groups []string, complete bool) {
	return s.texts(at, func(p place) (string, bool, bool) {
		call, ok := p.v.(*ssa.Call)
		if !ok || calledName(call.Common()) != "String" || len(call.Common().Args) != 1 ||
			!strings.HasSuffix(types.TypeString(call.Common().Args[0].Type(), nil), "runtime/schema.GroupVersion") {
			return "", false, false
		}
		group, known := s.groupOf(call.Common().Args[0])
		return group, known, true
	}, groupOfVersion)
}

// kindsAt returns the kinds that a place can have: constants, the field Kind of WithKind(kind), and the name of a type
// from reflect.TypeOf.
func (s *site) kindsAt(at place) (kinds []string, complete bool) {
	return s.texts(at, func(p place) (string, bool, bool) {
		call, ok := p.v.(*ssa.Call)
		if !ok {
			return "", false, false
		}
		common := call.Common()
		switch name := calledName(common); {
		case name == "WithKind" && p.in != "" && len(common.Args) == 2:
			kind := s.constant(place{common.Args[1], ""})
			return kind, kind != "", true
		case name == "Name" && common.IsInvoke():
			kind := reflected(common.Value)
			return kind, kind != "", kind != ""
		}
		return "", false, false
	}, func(kind string) string { return kind })
}

// reflected returns the name of T if v is reflect.TypeOf(T{}), or "".
func reflected(v ssa.Value) string {
	call, ok := v.(*ssa.Call)
	if !ok || len(call.Common().Args) != 1 || calledName(call.Common()) != "TypeOf" {
		return ""
	}
	made, ok := call.Common().Args[0].(*ssa.MakeInterface)
	if !ok {
		return ""
	}
	named, ok := types.Unalias(made.X.Type()).(*types.Named)
	if !ok {
		return ""
	}
	return named.Obj().Name()
}

// texts returns the strings that a place can have. special returns the string of a place that is not a constant,
// whether it is known, and whether special handles this place. of converts constants.
func (s *site) texts(
	at place, special func(place) (string, bool, bool), of func(string) string,
) (found []string, complete bool) {
	origins, complete := s.origins(at, false, func(p place) bool {
		_, _, handled := special(p)
		return handled
	})
	for _, p := range origins {
		text, known, handled := special(p)
		if c, ok := p.v.(*ssa.Const); ok && !handled {
			if c.Value == nil || c.Value.Kind() != constant.String {
				continue
			}
			text, known = of(constant.StringVal(c.Value)), true
		}
		if !known {
			complete = false
		} else if !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found, complete
}

// groupOfVersion returns the group of an API version such as "apps/v1".
func groupOfVersion(version string) string {
	group, _, ok := strings.Cut(version, "/")
	if !ok {
		return ""
	}
	return group
}

// mapped returns the kinds of the objects whose fields a map can contain: kinds that the program sets with the keys
// "apiVersion" and "kind", and kinds of objects that ToUnstructured converted.
func (s *site) mapped(content ssa.Value) (found []gvk, complete bool) {
	var versions, kinds []ssa.Value
	origins, complete := s.origins(place{content, ""}, true, func(p place) bool {
		return p.in == "" && converted(p.v) != nil
	})
	for _, p := range origins {
		object := converted(p.v)
		if _, made := p.v.(*ssa.MakeMap); !made && object == nil {
			return nil, false
		}
		named := false
		for _, user := range *p.v.Referrers() {
			update, ok := user.(*ssa.MapUpdate)
			if !ok {
				continue
			}
			switch s.constant(place{update.Key, ""}) {
			case "apiVersion":
				versions = append(versions, unwrapped(update.Value))
			case "kind":
				named = true
				kinds = append(kinds, unwrapped(update.Value))
			}
		}
		if named {
			continue
		}
		if object == nil {
			return nil, false
		}
		more, known := s.typed(object)
		found, complete = append(found, more...), complete && known
	}
	more, known := s.pairs(versions, kinds)
	return append(found, more...), complete && known
}

// converted returns the argument of ToUnstructured if v is the resulting map, and nil otherwise.
func converted(v ssa.Value) ssa.Value {
	result, ok := v.(*ssa.Extract)
	if !ok || result.Index != 0 {
		return nil
	}
	call, ok := result.Tuple.(*ssa.Call)
	if !ok || calledName(call.Common()) != "ToUnstructured" {
		return nil
	}
	args := call.Common().Args
	return args[len(args)-1]
}

// typed returns the kinds of the Go types that an object can have.
func (s *site) typed(object ssa.Value) (found []gvk, complete bool) {
	all, complete := s.types(object)
	for _, t := range all {
		if isUntyped(t) {
			more, known := s.gvks(object)
			found, complete = append(found, more...), complete && known
			continue
		}
		k, why := s.kinds.of(t)
		if why != "" {
			complete = false
			continue
		}
		found = append(found, gvk{k.Group, k.Kind})
	}
	return found, complete && len(found) > 0
}

// unwrapped returns the value in an interface, or v itself.
func unwrapped(v ssa.Value) ssa.Value {
	if m, ok := v.(*ssa.MakeInterface); ok {
		return m.X
	}
	return v
}

// typeMeta returns the kind in the TypeMeta of a composite literal.
func (f *flow) typeMeta(root ssa.Value) ([]gvk, bool) {
	toKind, hasKind := pathTo(root.Type(), "TypeMeta", "Kind")
	toVersion, hasVersion := pathTo(root.Type(), "TypeMeta", "APIVersion")
	if !hasKind || !hasVersion {
		return nil, false
	}
	name, version := f.constant(place{root, pointee + toKind}), f.constant(place{root, pointee + toVersion})
	if name == "" || version == "" {
		return nil, false
	}
	return []gvk{{groupOfVersion(version), name}}, true
}

func structOf(t types.Type) (*types.Struct, bool) {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	return s, ok
}

// pathTo returns the path to a field of a struct, through the fields that contain it. It reports false if there is no
// such field.
func pathTo(t types.Type, fields ...string) (path part, ok bool) {
	for _, name := range fields {
		structure, isStruct := structOf(t)
		if !isStruct {
			return "", false
		}
		i := slices.IndexFunc(slices.Collect(structure.Fields()), func(f *types.Var) bool { return f.Name() == name })
		if i < 0 {
			return "", false
		}
		path, t = path+field(i), structure.Field(i).Type()
	}
	return path, true
}

// structured returns the kinds that a schema.GroupVersionKind or GroupKind can contain.
func (s *site) structured(at place) (found []gvk, complete bool) {
	origins, complete := s.composed(at, "WithKind", "FromAPIVersionAndKind", "WithVersion", "GroupVersionKind")
	for _, p := range origins {
		g, ok := s.gvkAt(p)
		if !ok {
			complete = false
			continue
		}
		found = append(found, g...)
	}
	return found, complete
}

// composed returns the places that create a struct with a group: calls of the functions, and variables whose fields the
// program sets.
func (s *site) composed(at place, functions ...string) ([]place, bool) {
	return s.origins(at, true, func(p place) bool {
		switch v := p.v.(type) {
		case *ssa.Call:
			return slices.Contains(functions, calledName(v.Common()))
		case *ssa.Alloc:
			return p.in == pointee && hasFieldStores(v)
		}
		return false
	})
}

// hasFieldStores reports whether the program accesses single fields of a struct variable.
func hasFieldStores(alloc *ssa.Alloc) bool {
	return slices.ContainsFunc(*alloc.Referrers(), func(user ssa.Instruction) bool {
		_, ok := user.(*ssa.FieldAddr)
		return ok
	})
}

func (s *site) gvkAt(p place) ([]gvk, bool) {
	call, isCall := p.v.(*ssa.Call)
	if !isCall {
		group, name, ok := s.named(p, "Kind")
		return []gvk{{group, name}}, ok
	}
	args := call.Common().Args
	if len(args) != 2 {
		return nil, false
	}
	switch calledName(call.Common()) {
	case "FromAPIVersionAndKind":
		return s.pairs(args[:1], args[1:])
	case "WithVersion":
		return s.structured(place{args[0], ""})
	case "WithKind":
		group, name, ok := s.combined(args)
		return []gvk{{group, name}}, ok
	}
	return nil, false
}

// named returns the constant group in a struct, and the constant in one of its other fields.
func (s *site) named(p place, other string) (group, name string, ok bool) {
	toGroup, hasGroup := pathTo(p.v.Type(), "Group")
	toName, hasName := pathTo(p.v.Type(), other)
	if !hasGroup || !hasName {
		return "", "", false
	}
	name = s.constant(place{p.v, p.in + toName})
	group, ok = s.groupAt(place{p.v, p.in + toGroup})
	return group, name, ok && name != ""
}

// combined returns the group and the constant name that a method of a schema.GroupVersion combines.
func (s *site) combined(args []ssa.Value) (group, name string, ok bool) {
	name = s.constant(place{args[1], ""})
	group, ok = s.groupOf(args[0])
	return group, name, ok && name != ""
}

// groupAt returns the constant group at a place, which is unset in the core group.
func (s *site) groupAt(at place) (string, bool) {
	groups, complete := s.constants(at, false)
	if !complete || len(groups) > 1 {
		return "", false
	}
	return strings.Join(groups, ""), true
}

// groupOf returns the group of a schema.GroupVersion, from a constant or from the variable of an API package.
func (s *site) groupOf(v ssa.Value) (string, bool) {
	origins, _ := s.origins(place{v, ""}, false, func(p place) bool {
		_, isGlobal := p.v.(*ssa.Global)
		return isGlobal
	})
	for _, p := range origins {
		if global, ok := p.v.(*ssa.Global); ok && global.Pkg != nil {
			if api := s.kinds.declarations(global.Pkg.Pkg.Path()); api != nil && api.known {
				return api.group, true
			}
		}
	}
	path, ok := pathTo(v.Type(), "Group")
	if !ok {
		return "", false
	}
	return s.groupAt(place{v, path})
}
