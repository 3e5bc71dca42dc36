// Package accept reads the file in which a project accepts breaking changes, each with a reason and an end date.
package accept

import (
	"errors"
	"fmt"
	"go/token"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// File is the name of the file in the directory of the project.
const File = ".kctrl-diff.yaml"

// Entry accepts the breaking changes that it matches.
type Entry struct {
	// CRD is the name of the CRD. Version, Field and Change may be empty, which means any.
	CRD, Version, Field, Change string
	Reason                      string
	// Until is the last day on which the changes are accepted.
	Until time.Time
	Pos   token.Position
}

// Expired reports whether the last day of the entry has passed.
func (e *Entry) Expired(now time.Time) bool { return !now.UTC().Before(e.Until.AddDate(0, 0, 1)) }

// Matches reports whether the entry accepts a change.
func (e *Entry) Matches(crd, version, field, change string) bool {
	fits := func(want, got string) bool { return want == "" || want == got }
	return e.CRD == crd && fits(e.Version, version) && fits(e.Field, field) && fits(e.Change, change)
}

const layout = time.DateOnly

// example is an entry that hints show.
const example = "accepted: [{crd: widgets.example.com, field: spec.size, change: maximum, reason: no object uses " +
	"more, until: 2027-01-31}]"

// Parse reads the entries in a file. The error joins one *diagnostic.Error for each invalid part of the file.
func Parse(name string, text []byte) ([]Entry, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, diagnostic.YAML(name, text, err, "write "+example)
	}
	p := &parser{name: name}
	if len(root.Content) > 0 {
		p.file(root.Content[0])
	}
	return p.entries, p.err()
}

// parser collects entries and errors.
type parser struct {
	name    string
	entries []Entry
	errs    []error
}

func (p *parser) err() error { return errors.Join(p.errs...) }

func (p *parser) at(node *yaml.Node) token.Position {
	return token.Position{Filename: p.name, Line: node.Line, Column: node.Column}
}

func (p *parser) fail(node *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, &diagnostic.Error{Pos: p.at(node), Message: fmt.Sprintf(format, args...),
		Hint: "write " + example})
}

func (p *parser) file(node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		p.fail(node, "want a mapping with the key accepted")
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Value != "accepted":
			p.fail(key, "unknown field %s", diagnostic.Quote(key.Value))
		case value.Kind != yaml.SequenceNode:
			p.fail(value, "accepted: want a list")
		default:
			for _, entry := range value.Content {
				p.entry(entry)
			}
		}
	}
}

func (p *parser) entry(node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		p.fail(node, "want a mapping with crd, reason and until")
		return
	}
	e, failed := Entry{Pos: p.at(node)}, len(p.errs)
	fields := map[string]*string{"crd": &e.CRD, "version": &e.Version, "field": &e.Field, "change": &e.Change,
		"reason": &e.Reason, "until": new(string)}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		to, known := fields[key.Value]
		switch {
		case !known:
			p.fail(key, "unknown field %s", diagnostic.Quote(key.Value))
		case value.Kind != yaml.ScalarNode:
			p.fail(value, "%s: want a text", key.Value)
		default:
			*to = value.Value
		}
	}
	for _, name := range []string{"crd", "reason", "until"} {
		if *fields[name] == "" {
			p.fail(node, "%s is missing", name)
		}
	}
	if until := *fields["until"]; until != "" {
		var err error
		if e.Until, err = time.Parse(layout, until); err != nil {
			p.fail(node, "until: %s is not a date such as 2027-01-31", diagnostic.Quote(until))
		}
	}
	if len(p.errs) == failed {
		p.entries = append(p.entries, e)
	}
}
