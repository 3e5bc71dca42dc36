package postprocess

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// The steps of a path that are not names of fields.
const (
	items     = "[]" // of a list
	values    = "{}" // of a map
	anyField  = "*"
	anyDepth  = "**" // any number of steps, including zero
	wholePath = "the steps are names of fields, [] for the items of a list, {} for the values of a map, * for any field " +
		"and ** for any number of steps, as in spec.**.containers[].resources"
)

// fieldPath selects places in the schema of a kind. The empty path selects the schema itself.
type fieldPath []step

// step is a field, or one of the constants above.
type step struct {
	text  string
	field bool
}

func (s step) takes(child place) bool {
	switch {
	case s.field:
		return child.step == s
	case s.text == anyField:
		return child.step.field
	}
	return s.text == anyDepth || child.step == s
}

// parsePath reads a path as it is written: steps after dots, and brackets and braces without a dot. A name with other
// characters is in double quotes.
func parsePath(text string) (fieldPath, error) {
	var p fieldPath
	for rest := text; rest != ""; {
		var s step
		var err error
		switch {
		case strings.HasPrefix(rest, items), strings.HasPrefix(rest, values):
			s, rest = step{text: rest[:2]}, rest[2:]
		case rest[0] == '"':
			s, rest, err = quotedStep(rest)
		default:
			end := strings.IndexAny(rest, ".[{")
			if end < 0 {
				end = len(rest)
			}
			s, rest = step{text: rest[:end], field: rest[:end] != anyField && rest[:end] != anyDepth}, rest[end:]
			if s.text == "" || strings.ContainsAny(s.text, `]}"`) {
				err = errors.New("no name")
			}
		}
		if after, dot := strings.CutPrefix(rest, "."); dot && after != "" {
			rest = after
		} else if dot || rest != "" && rest[0] != '[' && rest[0] != '{' {
			err = fmt.Errorf("%q does not end a step", rest)
		}
		if err != nil {
			return p, fmt.Errorf("%s is not a valid path", diagnostic.Quote(text))
		}
		p = append(p, s)
	}
	return p, nil
}

func quotedStep(text string) (s step, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return step{}, text, err
	}
	name, err := strconv.Unquote(quoted)
	return step{text: name, field: true}, text[len(quoted):], err
}

// String returns the path as it is written.
func (p fieldPath) String() string {
	var text strings.Builder
	for _, s := range p {
		if text.Len() > 0 && s.text != items && s.text != values {
			text.WriteByte('.')
		}
		if s.field && strings.ContainsAny(s.text, `.[]{}*"`) {
			text.WriteString(strconv.Quote(s.text))
			continue
		}
		text.WriteString(s.text)
	}
	return text.String()
}

// place is a schema within the schema of a kind.
type place struct {
	schema *yaml.Node
	parent *yaml.Node // the schema that contains it; nil for the schema of the kind
	step   step       // the last step of the path
}

// children returns the schemas that a schema consists of, in their order.
func children(schema *yaml.Node) []place {
	var found []place
	if schema.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(schema.Content); i += 2 {
		value := schema.Content[i+1]
		switch key := schema.Content[i].Value; {
		case value.Kind != yaml.MappingNode:
		case key == "properties":
			for j := 0; j+1 < len(value.Content); j += 2 {
				if field := value.Content[j+1]; field.Kind == yaml.MappingNode {
					found = append(found, place{field, schema, step{text: value.Content[j].Value, field: true}})
				}
			}
		case key == "items":
			found = append(found, place{value, schema, step{text: items}})
		case key == "additionalProperties":
			found = append(found, place{value, schema, step{text: values}})
		}
	}
	return found
}

// match returns the places that a path selects, each once, in the order of the schema.
func (p fieldPath) match(root *yaml.Node) []place {
	var found []place
	var walk func(at place, taken []int)
	walk = func(at place, taken []int) {
		for i := 0; i < len(taken); i++ {
			if n := taken[i]; n < len(p) && !p[n].field && p[n].text == anyDepth && !slices.Contains(taken, n+1) {
				taken = append(taken, n+1)
			}
		}
		if slices.Contains(taken, len(p)) {
			found = append(found, at)
		}
		for _, child := range children(at.schema) {
			var next []int
			for _, n := range taken {
				switch {
				case n == len(p) || !p[n].takes(child):
				case !p[n].field && p[n].text == anyDepth:
					next = append(next, n)
				case !slices.Contains(next, n+1):
					next = append(next, n+1)
				}
			}
			if len(next) > 0 {
				walk(child, next)
			}
		}
	}
	walk(place{schema: root}, []int{0})
	return found
}

// remedy suggests a path for one that matches nothing in any of the schemas.
func (p fieldPath) remedy(roots []*yaml.Node) string {
	for n := len(p) - 1; n >= 0; n-- {
		here := p[:n].matchAll(roots)
		if len(here) == 0 {
			continue
		}
		wrong, before := p[n], p[:n:n]
		names, through := fieldsOf(here)
		for _, between := range through {
			nested, _ := fieldsOf(append(before, between).matchAll(roots))
			isMissing := len(names) == 0 && len(nested) == 0 && wrong.text != between.text
			if slices.Contains(nested, wrong.text) || isMissing {
				return "write " + slices.Concat(before, fieldPath{between}, p[n:]).String()
			}
		}
		if near, ok := diagnostic.Near(wrong.text, names); ok && wrong.field {
			return "write " + slices.Concat(before, fieldPath{{near, true}}, p[n+1:]).String()
		}
		where := cmp.Or(before.String(), "the kind")
		if len(names) == 0 {
			return where + " has no fields"
		}
		return diagnostic.Cut(where + " has " + strings.Join(names, ", "))
	}
	return wholePath
}

// fieldsOf returns the sorted names of the fields of places, and the steps to fields below lists and maps.
func fieldsOf(places []place) (names []string, through []step) {
	for _, at := range places {
		for _, child := range children(at.schema) {
			switch {
			case child.step.field:
				names = append(names, child.step.text)
			case !slices.Contains(through, child.step):
				through = append(through, child.step)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), through
}

// matchAll returns the places that the path selects in any of the schemas.
func (p fieldPath) matchAll(roots []*yaml.Node) []place {
	var found []place
	for _, root := range roots {
		found = append(found, p.match(root)...)
	}
	return found
}

// remove removes a place from its schema and from the required fields of that schema.
func (at place) remove() {
	switch at.step {
	case step{text: items}:
		yamlnode.Remove(at.parent, "items")
		return
	case step{text: values}:
		yamlnode.Remove(at.parent, "additionalProperties")
		return
	}
	fields := yamlnode.Value(at.parent, "properties")
	yamlnode.Remove(fields, at.step.text)
	if len(fields.Content) == 0 {
		yamlnode.Remove(at.parent, "properties")
	}
	keepItems(at.parent, "required", func(name string) bool { return name != at.step.text })
}

// keepItems keeps the strings of a list for which wanted returns true, and removes the list if it becomes empty.
func keepItems(mapping *yaml.Node, key string, wanted func(text string) bool) {
	list := yamlnode.Value(mapping, key)
	if list == nil {
		return
	}
	list.Content = slices.DeleteFunc(list.Content, func(item *yaml.Node) bool { return !wanted(item.Value) })
	if len(list.Content) == 0 {
		yamlnode.Remove(mapping, key)
	}
}
