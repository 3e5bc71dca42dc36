package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"go.yaml.in/yaml/v3"
)

// field is one field of a mapping in the PROJECT file, in the order in which they are written.
type field struct {
	key string
	// value is a *string or a *bool in the Project or Resource it belongs to.
	value any
	// check is for texts that are not empty; nil accepts all.
	check    func(string) error
	required bool
	// example is for the hint when a required field is missing.
	example string
}

func projectFields(p *Project) []field {
	return []field{
		{key: "version", value: new(ProjectVersion)},
		{key: "domain", value: &p.Domain, check: ValidateDomain, required: true, example: "example.com"},
		{key: "repo", value: &p.Repo, check: ValidateModulePath, required: true, example: "example.com/guestbook"},
		{key: "projectName", value: &p.Name, check: ValidateProjectName, required: true, example: "guestbook"},
		{key: "multigroup", value: &p.MultiGroup},
		{key: "namespaced", value: &p.Namespaced},
		{key: "runtime", value: (*string)(&p.Runtime), check: oneOf("runtime", string(Bundled), string(Module))},
		{key: "owner", value: &p.Owner, check: validateOwner},
		{key: "license", value: &p.License, check: oneOf("license", "apache2", "none")},
		{key: "kctrl", value: &p.Kctrl, check: checkKctrl},
	}
}

func resourceFields(r *Resource) []field {
	return []field{
		{key: "group", value: &r.Group, check: ValidateGroup},
		{key: "domain", value: &r.Domain, check: ValidateDomain},
		{key: "version", value: &r.Version, check: ValidateVersion, required: true, example: "v1"},
		{key: "kind", value: &r.Kind, check: ValidateKind, required: true, example: "Guestbook"},
		{key: "plural", value: &r.Plural, check: ValidatePlural, required: true, example: "guestbooks"},
		{key: "namespaced", value: &r.Namespaced},
		{key: "api", value: &r.API},
		{key: "controller", value: &r.Controller},
	}
}

func (f field) text() (string, bool) {
	s, ok := f.value.(*string)
	if !ok {
		return "", false
	}
	return *s, true
}

// place is where a value stands in the PROJECT file.
type place struct {
	value string
	pos   token.Position
	// broken says that the value has the wrong type, which has been reported.
	broken bool
}

func oneOf(what string, values ...string) func(string) error {
	return func(value string) error {
		if slices.Contains(values, value) {
			return nil
		}
		return &diagnostic.Error{
			Message: fmt.Sprintf("unknown %s %q", what, value),
			Hint:    "use " + strings.Join(values, " or "),
			Class:   diagnostic.ErrUsage,
		}
	}
}

// validateOwner refuses what is no part of one line of a comment, in Go and in YAML.
func validateOwner(owner string) error {
	if isLine(owner) && !strings.Contains(owner, "*/") {
		return nil
	}
	return invalidName("owner", owner, "it does not fit into a line of a comment", "The Guestbook Authors")
}

func checkKctrl(version string) error {
	if isLine(version) {
		return nil
	}
	return invalidName("version of kctrl", version, "it does not fit into a line", "v1.0.0")
}

// isLine reports whether a text is made of what Go and YAML files may hold as it is, without a line end.
func isLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		const byteOrderMark = '\ufeff'
		return r == byteOrderMark || !unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r)
	})
}

// LoadProject reads and checks the PROJECT file. Everything that is wrong with it is reported at once, joined from
// *diagnostic.Error with position and hint. Fields that this kctrl does not know are kept; see [Project.Warnings].
func LoadProject(fsys fs.FS) (*Project, error) {
	text, err := fs.ReadFile(fsys, ProjectFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &diagnostic.Error{
			Message: "no PROJECT file in this folder",
			Hint:    "run kctrl init to make a project, or name the folder of one with -C",
			Cause:   err,
		}
	}
	if err != nil {
		return nil, diagnostic.AtFile(ProjectFile, "cannot read", err)
	}
	if len(text) > maxProjectFile {
		return nil, projectError(&yaml.Node{}, "not a project file: it is too large", "restore it from version control")
	}
	project, err := parseProject(text)
	if err != nil {
		return nil, err
	}
	if err := checkModule(fsys, project); err != nil {
		return nil, err
	}
	return project, nil
}

func parseProject(text []byte) (*Project, error) {
	doc, err := projectDocument(text)
	if err != nil {
		return nil, err
	}
	root := doc.Content[0]
	p := &Project{source: text, places: map[string]place{}}
	r := &projectReader{project: p}
	if version := edit.Find(root, "version"); version == nil || version.Value != ProjectVersion {
		return nil, unsupportedVersion(root, version)
	}
	r.mapping(root, "", projectFields(p), "resources")
	if list := edit.Find(root, "resources"); list != nil {
		r.resources(list)
	}
	if err := errors.Join(append(r.errs, p.Validate())...); err != nil {
		return nil, err
	}
	return p, nil
}

// projectDocument parses a PROJECT file: one document, which is a mapping.
func projectDocument(text []byte) (*yaml.Node, error) {
	if line, found := conflictIn(text); found {
		return nil, projectError(&yaml.Node{Line: line, Column: 1}, "a merge has left the lines of both branches here",
			"keep the resources of both, whole, without the lines that git added; then run make generate manifests")
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if err == nil && doc.Content[0].Kind == yaml.MappingNode {
		switch err := dec.Decode(&more); {
		case err == nil:
			return nil, projectError(&more, "the file has a second document", "remove it")
		case !errors.Is(err, io.EOF):
			return nil, diagnostic.YAML(ProjectFile, text, err, yamlRemedy)
		}
		return &doc, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, diagnostic.YAML(ProjectFile, text, err, yamlRemedy)
	}
	return nil, projectError(&yaml.Node{Line: 1, Column: 1}, "not a project file", "restore it from version control, or run kctrl init in a new folder")
}

// conflictIn returns the line where git shows the first difference of two branches.
func conflictIn(text []byte) (line int, found bool) {
	for t := range bytes.Lines(text) {
		line++
		if bytes.HasPrefix(t, []byte("<<<<<<< ")) {
			return line, true
		}
	}
	return 0, false
}

// maxProjectFile is more than any project has to say.
const maxProjectFile = 1 << 20

// yamlRemedy is the hint for a PROJECT file that is no YAML.
const yamlRemedy = "repair it, then run the command again"

// unsupportedVersion says what a PROJECT file is that is not one of this kctrl.
func unsupportedVersion(root, version *yaml.Node) error {
	hint := "this kctrl supports projects of version " + ProjectVersion + ", made by kctrl init"
	at := &yaml.Node{Line: 1, Column: 1}
	switch {
	case version != nil && (version.Kind != yaml.ScalarNode || version.Value == ""):
		return projectError(version, "version: want a text, got "+edit.Describe(version), hint)
	case edit.Find(root, "layout") != nil || version != nil && isPeerVersion(version.Value):
		if version != nil {
			at = version
		}
		return projectError(at, "this is a project of kubebuilder", peerRemedy)
	case version == nil:
		return projectError(at, "version is missing", hint)
	}
	return projectError(version, fmt.Sprintf("version %s is not supported", diagnostic.Quote(version.Value)), hint)
}

// isPeerVersion reports whether a version is one of kubebuilder's: 2, 3, 3-alpha.
func isPeerVersion(version string) bool {
	number, _, _ := strings.Cut(version, "-")
	return number == "1" || number == "2" || number == "3"
}

// peerRemedy is what kctrl does for a project of kubebuilder: as much as for any Go module.
const peerRemedy = "kctrl gen takes the place of controller-gen in it; the other commands want a project made by kctrl init"

func projectError(at *yaml.Node, message, hint string) *diagnostic.Error {
	return &diagnostic.Error{Pos: edit.Position(ProjectFile, at), Message: message, Hint: hint}
}

// projectReader fills in a project and collects what is wrong with the file.
type projectReader struct {
	project *Project
	errs    []error
}

func (r *projectReader) fail(at *yaml.Node, message, hint string) {
	r.errs = append(r.errs, projectError(at, message, hint))
}

// mapping reads the fields of a mapping. The keys of others are read elsewhere; all that are left are unknown.
func (r *projectReader) mapping(node *yaml.Node, prefix string, fields []field, others ...string) {
	r.project.places[prefix] = place{pos: edit.Position(ProjectFile, node)}
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		switch {
		case seen[key.Value]:
			r.fail(key, fmt.Sprintf("%s is given twice", key.Value), "remove one of them")
		case at >= 0:
			r.scalar(value, prefix, fields[at])
		case !slices.Contains(others, key.Value):
			r.project.warnings = append(r.project.warnings, projectError(key, fmt.Sprintf("unknown field %q", prefix+key.Value),
				"it is kept as it is; remove it if it is misspelt"))
		}
		seen[key.Value] = true
	}
}

func (r *projectReader) scalar(node *yaml.Node, prefix string, f field) {
	at := place{value: node.Value, pos: edit.Position(ProjectFile, node), broken: true}
	defer func() { r.project.places[prefix+f.key] = at }()
	switch target := f.value.(type) {
	case *string:
		if node.Kind != yaml.ScalarNode || node.Tag != "!!str" {
			r.fail(node, fmt.Sprintf("%s: want a text, got %s", f.key, edit.Describe(node)), fmt.Sprintf("write %s: %q", f.key, node.Value))
			return
		}
		*target = node.Value
	case *bool:
		if node.Kind != yaml.ScalarNode || node.Tag != "!!bool" {
			r.fail(node, fmt.Sprintf("%s: want true or false, got %s", f.key, edit.Describe(node)), fmt.Sprintf("write %s: true", f.key))
			return
		}
		*target = strings.EqualFold(node.Value, "true")
	}
	at.broken = false
}

func (r *projectReader) resources(list *yaml.Node) {
	if list.Tag == "!!null" {
		return
	}
	if list.Kind != yaml.SequenceNode {
		r.fail(list, "resources: want a list, got "+edit.Describe(list), "write each resource as an item that begins with a dash")
		return
	}
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode {
			r.fail(item, "resources: want group, version, kind and so on, got "+edit.Describe(item), "write - version: v1")
			continue
		}
		var resource Resource
		r.mapping(item, resourceName(len(r.project.Resources)), resourceFields(&resource))
		r.project.Resources = append(r.project.Resources, resource)
	}
}
