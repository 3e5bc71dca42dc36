package refactor

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
	"go.yaml.in/yaml/v3"
)

// maxNotes is the maximum number of notes about one file.
const maxNotes = 10

// deployed has the names of deployed objects that a project's new name changes.
type deployed struct {
	// names has the new names, and pattern matches the old ones.
	names   map[string]string
	pattern *regexp.Regexp
	// label matches selectors with the old name of the project, which is was, and becomes is the new one.
	label        *regexp.Regexp
	was, becomes string
}

// nameLabel is the label that config/default sets to the project's name on all objects and pods.
const nameLabel = "app.kubernetes.io/name"

// noteDeployed notes the lines in the user's files that contain old names of deployed objects and that kctrl cannot
// safely rewrite: URLs of Services in ConfigMaps, selectors, scripts and so on.
func (r *Refactoring) noteDeployed() error {
	if r.before.Name == r.after.Name {
		return nil
	}
	d, err := r.deployed()
	if err != nil {
		return err
	}
	noted := map[string]bool{}
	for _, note := range r.plan.Notes() {
		noted[note.Pos.Filename] = true
	}
	lock := r.plan.Lock()
	return r.eachText(func(name string) bool {
		entry, _ := lock.Entry(r.newPath(name))
		return !mayNameObject(name) || noted[r.newPath(name)] || strings.HasPrefix(entry.Template, "generate/")
	}, func(name string, text []byte) error {
		found := d.find(name, text)
		r.plan.Note(found[:min(len(found), maxNotes)]...)
		return nil
	})
}

// mayNameObject returns false for documentation, which the user maintains, and for other files without names of
// objects.
func mayNameObject(name string) bool {
	return !slices.Contains([]string{project.File, project.LockFile}, name) &&
		!slices.Contains([]string{".md", ".sum", ".mod", ".txt"}, path.Ext(name)) &&
		!strings.HasPrefix(path.Base(name), "zz_generated.")
}

// deployed returns the names that change, according to the prefix and the namespace in config/default.
func (r *Refactoring) deployed() (*deployed, error) {
	d := &deployed{names: map[string]string{}, was: r.before.Name, becomes: r.after.Name}
	d.label = regexp.MustCompile(regexp.QuoteMeta(nameLabel) + `["']?\s*[:=]\s*["']?` + regexp.QuoteMeta(d.was) +
		`(?:$|[^\w.-])`)
	name, found, err := templated.Kustomization(r.plan, layout.DefaultDir)
	if err != nil || !found {
		return d, err
	}
	c, err := r.plan.Lookup(name)
	if err != nil {
		return d, err
	}
	setting := func(key string) (was, becomes string) { return textOf(c.Before, key), textOf(c.After, key) }
	if was, becomes := setting("namespace"); was != becomes && was != "" {
		d.names[was] = becomes
	}
	if was, becomes := setting("namePrefix"); was != becomes && was != "" {
		if err := r.eachObject(func(object string) { d.names[was+object] = becomes + object }); err != nil {
			return d, err
		}
	}
	for _, now := range d.names {
		delete(d.names, now) // an old name that is also a new one
	}
	if len(d.names) > 0 {
		var words []string
		for _, word := range slices.Backward(slices.Sorted(maps.Keys(d.names))) { // a longer name precedes its prefix
			words = append(words, regexp.QuoteMeta(word))
		}
		d.pattern = regexp.MustCompile(`(?:^|[^\w-])(` + strings.Join(words, "|") + `)(?:$|[^\w-])`)
	}
	return d, nil
}

// textOf returns a scalar in the mapping of a YAML file, or "".
func textOf(text []byte, key string) string {
	if roots := edit.Roots(text); len(roots) == 1 {
		return yamlnode.Text(roots[0], key)
	}
	return ""
}

// eachObject calls yield with the name of each object in config, without prefix. It skips invalid YAML.
func (r *Refactoring) eachObject(yield func(name string)) error {
	return r.manifests(func(_ string, text []byte) error {
		for _, root := range edit.Roots(text) {
			if object := yamlnode.Text(root, "metadata", "name"); object != "" {
				yield(object)
			}
		}
		return nil
	})
}

func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" }

// find returns a note for each line of a file that contains an old name. In Go it reads string literals, in YAML
// values, and in other files all text.
func (d *deployed) find(name string, text []byte) []*diagnostic.Error {
	var notes []*diagnostic.Error
	add := func(line int, message string) {
		if message != "" && (len(notes) == 0 || notes[len(notes)-1].Pos.Line != line) {
			notes = append(notes, diagnostic.At(token.Position{Filename: name, Line: line}, message,
				"change it by hand, unless it means something else"))
		}
	}
	if s, ok := gosource.ParseSource(name, text); path.Ext(name) == ".go" && ok {
		ast.Inspect(s.File, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				for i, line := range strings.Split(lit.Value, "\n") {
					add(s.Position(lit.Pos()).Line+i, d.message(line))
				}
			}
			return true
		})
		return notes
	}
	if docs, err := edit.Documents(text); isYAML(name) && err == nil {
		for _, doc := range docs {
			d.visit(doc.Content[0], "", false, add)
		}
		return notes
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil // not text
	}
	line := 0
	for content := range strings.Lines(string(text)) {
		line++
		add(line, d.message(strings.TrimRight(content, "\r\n")))
	}
	return notes
}

// message returns the message about a line, or "".
func (d *deployed) message(line string) string {
	if d.label.MatchString(line) {
		return d.selects()
	}
	if d.pattern != nil {
		if m := d.pattern.FindStringSubmatch(line); m != nil {
			return fmt.Sprintf("names %s, which is %s now", m[1], d.names[m[1]])
		}
	}
	return ""
}

func (d *deployed) selects() string {
	return fmt.Sprintf("names the label %s: %s, which is %s now", nameLabel, d.was, d.becomes)
}

// visit calls add for the lines with old names in a YAML node, which is the value of key. A label counts only within a
// selector, because config/default sets the labels of objects.
func (d *deployed) visit(node *yaml.Node, key string, inSelector bool, add func(int, string)) {
	inSelector = inSelector || key == "matchLabels" || strings.HasSuffix(strings.ToLower(key), "selector")
	switch node.Kind {
	case yaml.MappingNode:
		if yamlnode.Text(node, "key") == nameLabel {
			for _, value := range yamlnode.Items(node, "values") {
				if value.Value == d.was {
					add(value.Line, d.selects())
				}
			}
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			d.visit(node.Content[i+1], node.Content[i].Value, inSelector, add)
		}
	case yaml.SequenceNode:
		for _, item := range node.Content {
			d.visit(item, key, inSelector, add)
		}
	case yaml.ScalarNode:
		if inSelector && key == nameLabel && node.Value == d.was {
			add(node.Line, d.selects())
			return
		}
		first := node.Line
		if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			first++ // the line of the indicator precedes the text
		}
		for i, line := range strings.Split(node.Value, "\n") {
			add(first+i, d.message(line))
		}
	}
}
