package release

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/pkg/util"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// section is the content of values.yaml below one key.
type section struct {
	key     string
	comment string
	value   *yaml.Node
}

// pair adds a key to a mapping, with a comment.
func pair(mapping *yaml.Node, key string, value *yaml.Node, comment string) {
	name := scalar(key)
	if comment != "" {
		name.HeadComment = "# " + comment
	}
	mapping.Content = append(mapping.Content, name, value)
}

func mapping() *yaml.Node  { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }
func sequence() *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"} }

func boolean(value bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(value)}
}

func quoted(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: yaml.DoubleQuotedStyle}
}

// or returns a copy of node, or absent if node is nil.
func or(node, absent *yaml.Node) *yaml.Node {
	if node == nil {
		return absent
	}
	return yamlnode.Clone(node)
}

// values returns the sections of values.yaml for the objects. Every value has an effect.
func (r *released) values() []section {
	sections := []section{{"nameOverride",
		"Prefix of the names of all objects, instead of " + strings.TrimSuffix(r.prefix, "-") + ".", quoted("")}}
	for _, o := range r.objects {
		if o.isManager() {
			sections = append(sections, section{"manager", "The " + o.kind + " of the manager.", managerValues(o)})
		}
	}
	for _, f := range features {
		here := func(o *object) bool {
			of, ok := featureOf(o, strings.TrimPrefix(o.name, r.prefix))
			return ok && of.key == f.key
		}
		on := slices.ContainsFunc(r.objects, here)
		if !on && !slices.ContainsFunc(r.optional, here) {
			continue
		}
		value := mapping()
		pair(value, f.option, boolean(on), "")
		for _, more := range featureValues[f.key] {
			pair(value, more.key, yamlnode.Clone(more.value), more.comment)
		}
		sections = append(sections, section{f.key, f.comment, value})
	}
	return sections
}

// featureValues are the values of features in addition to their switches.
var featureValues = map[string][]section{
	"crds":           {{"keep", "", boolean(true)}},
	"serviceAccount": {{"name", "", quoted("")}, {"annotations", "", mapping()}},
}

// managerValues returns the values of the workload of the manager.
func managerValues(o *object) *yaml.Node {
	values, pod, container := mapping(), o.podSpec(), o.managerContainer()
	pair(values, "replicas", or(yamlnode.Value(o.Node, "spec", "replicas"), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int",
		Value: "1"}), "")
	repository, tag, digest := util.SplitImageName(yamlnode.Text(container, "image"))
	image := mapping()
	pair(image, "repository", scalar(repository), "")
	pair(image, "tag", quoted(tag), "If tag and digest are empty, the image has the version of the chart's operator.")
	pair(image, "digest", quoted(digest), "")
	pair(image, "pullPolicy", quoted(yamlnode.Text(container, "imagePullPolicy")), "")
	pair(values, "image", image, "")
	pair(values, "resources", or(yamlnode.Value(container, "resources"), mapping()), "")
	pair(values, "extraArgs", sequence(), "Flags and variables of the manager, in addition to those in its "+o.kind+".")
	pair(values, "extraEnv", sequence(), "")
	for _, key := range podKeys {
		empty := sequence()
		if key == "nodeSelector" || key == "affinity" {
			empty = mapping()
		}
		pair(values, key, or(yamlnode.Value(pod, key), empty), "")
	}
	for _, key := range podScalars {
		pair(values, key, quoted(yamlnode.Text(pod, key)), "")
	}
	pair(values, "podAnnotations", mapping(), "")
	pair(values, "podLabels", mapping(), "")
	return values
}

func renderValues(chart string, sections []section) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Values of the chart of %s. kctrl build chart keeps your changes and adds new keys.\n", chart)
	for _, s := range sections {
		content, err := s.render()
		if err != nil {
			return nil, err
		}
		b.WriteString("\n")
		b.Write(content)
	}
	return b.Bytes(), nil
}

func (s section) render() ([]byte, error) {
	document := mapping()
	pair(document, s.key, s.value, s.comment)
	return encode(document)
}

// mergeValues adds the missing keys to an edited values.yaml. All other bytes stay the same. It returns in missing the
// keys that it did not add because their position is ambiguous.
func mergeValues(src []byte, sections []section) (merged []byte, missing []string, err error) {
	document, err := parseRoot(src)
	if err != nil {
		return nil, nil, err
	}
	m := &merge{lines: strings.SplitAfter(string(src), "\n")}
	var end bytes.Buffer
	for _, s := range sections {
		have := yamlnode.Value(document, s.key)
		if have == nil {
			content, err := s.render()
			if err != nil {
				return nil, nil, err
			}
			end.WriteString("\n")
			end.Write(content)
			continue
		}
		if err := m.below(s.key, have, s.value); err != nil {
			return nil, nil, err
		}
	}
	merged = edit.Apply(src, m.inserts)
	if end.Len() > 0 && len(merged) > 0 && !bytes.HasSuffix(merged, []byte("\n")) {
		merged = append(merged, '\n')
	}
	merged = append(merged, end.Bytes()...)
	if keys := document.Content; len(keys) > 0 && keys[0].Column > 1 || !keeps(merged, src) {
		return src, []string{"the keys of a new one"}, nil
	}
	return merged, m.missing, nil
}

// parseRoot returns the mapping in a YAML file, or an empty one.
func parseRoot(content []byte) (*yaml.Node, error) {
	var document yaml.Node
	err := yaml.Unmarshal(content, &document)
	if err == nil && len(document.Content) > 0 && document.Content[0].Kind == yaml.MappingNode {
		return document.Content[0], nil
	}
	return mapping(), err
}

// merge collects the text to insert into a file.
type merge struct {
	lines   []string
	inserts []edit.Splice
	missing []string
}

// below inserts the missing keys of a mapping before its first key. At deeper levels, it adds only keys of the image,
// because other values, such as resources, belong to the user as a whole.
func (m *merge) below(path string, have, want *yaml.Node) error {
	if have.Kind != yaml.MappingNode {
		return nil
	}
	added := mapping()
	for i := 0; i < len(want.Content); i += 2 {
		key, value := want.Content[i], want.Content[i+1]
		if there := yamlnode.Value(have, key.Value); there == nil {
			added.Content = append(added.Content, key, value)
		} else if key.Value == "image" {
			if err := m.below(path+"."+key.Value, there, value); err != nil {
				return err
			}
		}
	}
	if len(added.Content) == 0 {
		return nil
	}
	if len(have.Content) == 0 || have.Content[0].Kind != yaml.ScalarNode || have.Content[0].Value == "<<" {
		for i := 0; i < len(added.Content); i += 2 {
			m.missing = append(m.missing, path+"."+added.Content[i].Value)
		}
		return nil
	}
	return m.insert(have, added)
}

func (m *merge) insert(have, added *yaml.Node) error {
	first := have.Content[0]
	if have.Style&yaml.FlowStyle != 0 {
		for _, node := range added.Content {
			node.HeadComment = ""
		}
		added.Style |= yaml.FlowStyle
		content, err := encode(added)
		text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(content)), "{"), "}")
		m.at(first.Line, first.Column, text+", ")
		return err
	}
	content, err := encode(added)
	pad := strings.Repeat(" ", first.Column-1)
	line := first.Line
	if first.HeadComment != "" {
		line -= strings.Count(first.HeadComment, "\n") + 1
	}
	m.at(line, 1, pad+strings.ReplaceAll(strings.TrimSuffix(string(content), "\n"), "\n", "\n"+pad)+"\n")
	return err
}

// at inserts text before the node at a position. The column counts runes.
func (m *merge) at(line, column int, text string) {
	before := strings.Join(m.lines[:line-1], "") + string([]rune(m.lines[line-1])[:column-1])
	m.inserts = append(m.inserts, edit.Splice{From: len(before), To: len(before), Text: text})
}

// keeps reports whether a YAML file contains all values of another one.
func keeps(merged, have []byte) bool {
	var all, some any
	return yaml.Unmarshal(merged, &all) == nil && yaml.Unmarshal(have, &some) == nil && contains(all, some)
}

func contains(all, some any) bool {
	wanted, ok := some.(map[string]any)
	if !ok {
		return some == nil || reflect.DeepEqual(all, some)
	}
	have, ok := all.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range wanted {
		if there, ok := have[key]; !ok || !contains(there, value) {
			return false
		}
	}
	return true
}

// notAdded returns a warning about keys that were not added to a values.yaml.
func notAdded(file string, keys []string) *diagnostic.Error {
	return diagnostic.In(file, "lacks "+strings.Join(keys, ", ")+", which templates of the chart use",
		"add them, or write their parent mapping in block style")
}
