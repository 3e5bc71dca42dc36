package applyconfig

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	ctmarkers "sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/markers"
)

// generation generates the apply configurations of one package.
type generation struct {
	pkg            *loader.Package
	settings       settings
	group, version string
	dir, path      string // of the generated code
	comments       comments
	commented      map[*types.Package]bool // packages whose comments are known
	types          []*apiType              // declared types of the package, by name
	extractable    bool                    // there are schemas, which the Extract functions need

	// refs maps each type to the import path of the package with its apply configuration.
	refs map[typeName]string
}

type typeName struct{ pkg, name string }

// apiType is a declared type of the package.
type apiType struct {
	name         string
	named        *types.Named
	comment      []string // without markers
	enabled      bool     // by a marker of kubebuilder
	client       bool     // it is a kind
	applies      bool     // the kind can be applied
	clusterWide  bool
	noStatus     bool
	subresources []string // except status
	instance     bool     // it is an instantiation of a generic type
}

// metaTypes are the types of metav1 that have apply configurations in client-go.
var metaTypes = []string{
	"Condition", "DeleteOptions", "LabelSelector", "LabelSelectorRequirement", "ManagedFieldsEntry", "ObjectMeta",
	"OwnerReference", "TypeMeta",
}

func knownRefs(external map[string]string) map[typeName]string {
	refs := map[typeName]string{}
	for _, name := range metaTypes {
		refs[typeName{metav1Path, name}] = "k8s.io/client-go/applyconfigurations/meta/v1"
	}
	for name, pkg := range external {
		dot := strings.LastIndexByte(name, '.')
		refs[typeName{name[:max(dot, 0)], name[dot+1:]}] = pkg
	}
	return refs
}

// findKinds lists the types of the package and determines the kinds.
func (g *generation) findKinds(collector *ctmarkers.Collector) error {
	enabled, clusterWide := map[string]bool{}, map[string]bool{}
	err := ctmarkers.EachType(collector, g.pkg, func(info *ctmarkers.TypeInfo) {
		resource, isKind := info.Markers.Get(resourceMarker).(crdmarkers.Resource)
		enabled[info.Name] = isKind
		if value, ok := info.Markers.Get(generateMarker).(bool); ok {
			enabled[info.Name] = value
		}
		clusterWide[info.Name] = resource.Scope == "Cluster"
	})
	if err != nil {
		return err
	}
	scope := g.pkg.Types.Scope()
	for _, name := range scope.Names() {
		object, ok := scope.Lookup(name).(*types.TypeName)
		if !ok || object.IsAlias() {
			continue
		}
		named, ok := object.Type().(*types.Named)
		if !ok {
			continue
		}
		detached, doc := g.above(object)
		lines := slices.Concat(detached, doc)
		t := &apiType{name: name, named: named, comment: withoutMarkers(lines), enabled: enabled[name]}
		if named.TypeParams().Len() > 0 {
			continue
		}
		t.readTags(lines)
		t.client = t.client || t.enabled
		t.clusterWide = t.clusterWide || t.enabled && clusterWide[name]
		g.types = append(g.types, t)
	}
	return nil
}

// findTypes adds to refs all types of the package that kinds use.
func (g *generation) findTypes() {
	if g.isInternal() {
		g.types = nil
		return
	}
	reached := map[*types.Named]bool{}
	for _, t := range g.types {
		if t.client && t.applies {
			reach(t.named, reached)
		}
	}
	outPath := path.Join(g.path, g.subdir())
	g.addInstances(reached)
	for _, t := range g.types {
		if (t.instance || reached[t.named]) && hasTaggedField(t.named) {
			g.refs[g.nameOf(t.named)] = outPath
		}
	}
}

// isInternal reports whether the package has internal types, which are never serialized: their metadata has no JSON
// name.
func (g *generation) isInternal() bool {
	for _, t := range g.types {
		for _, m := range membersOf(t.named) {
			if m.name == "ObjectMeta" {
				_, tagged := m.tags()
				return !tagged
			}
		}
	}
	return false
}

// reach finds all named types that a type refers to.
func reach(t types.Type, reached map[*types.Named]bool) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if !reached[t] {
			reached[t] = true
			reach(t.Underlying(), reached)
		}
	case *types.Struct:
		for field := range t.Fields() {
			reach(field.Type(), reached)
		}
	case *types.Map:
		reach(t.Key(), reached)
		reach(t.Elem(), reached)
	case interface{ Elem() types.Type }:
		reach(t.Elem(), reached)
	}
}

func hasTaggedField(t types.Type) bool {
	return slices.ContainsFunc(membersOf(t), func(m member) bool {
		_, tagged := m.tags()
		return tagged
	})
}

// embeds reports whether the type embeds the named type of metav1.
func (t *apiType) embeds(name string) bool {
	return slices.ContainsFunc(membersOf(t.named), func(m member) bool {
		return m.embedded && nameOf(m.typ) == typeName{metav1Path, name}
	})
}

type member struct {
	name     string
	typ      types.Type
	embedded bool
	tag      string
	field    *types.Var
}

// membersOf returns the fields of a struct type, or nil for other types.
func membersOf(t types.Type) []member {
	structType, ok := types.Unalias(t).Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var members []member
	for i := range structType.NumFields() {
		f := structType.Field(i)
		members = append(members, member{f.Name(), types.Unalias(f.Type()), f.Embedded(), structType.Tag(i), f})
	}
	return members
}

// jsonTags has the options of the JSON tag of a field.
type jsonTags struct {
	name              string
	inline, omitEmpty bool
}

// tags returns false for a field that JSON omits.
func (m member) tags() (jsonTags, bool) {
	tag, ok := reflect.StructTag(m.tag).Lookup("json")
	if !ok || tag == "-" {
		return jsonTags{}, false
	}
	parts := strings.Split(tag, ",")
	tags := jsonTags{name: parts[0], omitEmpty: slices.Contains(parts[1:], "omitempty")}
	if tags.name == "" {
		tags.name, tags.inline = m.name, m.embedded
	}
	return tags, true
}

func (j jsonTags) String() string {
	text := j.name
	if j.inline {
		text = ""
	}
	if j.omitEmpty {
		text += ",omitempty"
	}
	return text
}

// nameOf returns the name of a named type, or an empty name for other types.
func nameOf(t types.Type) typeName {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return typeName{}
	}
	return typeName{named.Obj().Pkg().Path(), named.Obj().Name()}
}

// nameOf returns the name by which apply configurations refer to a named type. An instantiation has a name of its own.
func (g *generation) nameOf(t types.Type) typeName {
	name := nameOf(t)
	if named, ok := types.Unalias(t).(*types.Named); ok && named.TypeArgs().Len() > 0 {
		name.name = plainName(named, g.pkg.Types)
	}
	return name
}

// above returns the comments above a declaration in any package.
func (g *generation) above(object types.Object) (detached, doc []string) {
	if !g.commented[object.Pkg()] {
		if pkg := load.Declaring([]*loader.Package{g.pkg})[object.Pkg()]; pkg != nil {
			g.comments.add(pkg)
		}
		g.commented[object.Pkg()] = true
	}
	return g.comments.above(g.pkg.Fset.Position(object.Pos()))
}

// comments are the comments of some packages, by file and last line.
type comments map[commentEnd]*ast.CommentGroup

type commentEnd struct {
	file string
	line int
}

func (c comments) add(pkg *loader.Package) {
	for _, file := range pkg.Syntax {
		for _, group := range file.Comments {
			end := pkg.Fset.Position(group.End())
			c[commentEnd{end.Filename, end.Line}] = group
		}
	}
}

// addInstances adds the instantiations of generic types that kinds use. Each has an apply configuration, like a type
// declared in the package. Its name combines the names of the type and its arguments.
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
				g.pkg.AddError(loader.ErrFromNode(fmt.Errorf("%s and %s would have the same name in apply configurations: %s",
					other, named, name), named.Origin().Obj()))
			}
			continue
		}
		known[name] = named
		_, doc := g.above(named.Origin().Obj())
		g.types = append(g.types, &apiType{name: name, named: named, comment: withoutMarkers(doc), applies: true,
			instance: true})
	}
	slices.SortStableFunc(g.types, func(a, b *apiType) int { return cmp.Compare(a.name, b.name) })
}

// plainName returns a name for a type without type arguments: BoxOfListOfString for Box[[]string]. Types of other
// packages are prefixed with the package name.
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

// above returns the comment directly above a position, and the comment above that with one blank line in between.
func (c comments) above(pos token.Position) (detached, doc []string) {
	group, height := c[commentEnd{pos.Filename, pos.Line - 1}], 0
	if group != nil {
		for _, comment := range group.List {
			height += 1 + strings.Count(comment.Text, "\n")
		}
	}
	return lines(c[commentEnd{pos.Filename, pos.Line - height - 2}]), lines(group)
}

// lines returns the lines of a comment without slashes.
func lines(group *ast.CommentGroup) []string {
	if text := strings.TrimRight(group.Text(), "\n"); text != "" {
		return strings.Split(text, "\n")
	}
	return nil
}

func withoutMarkers(lines []string) []string {
	var kept []string
	for _, line := range lines {
		if text, isMarker := markers.Line(line); !isMarker {
			kept = append(kept, text)
		}
	}
	return kept
}

// readTags applies the tags of client-gen in a comment.
func (t *apiType) readTags(lines []string) {
	t.applies = true
	for _, line := range lines {
		text, _ := markers.Line(line)
		tag, ok := strings.CutPrefix(text, "+genclient")
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(tag, "=")
		verbs := strings.Split(value, ",")
		switch name {
		case "":
			t.client = true
		case ":nonNamespaced":
			t.clusterWide = true
		case ":noStatus":
			t.noStatus = true
		case ":readonly":
			t.applies = false
		case ":skipVerbs":
			t.applies = !slices.Contains(verbs, "apply") || !slices.Contains(verbs, "applyStatus")
		case ":onlyVerbs":
			t.applies = slices.Contains(verbs, "apply") || slices.Contains(verbs, "applyStatus")
		case ":method":
			for _, parameter := range verbs {
				if subresource, ok := strings.CutPrefix(strings.TrimSpace(parameter), "subresource="); ok {
					t.subresources = append(t.subresources, subresource)
				}
			}
		}
	}
}
