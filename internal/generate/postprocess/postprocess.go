// Package postprocess changes generated manifests before they are written. A file beside the project, kctrl.gen.yaml,
// declares the changes. It replaces scripts that edit and copy the output:
//
//	patches:
//	- kinds: [Runner, RunnerSet]
//	  at: spec.containers[].resources.claims
//	  delete: [x-kubernetes-list-type, x-kubernetes-list-map-keys]
//	outputs:
//	- kinds: ["*"]
//	  file: deploy/crds.yaml
//
// [Parse] reads it. [Declaration.Apply] first applies the patches to objects, in their order. Then each output writes
// some of the objects to another file, after its own patches. A selection, path or change without effect is an error
// with its position. The same files and declaration always produce the same bytes.
//
// [operations] lists the operations of a patch.
package postprocess

import (
	"cmp"
	"errors"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
)

// DefaultFile is the default name of the declaration.
const DefaultFile = "kctrl.gen.yaml"

// Load reads the declaration in the file with a name. If name is empty, it reads DefaultFile, or returns nil if that
// file does not exist.
func Load(name string, read func(name string) ([]byte, error)) (*Declaration, error) {
	content, err := read(cmp.Or(name, DefaultFile))
	switch {
	case name == "" && errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, artifact.ReadError(cmp.Or(name, DefaultFile), err)
	}
	return Parse(filepath.ToSlash(cmp.Or(name, DefaultFile)), content)
}

// Input is the input of a declaration.
type Input struct {
	// Files are the generated files. A file without a path goes to standard output.
	Files []artifact.File
	// Ran are the names of the generators that ran, including those without output.
	Ran []string
	// Partial is set if the generators did not see all packages, so that kinds may be missing.
	Partial bool
	// Inside forbids outputs outside of the directory that paths are relative to.
	Inside bool
	// Read reads a file by its path relative to the directory.
	Read func(name string) ([]byte, error)
}

// Apply returns the files after postprocessing, ordered by path. Errors are joined from *diagnostic.Error.
func (d *Declaration) Apply(in Input) ([]artifact.File, error) {
	r := run{Declaration: d, in: in}
	if err := r.parse(); err != nil {
		return nil, err
	}
	if err := r.patchAll(d.patches, r.documents); err != nil {
		return nil, err
	}
	var errs []error
	for _, o := range d.outputs {
		errs = append(errs, r.output(o))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r.files()
}

// run applies a declaration once.
type run struct {
	*Declaration
	in        Input
	rest      []artifact.File // files without objects
	manifests []*manifest
	documents []*document
	moved     map[*document]bool
	added     map[string]artifact.File // by path
}

// parse reads the objects of all manifests.
func (r *run) parse() error {
	r.moved, r.added = map[*document]bool{}, map[string]artifact.File{}
	for _, f := range r.in.Files {
		if f.Path != "" && path.Ext(f.Path) != ".yaml" {
			r.rest = append(r.rest, f)
			continue
		}
		m, err := parseManifest(f)
		if err != nil {
			return diagnostic.YAML(f.Path, f.Content, err, "docs/postprocess.md")
		}
		r.manifests = append(r.manifests, m)
		r.documents = append(r.documents, m.documents...)
	}
	return nil
}

// made maps each kind of generated object, except definitions, to its generator.
var made = map[string]string{
	"ClusterRole": "rbac", "Role": "rbac",
	"MutatingWebhookConfiguration": "webhook", "ValidatingWebhookConfiguration": "webhook",
}

// ran reports whether this run could have generated the objects of a selector.
func (r *run) ran(s selector) bool {
	if generator := made[s.kind]; generator != "" && s.group == "" {
		return slices.Contains(r.in.Ran, generator)
	}
	return slices.Contains(r.in.Ran, "crd") || slices.Contains(r.in.Ran, "schemapatch")
}

// choose returns the selected documents. Each selector must match a document.
func (r *run) choose(s selection, documents []*document) ([]*document, error) {
	var errs []error
	for _, selector := range slices.Concat(s.kinds, s.except) {
		if r.ran(selector) && !r.in.Partial && !slices.ContainsFunc(documents, selector.takes) {
			errs = append(errs, selector.selectsNothing(documents))
		}
	}
	var chosen []*document
	for _, d := range documents {
		if s.takes(d) {
			chosen = append(chosen, d)
		}
	}
	return chosen, errors.Join(errs...)
}

func (s selector) selectsNothing(documents []*document) error {
	kinds := map[string]bool{}
	for _, d := range documents {
		kind, group := d.kind()
		if s.group != "" {
			kind += "." + group
		}
		kinds[kind] = true
	}
	names := slices.Sorted(maps.Keys(kinds))
	hint := diagnostic.Cut("what is generated here: " + strings.Join(names, ", "))
	if near, ok := diagnostic.Near(s.Value, names); ok && s.named() && diagnostic.IsSlip(near, s.Value) {
		hint = "write " + near
	} else if len(names) == 0 {
		hint = "no manifest is generated here"
	}
	return s.wrong("nothing of kind "+diagnostic.Quote(s.Value)+" is generated", hint)
}

func (r *run) patchAll(patches []patch, documents []*document) error {
	var errs []error
	for _, p := range patches {
		errs = append(errs, r.patch(p, documents))
	}
	return errors.Join(errs...)
}

// patch applies a patch to the documents that it selects.
func (r *run) patch(p patch, documents []*document) error {
	chosen, err := r.choose(p.selection, documents)
	if err != nil || len(chosen) == 0 {
		return err
	}
	if err := p.checkVersions(chosen); err != nil {
		return err
	}
	for _, at := range p.at {
		if err := p.checkPath(at, chosen); err != nil {
			return err
		}
	}
	for _, c := range p.changes {
		if err := p.apply(c, chosen); err != nil {
			return err
		}
	}
	return nil
}

func (p patch) checkVersions(documents []*document) error {
	known := map[string]bool{}
	for _, d := range documents {
		for _, v := range d.versions() {
			known[v.name] = true
		}
	}
	for _, v := range p.versions {
		if !known[v.Value] {
			return v.wrong("no version "+diagnostic.Quote(v.Value)+" is generated of these kinds",
				"they have "+strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

// schemas returns the schemas of a document that a patch selects.
func (p patch) schemas(d *document) []*yaml.Node {
	var found []*yaml.Node
	for _, v := range d.versions() {
		meant := len(p.versions) == 0 || slices.ContainsFunc(p.versions, func(n value) bool { return n.Value == v.name })
		if meant && v.schema != nil {
			found = append(found, v.schema)
		}
	}
	return found
}

// checkPath reports a path that matches in none of the documents of a selector.
func (p patch) checkPath(at located, documents []*document) error {
	if len(at.path) == 0 {
		return nil
	}
	for _, s := range p.kinds {
		var schemas []*yaml.Node
		var names []string
		for _, d := range documents {
			if s.takes(d) {
				schemas = append(schemas, p.schemas(d)...)
				names = append(names, d.String())
			}
		}
		leads := func(schema *yaml.Node) bool { return len(at.path.match(schema)) > 0 }
		if len(names) > 0 && !slices.ContainsFunc(schemas, leads) {
			return at.wrong(diagnostic.Cut(at.path.String()+" leads nowhere in "+strings.Join(names, ", ")),
				at.path.remedy(schemas))
		}
	}
	return nil
}

func (p patch) apply(c change, documents []*document) error {
	done := false
	for _, d := range documents {
		if c.object != nil {
			changed, err := c.object(d)
			if err != nil {
				return err
			}
			d.changed, done = d.changed || changed, done || changed
			continue
		}
		for _, schema := range p.schemas(d) {
			for _, at := range p.at {
				for _, place := range at.path.match(schema) {
					if c.schema(place) {
						d.changed, done = true, true
					}
				}
			}
		}
	}
	if !done {
		return c.wrong(c.name+" changes nothing: none of what it means "+cmp.Or(c.what, "has a schema"),
			"remove it, or correct the kinds and paths")
	}
	return nil
}

// output is an additional location for objects.
type output struct {
	value
	selection
	dir, file       string
	move            bool
	order, separate string
	header, footer  string
	headerFile      *value
	include         []value
	patches         []patch
}

// The values for the order of objects and for their separators.
const (
	byName, byFile             = "name", "file"
	beforeEach, betweenObjects = "before", "between"
)

func (d *Declaration) outputKeys() []key[output] {
	return append(selectionKeys(func(o *output) *selection { return &o.selection }), []key[output]{
		{"dir", "directory for one file per object, with the generated file name",
			func(o *output, v value) error { return v.readText(&o.dir) }},
		{"file", "file for all objects; set either `dir` or `file`",
			func(o *output, v value) error { return v.readText(&o.file) }},
		{"move", "`true` moves the objects: the generated files no longer contain them",
			func(o *output, v value) error { o.move = true; return v.isTrue() }},
		{"sort", "order of the objects: by object `name`, or by the name of the generated `file`. Default: `name`",
			func(o *output, v value) error { return readChoice(v, &o.order, byName, byFile) }},
		{"separator", "position of the line `---`: `before` each object, or only `between` objects. Default: `before`",
			func(o *output, v value) error { return readChoice(v, &o.separate, beforeEach, betweenObjects) }},
		{"header", "text at the beginning of the file, such as a license",
			func(o *output, v value) error { return v.readText(&o.header) }},
		{"headerFile", "file with the header",
			func(o *output, v value) error { o.headerFile = &v; _, err := v.text(); return err }},
		{"footer", "text at the end of the file",
			func(o *output, v value) error { return v.readText(&o.footer) }},
		{"include", "files with additional objects, such as CRDs of other projects",
			func(o *output, v value) error {
				return v.eachText(func(v value, _ string) error { o.include = append(o.include, v); return nil })
			}},
		{"patches", "patches for this output only",
			func(o *output, v value) error { return readList(v, &o.patches, d.readPatch) }},
	}...)
}

func (d *Declaration) readOutput(v value) (output, error) {
	o := output{value: v, order: byName, separate: beforeEach}
	if err := readSection(v, &o, d.outputKeys()); err != nil {
		return o, err
	}
	switch {
	case (o.dir == "") == (o.file == ""):
		return o, v.wrong("want either dir or file", "add dir: NAME for a file for each object, or file: name for one file")
	case len(o.kinds) == 0:
		return o, v.wrong("no kinds", "add kinds: [Kind], or kinds: [\"*\"] for all CRDs")
	case o.header != "" && o.headerFile != nil:
		return o, o.headerFile.wrong("header and headerFile are both given", "remove one of them")
	}
	return o, nil
}

// output adds the files of an output, which contain the objects that the output selects.
func (r *run) output(o output) error {
	chosen, err := r.choose(o.selection, r.documents)
	if err != nil || len(chosen) == 0 {
		return err
	}
	var documents []*document
	for _, d := range chosen {
		documents = append(documents, d.clone())
		r.moved[d] = r.moved[d] || o.move
	}
	included, err := r.include(o)
	if err != nil {
		return err
	}
	documents = append(documents, included...)
	if err := r.patchAll(o.patches, documents); err != nil {
		return err
	}
	if o.headerFile != nil {
		text, err := r.read(*o.headerFile)
		if err != nil {
			return err
		}
		o.header = string(text)
	}
	if o.file != "" {
		sortDocuments(documents, o.order)
		return r.add(o, path.Clean(filepath.ToSlash(o.file)), documents)
	}
	var errs []error
	for _, d := range documents {
		errs = append(errs, r.add(o, path.Join(filepath.ToSlash(o.dir), d.fileName()), []*document{d}))
	}
	return errors.Join(errs...)
}

func sortDocuments(documents []*document, order string) {
	slices.SortStableFunc(documents, func(a, b *document) int {
		if order == byFile {
			return cmp.Compare(a.fileName(), b.fileName())
		}
		return cmp.Compare(a.field("metadata", "name"), b.field("metadata", "name"))
	})
}

// include reads the objects of the files that an output includes.
func (r *run) include(o output) ([]*document, error) {
	var all []*document
	for _, v := range o.include {
		content, err := r.read(v)
		if err != nil {
			return nil, err
		}
		m, err := parseManifest(artifact.File{Path: v.Value, Content: content})
		if err != nil {
			return nil, diagnostic.YAML(v.Value, content, err, "include files with objects of Kubernetes")
		}
		all = append(all, m.documents...)
	}
	return all, nil
}

const hereHint = "name a file, relative to the directory that kctrl runs in"

func (r *run) read(v value) ([]byte, error) {
	content, err := r.in.Read(v.Value)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, v.wrong(diagnostic.Quote(v.Value)+" does not exist", hereHint)
	case err != nil:
		return nil, v.wrong("cannot read "+diagnostic.Quote(v.Value)+": "+diagnostic.PlainCause(err),
			cmp.Or(diagnostic.CauseHint(err), hereHint))
	}
	return content, nil
}

// add adds a file with objects.
func (r *run) add(o output, name string, documents []*document) error {
	if r.in.Inside && !fs.ValidPath(name) {
		return o.wrong("output "+diagnostic.Quote(name)+" is outside the project", "name it relative to the project")
	}
	if _, twice := r.added[name]; twice {
		return o.wrong(diagnostic.Quote(name)+" is written by two outputs",
			"write it once, or give one of them another directory")
	}
	content, err := compose(o.header, o.footer, o.separate, documents)
	if err != nil {
		return o.wrong("cannot write "+diagnostic.Quote(name)+": "+err.Error(), "")
	}
	r.added[name] = artifact.File{Path: name, Content: []byte(content)}
	return nil
}

// compose returns the text of a file.
func compose(header, footer, separate string, documents []*document) (string, error) {
	var out strings.Builder
	out.WriteString(line(header))
	for i, d := range documents {
		if i > 0 || separate == beforeEach {
			out.WriteString(separator)
		}
		text, err := d.print()
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	out.WriteString(line(footer))
	return out.String(), nil
}

// line returns a text that ends with its line.
func line(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// files returns all files: the generated files after the patches, and the files of outputs.
func (r *run) files() ([]artifact.File, error) {
	files := slices.Clone(r.rest)
	for _, m := range r.manifests {
		kept := slices.DeleteFunc(slices.Clone(m.documents), func(d *document) bool { return r.moved[d] })
		changed := slices.ContainsFunc(kept, func(d *document) bool { return d.changed })
		switch {
		case len(kept) == 0 && len(m.documents) > 0:
			continue
		case len(kept) < len(m.documents) || changed:
			content, err := compose(m.head, "", beforeEach, kept)
			if err != nil {
				return nil, err
			}
			m.Content = []byte(content)
		}
		if added, twice := r.added[m.Path]; twice {
			return nil, r.overwrites(added.Path)
		}
		files = append(files, m.File)
	}
	files = slices.AppendSeq(files, maps.Values(r.added))
	slices.SortStableFunc(files, func(a, b artifact.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// overwrites returns an error about an output that would replace a generated file.
func (r *run) overwrites(name string) error {
	pos := token.Position{Filename: r.name}
	for _, o := range r.outputs {
		if path.Clean(o.file) == name || o.dir != "" && path.Clean(o.dir) == path.Dir(name) {
			pos.Line, pos.Column = o.Line, o.Column
			break
		}
	}
	return diagnostic.At(pos, diagnostic.Quote(name)+" is where the same objects are generated",
		"patch them in the patches of all outputs, or add move: true")
}
