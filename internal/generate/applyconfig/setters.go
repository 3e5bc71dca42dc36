package applyconfig

import (
	"cmp"
	"go/types"
	"slices"
	"strings"
)

// setters writes the setters of an apply configuration.
type setters struct {
	g        *generation
	f        *file
	receiver string          // name of the type
	written  map[string]bool // names of written fields; the first field with a name counts
	// declared has the number of declarations of each name in the apply configuration and its embedded structs, by depth.
	declared []map[string]int
}

// declare counts the names of the fields of an embedded struct. in has the structs around it, outermost first.
func (s *setters) declare(t types.Type, applied bool, in []types.Type) {
	if slices.ContainsFunc(in, func(outer types.Type) bool { return types.Identical(outer, t) }) {
		return // it embeds a pointer to itself
	}
	if len(s.declared) == len(in) {
		s.declared = append(s.declared, map[string]int{})
	}
	for _, m := range membersOf(t) {
		if _, ok := m.tags(); applied && (!ok || hidden(nameOf(t), m)) {
			continue
		}
		of, isApplied := pointedTo(m.typ), applied && s.g.isApplied(m.typ)
		if m.embedded && isApplied {
			s.declared[len(in)][s.g.nameOf(of).name+suffix]++
		} else {
			s.declared[len(in)][m.name]++
		}
		if m.embedded {
			s.declare(of, isApplied, append(slices.Clip(in), t))
		}
	}
}

// embedding is an embedded field on the path to other fields.
type embedding struct {
	typ    types.Type // in the apply configuration
	inline bool
	// plain reports whether the type has no apply configuration, so its fields are not pointers.
	plain bool
	// in is the embedding around this one, or nil in the apply configuration itself.
	in *embedding
	// inner are the embedded structs between a plain type and the fields.
	inner []string
}

// depth returns the number of embedded fields around this one.
func (e *embedding) depth() int {
	if e.in == nil || e.in.typ == nil {
		return 0
	}
	return e.in.depth() + 1
}

// path returns the selector of this embedded field.
func (e *embedding) path() string {
	path := e.name()
	if e.in != nil && e.in.typ != nil {
		path = e.in.path() + "." + path
	}
	return strings.Join(append([]string{path}, e.inner...), ".")
}

// isShared reports whether the name of a field is ambiguous in Go, because several embedded fields have it.
func (s *setters) isShared(e *embedding, field *types.Var) bool {
	depth := e.depth()
	for shallower := range depth {
		if s.declared[shallower][e.name()] > 0 {
			return true
		}
	}
	if s.declared[depth][e.name()] > 1 {
		return true
	}
	if !e.plain {
		return false
	}
	found, _, _ := types.LookupFieldOrMethod(e.typ, true, field.Pkg(), field.Name())
	return found != field
}

// name returns the name of the field, which is the name of its type.
func (e *embedding) name() string {
	if named, ok := types.Unalias(e.typ).(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// write writes a function for every field of t, including fields of embedded structs.
func (s *setters) write(t types.Type, in *embedding) {
	for _, m := range membersOf(t) {
		tags, ok := m.tags()
		if !ok || hidden(nameOf(t), m) || s.written[m.name] {
			continue
		}
		s.written[m.name] = true
		if !m.embedded {
			s.setter(m, in)
			continue
		}
		if !isStruct(pointedTo(m.typ)) {
			s.setter(m, &embedding{inline: true, plain: tags.inline})
			continue
		}
		if in != nil && in.plain {
			// Its fields are promoted to the struct around it.
			inside := *in
			inside.inner = append(slices.Clip(in.inner), m.name)
			s.write(embedded(m.typ), &inside)
			continue
		}
		through := &embedding{typ: s.g.applied(m.typ), inline: tags.inline, plain: !s.g.isApplied(m.typ), in: in}
		s.write(embedded(m.typ), through)
		if !through.inline {
			at := upper(through.name())
			if s.isShared(through, m.field) {
				at = through.path()
			}
			s.f.printf("\nfunc (b *%s) ensure%sExists() {\n", s.receiver, upper(through.name()))
			s.f.printf("if b.%[1]s == nil {\nb.%[1]s = &%[2]s{}\n}\n}\n", at, s.f.typ(through.typ))
		}
	}
}

// embedded returns the type whose fields an embedded field promotes. A pointer promotes none here.
func embedded(t types.Type) types.Type {
	if _, ok := t.(*types.Pointer); ok {
		return types.Typ[types.Invalid]
	}
	return t
}

// setter writes the function for a field.
func (s *setters) setter(m member, in *embedding) {
	if in != nil && in.plain {
		refs := s.g.refs
		s.g.refs = nil
		defer func() { s.g.refs = refs }()
	}
	if slice, ok := pointedTo(m.typ).(*types.Slice); ok && s.g.isApplied(slice.Elem()) {
		s.sliceSetter(m, in, types.NewPointer(s.declaredElement(m)))
		return
	}
	switch m.typ.(type) {
	case *types.Slice:
		s.sliceSetter(m, in, s.declaredElement(m))
	case *types.Map:
		s.mapSetter(m, in)
	default:
		s.valueSetter(m, in)
	}
}

// pointedTo removes all pointers from a type.
func pointedTo(t types.Type) types.Type {
	for {
		t = types.Unalias(t)
		pointer, ok := t.(*types.Pointer)
		if !ok {
			return t
		}
		t = pointer.Elem()
	}
}

// argument returns the parameter type of the setter of a field.
func (s *setters) argument(m member) string {
	written := s.f.typ(s.g.applied(m.typ))
	if s.g.isApplied(m.typ) {
		return "*" + written
	}
	return written
}

// begin writes the signature of a function and creates the embedded structs that it needs.
func (s *setters) begin(m member, in *embedding, parameter string) {
	s.f.printf("func (b *%[1]s) With%[2]s(%[3]s) *%[1]s {\n", s.receiver, m.name, parameter)
	s.ensure(m, in)
}

// ensure makes a function create the embedded struct that contains the field.
func (s *setters) ensure(m member, in *embedding) {
	switch {
	case in == nil:
	case in.typ != nil && s.isShared(in, m.field):
		s.create(in)
	case !in.inline:
		s.f.printf("b.ensure%sExists()\n", upper(in.name()))
	}
}

// create makes a function create an embedded struct and all embedded structs around it.
func (s *setters) create(e *embedding) {
	if e == nil || e.typ == nil {
		return
	}
	s.create(e.in)
	if !e.inline {
		outer := *e
		outer.inner = nil
		s.f.printf("if b.%[1]s == nil {\nb.%[1]s = &%[2]s{}\n}\n", outer.path(), s.f.typ(e.typ))
	}
}

// place returns the selector of a field: as controller-gen writes it, unless that does not compile.
func (s *setters) place(m member, in *embedding) string {
	switch {
	case in == nil || in.typ == nil:
		return "b." + m.name
	case s.isShared(in, m.field):
		return "b." + in.path() + "." + m.name
	}
	return "b." + in.name() + "." + m.name
}

func (s *setters) valueSetter(m member, in *embedding) {
	s.f.printf("// With%[1]s sets the %[1]s field in the declarative configuration to the given value\n", m.name)
	s.f.printf("// and returns the receiver, so that objects can be built by chaining \"With\" function invocations.\n")
	s.f.printf("// If called multiple times, the %s field is set to the value of the last call.\n", m.name)
	s.begin(m, in, "value "+s.argument(m))
	value := "&value"
	_, isPointer := m.typ.(*types.Pointer)
	isEmbeddedInterface := m.embedded && types.IsInterface(m.typ)
	if s.g.isApplied(m.typ) || nillable(m.typ) || isEmbeddedInterface || in != nil && in.plain && !isPointer {
		value = "value"
	}
	s.f.printf("%s = %s\nreturn b\n}\n", s.place(m, in), value)
}

func (s *setters) sliceSetter(m member, in *embedding, element types.Type) {
	_, pointer := m.typ.(*types.Pointer)
	if pointer {
		s.f.printf("\nfunc (b *%s) ensure%sExists() {\n", s.receiver, s.ensured(m))
		s.f.printf("if b.%[1]s == nil {\nb.%[1]s = &[]%[2]s{}\n}\n}\n", m.name, s.f.typ(s.declaredElement(m)))
	}
	s.f.printf("// With%[1]s adds the given value to the %[1]s field in the declarative configuration\n", m.name)
	s.f.printf("// and returns the receiver, so that objects can be build by chaining \"With\" function invocations.\n")
	s.f.printf("// If called multiple times, values provided by each call will be appended to the %s field.\n", m.name)
	s.begin(m, in, "values ..."+s.f.typ(element))
	at, value := s.place(m, in), "values[i]"
	if pointer {
		s.f.printf("b.ensure%sExists()\n", s.ensured(m))
		at = "*" + at
	}
	s.f.printf("for i := range values {\n")
	if _, ok := types.Unalias(element).(*types.Pointer); ok && !types.Identical(element, s.declaredElement(m)) {
		s.f.printf("if values[i] == nil {\npanic(\"nil value passed to With%s\")\n}\n", m.name)
		value = "*values[i]"
	}
	s.f.printf("%[1]s = append(%[1]s, %[2]s)\n}\nreturn b\n}\n", at, value)
}

// ensured returns the name part of the function that creates a list: the type of its elements, as in controller-gen, or
// the field if the type has no name.
func (s *setters) ensured(m member) string {
	return upper(cmp.Or(s.g.nameOf(s.declaredElement(m)).name, m.name))
}

// declaredElement returns the element type of a list field in the apply configuration.
func (s *setters) declaredElement(m member) types.Type {
	return s.g.applied(m.typ).(*types.Slice).Elem()
}

func (s *setters) mapSetter(m member, in *embedding) {
	s.f.printf("// With%[1]s puts the entries into the %[1]s field in the declarative configuration\n", m.name)
	s.f.printf("// and returns the receiver, so that objects can be build by chaining \"With\" function invocations.\n")
	s.f.printf("// If called multiple times, the entries provided by each call will be put on the %s field,\n", m.name)
	s.f.printf("// overwriting an existing map entries in %s field with the same key.\n", m.name)
	argument := s.argument(m)
	s.begin(m, in, "entries "+argument)
	at := s.place(m, in)
	s.f.printf("if %[1]s == nil && len(entries) > 0 {\n%[1]s = make(%[2]s, len(entries))\n}\n", at, argument)
	s.f.printf("for k, v := range entries {\n%s[k] = v\n}\nreturn b\n}\n", at)
}

// getters writes the functions that the client needs to send an apply configuration.
func (s *setters) getters(t types.Type, in *embedding) {
	for _, m := range membersOf(t) {
		tags, ok := m.tags()
		if !ok || hidden(nameOf(t), m) {
			continue
		}
		if m.embedded {
			s.getters(embedded(m.typ), &embedding{typ: s.g.applied(m.typ), inline: tags.inline, in: in})
			continue
		}
		if !needsGetter(nameOf(t), m.name) {
			continue
		}
		s.f.printf("// Get%[1]s retrieves the value of the %[1]s field in the declarative configuration.\n", m.name)
		s.f.printf("func (b *%s) Get%s() *%s {\n", s.receiver, m.name, s.argument(m))
		s.ensure(m, in)
		s.f.printf("return %s\n}\n", s.place(m, in))
	}
}

func needsGetter(owner typeName, field string) bool {
	switch owner {
	case typeName{metav1Path, "ObjectMeta"}:
		return field == "Name" || field == "Namespace"
	case typeName{metav1Path, "TypeMeta"}:
		return field == "Kind" || field == "APIVersion"
	}
	return false
}
