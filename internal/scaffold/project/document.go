package project

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/yamlnode"
)

// File is the path of the project file.
const File = "PROJECT"

// Version is the version of the project file that this kctrl reads and writes.
const Version = "kctrl/v1"

// field is a field of a mapping in the PROJECT file. Tables list fields in the order of the file.
type field struct {
	key string
	// value is a *string, *[]string or *bool that points to a field of a Project or Resource.
	value any
	// check validates non-empty values; nil accepts all values.
	check    func(string) error
	required bool
	// example is the value that the hint about a missing required field shows.
	example string
}

func projectFields(p *Project) []field {
	return []field{
		{key: "version", value: new(Version)},
		{key: "domain", value: &p.Domain, check: ValidateDomain, required: true, example: "example.com"},
		{key: "repo", value: &p.Repo, check: ValidateModulePath, required: true, example: "example.com/guestbook"},
		{key: "projectName", value: &p.Name, check: ValidateName, required: true, example: "guestbook"},
		{key: "multigroup", value: &p.MultiGroup},
		{key: "namespaced", value: &p.Namespaced},
		{key: "apiModule", value: &p.APIModule},
		{key: "runtime", value: (*string)(&p.Runtime), check: oneOf("runtime", string(Bundled), string(Module))},
		{key: "owner", value: &p.Owner, check: ValidateOwner},
		{key: "license", value: &p.License, check: oneOf("license", "apache2", "none")},
		{key: "certificates", value: &p.Certificates, check: oneOf("way to make certificates", SelfSigned, CertManager)},
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
		{key: "apiFlags", value: &r.APIFlags, check: checkFlag, example: "--field=size:int32"},
		{key: "controllers", value: &r.Controllers, check: ValidateController, example: "backup"},
		{key: "path", value: &r.Path, check: validateImportPath},
		{key: "hub", value: &r.Hub, check: ValidateVersion},
		{key: "defaulting", value: &r.Defaulting},
		{key: "defaultingFlags", value: &r.DefaultingFlags, check: checkFlag, example: "--failure-policy=ignore"},
		{key: "validation", value: &r.Validation},
		{key: "validationFlags", value: &r.ValidationFlags, check: checkFlag, example: "--failure-policy=ignore"},
		{key: "policy", value: &r.Policy},
		{key: "policyFlags", value: &r.PolicyFlags, check: checkFlag, example: "--failure-policy=ignore"},
	}
}

// place is the position of a value in the PROJECT file.
type place struct {
	value string
	pos   token.Position
	// broken is set if the value has the wrong type, which another error reports.
	broken bool
}

func oneOf(what string, values ...string) func(string) error {
	return func(value string) error {
		if slices.Contains(values, value) {
			return nil
		}
		return diagnostic.Usage(fmt.Sprintf("unknown %s %q", what, value), "use "+strings.Join(values, " or "))
	}
}

// ValidateOwner rejects values that do not fit in a one-line comment in Go and YAML.
func ValidateOwner(owner string) error {
	if isLine(owner) && !strings.Contains(owner, "*/") {
		return nil
	}
	return invalidName("owner", owner, "it does not fit into a line of a comment", "The Guestbook Authors")
}

// checkFlag rejects values that do not have the form of a flag. The commands check whether the flag exists.
func checkFlag(text string) error {
	name, _, _ := strings.Cut(text, "=")
	if rest, isFlag := strings.CutPrefix(name, "--"); isFlag && rest != "" &&
		strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz-") == "" && utf8.ValidString(text) {
		return nil
	}
	return diagnostic.Usage(fmt.Sprintf("%s is not a flag of kctrl create", diagnostic.Quote(text)),
		"write it as it is typed, such as --field=size:int32")
}

func checkKctrl(version string) error {
	if isLine(version) {
		return nil
	}
	return invalidName("version of kctrl", version, "it does not fit into a line", "v1.0.0")
}

// isLine reports whether Go and YAML files can contain a value unquoted in one line.
func isLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		const byteOrderMark = '\ufeff'
		return r == byteOrderMark || !unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r)
	})
}

// Load reads and checks the PROJECT file. It joins all errors; each is a *diagnostic.Error with position and hint. It
// keeps unknown fields; see [Project.Warnings].
func Load(fsys fs.FS) (*Project, error) {
	text, err := fs.ReadFile(fsys, File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(err, "")
	}
	if err != nil {
		return nil, diagnostic.AtFile(File, "cannot read", err)
	}
	if len(text) > maxFileSize {
		return nil, fileError(&yaml.Node{}, "not a project file: it is too large", "restore it from version control")
	}
	project, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkModule(fsys, project), checkAPIModules(fsys, project)); err != nil {
		return nil, err
	}
	return project, nil
}

// LoadForeign reads the project whose markers kctrl processes. It accepts kctrl's PROJECT file and kubebuilder's
// PROJECT file in version 3. If named is true, which means that the user specified the packages, it also accepts a
// directory that only has a go.mod. It returns the errors of [Load].
func LoadForeign(fsys fs.FS, named bool) (*Project, error) {
	text, err := fs.ReadFile(fsys, File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, modErr := fs.Stat(fsys, "go.mod"); modErr != nil {
			return nil, missing(err, "")
		} else if !named {
			return nil, missing(err, "in a Go module without one, name the packages: --paths=./...; else ")
		}
		return &Project{Foreign: true}, nil
	case err == nil && len(text) <= maxFileSize:
		if doc, err := parseDocument(text); err == nil && isPeer(doc.Content[0]) {
			return parsePeer(doc.Content[0])
		}
	}
	return Load(fsys)
}

// Root returns the nearest directory at or above dir that has a PROJECT file or a go.mod, and the path of dir in it. It
// follows symbolic links if that is necessary. It returns "" if there is no such directory. dir is an absolute path.
func Root(dir string) (root, rel string) {
	for at := dir; ; at = filepath.Dir(at) {
		for _, name := range []string{File, "go.mod"} {
			if info, err := os.Stat(filepath.Join(at, name)); err == nil && !info.IsDir() {
				rel, _ := filepath.Rel(at, dir)
				return at, filepath.ToSlash(rel)
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil && target != dir {
		return Root(target)
	}
	return "", ""
}

// missing returns the error for a missing PROJECT file. other is the beginning of the hint and names an alternative to
// kctrl init.
func missing(err error, other string) error {
	return &diagnostic.Error{
		Message: "no PROJECT file in this directory",
		Hint:    other + "run kctrl init to make a project, or name the directory of one with -C",
		Cause:   err,
	}
}

// peerVersion is the version of kubebuilder's PROJECT file that kctrl reads.
const peerVersion = "3"

func isPeer(root *yaml.Node) bool {
	version := yamlnode.Value(root, "version")
	return version != nil && version.Kind == yaml.ScalarNode && version.Value == peerVersion
}

// IsPeer reports whether a PROJECT file is kubebuilder's, in any version.
func IsPeer(text []byte) bool {
	doc, err := parseDocument(text)
	return err == nil && isOfPeer(doc.Content[0])
}

func isOfPeer(root *yaml.Node) bool {
	version := yamlnode.Value(root, "version")
	return yamlnode.Value(root, "layout") != nil || version != nil && isPeerVersion(version.Value)
}

// parsePeer reads the kinds from kubebuilder's PROJECT file. It ignores other fields, such as plugins, which
// kubebuilder checks.
func parsePeer(root *yaml.Node) (*Project, error) {
	p := &Project{
		Foreign: true, places: map[string]place{},
		Name: scalar(yamlnode.Value(root, "projectName")), Domain: scalar(yamlnode.Value(root, "domain")),
	}
	list := yamlnode.Value(root, "resources")
	if list == nil || list.Tag == "!!null" {
		return p, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, fileError(list, "resources: want a list, got "+edit.Describe(list), yamlRemedy)
	}
	var errs []error
	for i, item := range list.Content {
		if item.Kind != yaml.MappingNode {
			errs = append(errs, fileError(item, "resources: want group, version, kind and so on, got "+edit.Describe(item),
				yamlRemedy))
			continue
		}
		text := func(key string) string {
			value := yamlnode.Value(item, key)
			if value == nil || value.Kind == yaml.ScalarNode {
				return scalar(value)
			}
			errs = append(errs, fileError(value, key+": want a text, got "+edit.Describe(value), yamlRemedy))
			return ""
		}
		p.places[resourceName(i)] = place{pos: edit.Position(File, item)}
		p.Resources = append(p.Resources, Resource{
			Group: text("group"), Domain: text("domain"), Version: text("version"), Kind: text("kind"), Plural: text("plural"),
			API: yamlnode.Value(item, "api") != nil && text("external") != "true", Controller: text("controller") == "true",
		})
	}
	return p, errors.Join(errs...)
}

// scalar returns the value of a scalar, or "" for null and for a nil node.
func scalar(node *yaml.Node) string {
	if node == nil || node.Tag == "!!null" {
		return ""
	}
	return node.Value
}

// checkModule rejects a project whose go.mod has a different module path, because imports would not resolve. Other
// checks report a missing or broken go.mod.
func checkModule(fsys fs.FS, p *Project) error {
	text, err := fs.ReadFile(fsys, "go.mod")
	if errors.Is(err, regular.ErrNotRegular) {
		return diagnostic.AtFile("go.mod", "cannot read", err) // the go command would block on it forever
	}
	if err != nil {
		return nil
	}
	module := modfile.ModulePath(text)
	if module == "" || module == p.Repo {
		return nil
	}
	return p.problem("repo", p.Repo, fmt.Sprintf("repo is %s, but the module in go.mod is %s", p.Repo, module),
		"write repo: "+module)
}

// APIFolder is the directory of the API packages.
const APIFolder = "api"

// checkAPIModules rejects two errors in the modules of API packages. The path of such a module must be the import path
// of its directory, because otherwise imports of the kinds would not resolve. If apiModule is true, api must be a
// module.
func checkAPIModules(fsys fs.FS, p *Project) error {
	folders := map[string]bool{}
	if p.APIModule {
		folders[APIFolder] = true
		if _, err := fs.Stat(fsys, path.Join(APIFolder, "go.mod")); errors.Is(err, fs.ErrNotExist) {
			return p.problem("apiModule", "", "apiModule is true, but there is no "+APIFolder+"/go.mod",
				"restore it from version control, or write apiModule: false")
		}
	}
	for _, r := range p.Resources {
		if r.API && r.Path == "" {
			for _, folder := range []string{APIFolder, APIFolder + "/" + r.Version, APIFolder + "/" + r.Group,
				APIFolder + "/" + r.Group + "/" + r.Version} {
				folders[folder] = true
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		text, err := fs.ReadFile(fsys, path.Join(folder, "go.mod"))
		if errors.Is(err, regular.ErrNotRegular) {
			return diagnostic.AtFile(path.Join(folder, "go.mod"), "cannot read", err)
		}
		if err != nil {
			continue
		}
		if err := CheckAPIModule(text, p.Repo, folder); err != nil {
			return err
		}
	}
	return nil
}

// CheckAPIModule rejects a go.mod in a directory of API packages if its module path is not their import path.
func CheckAPIModule(text []byte, repo, folder string) error {
	name, want := path.Join(folder, "go.mod"), path.Join(repo, folder)
	e := &diagnostic.Error{Pos: token.Position{Filename: name}}
	switch is := modfile.ModulePath(text); {
	case module.CheckPath(want) != nil || !isModulePath(want):
		e.Message = want + " is the path of the packages there, but cannot be the path of a module"
		e.Hint = "move it to " + APIFolder + ", so that all API packages are in one module"
	case is == want:
		return nil
	case is == "":
		e.Message, e.Hint = "names no module", "write module "+want+" in the first line"
	default:
		e.Message, e.Hint = fmt.Sprintf("the module is %s, and the packages in %s are imported as %s", is, folder, want),
			"write module "+want
	}
	return e
}

// isModulePath reports whether the path of a package can be the path of a module. A path that ends in an API version
// cannot.
func isModulePath(modulePath string) bool {
	_, version, ok := module.SplitPathVersion(modulePath)
	return ok && version == ""
}

// Parse reads the text of a PROJECT file. It returns the errors of [Load].
func Parse(text []byte) (*Project, error) {
	doc, err := parseDocument(text)
	if err != nil {
		return nil, err
	}
	root := doc.Content[0]
	if version := yamlnode.Value(root, "version"); version == nil || version.Value != Version {
		return nil, unsupportedVersion(root, version)
	}
	p := &Project{source: text, places: map[string]place{}}
	r := &reader{project: p}
	r.mapping(root, "", projectFields(p), "resources")
	if list := yamlnode.Value(root, "resources"); list != nil {
		r.resources(list)
	}
	if err := errors.Join(append(r.errs, p.Validate())...); err != nil {
		return nil, err
	}
	return p, nil
}

// parseDocument parses a PROJECT file, which is one YAML document with a mapping.
func parseDocument(text []byte) (*yaml.Node, error) {
	if line, found := conflictIn(text); found {
		return nil, fileError(&yaml.Node{Line: line, Column: 1}, "the file has merge conflicts",
			"keep the resources of both branches whole, without git's markers; then run make generate manifests")
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if err == nil && doc.Content[0].Kind == yaml.MappingNode {
		switch err := dec.Decode(&more); {
		case err == nil:
			return nil, fileError(&more, "the file has a second document", "remove it")
		case !errors.Is(err, io.EOF):
			return nil, diagnostic.YAML(File, text, err, yamlRemedy)
		}
		return &doc, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, diagnostic.YAML(File, text, err, yamlRemedy)
	}
	return nil, fileError(&yaml.Node{Line: 1, Column: 1}, "not a project file",
		"restore it from version control, or run kctrl init in a new directory")
}

// conflictIn returns the line of the first of git's conflict markers.
func conflictIn(text []byte) (line int, found bool) {
	for t := range bytes.Lines(text) {
		line++
		if bytes.HasPrefix(t, []byte("<<<<<<< ")) {
			return line, true
		}
	}
	return 0, false
}

// maxFileSize is larger than any real PROJECT file.
const maxFileSize = 1 << 20

// yamlRemedy is the hint for invalid YAML in a PROJECT file.
const yamlRemedy = "repair it, then run the command again"

// unsupportedVersion returns the error for a PROJECT file whose version this kctrl does not support.
func unsupportedVersion(root, version *yaml.Node) error {
	hint := "this kctrl supports projects of version " + Version + ", made by kctrl init"
	at := &yaml.Node{Line: 1, Column: 1}
	switch {
	case version != nil && (version.Kind != yaml.ScalarNode || version.Value == ""):
		return fileError(version, "version: want a text, got "+edit.Describe(version), hint)
	case isOfPeer(root):
		if version != nil {
			at = version
		}
		return fileError(at, "this is a project of kubebuilder", peerRemedy)
	case version == nil:
		return fileError(at, "version is missing", hint)
	}
	return fileError(version, fmt.Sprintf("version %s is not supported", diagnostic.Quote(version.Value)), hint)
}

// isPeerVersion reports whether a version is one of kubebuilder's versions, such as 2, 3 or 3-alpha.
func isPeerVersion(version string) bool {
	number, _, _ := strings.Cut(version, "-")
	return number == "1" || number == "2" || number == "3"
}

// peerRemedy is the hint for a kubebuilder project. kctrl supports such a project like any other Go module.
const peerRemedy = "kctrl migrate converts it; kctrl generate, manifests and gen accept version 3 unchanged"

func fileError(at *yaml.Node, message, hint string) *diagnostic.Error {
	return diagnostic.At(edit.Position(File, at), message, hint)
}

// reader fills a project from its file and collects errors.
type reader struct {
	project *Project
	errs    []error
}

func (r *reader) fail(at *yaml.Node, message, hint string) {
	r.errs = append(r.errs, fileError(at, message, hint))
}

// mapping reads the fields of a mapping. The caller reads the keys in others; mapping reports all remaining keys as
// unknown.
func (r *reader) mapping(node *yaml.Node, prefix string, fields []field, others ...string) {
	r.project.places[prefix] = place{pos: edit.Position(File, node)}
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
			r.project.warnings = append(r.project.warnings, fileError(key, fmt.Sprintf("unknown field %q", prefix+key.Value),
				"it is kept as it is; remove it if it is misspelt"))
		}
		seen[key.Value] = true
	}
}

func (r *reader) scalar(node *yaml.Node, prefix string, f field) {
	at := place{value: node.Value, pos: edit.Position(File, node), broken: true}
	defer func() { r.project.places[prefix+f.key] = at }()
	switch target := f.value.(type) {
	case *string:
		if node.Kind != yaml.ScalarNode || node.Tag != "!!str" {
			r.fail(node, fmt.Sprintf("%s: want a text, got %s", f.key, edit.Describe(node)),
				fmt.Sprintf("write %s: %q", f.key, textOr(node, f.example)))
			return
		}
		*target = node.Value
	case *bool:
		if node.Kind != yaml.ScalarNode || node.Tag != "!!bool" {
			r.fail(node, fmt.Sprintf("%s: want true or false, got %s", f.key, edit.Describe(node)),
				fmt.Sprintf("write %s: true", f.key))
			return
		}
		*target = strings.EqualFold(node.Value, "true")
	case *[]string:
		values, ok := r.list(node, f)
		if !ok {
			return
		}
		*target = values
	}
	at.broken = false
}

// textOr returns the value of a scalar node, also through an alias, or the example for other nodes.
func textOr(node *yaml.Node, example string) string {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.ScalarNode {
		return example
	}
	return node.Value
}

// list reads a list of strings.
func (r *reader) list(node *yaml.Node, f field) (values []string, ok bool) {
	items := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		items = node.Content
	}
	for _, item := range items {
		if node.Kind != yaml.SequenceNode || item.Kind != yaml.ScalarNode || item.Tag != "!!str" {
			r.fail(item, fmt.Sprintf("%s: want a list of texts, got %s", f.key, edit.Describe(item)),
				fmt.Sprintf("write %s: [%s]", f.key, f.example))
			return nil, false
		}
		values = append(values, item.Value)
	}
	return values, true
}

func (r *reader) resources(list *yaml.Node) {
	if list.Tag == "!!null" {
		return
	}
	if list.Kind != yaml.SequenceNode {
		r.fail(list, "resources: want a list, got "+edit.Describe(list),
			"write each resource as an item that begins with a dash")
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

const fileHeader = "# The project as kctrl knows it. Unknown fields and comments are kept."

// Marshal returns the text of the PROJECT file. For an unchanged project it returns the loaded text. For a changed
// project it keeps the order, comments and unknown fields of the loaded text.
func (p *Project) Marshal() ([]byte, error) {
	if p.source == nil {
		root := &yaml.Node{Kind: yaml.MappingNode, HeadComment: fileHeader}
		p.update(root)
		return encodeNode(root)
	}
	doc, err := parseDocument(bytes.ReplaceAll(p.source, []byte("\r\n"), []byte("\n")))
	if err != nil {
		return nil, err
	}
	if !p.update(doc.Content[0]) {
		return p.source, nil
	}
	out, err := encodeNode(doc)
	if bytes.Contains(p.source, []byte("\r\n")) {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))
	}
	return out, err
}

// update writes the project's values to the root of its file, and reports whether anything changed.
func (p *Project) update(root *yaml.Node) bool {
	changed := setFields(root, projectFields(p))
	return p.updateResources(root) || changed
}

// updateResources writes the project's resources to the list in the file. Existing items keep their unknown fields.
func (p *Project) updateResources(root *yaml.Node) bool {
	list := yamlnode.Value(root, "resources")
	if list == nil || list.Kind != yaml.SequenceNode {
		if len(p.Resources) == 0 {
			return false
		}
		if list == nil {
			list = &yaml.Node{}
			root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "resources"}, list)
		}
		*list = yaml.Node{Kind: yaml.SequenceNode, HeadComment: list.HeadComment, LineComment: list.LineComment,
			FootComment: list.FootComment}
	}
	old := list.Content
	items := make([]*yaml.Node, len(p.Resources))
	changed := len(old) != len(items)
	for i := range p.Resources {
		r := &p.Resources[i]
		at := slices.IndexFunc(old, func(item *yaml.Node) bool { return isResource(item, *r) })
		if at < 0 {
			// Flow style puts each kind on one line, so that git can merge the kinds of two branches.
			items[i] = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		} else {
			items[i] = old[at]
		}
		changed = setFields(items[i], resourceFields(r)) || changed || at != i
	}
	list.Content = items
	if len(items) > 0 {
		list.Style &^= yaml.FlowStyle
	} else if i := yamlnode.Index(root, "resources", 0); changed && i >= 0 {
		root.Content = slices.Delete(root.Content, i, i+2)
	}
	return changed
}

// isResource reports whether an item of the file describes a resource.
func isResource(item *yaml.Node, r Resource) bool {
	for key, want := range map[string]string{"group": r.Group, "domain": r.Domain, "version": r.Version, "kind": r.Kind} {
		value := yamlnode.Value(item, key)
		if value == nil && want != "" || value != nil && value.Value != want {
			return false
		}
	}
	return true
}

// setFields sets values in a mapping and reports whether anything changed. It inserts a new key after the previous
// field, and removes a key whose value is empty or false.
func setFields(mapping *yaml.Node, fields []field) bool {
	changed, at := false, 0
	for _, f := range fields {
		changed = setField(mapping, f, at) || changed
		if i := yamlnode.Index(mapping, f.key, 0); i >= 0 {
			at = i + 2
		}
	}
	return changed
}

func setField(mapping *yaml.Node, f field, at int) bool {
	node := f.node()
	i := yamlnode.Index(mapping, f.key, 0)
	switch {
	case i < 0 && isEmpty(node):
		return false
	case i < 0:
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: f.key}
		mapping.Content = slices.Insert(mapping.Content, at, key, node)
		return true
	}
	old := mapping.Content[i+1]
	if isEmpty(node) && !isEmpty(old) {
		mapping.Content = slices.Delete(mapping.Content, i, i+2)
		return true
	}
	if node.Kind == yaml.SequenceNode {
		same := slices.EqualFunc(old.Content, node.Content, func(a, b *yaml.Node) bool { return a.Value == b.Value })
		if !same {
			old.Content = node.Content
		}
		return !same
	}
	if old.Value == node.Value || node.Tag == "!!bool" && strings.EqualFold(old.Value, node.Value) {
		return false
	}
	old.Kind, old.Tag, old.Value, old.Style = node.Kind, node.Tag, node.Value, node.Style
	return true
}

// isEmpty reports whether a value means the same as a missing one.
func isEmpty(node *yaml.Node) bool {
	return len(node.Content) == 0 && (node.Value == "" || strings.EqualFold(node.Value, "false") ||
		node.ShortTag() == "!!null")
}

func (f field) node() *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
	switch value := f.value.(type) {
	case *string:
		node.Value = *value
	case *bool:
		node.Tag, node.Value = "!!bool", strconv.FormatBool(*value)
	case *[]string:
		*node = yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, item := range *value {
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item})
		}
	}
	return node
}

func encodeNode(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(node); err != nil {
		return nil, diagnostic.AtFile(File, "cannot write", err)
	}
	return out.Bytes(), nil
}
