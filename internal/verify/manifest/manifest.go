// Package manifest reads CRDs and objects from YAML, and finds the lines and columns of problems in them.
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
	"strconv"
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
	CodeYAML    = "yaml"        // the file is not valid YAML
	CodeVersion = "crd-api"     // API servers do not serve this version of CRDs
	CodeUnknown = "crd-unknown" // the CRD has an unknown field
	CodeDecode  = "crd-decode"  // a field of the CRD has the wrong type
)

const repair = "repair it, then run the command again"

// Document is one document of a YAML file.
type Document struct {
	// File is the name of the file, for positions.
	File string
	// Err is the error of reading the document. If it is set, the other fields are empty.
	Err error

	text []byte
	line int // of its first line, counted from 0
	head head
	// list is the document whose list has this document as an item, and root is the item. They are nil otherwise, and
	// text is in JSON if they are set.
	list *Document
	root *yaml.Node
}

type head struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

// MayHaveCRD reports whether a file may contain a CRD. False positives are possible.
func MayHaveCRD(text []byte) bool { return bytes.Contains(text, []byte("CustomResourceDefinition")) }

// IsTemplate reports whether a file is a template for YAML, as in Helm charts.
func IsTemplate(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("{{")) {
			return true
		}
	}
	return false
}

// skipped are the names of directories that do not contain files of a project.
var skipped = []string{"vendor", "node_modules", "testdata", "third_party"}

// IsSkipped reports whether a directory with this name does not contain files of a project.
func IsSkipped(dir string) bool { return strings.HasPrefix(dir, ".") || slices.Contains(skipped, dir) }

// IsSample reports whether a file is in a directory of samples, which must be valid.
func IsSample(name string) bool {
	return strings.HasPrefix(name, "config/samples/") || strings.Contains(name, "/config/samples/") ||
		strings.Contains(name, ":config/samples/")
}

// Twin returns the error for a CRD with the same name as another one in its directory.
func Twin(name string, at, first token.Position) error {
	return &diagnostic.Error{
		Pos: at, Code: "duplicate-crd",
		Message: fmt.Sprintf("%s is also the name of the CRD at %s: API servers have one CRD per name", name, first),
		Hint:    "remove one of them",
	}
}

var (
	apiVersionLine = regexp.MustCompile(`(?m)^apiVersion:\s*["']?([^"'\s#]+)`)
	kindLine       = regexp.MustCompile(`(?m)^kind:\s*["']?([^"'\s#]+)`)
	itemsLine      = regexp.MustCompile(`(?m)^["']?items["']?\s*:`)
)

// Parse returns the non-empty documents of a file, and the items of lists instead of the lists. Each document is parsed
// on first use.
func Parse(file string, text []byte) []Document {
	var documents []Document
	add := func(part []byte, line int) {
		if len(bytes.TrimSpace(withoutComments(part))) == 0 {
			return
		}
		d := Document{File: file, text: part, line: line}
		d.readHead()
		documents = append(documents, d.flattened()...)
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

// separates reports whether a line separates two documents.
func separates(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(bytes.TrimSpace(rest)) == 0 || bytes.HasPrefix(bytes.TrimSpace(rest), []byte("#")))
}

// withoutComments returns the first line of a document that is not a comment, or nil if the document is empty.
func withoutComments(text []byte) []byte {
	for line := range bytes.Lines(text) {
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			return trimmed
		}
	}
	return nil
}

// readHead reads the version and kind of a document. It parses the document only if they are not on separate lines, or
// if the document may be a list.
func (d *Document) readHead() {
	version, kind := apiVersionLine.FindSubmatch(d.text), kindLine.FindSubmatch(d.text)
	if version != nil && kind != nil && !itemsLine.Match(d.text) {
		d.head.APIVersion, d.head.Kind = string(version[1]), string(kind[1])
		return
	}
	if err := sigsyaml.Unmarshal(d.text, &d.head); err != nil {
		if _, err := d.node(); err != nil {
			d.Err = err
		}
	}
}

// flattened returns the items of a list, or the document if it is not a list. Like kubectl, it recognizes a list by its
// field items.
func (d *Document) flattened() []Document {
	if d.Err != nil || d.head.Items == nil {
		return []Document{*d}
	}
	root, err := d.node()
	var text []byte
	if err == nil {
		text, err = d.json()
	}
	var list head
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return []Document{{File: d.File, Err: err}}
	}
	var documents []Document
	for i, node := range yamlnode.Items(root, "items") {
		for node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		item := Document{File: d.File, text: list.Items[i], line: node.Line - 1, list: d, root: node}
		item.readHead()
		if item.head.APIVersion == "" && item.head.Kind == "" {
			item.head.APIVersion, item.head.Kind = d.head.APIVersion, strings.TrimSuffix(d.head.Kind, "List")
		}
		documents = append(documents, item.flattened()...)
	}
	return documents
}

// Text returns the text of the document, in YAML.
func (d *Document) Text() []byte { return d.text }

// Key returns texts that determine the document and all positions in it.
func (d *Document) Key() [][]byte {
	key := [][]byte{[]byte(d.File), []byte(strconv.Itoa(d.line)), d.text}
	if d.list != nil {
		key = append(key, []byte(d.At().String()), d.list.text)
	}
	return key
}

// Group returns the API group of the object, or "".
func (d *Document) Group() string {
	group, _, grouped := strings.Cut(d.head.APIVersion, "/")
	if !grouped {
		return ""
	}
	return group
}

// IsCRD reports whether the document is a CRD of any version.
func (d *Document) IsCRD() bool {
	return d.head.Kind == "CustomResourceDefinition" && strings.HasPrefix(d.head.APIVersion, "apiextensions.k8s.io/")
}

// IsObject reports whether the document is a Kubernetes object.
func (d *Document) IsObject() bool { return d.head.Kind != "" && d.head.APIVersion != "" }

// placed returns the text of the document after empty lines, so that line numbers match the file.
func (d *Document) placed() []byte {
	return append(bytes.Repeat([]byte("\n"), d.line), d.text...)
}

// node parses the document.
func (d *Document) node() (*yaml.Node, error) {
	if d.root != nil {
		return d.root, nil
	}
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

// At returns the position of a place in the document. If it does not exist, At returns the position of the last
// existing step.
func (d *Document) At(steps ...string) token.Position {
	node, err := d.node()
	if err != nil {
		return token.Position{Filename: d.File, Line: d.line + 1, Column: 1}
	}
	return d.place(yamlnode.At(node, steps...))
}

// Definition is a document with a CRD.
type Definition struct {
	Document
	CRD *apiextensionsv1.CustomResourceDefinition

	unknown []error
}

// Definition decodes the document as API servers decode a CRD.
func (d *Document) Definition() (*Definition, error) {
	if d.head.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, &diagnostic.Error{
			Pos: d.At("apiVersion"), Code: CodeVersion,
			Message: fmt.Sprintf("no matches for kind CustomResourceDefinition in version %s: API servers have only v1 since "+
				"Kubernetes 1.22", d.head.APIVersion),
			Hint: "convert it to apiextensions.k8s.io/v1, or generate it again",
		}
	}
	text, err := d.json()
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	unknown, err := kjson.UnmarshalStrict(text, crd)
	if err != nil {
		return nil, d.decodeError(err)
	}
	return &Definition{Document: *d, CRD: crd, unknown: unknown}, nil
}

// json converts the document to JSON. Like kubectl, it rejects duplicate keys.
func (d *Document) json() ([]byte, error) {
	text, err := sigsyaml.YAMLToJSONStrict(d.text)
	if err == nil {
		return text, nil
	}
	if _, syntax := d.node(); syntax != nil {
		return nil, syntax
	}
	return nil, d.yamlError(err)
}

// yamlError returns the first error of a parser with its position. Later errors often have the same cause.
func (d *Document) yamlError(err error) error {
	var whole map[string]any
	if better := yaml.Unmarshal(d.placed(), &whole); better != nil {
		err = better // the parser of API servers reports no lines
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

// decodeError reports the field that has the wrong type.
func (d *Document) decodeError(err error) error {
	e := &diagnostic.Error{Pos: d.At(), Code: CodeDecode, Message: diagnostic.OneLine(err.Error()), Hint: repair,
		Cause: err}
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

// kindOf returns the JSON name of a Go type.
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

// withArticle returns a decoder's name for a value with an article.
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

// find returns the first node at the end of a path, or nil. The path may omit indexes and keys of maps.
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

// Places returns a function that finds the positions of many places.
func (d *Definition) Places() func(steps ...string) token.Position {
	root, err := d.node()
	if err != nil {
		return func(...string) token.Position { return token.Position{Filename: d.File, Line: d.line + 1, Column: 1} }
	}
	return func(steps ...string) token.Position { return d.place(yamlnode.At(root, steps...)) }
}

// IsPatch reports whether the CRD has none of the required fields, and so is a patch.
func (d *Definition) IsPatch() bool {
	spec := &d.CRD.Spec
	return spec.Group == "" && spec.Names.Kind == "" && spec.Scope == ""
}

// Patch returns the error for a patch in a file that the user has named.
func (d *Definition) Patch() error {
	return &diagnostic.Error{
		Pos: d.At("spec"), Code: "crd-partial", Message: "the CRD has no group, names and scope: it looks like a patch",
		Hint: "use the directory or the file with the whole CRD",
	}
}

var unknownField = regexp.MustCompile(`^(unknown|duplicate) field "(.*)"$`)

// Unknown returns errors for unknown fields, which API servers drop, and for duplicate fields.
func (d *Definition) Unknown() error {
	var errs []error
	for _, err := range d.unknown {
		e := &diagnostic.Error{
			Pos: d.At(), Code: CodeUnknown, Message: diagnostic.OneLine(err.Error()) + ": API servers drop it, and kubectl " +
				"rejects the CRD",
			Hint: "remove it, or correct its name",
		}
		if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
			e.Pos = d.At(definition.Steps(m[2], d.CRD)...)
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// Problems returns the problems for which API servers reject the CRD, and the parts of it without effect.
func (d *Definition) Problems() (refused, dead error) {
	found, err := definition.Refused(d.CRD)
	if err != nil {
		refused = &diagnostic.Error{Pos: d.At(), Code: CodeDecode, Message: diagnostic.OneLine(err.Error()), Hint: repair,
			Cause: err}
	}
	tooLarge, large := definition.Size(d.CRD)
	found = append(found, tooLarge...)
	hollow := append(definition.Dead(d.CRD, found), large...)
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
				Pos: d.place(yamlnode.At(root, p.Path.Steps...)), Code: p.Code, Message: d.CRD.Spec.Names.Kind + " " + p.Text(),
				Hint: p.Hint,
			})
		}
		return errors.Join(errs...)
	}
	return errors.Join(refused, place(found)), place(hollow)
}

// expected matches the comment above a sample that API servers must reject. The comment contains words of the error.
var expected = regexp.MustCompile(`(?m)^#\s*\+kctrl:example:invalid(?:[:=]\s*(.*))?$`)

// CheckSample checks an object like an API server that has the CRDs of kinds. It returns false for objects of other
// kinds. An object below a comment "+kctrl:example:invalid: words" must be rejected with an error that contains these
// words.
func (d *Document) CheckSample(kinds *sample.Kinds) (checked bool, err error) {
	if !kinds.HasGroup(d.Group()) {
		return false, nil
	}
	node, err := d.node()
	if err != nil {
		return true, err
	}
	problems, err := kinds.CheckText(d.head.APIVersion, d.head.Kind, d.text)
	if err != nil {
		return true, &diagnostic.Error{Pos: d.place(node), Code: CodeYAML, Message: diagnostic.OneLine(err.Error()),
			Hint: repair, Cause: err}
	}
	var errs []error
	for _, p := range problems {
		errs = append(errs, &diagnostic.Error{
			Pos: d.place(yamlnode.At(node, sample.Steps(p.Field)...)), Code: p.Code, Message: p.Message, Hint: p.Hint,
		})
	}
	text, line := d.text, d.line
	if d.list != nil {
		text = []byte(node.HeadComment)
		line -= bytes.Count(text, []byte("\n")) + 1
	}
	if m := expected.FindSubmatchIndex(text); m != nil {
		words := ""
		if m[2] >= 0 {
			words = strings.Trim(strings.TrimSpace(string(text[m[2]:m[3]])), `"`)
		}
		line += bytes.Count(text[:m[0]], []byte("\n")) + 1
		return true, sample.Unexpected(token.Position{Filename: d.File, Line: line, Column: 1}, words, problems)
	}
	return true, errors.Join(errs...)
}
