package postprocess

import (
	"errors"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// Declaration is the parsed content of a postprocessing file. It is immutable.
type Declaration struct {
	name    string
	insert  yamlnode.Insert
	patches []patch
	outputs []output
}

// key is a valid key in a section of the file.
type key[T any] struct {
	name, usage string
	read        func(to *T, v value) error
}

// declarationKeys are the keys of the file. newKeys comes before patches, because the patches use its value.
var declarationKeys = []key[Declaration]{
	{"newKeys", "`sorted` or `last`: where a patch inserts new keys. Default: `sorted`",
		func(d *Declaration, v value) error {
			order := ""
			err := readChoice(v, &order, "sorted", "last")
			d.insert.Sorted = order == "sorted"
			return err
		}},
	{"patches", "changes to the objects, applied in order",
		func(d *Declaration, v value) error { return readList(v, &d.patches, d.readPatch) }},
	{"outputs", "additional files with the objects",
		func(d *Declaration, v value) error { return readList(v, &d.outputs, d.readOutput) }},
}

// Parse reads the content of a file. Errors are joined from *diagnostic.Error.
func Parse(name string, content []byte) (*Declaration, error) {
	d := &Declaration{name: name, insert: yamlnode.Insert{Sorted: true}}
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		return nil, diagnostic.YAML(name, content, err, "see docs/postprocess.md for the valid keys")
	}
	if root.Kind == 0 {
		return d, nil // An empty file, or only comments.
	}
	if err := replaceAliases(name, root.Content[0]); err != nil {
		return nil, err
	}
	return d, readSection(value{name, root.Content[0]}, d, declarationKeys)
}

// mostNodes limits the size of a declaration after its aliases are replaced. No real file needs as many nodes.
const mostNodes = 100_000

// replaceAliases replaces aliases by copies of their anchored values, which precede them.
func replaceAliases(file string, root *yaml.Node) error {
	nodes := 0
	var walk func(node *yaml.Node) error
	walk = func(node *yaml.Node) error {
		if nodes++; nodes > mostNodes {
			return value{file, root}.wrong("more than "+strconv.Itoa(mostNodes)+" values", "use fewer aliases of aliases")
		}
		if node.Kind == yaml.AliasNode {
			line, column := node.Line, node.Column
			*node = *yamlnode.Clone(node.Alias)
			node.Line, node.Column = line, column
		}
		for _, child := range node.Content {
			if err := walk(child); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(root)
}

type selection struct {
	kinds, except []selector
}

// selector selects a kind, a kind of one group, all kinds of a group, or all kinds.
type selector struct {
	value
	kind, group string // "" is any group, and * any kind that a CustomResourceDefinition defines
}

func (s selector) named() bool { return s.kind != "*" }

func (s selector) takes(d *document) bool {
	kind, group := d.kind()
	if !s.named() && !d.isDefinition() {
		return false
	}
	return (s.kind == "*" || s.kind == kind) && (s.group == "" || s.group == group)
}

func (s selection) takes(d *document) bool {
	takes := func(s selector) bool { return s.takes(d) }
	return slices.ContainsFunc(s.kinds, takes) && !slices.ContainsFunc(s.except, takes)
}

func readSelectors(to *[]selector, v value) error {
	return v.eachText(func(v value, text string) error {
		kind, group, _ := strings.Cut(text, ".")
		if kind == "" {
			return v.wrong("no kind in "+diagnostic.Quote(text), "write Kind, Kind.group, *.group or \"*\"")
		}
		*to = append(*to, selector{v, kind, group})
		return nil
	})
}

// selectionKeys returns the keys that select objects.
func selectionKeys[T any](of func(*T) *selection) []key[T] {
	return []key[T]{
		{"kinds", "`Kind`, `Kind.group`, `*.group` or `\"*\"`: kinds of CRDs, `ClusterRole`, `Role`, " +
			"`MutatingWebhookConfiguration` or `ValidatingWebhookConfiguration`. `*` matches only kinds of CRDs",
			func(to *T, v value) error { return readSelectors(&of(to).kinds, v) }},
		{"except", "kinds to exclude from `kinds`",
			func(to *T, v value) error { return readSelectors(&of(to).except, v) }},
	}
}

// patch is a list of operations on some objects.
type patch struct {
	value
	selection
	versions []value
	at       []located
	changes  []change
	insert   yamlnode.Insert
}

// located is a path with its position in the file.
type located struct {
	value
	path fieldPath
}

var patchKeys = append(selectionKeys(func(p *patch) *selection { return &p.selection }), []key[patch]{
	{"versions", "API versions to change. Default: all",
		func(p *patch, v value) error {
			return v.eachText(func(v value, _ string) error { p.versions = append(p.versions, v); return nil })
		}},
	{"at", "paths in the schema, such as `spec.containers[].image`. Default: the schema of the kind",
		func(p *patch, v value) error {
			return v.eachText(func(v value, text string) error {
				parsed, err := parsePath(text)
				if err != nil {
					return v.wrong(err.Error(), wholePath)
				}
				p.at = append(p.at, located{v, parsed})
				return nil
			})
		}},
}...)

func (d *Declaration) readPatch(v value) (patch, error) {
	p := patch{value: v, insert: d.insert}
	keys := slices.Clone(patchKeys)
	for _, o := range operations {
		keys = append(keys, key[patch]{o.name, o.usage, func(p *patch, v value) error {
			changes, err := o.read(v, p.insert)
			for i := range changes {
				changes[i].name = o.name
			}
			p.changes = append(p.changes, changes...)
			return err
		}})
	}
	if err := readSection(v, &p, keys); err != nil {
		return p, err
	}
	if len(p.kinds) == 0 {
		return p, v.wrong("no kinds", "add kinds: [Kind], or kinds: [\"*\"] for all that are generated")
	}
	if len(p.changes) == 0 {
		return p, v.wrong("no operation", "add one or more of "+strings.Join(operationNames(), ", "))
	}
	for _, c := range p.changes {
		if c.schema == nil && len(p.at)+len(p.versions) > 0 {
			return p, c.wrong(c.name+" is about the whole object", "give it an entry of its own, without at and versions")
		}
	}
	if len(p.at) == 0 {
		p.at = []located{{value: v}}
	}
	return p, nil
}

// value is a node of the file.
type value struct {
	file string
	*yaml.Node
}

// wrong returns an error about a value.
func (v value) wrong(message, hint string) error {
	return diagnostic.At(token.Position{Filename: v.file, Line: v.Line, Column: v.Column}, message, hint)
}

// readSection reads a mapping by its keys.
func readSection[T any](v value, to *T, keys []key[T]) error {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	var errs []error
	err := v.each(func(name, v value) error {
		i := slices.Index(names, name.Value)
		if i < 0 {
			hint := "the keys here are " + strings.Join(names, ", ")
			if near, ok := diagnostic.Near(name.Value, names); ok {
				hint = "write " + near
			}
			errs = append(errs, name.wrong("unknown key "+diagnostic.Quote(name.Value), hint))
			return nil
		}
		errs = append(errs, keys[i].read(to, v))
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// each calls f with the keys and values of a mapping.
func (v value) each(f func(key, v value) error) error {
	if v.Kind != yaml.MappingNode {
		return v.wrong("want a mapping", "write it as key: value")
	}
	var errs []error
	seen := map[string]bool{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		name := value{v.file, v.Content[i]}
		if seen[name.Value] {
			errs = append(errs, name.wrong(diagnostic.Quote(name.Value)+" is given twice", "put both into one"))
			continue
		}
		seen[name.Value] = true
		errs = append(errs, f(name, value{v.file, v.Content[i+1]}))
	}
	return errors.Join(errs...)
}

// readList reads a list and calls read for each item. It flattens nested lists, so that an alias can insert a list.
func readList[T any](v value, to *[]T, read func(value) (T, error)) error {
	if v.Kind != yaml.SequenceNode {
		return v.wrong("want a list", "begin each item with a dash")
	}
	var errs []error
	for _, node := range v.Content {
		if node.Kind == yaml.SequenceNode {
			errs = append(errs, readList(value{v.file, node}, to, read))
			continue
		}
		item, err := read(value{v.file, node})
		*to, errs = append(*to, item), append(errs, err)
	}
	return errors.Join(errs...)
}

// eachText calls f with the strings of a list, or with a single string.
func (v value) eachText(f func(v value, text string) error) error {
	nodes := []*yaml.Node{v.Node}
	if v.Kind == yaml.SequenceNode {
		nodes = v.Content
	}
	var errs []error
	for _, node := range nodes {
		item := value{v.file, node}
		text, err := item.text()
		if err == nil {
			err = f(item, text)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (v value) text() (string, error) {
	if v.Kind != yaml.ScalarNode || v.ShortTag() == "!!null" {
		return "", v.wrong("want a text", "put it in quotes")
	}
	return v.Value, nil
}

func (v value) readText(to *string) (err error) {
	*to, err = v.text()
	return err
}

// isTrue returns an error if the value is not true.
func (v value) isTrue() error {
	if v.ShortTag() != "!!bool" || v.Value != "true" {
		return v.wrong("want true", "write true, or leave it out")
	}
	return nil
}

func (v value) number() (int, error) {
	n, err := strconv.Atoi(v.Value)
	if err != nil || n <= 0 {
		return 0, v.wrong("want a number that is more than 0", "write it in digits")
	}
	return n, nil
}

// readChoice reads a value that must be one of words.
func readChoice[T ~string](v value, to *T, words ...T) error {
	if i := slices.Index(words, T(v.Value)); i >= 0 && v.Kind == yaml.ScalarNode {
		*to = words[i]
		return nil
	}
	var names []string
	for _, word := range words {
		names = append(names, string(word))
	}
	return v.wrong("unknown value "+diagnostic.Quote(v.Value), "it is one of "+strings.Join(names, ", "))
}
