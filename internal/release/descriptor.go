package release

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	library "sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// ownedKind is what OLM tells people of a kind.
type ownedKind struct {
	Description       string       `yaml:"description,omitempty"`
	DisplayName       string       `yaml:"displayName"`
	Kind              string       `yaml:"kind"`
	Name              string       `yaml:"name"`
	Resources         []resource   `yaml:"resources,omitempty"`
	SpecDescriptors   []descriptor `yaml:"specDescriptors,omitempty"`
	StatusDescriptors []descriptor `yaml:"statusDescriptors,omitempty"`
	Version           string       `yaml:"version"`
}

// resource is a kind whose objects belong to one of the operator's.
type resource struct {
	Kind    string `yaml:"kind"`
	Name    string `yaml:"name"`
	Version string `yaml:"version"`
}

// descriptor is what OLM tells people of a field, and how a form shows it.
type descriptor struct {
	Description  string   `yaml:"description,omitempty"`
	DisplayName  string   `yaml:"displayName"`
	Path         string   `yaml:"path"`
	XDescriptors []string `yaml:"x-descriptors,omitempty"`
}

// owned returns what to tell of all kinds and versions that clients can use.
func (m *manifest) owned(types map[typeKey]*typeDescription) []ownedKind {
	var all []ownedKind
	for _, crd := range m.definitions {
		kind := text(crd.Node, "spec", "names", "kind")
		for _, version := range served(crd) {
			schema := yamlnode.Value(version, "schema", "openAPIV3Schema")
			name := text(version, "name")
			k := ownedKind{
				Kind: kind, Name: crd.name, Version: name, DisplayName: displayName(kind), Description: sentence(text(schema, "description")),
				SpecDescriptors:   descriptors(yamlnode.Value(schema, "properties", "spec"), inSpec),
				StatusDescriptors: descriptors(yamlnode.Value(schema, "properties", "status"), inStatus),
			}
			if t := types[typeKey{text(crd.Node, "spec", "group"), name, kind}]; t != nil {
				t.describe(&k)
			}
			all = append(all, k)
		}
	}
	return all
}

// sentence returns a description in one line.
func sentence(description string) string { return strings.Join(strings.Fields(description), " ") }

// displayName returns a name as people write it: words, each with a capital.
func displayName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case r == '-' || r == '_' || r == '.':
			b.WriteRune(' ')
			continue
		case i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			b.WriteRune(' ')
		}
		if i == 0 || strings.ContainsRune("-_.", runes[i-1]) {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

const (
	inSpec   = "spec"
	inStatus = "status"
)

// descriptors returns those of the fields of a spec or a status, by name.
func descriptors(schema *yaml.Node, in string) []descriptor {
	properties := contentOf(yamlnode.Value(schema, "properties"))
	var all []descriptor
	for i := 0; i+1 < len(properties); i += 2 {
		name, field := properties[i].Value, properties[i+1]
		d := descriptor{Path: name, DisplayName: displayName(name), Description: sentence(text(field, "description"))}
		if shown := widget(name, field, in); shown != "" {
			d.XDescriptors = []string{shown}
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b descriptor) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// widget returns how a form shows a field, or "".
func widget(name string, field *yaml.Node, in string) string {
	const ui = "urn:alm:descriptor:com.tectonic.ui:"
	kind := text(field, "type")
	if in == inStatus {
		switch {
		case name == "conditions" && kind == "array":
			return "urn:alm:descriptor:io.kubernetes.conditions"
		case kind == "string":
			return "urn:alm:descriptor:text"
		}
		return ""
	}
	switch {
	case name == "replicas" && kind == "integer":
		return ui + "podCount"
	case kind == "integer" || kind == "number":
		return ui + "number"
	case kind == "boolean":
		return ui + "booleanSwitch"
	case kind == "string" && text(field, "format") == "password":
		return ui + "password"
	case kind == "string":
		return ui + "text"
	case yamlnode.Value(field, "properties", "limits") != nil && yamlnode.Value(field, "properties", "requests") != nil:
		return ui + "resourceRequirements"
	}
	return ""
}

// typeKey is the kind that a Go type is of.
type typeKey struct{ group, version, kind string }

// typeDescription is what the markers of operator-sdk say of a kind.
type typeDescription struct {
	displayName string
	resources   []resource
	fields      map[string][]fieldDescription // by spec and status
}

type fieldDescription struct {
	path, doc string
	fieldMarker
}

// fieldMarker is +operator-sdk:csv:customresourcedefinitions on a field, and typeMarker on a type.
type (
	fieldMarker struct {
		Type         string
		DisplayName  string   `marker:"displayName,optional"`
		XDescriptors []string `marker:"xDescriptors,optional"`
		Order        *int     `marker:"order,optional"`
	}
	typeMarker struct {
		DisplayName string     `marker:"displayName,optional"`
		Resources   [][]string `marker:"resources,optional"`
		Order       *int       `marker:"order,optional"`
	}
)

const markerName = "operator-sdk:csv:customresourcedefinitions"

// describe writes over what the schema says what the markers do. Fields with an order come first.
func (t *typeDescription) describe(k *ownedKind) {
	if t.displayName != "" {
		k.DisplayName = t.displayName
	}
	k.Resources = t.resources
	k.SpecDescriptors = withMarked(k.SpecDescriptors, t.fields[inSpec])
	k.StatusDescriptors = withMarked(k.StatusDescriptors, t.fields[inStatus])
}

func withMarked(all []descriptor, marked []fieldDescription) []descriptor {
	order := map[string]int{}
	for _, m := range marked {
		at := slices.IndexFunc(all, func(d descriptor) bool { return d.Path == m.path })
		if at < 0 {
			_, name, found := lastCut(m.path)
			if !found {
				name = m.path
			}
			all = append(all, descriptor{Path: m.path, DisplayName: displayName(strings.TrimSuffix(name, "[0]")), Description: sentence(m.doc)})
			at = len(all) - 1
		}
		if m.DisplayName != "" {
			all[at].DisplayName = m.DisplayName
		}
		if len(m.XDescriptors) > 0 {
			all[at].XDescriptors = m.XDescriptors
		}
		if m.Order != nil {
			order[m.path] = *m.Order
		}
	}
	slices.SortStableFunc(all, func(a, b descriptor) int {
		first, ordered := order[a.Path]
		second, too := order[b.Path]
		switch {
		case ordered && too && first != second:
			return first - second
		case ordered != too && ordered:
			return -1
		case ordered != too:
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	return all
}

func lastCut(path string) (before, after string, found bool) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:], true
	}
	return path, "", false
}

// describeTypes returns what the markers of operator-sdk say in the packages of a project.
func describeTypes(fsys fs.FS) (map[typeKey]*typeDescription, error) {
	folders := map[string]bool{}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (base == "third_party" || base == "vendor" || base == "node_modules" || strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case entry.Type().IsRegular() && strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go"):
			content, err := fs.ReadFile(fsys, name)
			if err != nil {
				return diagnostic.AtFile(name, "cannot read", err)
			}
			if bytes.Contains(content, []byte("+"+markerName)) {
				folders[path.Dir(name)] = true
			}
		}
		return nil
	})
	all := map[typeKey]*typeDescription{}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if err == nil {
			err = describeFolder(fsys, folder, all)
		}
	}
	return all, err
}

// goPackage is the syntax of an API package.
type goPackage struct {
	group   string
	structs map[string]*ast.StructType
	fields  map[*ast.Field]fieldMarker
	types   map[string]typeMarker
}

func describeFolder(fsys fs.FS, folder string, all map[typeKey]*typeDescription) error {
	p, err := parseFolder(fsys, folder)
	if err != nil {
		return err
	}
	for name, body := range p.structs {
		t := &typeDescription{displayName: p.types[name].DisplayName, fields: map[string][]fieldDescription{}}
		for _, r := range p.types[name].Resources {
			for len(r) < 3 {
				r = append(r, "")
			}
			t.resources = append(t.resources, resource{Kind: r[0], Version: r[1], Name: r[2]})
		}
		for _, field := range body.Fields.List {
			if in := jsonName(field); in == inSpec || in == inStatus {
				p.walk(t, in, "", field.Type, nil)
			}
		}
		all[typeKey{p.group, path.Base(folder), name}] = t
	}
	return nil
}

func parseFolder(fsys fs.FS, folder string) (*goPackage, error) {
	registry, err := markers.NewRegistry()
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(fsys, path.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &goPackage{structs: map[string]*ast.StructType{}, fields: map[*ast.Field]fieldMarker{}, types: map[string]typeMarker{}}
	fset := token.NewFileSet()
	for _, name := range files {
		content, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, diagnostic.AtFile(name, "cannot read", err)
		}
		file, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, &diagnostic.Error{Message: diagnostic.OneLine(err.Error()), Hint: "repair it, then run the command again"}
		}
		if err := p.add(fset, file, registry); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *goPackage) add(fset *token.FileSet, file *ast.File, registry *markers.Registry) error {
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok {
			if body, ok := spec.Type.(*ast.StructType); ok {
				p.structs[spec.Name.Name] = body
			}
		}
		return true
	})
	for _, m := range registry.Read(fset, file) {
		if group, ok := strings.CutPrefix(m.Text, "+groupName="); ok {
			p.group = strings.Trim(strings.TrimSpace(group), `"`)
		}
		if !strings.HasPrefix(m.Text, "+"+markerName) {
			continue
		}
		var err error
		switch node := m.Node.(type) {
		case *ast.Field:
			var value fieldMarker
			value, err = parseMarker[fieldMarker](m.Text, library.DescribesField)
			p.fields[node] = value
		case *ast.TypeSpec:
			p.types[node.Name.Name], err = parseMarker[typeMarker](m.Text, library.DescribesType)
		}
		if err != nil {
			return &diagnostic.Error{
				Pos: fset.Position(m.Pos), Message: "+" + markerName + ": " + diagnostic.OneLine(err.Error()),
				Hint: `on a field write type=spec or type=status, displayName="Size", xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}, order=1`,
			}
		}
	}
	return nil
}

func parseMarker[T any](text string, target library.TargetType) (value T, err error) {
	definition, err := library.MakeDefinition(markerName, target, value)
	if err != nil {
		return value, err
	}
	parsed, err := definition.Parse(text)
	if err != nil {
		return value, err
	}
	return parsed.(T), nil
}

// walk notes the fields below a type that have a marker. within are the types that it is in, which may name each other.
func (p *goPackage) walk(t *typeDescription, in, at string, typ ast.Expr, within []string) {
	switch typed := typ.(type) {
	case *ast.StarExpr:
		p.walk(t, in, at, typed.X, within)
	case *ast.ArrayType:
		p.walk(t, in, at+"[0]", typed.Elt, within)
	case *ast.Ident:
		body := p.structs[typed.Name]
		if body == nil || slices.Contains(within, typed.Name) {
			return
		}
		within = append(slices.Clone(within), typed.Name)
		for _, field := range body.Fields.List {
			p.field(t, in, at, field, within)
		}
	}
}

func (p *goPackage) field(t *typeDescription, in, at string, field *ast.Field, within []string) {
	name := jsonName(field)
	switch {
	case name == "-":
		return
	case name != "" && at != "":
		at += "." + name
	case name != "":
		at = name
	case len(field.Names) > 0:
		return
	}
	if marker, ok := p.fields[field]; ok && marker.Type == in && name != "" {
		t.fields[in] = append(t.fields[in], fieldDescription{path: at, doc: docText(field), fieldMarker: marker})
	}
	p.walk(t, in, at, field.Type, within)
}

// docText returns what the comment of a field says, without markers.
func docText(field *ast.Field) string {
	lines := strings.Split(field.Doc.Text(), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "+") }), "\n")
}

// jsonName returns what a field is called in an object: "" for one that is inlined.
func jsonName(field *ast.Field) string {
	if field.Tag == nil {
		return ""
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}
