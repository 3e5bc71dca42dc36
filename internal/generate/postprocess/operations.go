package postprocess

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// operation is an operation on an object, or on places in the schema of a kind.
type operation struct {
	name, usage string
	// read converts the arguments of the operation to changes. Each change must have an effect.
	read func(v value, in yamlnode.Insert) ([]change, error)
}

// change is an operation with its arguments: one of two functions, which report whether they changed anything.
type change struct {
	value
	name   string // of the operation
	what   string // what the objects lack if the change has no effect, for messages
	schema func(at place) bool
	object func(d *document) (bool, error)
}

// operations lists all operations. A new operation needs only a row here.
var operations []operation

// init breaks the initialization cycle: patches of an output have operations as keys.
func init() {
	operations = []operation{
		{"delete", "keywords to delete, such as `required`", readDelete},
		{"set", "keywords to set, and their values", readSet},
		{"append", "items to append to list keywords, such as `enum` and `x-kubernetes-validations`, or text to append to " +
			"`description`", readAppend},
		{"replace", "schema that replaces the old one", readReplace},
		{"fields", "schemas of fields to add or replace; `at: metadata` and `fields: {name: {type: string, pattern: " +
			"^default$}}` restrict names", readFields},
		{"remove", "`true` removes the field, or the schema of the items of a list or the values of a map", readRemove},
		{"partial", "`true` makes the schema accept partial objects, as in server-side apply: objects that are merged " +
			"require only the keys of their list", readPartial},
		{"cutText", "`from` and `to`: deletes the part of the description from the text `from` through the text `to`, and " +
			"the space before it", readCutText},
		{"annotations", "annotations to set on the object; the value `null` removes an annotation",
			readMetadata("annotations")},
		{"labels", "labels to set on the object; the value `null` removes a label", readMetadata("labels")},
		{"name", "new name of the object, such as a webhook configuration", readName},
		{"merge", "JSON merge patch (RFC 7386) for the whole object, for example to set the conversion of a CRD",
			readMerge},
		{"emptyVersion", "`name` and `description` of a version to add, without fields and not served; use it for a " +
			"removed version in which objects may be stored", readEmptyVersion},
		{"dropRules", "API groups; deletes the rules of roles that contain one of them", readRules(false)},
		{"keepRules", "API groups; deletes the rules of roles that contain none of them", readRules(true)},
		{"lists", "style of YAML lists: `compact` as controller-gen writes them, or `indented` as yq does", readLists},
		{"maxBytes", "maximum size of the object as JSON; kubectl apply without --server-side accepts less than 262144",
			readMaxBytes},
	}
}

func operationNames() []string {
	var names []string
	for _, o := range operations {
		names = append(names, o.name)
	}
	return names
}

// keywords are the keywords of schemas.
var keywords = func() []string {
	var names []string
	for field := range reflect.TypeFor[apiextensionsv1.JSONSchemaProps]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

func checkKeyword(v value) error {
	if slices.Contains(keywords, v.Value) {
		return nil
	}
	hint := "the keywords are " + strings.Join(keywords, ", ")
	if near, ok := diagnostic.Near(v.Value, keywords); ok {
		hint = "write " + near
	}
	return v.wrong("a schema has no "+diagnostic.Quote(v.Value), hint)
}

// checkSchema reports values that cannot be schemas.
func checkSchema(v value) error {
	if v.Kind != yaml.MappingNode {
		return v.wrong("want a schema", "write it as a mapping, as in {type: string}")
	}
	text, err := yaml.Marshal(v.Node)
	if err == nil {
		text, err = sigsyaml.YAMLToJSON(text)
	}
	if err != nil {
		return v.wrong("no schema: "+diagnostic.OneLine(err.Error()), "write it as in a CRD")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&apiextensionsv1.JSONSchemaProps{}); err != nil {
		message := strings.TrimPrefix(err.Error(), "json: ")
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			message = fmt.Sprintf("%s cannot be a %s", wrong.Field, wrong.Value)
		}
		return v.wrong("no schema: "+diagnostic.OneLine(message), "write it as in a CRD")
	}
	return nil
}

func readDelete(v value, _ yamlnode.Insert) ([]change, error) {
	var changes []change
	err := v.eachText(func(v value, keyword string) error {
		changes = append(changes, change{value: v, what: "has " + keyword,
			schema: func(at place) bool { return yamlnode.Remove(at.schema, keyword) }})
		return checkKeyword(v)
	})
	return changes, err
}

// eachKeyword reads a mapping of keywords, and checks each keyword together with its value.
func eachKeyword(v value, makes func(keyword, v value) change) ([]change, error) {
	var changes []change
	err := v.each(func(keyword, v value) error {
		changes = append(changes, makes(keyword, v))
		if err := checkKeyword(keyword); err != nil {
			return err
		}
		single := yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{keyword.Node, v.Node}, Line: v.Line,
			Column: v.Column}
		return checkSchema(value{v.file, &single})
	})
	return changes, err
}

func readSet(v value, in yamlnode.Insert) ([]change, error) {
	return eachKeyword(v, func(keyword, v value) change {
		return change{value: keyword, schema: func(at place) bool {
			in.Set(at.schema, keyword.Value, prepared(in, v))
			return true
		}}
	})
}

func readAppend(v value, in yamlnode.Insert) ([]change, error) {
	var errs []error
	changes, err := eachKeyword(v, func(keyword, v value) change {
		if v.Kind != yaml.SequenceNode && keyword.Value != "description" {
			errs = append(errs, v.wrong("nothing can be added to "+keyword.Value, "add to a list or to the description, or set "+
				keyword.Value))
		}
		return change{value: keyword, what: "lacks any of that", schema: func(at place) bool {
			present := yamlnode.Value(at.schema, keyword.Value)
			switch {
			case present == nil:
				in.Set(at.schema, keyword.Value, prepared(in, v))
				return true
			case v.Kind == yaml.SequenceNode:
				return appendItems(present, prepared(in, v).Content)
			}
			present.Value += v.Value
			return true
		}}
	})
	return changes, errors.Join(append(errs, err)...)
}

// appendItems appends missing items to a list and reports whether it appended any.
func appendItems(list *yaml.Node, items []*yaml.Node) bool {
	before := len(list.Content)
	for _, item := range items {
		there := func(present *yaml.Node) bool {
			return item.Kind == yaml.ScalarNode && present.Kind == yaml.ScalarNode && present.Value == item.Value &&
				present.ShortTag() == item.ShortTag()
		}
		if !slices.ContainsFunc(list.Content, there) {
			list.Content = append(list.Content, item)
		}
	}
	list.Style &^= yaml.FlowStyle
	return len(list.Content) > before
}

// prepared returns a copy of a value of the file, in the style of generated files. If new keys are sorted, it sorts the
// keys of the copy.
func prepared(in yamlnode.Insert, v value) *yaml.Node {
	node := yamlnode.Clone(v.Node)
	var walk func(node *yaml.Node)
	walk = func(node *yaml.Node) {
		node.HeadComment, node.LineComment, node.FootComment = "", "", ""
		node.Anchor, node.Style, node.Line, node.Column = "", 0, 0, 0
		if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && strings.Contains(node.Value, "\n") {
			node.Style = yaml.LiteralStyle
		}
		if node.Kind == yaml.MappingNode && in.Sorted {
			sorted := yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			for i := 0; i+1 < len(node.Content); i += 2 {
				in.Set(&sorted, node.Content[i].Value, node.Content[i+1])
			}
			node.Content = sorted.Content
		}
		for _, child := range node.Content {
			walk(child)
		}
	}
	walk(node)
	return node
}

func readReplace(v value, in yamlnode.Insert) ([]change, error) {
	return []change{{value: v, schema: func(at place) bool {
		*at.schema = *prepared(in, v)
		return true
	}}}, checkSchema(v)
}

func readFields(v value, in yamlnode.Insert) ([]change, error) {
	var changes []change
	err := v.each(func(name, v value) error {
		changes = append(changes, change{value: name, schema: func(at place) bool {
			in.Set(in.Ensure(at.schema, "properties"), name.Value, prepared(in, v))
			return true
		}})
		return checkSchema(v)
	})
	return changes, err
}

func readRemove(v value, _ yamlnode.Insert) ([]change, error) {
	return []change{{value: v, what: "can be removed", schema: func(at place) bool {
		if at.parent == nil {
			return false
		}
		at.remove()
		return true
	}}}, v.isTrue()
}

func readPartial(v value, _ yamlnode.Insert) ([]change, error) {
	return []change{{value: v, what: "requires anything that a part could lack", schema: func(at place) bool {
		return makePartial(at.schema, nil)
	}}}, v.isTrue()
}

// makePartial removes the required fields of objects that are merged. The keys of the list that contains the objects
// stay required.
func makePartial(schema *yaml.Node, keys []string) bool {
	changed := false
	switch {
	case textOf(schema, "type") == "object" && textOf(schema, "x-kubernetes-map-type") != "atomic":
		if required := yamlnode.Value(schema, "required"); required != nil {
			before := len(required.Content)
			keepItems(schema, "required", func(name string) bool { return slices.Contains(keys, name) })
			changed = len(required.Content) < before
		}
		for _, child := range children(schema) {
			if child.step.field && makePartial(child.schema, nil) {
				changed = true
			}
		}
	case textOf(schema, "type") == "array" && textOf(schema, "x-kubernetes-list-type") == "map":
		var own []string
		for _, node := range yamlnode.Items(schema, "x-kubernetes-list-map-keys") {
			own = append(own, node.Value)
		}
		if items := yamlnode.Value(schema, "items"); items != nil {
			changed = makePartial(items, own)
		}
	}
	return changed
}

func readCutText(v value, _ yamlnode.Insert) ([]change, error) {
	var from, to string
	err := readSection(v, &struct{}{}, []key[struct{}]{
		{"from", "", func(_ *struct{}, v value) error { return v.readText(&from) }},
		{"to", "", func(_ *struct{}, v value) error { return v.readText(&to) }},
	})
	if err == nil && (from == "" || to == "") {
		err = v.wrong("want from and to", "write cutText: {from: text, to: text}")
	}
	return []change{{value: v, what: "describes itself with " + diagnostic.Quote(from) + " and " + diagnostic.Quote(to),
		schema: func(at place) bool {
			description := yamlnode.Value(at.schema, "description")
			if description == nil {
				return false
			}
			before := description.Value
			description.Value = cut(before, from, to)
			return description.Value != before
		}}}, err
}

// cut removes the part of a string from one substring through another one, and the space before it.
func cut(text, from, to string) string {
	var kept strings.Builder
	for {
		before, rest, found := strings.Cut(text, from)
		_, after, ended := strings.Cut(rest, to)
		if !found || !ended {
			kept.WriteString(text)
			return kept.String()
		}
		kept.WriteString(strings.TrimRight(before, " \t\n"))
		text = after
	}
}

func readMetadata(of string) func(value, yamlnode.Insert) ([]change, error) {
	return func(v value, in yamlnode.Insert) ([]change, error) {
		var changes []change
		err := v.each(func(name, v value) error {
			if v.ShortTag() == "!!null" {
				changes = append(changes, change{value: name, what: "has it", object: func(d *document) (bool, error) {
					all := yamlnode.Value(d.object, "metadata", of)
					removed := yamlnode.Remove(all, name.Value)
					if removed && len(all.Content) == 0 {
						yamlnode.Remove(yamlnode.Value(d.object, "metadata"), of)
					}
					return removed, nil
				}})
				return nil
			}
			_, err := v.text()
			changes = append(changes, change{value: name, object: func(d *document) (bool, error) {
				text := prepared(in, v)
				text.Tag = "!!str"
				in.Set(in.Ensure(in.Ensure(d.object, "metadata"), of), name.Value, text)
				return true, nil
			}})
			return err
		})
		return changes, err
	}
}

func readName(v value, in yamlnode.Insert) ([]change, error) {
	_, err := v.text()
	return []change{{value: v, object: func(d *document) (bool, error) {
		in.Set(in.Ensure(d.object, "metadata"), "name", prepared(in, v))
		return true, nil
	}}}, err
}

func readMerge(v value, in yamlnode.Insert) ([]change, error) {
	if v.Kind != yaml.MappingNode {
		return nil, v.wrong("want a mapping", "write it as the object is written, with what is to change")
	}
	return []change{{value: v, object: func(d *document) (bool, error) {
		mergeInto(in, d.object, prepared(in, v))
		if !d.isDefinition() {
			return true, nil
		}
		text, err := yaml.Marshal(d.object)
		if err == nil {
			err = sigsyaml.UnmarshalStrict(text, &apiextensionsv1.CustomResourceDefinition{})
		}
		if err != nil {
			reason := strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: ")
			err = v.wrong("not a valid CustomResourceDefinition: "+diagnostic.OneLine(reason), "write it as in a CRD")
		}
		return true, err
	}}}, nil
}

// mergeInto applies a JSON merge patch to an object.
func mergeInto(in yamlnode.Insert, object, patch *yaml.Node) {
	for i := 0; i+1 < len(patch.Content); i += 2 {
		name, value := patch.Content[i].Value, patch.Content[i+1]
		switch present := yamlnode.Value(object, name); {
		case value.ShortTag() == "!!null":
			yamlnode.Remove(object, name)
		case value.Kind != yaml.MappingNode:
			in.Set(object, name, value)
		default:
			if present == nil || present.Kind != yaml.MappingNode {
				present = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
				in.Set(object, name, present)
			}
			mergeInto(in, present, value)
		}
	}
}

func readEmptyVersion(v value, in yamlnode.Insert) ([]change, error) {
	var name, description string
	err := readSection(v, &struct{}{}, []key[struct{}]{
		{"name", "", func(_ *struct{}, v value) error { return v.readText(&name) }},
		{"description", "", func(_ *struct{}, v value) error { return v.readText(&description) }},
	})
	if err == nil && name == "" {
		err = v.wrong("want a name", "write emptyVersion: {name: v1alpha1}")
	}
	return []change{{value: v, what: "lacks the version " + name, object: func(d *document) (bool, error) {
		list := yamlnode.Value(d.object, "spec", "versions")
		if list == nil || slices.ContainsFunc(d.versions(), func(v version) bool { return v.name == name }) {
			return false, nil
		}
		schema := map[string]any{"type": "object"}
		if description != "" {
			schema["description"] = description
		}
		var added yaml.Node
		err := added.Encode(map[string]any{
			"name": name, "served": false, "storage": false, "schema": map[string]any{"openAPIV3Schema": schema},
		})
		list.Content = append(list.Content, &added)
		return true, err
	}}}, err
}

func readRules(keep bool) func(value, yamlnode.Insert) ([]change, error) {
	return func(v value, _ yamlnode.Insert) ([]change, error) {
		var groups []string
		err := v.eachText(func(_ value, group string) error { groups = append(groups, group); return nil })
		return []change{{value: v, what: "has rules to remove", object: func(d *document) (bool, error) {
			rules := yamlnode.Value(d.object, "rules")
			if rules == nil {
				return false, nil
			}
			before := len(rules.Content)
			rules.Content = slices.DeleteFunc(rules.Content, func(rule *yaml.Node) bool {
				return keep != slices.ContainsFunc(yamlnode.Items(rule, "apiGroups"),
					func(n *yaml.Node) bool { return slices.Contains(groups, n.Value) })
			})
			return len(rules.Content) < before, nil
		}}}, err
	}
}

func readLists(v value, _ yamlnode.Insert) ([]change, error) {
	var style listStyle
	err := readChoice(v, &style, compact, indented)
	return []change{{value: v, object: func(d *document) (bool, error) {
		d.lists = style
		return true, nil
	}}}, err
}

func readMaxBytes(v value, _ yamlnode.Insert) ([]change, error) {
	limit, err := v.number()
	return []change{{value: v, object: func(d *document) (bool, error) {
		var object any
		if err := d.object.Decode(&object); err != nil {
			return true, err
		}
		text, err := json.Marshal(object) // as kubectl stores it in an annotation
		if err == nil && len(text) > limit {
			err = v.wrong(fmt.Sprintf("%s has %d bytes as JSON, more than %d", d, len(text), limit),
				`delete descriptions before, as in {at: "**", delete: description}, or apply it on the side of the server`)
		}
		return true, err
	}}}, err
}
