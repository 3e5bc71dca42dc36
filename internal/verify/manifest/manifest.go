// Package manifest reads CRDs and objects from YAML, and places the problems that others find in them at lines and
// columns.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kjson "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
	"github.com/kctrl-dev/kctrl/internal/verify/sample"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// The codes of problems of files.
const (
	CodeYAML    = "yaml"        // the file is no YAML
	CodeVersion = "crd-api"     // the CRD is of a version that API servers do not have
	CodeUnknown = "crd-unknown" // the CRD has a field that CRDs do not have
	CodeDecode  = "crd-decode"  // a field of the CRD is of the wrong type
)

const repair = "repair it, then run the command again"

// Document is one document of a YAML file.
type Document struct {
	// File is the name of the file, for positions.
	File string
	// Err says that the document cannot be read. Nothing else is known then.
	Err error

	text []byte
	line int // of its first line, from 0
	head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
}

// MayHaveCRD reports whether there may be a CRD in a file. It errs toward true.
func MayHaveCRD(text []byte) bool { return bytes.Contains(text, []byte("CustomResourceDefinition")) }

// IsTemplate reports whether a file becomes YAML only when somebody renders it, as those of Helm charts do.
func IsTemplate(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("{{")) {
			return true
		}
	}
	return false
}

// skipped are directories that hold nothing of a project.
var skipped = []string{"vendor", "node_modules", "testdata", "third_party"}

// IsSkipped reports whether a directory of a name holds nothing of a project.
func IsSkipped(dir string) bool { return strings.HasPrefix(dir, ".") || slices.Contains(skipped, dir) }

// IsSample reports whether the objects in a file are meant to be valid.
func IsSample(name string) bool {
	return strings.HasPrefix(name, "config/samples/") || strings.Contains(name, "/config/samples/") || strings.Contains(name, ":config/samples/")
}

// Twin reports a CRD, at a position, that has the name of another one in its directory.
func Twin(name string, at, first token.Position) error {
	return &diagnostic.Error{
		Pos: at, Code: "duplicate-crd",
		Message: fmt.Sprintf("%s is the name of the CRD at %s, too: API servers have one CRD of a name", name, first),
		Hint:    "remove one of the two",
	}
}

var (
	apiVersionLine = regexp.MustCompile(`(?m)^apiVersion:\s*["']?([^"'\s#]+)`)
	kindLine       = regexp.MustCompile(`(?m)^kind:\s*["']?([^"'\s#]+)`)
)

// Parse returns the documents of a file that are not empty. Each is read when somebody asks what is in it.
func Parse(file string, text []byte) []Document {
	var documents []Document
	add := func(part []byte, line int) {
		if len(bytes.TrimSpace(withoutComments(part))) == 0 {
			return
		}
		d := Document{File: file, text: part, line: line}
		d.readHead()
		documents = append(documents, d)
	}
	start, line, first := 0, 0, 0
	for at := 0; at < len(text); {
		end := bytes.IndexByte(text[at:], '\n')
		next := at + end + 1
		if end < 0 {
			next = len(text)
		}
		if separates(text[at:next]) {
			add(text[start:at], first)
			start, first = next, line+1
		}
		at, line = next, line+1
	}
	add(text[start:], first)
	return documents
}

// separates reports whether a line is between two documents.
func separates(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(bytes.TrimSpace(rest)) == 0 || bytes.HasPrefix(bytes.TrimSpace(rest), []byte("#")))
}

// withoutComments returns the first line of a document that is no comment, which says whether there is anything.
func withoutComments(text []byte) []byte {
	for line := range bytes.Lines(text) {
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			return trimmed
		}
	}
	return nil
}

// readHead finds out what a document is, without parsing it where it is written as everybody does.
func (d *Document) readHead() {
	version, kind := apiVersionLine.FindSubmatch(d.text), kindLine.FindSubmatch(d.text)
	if version != nil && kind != nil {
		d.head.APIVersion, d.head.Kind = string(version[1]), string(kind[1])
		return
	}
	if err := sigsyaml.Unmarshal(d.text, &d.head); err != nil {
		if _, err := d.node(); err != nil {
			d.Err = err
		}
	}
}

// Text returns the text of the document.
func (d *Document) Text() []byte { return d.text }

// Line returns the number of lines before the document in its file.
func (d *Document) Line() int { return d.line }

// Group returns the API group of the object, or "".
func (d *Document) Group() string {
	group, _, grouped := strings.Cut(d.head.APIVersion, "/")
	if !grouped {
		return ""
	}
	return group
}

// IsCRD reports whether the document is a CRD, of whatever version.
func (d *Document) IsCRD() bool {
	return d.head.Kind == "CustomResourceDefinition" && strings.HasPrefix(d.head.APIVersion, "apiextensions.k8s.io/")
}

// IsObject reports whether the document is an object of some kind.
func (d *Document) IsObject() bool { return d.head.Kind != "" && d.head.APIVersion != "" }

// placed returns the text of the document with its lines where the file has them.
func (d *Document) placed() []byte {
	return append(bytes.Repeat([]byte("\n"), d.line), d.text...)
}

// node parses the document.
func (d *Document) node() (*yaml.Node, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(d.placed(), &root); err != nil {
		return nil, d.yamlError(err)
	}
	if len(root.Content) == 0 {
		return &root, nil
	}
	return root.Content[0], nil
}

// place returns the position of a node.
func (d *Document) place(node *yaml.Node) token.Position {
	return token.Position{Filename: d.File, Line: node.Line, Column: node.Column}
}

// At returns the position of a place in the document, or of the last step on the way that there is.
func (d *Document) At(steps ...string) token.Position {
	node, err := d.node()
	if err != nil {
		return token.Position{Filename: d.File, Line: d.line + 1, Column: 1}
	}
	return d.place(yamlnode.At(node, steps...))
}

// Definition is a CRD.
type Definition struct {
	Document
	CRD *apiextensionsv1.CustomResourceDefinition

	unknown []error
}

// Definition reads the document as API servers read a CRD.
func (d *Document) Definition() (*Definition, error) {
	if d.head.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, &diagnostic.Error{
			Pos: d.At("apiVersion"), Code: CodeVersion,
			Message: fmt.Sprintf("no matches for kind CustomResourceDefinition in version %s: API servers have had v1 alone since Kubernetes 1.22", d.head.APIVersion),
			Hint:    "write it as apiextensions.k8s.io/v1, or generate it again",
		}
	}
	text, err := sigsyaml.YAMLToJSONStrict(d.text)
	if err != nil {
		if _, syntax := d.node(); syntax != nil {
			return nil, syntax
		}
		return nil, d.yamlError(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	unknown, err := kjson.UnmarshalStrict(text, crd)
	if err != nil {
		return nil, d.decodeError(err)
	}
	return &Definition{Document: *d, CRD: crd, unknown: unknown}, nil
}

// yamlError places the first thing that a parser finds wrong: others may follow from it.
func (d *Document) yamlError(err error) error {
	var whole map[string]any
	if better := yaml.Unmarshal(d.placed(), &whole); better != nil {
		err = better // The parser of API servers does not tell lines.
	}
	all := diagnostic.All(diagnostic.YAML(d.File, d.placed(), err, repair))
	if len(all) == 0 {
		return err
	}
	if at, ok := errors.AsType[*diagnostic.Error](all[0]); ok {
		at.Pos.Column, at.Code = max(at.Pos.Column, 1), CodeYAML
	}
	return all[0]
}

// decodeError says which field cannot be what it is.
func (d *Document) decodeError(err error) error {
	e := &diagnostic.Error{Pos: d.At(), Code: CodeDecode, Message: diagnostic.OneLine(err.Error()), Hint: repair, Cause: err}
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	var steps []string
	if ok {
		steps = strings.Split(mismatch.Field, ".")
		e.Message = fmt.Sprintf("%s: want %s, got %s", mismatch.Field, kindOf(mismatch.Type), withArticle(mismatch.Value))
	}
	if node, err := d.node(); err == nil {
		if at := find(node, steps); at != nil {
			e.Pos = d.place(at)
		}
	}
	return e
}

// kindOf returns the word for a type of Go in JSON.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map, reflect.Pointer, reflect.Interface:
		return "a mapping"
	}
	return "a number"
}

// withArticle returns the word for what a decoder calls a value.
func withArticle(value string) string {
	word, _, _ := strings.Cut(value, " ")
	switch word {
	case "array":
		return "a list"
	case "object":
		return "a mapping"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	}
	return "a " + word
}

// find returns the first node that a path leads to which passes over indexes and keys of maps, or nil.
func find(node *yaml.Node, steps []string) *yaml.Node {
	if len(steps) == 0 {
		return node
	}
	if value := yamlnode.Value(node, steps[0]); value != nil {
		if found := find(value, steps[1:]); found != nil {
			return found
		}
	}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 || child.Kind == yaml.ScalarNode {
			continue
		}
		if found := find(child, steps); found != nil {
			return found
		}
	}
	return nil
}

// Places returns a function that places steps, for many of them.
func (d *Definition) Places() func(steps ...string) token.Position {
	root, err := d.node()
	if err != nil {
		return func(...string) token.Position { return token.Position{Filename: d.File, Line: d.line + 1, Column: 1} }
	}
	return func(steps ...string) token.Position { return d.place(yamlnode.At(root, steps...)) }
}

// IsPatch reports whether the CRD has none of the fields that each CRD has: it is a patch for one.
func (d *Definition) IsPatch() bool {
	spec := &d.CRD.Spec
	return spec.Group == "" && spec.Names.Kind == "" && spec.Scope == ""
}

// Patch says that a file, which the user has named, has a patch for a CRD.
func (d *Definition) Patch() error {
	return &diagnostic.Error{
		Pos: d.At("spec"), Code: "crd-partial", Message: "the CRD has neither group, names nor scope: it looks like a patch", Hint: "name the directory or the file with the whole CRD",
	}
}

var unknownField = regexp.MustCompile(`^(unknown|duplicate) field "(.*)"$`)

// Unknown returns the fields that CRDs do not have, which API servers drop, and those that are there twice.
func (d *Definition) Unknown() error {
	var errs []error
	for _, err := range d.unknown {
		e := &diagnostic.Error{
			Pos: d.At(), Code: CodeUnknown, Message: diagnostic.OneLine(err.Error()) + ": API servers drop it, and kubectl refuses the CRD",
			Hint: "remove it, or correct its name",
		}
		if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
			e.Pos = d.At(definition.Steps(m[2], d.CRD)...)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// Problems returns for what API servers refuse the CRD, and what of it has no effect.
func (d *Definition) Problems() (refused, dead error) {
	found, err := definition.Refused(d.CRD)
	if err != nil {
		refused = &diagnostic.Error{Pos: d.At(), Code: CodeDecode, Message: diagnostic.OneLine(err.Error()), Hint: repair, Cause: err}
	}
	found, tooLarge := append(found, definition.TooLarge(d.CRD)...), definition.Large(d.CRD)
	hollow := append(definition.Besides(found, definition.Dead(d.CRD)), tooLarge...)
	if len(found)+len(hollow) == 0 {
		return refused, nil
	}
	root, err := d.node()
	if err != nil {
		return errors.Join(refused, err), nil
	}
	place := func(problems []definition.Problem) error {
		var errs []error
		for _, p := range problems {
			errs = append(errs, &diagnostic.Error{
				Pos: d.place(yamlnode.At(root, p.Path.Steps...)), Code: p.Code, Message: d.CRD.Spec.Names.Kind + " " + p.Text(), Hint: p.Hint,
			})
		}
		return errors.Join(errs...)
	}
	return errors.Join(refused, place(found)), place(hollow)
}

// expected matches the comment that says that a sample is to be refused, and with which words.
var expected = regexp.MustCompile(`(?m)^#\s*\+kctrl:example:invalid(?:[:=]\s*(.*))?$`)

// CheckSample checks an object as API servers do that have the CRDs of some kinds. It reports false for objects of
// other kinds. An object below a comment "+kctrl:example:invalid: words" is to be refused with a message that has these
// words.
func (d *Document) CheckSample(kinds *sample.Kinds) (checked bool, err error) {
	if !kinds.HasGroup(d.Group()) {
		return false, nil
	}
	node, err := d.node()
	if err != nil {
		return true, err
	}
	problems, err := kinds.CheckNode(node)
	if err != nil {
		return true, &diagnostic.Error{Pos: d.place(node), Code: CodeYAML, Message: diagnostic.OneLine(err.Error()), Hint: repair, Cause: err}
	}
	var errs []error
	for _, p := range problems {
		errs = append(errs, &diagnostic.Error{
			Pos: d.place(yamlnode.At(node, sample.Steps(p.Field)...)), Code: p.Code, Message: p.Message, Hint: p.Hint,
		})
	}
	if m := expected.FindSubmatchIndex(d.text); m != nil {
		words := ""
		if m[2] >= 0 {
			words = strings.Trim(strings.TrimSpace(string(d.text[m[2]:m[3]])), `"`)
		}
		line := d.line + bytes.Count(d.text[:m[0]], []byte("\n")) + 1
		return true, sample.Unexpected(token.Position{Filename: d.File, Line: line, Column: 1}, words, problems)
	}
	return true, errors.Join(errs...)
}
