package fields

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Column is a print column.
type Column struct {
	Name, Type, Path string
	// Priority is 1 for a column that only -o wide shows.
	Priority int
}

// Marker returns the marker of the column.
func (c Column) Marker() string {
	text := fmt.Sprintf("+kubebuilder:printcolumn:name=%q,type=%q,JSONPath=%q", c.Name, c.Type, c.Path)
	if c.Priority > 0 {
		text += fmt.Sprintf(",priority=%d", c.Priority)
	}
	return text
}

// Scale has the paths of the scale subresource.
type Scale struct{ Spec, Status, Selector string }

// Marker returns the marker of the subresource.
func (s Scale) Marker() string {
	text := "+kubebuilder:subresource:scale:specpath=" + s.Spec + ",statuspath=" + s.Status
	if s.Selector != "" {
		text += ",selectorpath=" + s.Selector
	}
	return text
}

// columnTypes maps each type of columns to the kinds of values that it can print.
var columnTypes = map[string][]schemaKind{
	"integer": {kindInteger}, "number": {kindInteger}, "boolean": {kindBoolean}, "date": {kindTime},
	"string": {kindText, kindInteger, kindBoolean, kindIntOrString, kindObject, kindTime},
}

// foreignColumns maps other names of types to those of columns.
var foreignColumns = map[string]string{
	"int": "integer", "int32": "integer", "int64": "integer", "bool": "boolean", "time": "date", "quantity": "string",
	"duration": "string",
}

// kindTime is the kind of strings that contain a time.
const kindTime schemaKind = "date"

// parseColumn parses NAME:TYPE:PATH.
func (m *Model) parseColumn(text string) (Column, error) {
	f := &flag{name: "--print-column", text: text}
	const form = "write --print-column Size:integer:.spec.size"
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return Column{}, f.refuse("", "a column requires a name, a type and a path", form)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return Column{}, f.refuse("", "it contains a control character", form)
	}
	c := Column{Name: parts[0], Type: parts[1], Path: parts[2]}
	if path, ok := strings.CutSuffix(c.Path, ",wide"); ok {
		c.Path, c.Priority = path, 1
	}
	allowed, ok := columnTypes[c.Type]
	if !ok {
		names := slices.Sorted(maps.Keys(columnTypes))
		hint := "the types are " + strings.Join(names, ", ")
		near, ok := foreignColumns[c.Type]
		if !ok {
			near, ok = diagnostic.Near(c.Type, names)
		}
		if ok {
			hint = "did you mean " + near + "?"
		}
		return c, f.refuse(c.Type, "unknown type of a column", hint)
	}
	for _, other := range m.columns {
		if other.Name == c.Name {
			return c, f.refuse(c.Name, "a column with this name exists", "choose another name")
		}
	}
	kind, err := m.resolve(f, c.Path)
	if err != nil {
		return c, err
	}
	if !slices.Contains(allowed, kind) {
		is := string(kind)
		if _, ok := columnTypes[is]; !ok {
			is = "string"
		}
		return c, f.refuse(c.Type, c.Path+" is not of type "+c.Type, "did you mean "+is+"?")
	}
	return c, nil
}

// parseScale parses the paths of --scale, or creates the default fields.
func (m *Model) parseScale(text string) (*Scale, error) {
	f := &flag{name: "--scale", text: text}
	if text == "" {
		return nil, nil
	}
	s := &Scale{Spec: ".spec.replicas", Status: ".status.replicas", Selector: ".status.selector"}
	if text != "default" {
		parts := strings.Split(text, ",")
		if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
			return nil, f.refuse("", "the paths of the replicas in spec and status are required",
				"write --scale=.spec.replicas,.status.replicas,.status.selector, or --scale alone")
		}
		s.Spec, s.Status, s.Selector = parts[0], parts[1], strings.Join(parts[2:], "")
	} else {
		for _, of := range []struct {
			in         *object
			name, rest string
		}{
			{m.spec, "replicas", `:int32,min=0,default=1,doc="replicas is the desired number of replicas."`},
			{m.status, "replicas", `:int32,min=0,doc="replicas is the actual number of replicas."`},
			{m.status, "selector", `:string,doc="selector selects them, as a string that the API server can parse."`},
		} {
			if of.in.find(of.name) != nil {
				continue
			}
			if err := m.add(of.in, of.name+of.rest); err != nil {
				return nil, err
			}
		}
	}
	for _, of := range []struct {
		path, root string
		kind       schemaKind
	}{{s.Spec, ".spec.", kindInteger}, {s.Status, ".status.", kindInteger}, {s.Selector, ".status.", kindText}} {
		if of.path == "" {
			continue
		}
		if strings.Contains(of.path, "[") || !strings.HasPrefix(of.path, of.root) {
			return nil, f.refuse(of.path, "not a path of fields in "+strings.Trim(of.root, "."), "write "+of.root+"replicas")
		}
		kind, err := m.resolve(f, of.path)
		if err != nil {
			return nil, err
		}
		if kind != of.kind {
			return nil, f.refuse(of.path, "not of type "+string(of.kind), "change the type of the field")
		}
	}
	return s, nil
}

// step matches one step of a JSON path.
var step = regexp.MustCompile(`^(\.([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+|\*|\?\(.*?\))\]|\['([^']*)'\])`)

// metadata are the fields of the metadata that columns can print.
var metadata = map[string]schemaKind{
	"name": kindText, "generateName": kindText, "namespace": kindText, "uid": kindText, "resourceVersion": kindText,
	"generation":        kindInteger,
	"creationTimestamp": kindTime, "deletionTimestamp": kindTime, "labels": kindObject, "annotations": kindObject,
	"finalizers": kindObject, "ownerReferences": kindObject,
}

// resolve follows a JSON path from the object, and returns the kind of its value.
func (m *Model) resolve(f *flag, path string) (schemaKind, error) {
	var steps []string
	for rest := path; rest != ""; {
		found := step.FindStringSubmatch(rest)
		if found == nil {
			return "", f.refuse(path, "not a JSON path", "write it like .spec.size, or "+
				".status.conditions[?(@.type=='Ready')].status")
		}
		steps = append(steps, cmp.Or(found[2]+found[4], "[]"))
		rest = rest[len(found[0]):]
	}
	roots := []string{"spec", "status", "metadata"}
	if len(steps) < 2 || !slices.Contains(roots, steps[0]) {
		return "", f.refuse(path, "the path must start with .spec, .status or .metadata", "write it like .spec.size")
	}
	if steps[0] == "metadata" {
		kind, ok := metadata[steps[1]]
		if !ok {
			return "", noField(f, path, steps[1], slices.Collect(maps.Keys(metadata)))
		}
		if kind == kindObject && len(steps) > 2 {
			return kindText, nil
		}
		return kind, nil
	}
	in := m.spec
	if steps[0] == "status" {
		in = m.status
		if kind, ok := commonStatus[strings.Join(steps[1:], ".")]; ok {
			return kind, nil
		}
	} else if m.Empty() && len(steps) == 2 && steps[1] == "message" {
		return kindText, nil // the type of the example
	}
	return in.resolve(f, path, steps[1:])
}

// commonStatus has the paths of the fields that every status has.
var commonStatus = map[string]schemaKind{
	"observedGeneration": kindInteger, "conditions": kindObject, "conditions.[]": kindObject,
	"conditions.[].type": kindText, "conditions.[].status": kindText, "conditions.[].reason": kindText,
	"conditions.[].message": kindText, "conditions.[].lastTransitionTime": kindTime,
	"conditions.[].observedGeneration": kindInteger,
}

func (o *object) resolve(f *flag, path string, steps []string) (schemaKind, error) {
	child := o.find(steps[0])
	if child == nil {
		var names []string
		for _, c := range o.fields {
			names = append(names, c.name)
		}
		return "", noField(f, path, steps[0], names)
	}
	steps = steps[1:]
	if child.collection() {
		if len(steps) == 0 {
			return kindObject, nil
		}
		if (child.form == list) != (steps[0] == "[]") {
			return "", f.refuse(path, child.path()+" is "+child.form.name, "write ."+child.path()+child.form.index)
		}
		steps = steps[1:]
	}
	switch {
	case len(steps) == 0 && child.object != nil:
		return kindObject, nil
	case len(steps) == 0:
		if child.scalar.name == "time" || child.scalar.name == "microtime" || child.format == "date-time" {
			return kindTime, nil
		}
		return child.scalar.kind, nil
	case child.object == nil && child.scalar.name == "condition":
		return kindText, nil
	case child.object == nil:
		return "", f.refuse(path, child.path()+" is a "+child.typ+", which has no fields", "end the path there")
	}
	return child.object.resolve(f, path, steps)
}

func noField(f *flag, path, name string, names []string) error {
	slices.Sort(names)
	hint := "add the field, or use the path of another one"
	if near, ok := diagnostic.Near(name, names); ok {
		hint = "did you mean " + near + "?"
	} else if len(names) > 0 {
		hint = "the fields are " + strings.Join(names, ", ")
	}
	return f.refuse(path, "unknown field "+diagnostic.Quote(name), hint)
}
