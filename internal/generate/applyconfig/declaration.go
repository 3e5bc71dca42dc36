package applyconfig

import (
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

const suffix = "ApplyConfiguration"

// upper and lower change the first letter of a name.
func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
func lower(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// writeType writes the apply configuration of a type, with its functions.
func (g *generation) writeType(f *file, t *apiType) {
	g.writeStruct(f, t)
	g.writeConstructor(f, t)
	if t.client && g.extractable && t.applies {
		g.writeExtract(f, t)
	}
	name := upper(t.name) + suffix
	if t.client || t.embeds("TypeMeta") {
		f.printf("\nfunc (b %s) IsApplyConfiguration() {}\n", name)
	}
	w := &setters{g: g, f: f, receiver: name, written: map[string]bool{}}
	w.declare(t.named, true, nil)
	w.write(t.named, nil)
	w.getters(t.named, nil)
}

func (g *generation) writeStruct(f *file, t *apiType) {
	name := upper(t.name)
	f.printf("// %s%s represents a declarative configuration of the %s type for use\n// with apply.\n", name, suffix, name)
	if len(t.comment) > 0 {
		f.printf("//\n")
		f.comment(t.comment)
	}
	f.printf("type %s%s struct {\n", name, suffix)
	for _, m := range membersOf(t.named) {
		tags, ok := m.tags()
		if !ok || hidden(nameOf(t.named), m) {
			continue
		}
		tags.omitEmpty = tags.omitEmpty || !tags.inline
		_, doc := g.above(m.field)
		f.comment(withoutMarkers(doc))
		written := f.typ(g.applied(m.typ))
		if f.strange != nil && f.at == nil {
			f.at = m.field
		}
		switch {
		case m.embedded && (tags.inline || types.IsInterface(m.typ)):
			f.printf("%s `json:\"%s\"`\n", written, tags)
		case m.embedded:
			f.printf("*%s `json:\"%s\"`\n", written, tags)
		case nillable(m.typ):
			f.printf("%s %s `json:\"%s\"`\n", m.name, written, tags)
		default:
			f.printf("%s *%s `json:\"%s\"`\n", m.name, written, tags)
		}
	}
	f.printf("}\n")
}

func (f *file) comment(lines []string) {
	for _, line := range lines {
		f.printf("// %s\n", line)
	}
}

func (g *generation) writeConstructor(f *file, t *apiType) {
	name := upper(t.name)
	config, parameters := name+suffix, ""
	switch {
	case t.client && t.clusterWide:
		config, parameters = name, "name string"
	case t.client:
		config, parameters = name, "name, namespace string"
	}
	f.printf("\n// %s constructs a declarative configuration of the %s type for use with\n// apply.\n", config, name)
	f.printf("func %s(%s) *%s%s {\n", name, parameters, name, suffix)
	if !t.client && !t.embeds("TypeMeta") {
		f.printf("return &%s%s{}\n}\n", name, suffix)
		return
	}
	f.printf("b := &%s%s{}\n", name, suffix)
	if t.client {
		f.printf("b.WithName(name)\n")
	}
	if t.client && !t.clusterWide {
		f.printf("b.WithNamespace(namespace)\n")
	}
	f.printf("b.WithKind(%q)\nb.WithAPIVersion(%q)\nreturn b\n}\n", name, g.apiVersion())
}

func (g *generation) apiVersion() string {
	if g.group == "" {
		return g.version
	}
	return g.group + "/" + g.version
}

// hidden reports whether apply configurations omit a field.
func hidden(owner typeName, m member) bool {
	return strings.HasPrefix(m.name, "ZZZ_") ||
		owner == typeName{metav1Path, "ObjectMeta"} && (m.name == "ManagedFields" || m.name == "SelfLink")
}

// nillable reports whether nil already means that a field is unset, so that it needs no pointer.
func nillable(t types.Type) bool {
	switch types.Unalias(t).(type) {
	case *types.Slice, *types.Map:
		return true
	}
	return false
}

// applied returns the type of a field in an apply configuration, without the pointer.
func (g *generation) applied(t types.Type) types.Type {
	t = types.Unalias(t)
	switch t := t.(type) {
	case *types.Named:
		if pkg, ok := g.refs[g.nameOf(t)]; ok && isStruct(t) {
			return reference(pkg, g.nameOf(t).name+suffix)
		}
	case *types.Map:
		if _, ok := g.refs[g.nameOf(t.Elem())]; ok {
			return types.NewMap(g.applied(t.Key()), g.applied(t.Elem()))
		}
	case *types.Slice:
		if _, ok := g.refs[g.nameOf(t.Elem())]; ok {
			return types.NewSlice(g.applied(t.Elem()))
		}
	case *types.Pointer:
		return g.applied(t.Elem())
	}
	return t
}

// isApplied reports whether a field has an apply configuration instead of its type.
func (g *generation) isApplied(t types.Type) bool {
	t = pointedTo(t)
	_, ok := g.refs[g.nameOf(t)]
	return ok && isStruct(t)
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// reference returns a type of another package of which only the name is known.
func reference(pkg, name string) types.Type {
	return types.NewNamed(types.NewTypeName(token.NoPos, types.NewPackage(pkg, path.Base(pkg)), name, nil),
		types.NewStruct(nil, nil), nil)
}

// writeExtract writes the functions that return the fields of an object that a manager owns.
func (g *generation) writeExtract(f *file, t *apiType) {
	public, private, config := upper(t.name), lower(t.name), upper(t.name)+suffix
	f.printf(`
// Extract%[1]sFrom extracts the applied configuration owned by fieldManager from
// %[2]s for the specified subresource. Pass an empty string for subresource to extract
// the main resource. Common subresources include "status", "scale", etc.
// %[2]s must be a unmodified %[1]s API object that was retrieved from the Kubernetes API.
// Extract%[1]sFrom provides a way to perform a extract/modify-in-place/apply workflow.
// Note that an extracted apply configuration will contain fewer fields than what the fieldManager previously
// applied if another fieldManager has updated or force applied any of the previously applied fields.
`, public, private)
	object := f.qualified(g.pkg.PkgPath, t.name)
	f.printf("func Extract%sFrom(%s *%s, fieldManager string, subresource string) (*%s, error) {\n", public, private,
		object, config)
	f.printf("b := &%s{}\n", config)
	extract := f.qualified("k8s.io/apimachinery/pkg/util/managedfields", "ExtractInto")
	parser := f.qualified(path.Join(g.path, "internal"), "Parser")
	f.printf("err := %s(%s, %s().Type(%q), fieldManager, b, subresource)\n", extract, private, parser,
		definitionName(g.pkg.PkgPath, t.name))
	f.printf("if err != nil {\nreturn nil, err\n}\nb.WithName(%s.Name)\n", private)
	if !t.clusterWide {
		f.printf("b.WithNamespace(%s.Namespace)\n", private)
	}
	f.printf("\nb.WithKind(%q)\nb.WithAPIVersion(%q)\nreturn b, nil\n}\n", public, g.apiVersion())
	f.printf(`
// Extract%[1]s extracts the applied configuration owned by fieldManager from
// %[2]s. If no managedFields are found in %[2]s for fieldManager, a
// %[3]s is returned with only the Name, Namespace (if applicable),
// APIVersion and Kind populated. It is possible that no managed fields were found for because other
// field managers have taken ownership of all the fields previously owned by fieldManager, or because
// the fieldManager never owned fields any fields.
// %[2]s must be a unmodified %[1]s API object that was retrieved from the Kubernetes API.
// Extract%[1]s provides a way to perform a extract/modify-in-place/apply workflow.
// Note that an extracted apply configuration will contain fewer fields than what the fieldManager previously
// applied if another fieldManager has updated or force applied any of the previously applied fields.
func Extract%[1]s(%[2]s *%[4]s, fieldManager string) (*%[3]s, error) {
return Extract%[1]sFrom(%[2]s, fieldManager, "")
}
`, public, private, config, object)
	for _, subresource := range t.allSubresources() {
		f.printf(`
// Extract%[1]s%[5]s extracts the applied configuration owned by fieldManager from
// %[2]s for the %[6]s subresource.
func Extract%[1]s%[5]s(%[2]s *%[4]s, fieldManager string) (*%[3]s, error) {
return Extract%[1]sFrom(%[2]s, fieldManager, %[6]q)
}
`, public, private, config, object, upper(strings.ToLower(subresource)), subresource)
	}
}

// allSubresources returns the names of the subresources of a kind, sorted.
func (t *apiType) allSubresources() []string {
	all := slices.Clone(t.subresources)
	hasStatus := slices.ContainsFunc(membersOf(t.named), func(m member) bool { return m.name == "Status" })
	if hasStatus && !t.noStatus {
		all = append(all, "status")
	}
	slices.Sort(all)
	return slices.Compact(all)
}
