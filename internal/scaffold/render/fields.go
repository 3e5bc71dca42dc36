package render

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/fields"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
	"golang.org/x/tools/go/ast/astutil"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
)

// Shape defines the fields and names of a kind with the flags of create api. The zero value defines an example kind
// with the field message.
type Shape struct {
	// Fields and StatusFields are the fields of spec and status, as package fields reads them.
	Fields, StatusFields []string
	// ShortNames and Categories are additional names that kubectl accepts for the resource.
	ShortNames, Categories []string
	// Columns are the columns that kubectl get prints, as NAME:TYPE:PATH.
	Columns []string
	// Scale has the paths of the scale subresource; "default" adds fields for it.
	Scale string
}

// IsZero reports whether no flag is set.
func (s Shape) IsZero() bool {
	return len(s.Fields)+len(s.StatusFields)+len(s.ShortNames)+len(s.Categories)+len(s.Columns) == 0 && s.Scale == ""
}

// Shape returns the kind with the fields that the flags of create api define. resource means that the command writes
// the kind's types.
func (o Kind) Shape(p *plan.Plan, opts KindOptions, resource bool) (Kind, error) {
	if opts.Operand != nil {
		opts.Shape = opts.Operand.shape(opts.Shape)
		o.View = o.View.WithOperand(opts.Operand.Port, opts.Operand.Finalizer)
	}
	if opts.Shape.IsZero() {
		return o.WithSample(p, resource)
	}
	if !resource {
		return o, diagnostic.Usage("flags for fields require Go types, which --resource=false does not write",
			"omit --resource=false, or change "+o.View.TypesFile()+" by hand")
	}
	names, err := namesMarker(opts.Shape, o.Resource)
	if err != nil {
		return o, err
	}
	older, further := layout.VersionBefore(o.project, o.Resource)
	if further && opts.Operand != nil {
		return o, diagnostic.Usage(
			"--from deployment is for the first version of a kind: its controller handles all versions", "omit it")
	}
	if flag := kindFlag(opts.Shape); further && flag != "" {
		return o, diagnostic.Usage(
			flag+" is for the first version of a kind: "+older.Version+" defines it, and further ones copy it",
			"omit it; or write it as a marker, which kctrl explain lists, above the type in "+o.View.TypesFile()+", too")
	}
	declared, err := gosource.Names(p, o.View.Folder, o.View.TypesFile())
	if err != nil {
		return o, err
	}
	if further {
		copied, err := gosource.Names(p, layout.KindView(o.project, older, "").Folder)
		if err != nil {
			return o, err
		}
		maps.Copy(declared, copied)
	}
	o.model, err = fields.Parse(fields.Request{
		Kind: o.Kind, Namespaced: o.Namespaced, Spec: opts.Shape.Fields, Status: opts.Shape.StatusFields,
		Scale: opts.Shape.Scale, Columns: opts.Shape.Columns,
		Taken: func(name string) bool { return declared[name] }, Further: further,
	})
	if err != nil {
		return o, err
	}
	o.View.Fields.Names = names
	return o, describe(&o.View, o.model)
}

// WithSample makes the test of a controller load its object from the sample, if the types exist and differ from the
// example's, because kctrl then cannot know which values are valid. written means that the command writes the types.
func (o Kind) WithSample(p *plan.Plan, written bool) (Kind, error) {
	older, further := layout.VersionBefore(o.project, o.Resource)
	if written && !further || !o.API {
		return o, nil
	}
	folder := o.View.Folder
	if written {
		folder = layout.KindView(o.project, older, "").Folder
	}
	files, err := gosource.ReadFiles(p, folder)
	for _, s := range files {
		if s.File == nil {
			continue // the go command reports it
		}
		spec := structOf(s.File, o.Kind+"Spec")
		if spec == nil {
			continue
		}
		isExample := slices.ContainsFunc(spec.Fields.List, func(f *ast.Field) bool {
			ident, ok := f.Type.(*ast.Ident)
			return jsonOf(f) == "message" && len(f.Names) == 1 && f.Names[0].Name == "Message" && ok && ident.Name == "string"
		})
		o.View.Fields.FromSample = !isExample || len(spec.Fields.List) > 1
	}
	return o, err
}

// kindFlag returns a set flag that applies to all versions of a kind.
func kindFlag(s Shape) string {
	switch {
	case len(s.ShortNames) > 0:
		return "--short-name"
	case len(s.Categories) > 0:
		return "--category"
	case len(s.Columns) > 0:
		return "--print-column"
	case s.Scale != "":
		return "--scale"
	}
	return ""
}

// namesMarker returns the part of the resource marker with short names and categories.
func namesMarker(s Shape, r project.Resource) (string, error) {
	var errs []error
	taken := []string{r.Plural, strings.ToLower(r.Kind)}
	marker := ""
	for _, list := range []struct {
		flag, key string
		values    []string
	}{{"--short-name", "shortName", s.ShortNames}, {"--category", "categories", s.Categories}} {
		for _, value := range list.values {
			hint := ""
			switch {
			case len(apivalidation.IsDNS1035Label(value)) > 0:
				hint = "use small letters and digits, beginning with a letter: " + list.flag + " gb"
			case slices.Contains(taken, value):
				hint = "omit it: the resource has this name already"
			default:
				taken = append(taken, value)
				continue
			}
			errs = append(errs, diagnostic.Usage(
				fmt.Sprintf("%s: %s is not a valid name", list.flag, diagnostic.Quote(value)),
				hint))
		}
		if len(list.values) > 0 {
			marker += "," + list.key + "=" + strings.Join(list.values, ";")
		}
		taken = nil
	}
	return marker, errors.Join(errs...)
}

// describe sets the template data about the fields.
func describe(kind *templates.KindView, model *fields.Model) error {
	view := &kind.Fields
	golang := model.Golang()
	imported := maps.Clone(golang.Imports)
	imported["metav1"] = "k8s.io/apimachinery/pkg/apis/meta/v1"
	view.Imports = nil
	for _, name := range slices.Sorted(maps.Keys(imported)) {
		view.Imports = append(view.Imports, templates.Import{Alias: aliasOf(name, imported[name]), Path: imported[name]})
	}
	view.Spec, view.Status, view.Types = golang.Spec, golang.Status, golang.Types
	view.Columns = nil
	columns := model.Columns()
	for _, c := range columns {
		view.Columns = append(view.Columns, c.Marker())
	}
	condition := struct{ name, marker string }{"Ready", templates.ReadyColumn}
	if kind.Operand.Label != "" {
		condition.name, condition.marker = "Available", templates.AvailableColumn
		view.ConditionsSay = "Available is True when enough replicas run, Progressing during a rollout, and Degraded after " +
			"an error."
	}
	for _, c := range []struct{ name, marker string }{condition, {"Age", templates.AgeColumn}} {
		if !slices.ContainsFunc(columns, func(other fields.Column) bool { return other.Name == c.name }) {
			view.Columns = append(view.Columns, c.marker)
		}
	}
	if scale := model.Scale(); scale != nil {
		view.Scale = scale.Marker()
	}
	if model.Empty() {
		return nil
	}
	node, err := model.Sample()
	if err != nil {
		return err
	}
	text, err := encodeYAML(node)
	if err != nil {
		return err
	}
	view.Sample = indent(string(text), "  ")
	test := model.Test(kind.Alias, kind.Variable)
	view.Test, view.TestChange, view.TestImports = test.Spec, test.Change, nil
	for _, path := range slices.Sorted(maps.Values(test.Imports)) {
		if path != imported["metav1"] {
			view.TestImports = append(view.TestImports, path)
		}
	}
	return nil
}

// aliasOf returns the alias that an import needs, or "" if the import path ends in the name.
func aliasOf(name, importPath string) string {
	if strings.HasSuffix(importPath, "/"+name) {
		return ""
	}
	return name
}

func encodeYAML(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := encoder.Encode(node)
	return out.Bytes(), errors.Join(err, encoder.Close())
}

func indent(text, by string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(by + line)
	}
	return out.String()
}

// extendTypes adds the additional fields of a second or later version to the copied structs, if a file has them.
func (o Kind) extendTypes(name string, source []byte) ([]byte, error) {
	s, ok := gosource.ParseSource(name, edit.Plain(source))
	if !ok || o.model == nil || structOf(s.File, o.Kind+"Spec") == nil {
		return source, nil
	}
	golang := o.model.Golang()
	var changes []edit.Splice
	for _, part := range []struct{ name, body string }{
		{o.Kind + "Spec", golang.Spec}, {o.Kind + "Status", golang.Status},
	} {
		if part.body == "" {
			continue
		}
		at, err := endOfStruct(s, part.name, part.body)
		if err != nil {
			return nil, err
		}
		changes = append(changes, edit.Splice{From: at, To: at, Text: "\n" + part.body})
	}
	source = edit.Apply(s.Text, changes)
	if golang.Types != "" {
		source = slices.Concat(source, []byte("\n"), []byte(golang.Types))
	}
	return addImports(name, source, golang.Imports)
}

// endOfStruct returns the offset at which fields are added to a struct. body has the fields.
func endOfStruct(s gosource.GoSource, structName, body string) (int, error) {
	form := structOf(s.File, structName)
	if form == nil {
		return 0, diagnostic.In(s.Name, "declares no struct "+structName+" to add fields to",
			"omit the flags for fields, and write the fields by hand")
	}
	more, _ := gosource.ParseSource("", []byte("package p\n\ntype t struct {\n"+body+"}\n"))
	for _, field := range structOf(more.File, "t").Fields.List {
		for _, old := range form.Fields.List {
			if jsonOf(old) == jsonOf(field) || slices.ContainsFunc(old.Names,
				func(n *ast.Ident) bool { return n.Name == field.Names[0].Name }) {
				return 0, diagnostic.Usage(
					fmt.Sprintf("%s has the field %s already, from the version that it is a copy of", structName, jsonOf(old)),
					"omit it, and change it in "+s.Name+" afterwards")
			}
		}
	}
	return s.Offset(form.Fields.Closing), nil
}

func structOf(file *ast.File, name string) *ast.StructType {
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
				form, _ := t.Type.(*ast.StructType)
				return form
			}
		}
	}
	return nil
}

// jsonOf returns the JSON name of a field.
func jsonOf(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}

// addImports returns a formatted Go file with the wanted imports under the wanted names.
func addImports(name string, source []byte, wanted map[string]string) ([]byte, error) {
	s, ok := gosource.ParseSource(name, source)
	if !ok {
		return format.Source(source) // returns the error
	}
	has := s.Imports()
	for _, as := range slices.Sorted(maps.Keys(wanted)) {
		if has[as] != wanted[as] {
			astutil.AddNamedImport(s.Set, s.File, aliasOf(as, wanted[as]), wanted[as])
		}
	}
	var out bytes.Buffer
	err := format.Node(&out, s.Set, s.File)
	return out.Bytes(), err
}

// extendSample adds the additional fields of a second or later version to the copied sample.
func (o Kind) extendSample(name string, text []byte) ([]byte, error) {
	if o.model == nil || o.model.Empty() {
		return text, nil
	}
	more, err := o.model.Sample()
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, diagnostic.AtFile(name, "cannot read", err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return text, nil // the user removed the object
	}
	root := document.Content[0]
	spec := yamlnode.Value(root, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return text, nil
	}
	spec.Content = append(spec.Content, more.Content...)
	return encodeYAML(&document)
}
