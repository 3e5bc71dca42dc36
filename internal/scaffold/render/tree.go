package render

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// Tree has the files that kctrl writes for a project.
type Tree struct {
	// Contents and Lock have all rendered files, without the output of generators.
	Contents map[string][]byte
	Lock     *project.Lock
	// Failed are the features that this kctrl cannot render. The files of these features have no content.
	Failed []Failed

	files map[string]File
	paths []string // sorted
}

// File is a file of a [Tree].
type File struct {
	Path string
	// ID identifies the file in all layouts of the project. It is empty for a file that every project has.
	ID string
	// Template identifies the template, in the same way as PROJECT.lock.
	Template string
	Owner    plan.Owner
	// Content is nil for files that generators write, for files of failed features, and in an outline.
	Content []byte
	// Kustomization means that the file can have any name that kustomize accepts.
	Kustomization bool
	// Listings are the items of kustomizations that name the file.
	Listings []Listing
}

// NewTree returns a tree with the given files, without Contents and Lock.
func NewTree(files ...File) Tree {
	t := Tree{files: map[string]File{}}
	for _, f := range files {
		t.files[f.Path] = f
	}
	t.paths = slices.Sorted(maps.Keys(t.files))
	return t
}

// Outline returns the files of a project without their content. It does not need the flags of features, and always
// succeeds.
func Outline(proj *project.Project) Tree {
	var files []File
	for _, t := range templates.Project() {
		name := t.Path(templates.ProjectView{})
		files = append(files, File{Path: name, Template: t.Source(), Owner: t.Owner, Kustomization: isKustomization(name)})
	}
	for _, p := range partsOf(proj) {
		files = append(files, p.File)
	}
	return NewTree(files...)
}

func isKustomization(name string) bool { return path.Base(name) == "kustomization.yaml" }

// Files returns the files of the tree, ordered by path. It omits PROJECT, modules, the bundled runtime and the header
// of Go files, for which commands have separate edits.
func (t Tree) Files() []File {
	all := make([]File, 0, len(t.paths))
	for _, name := range t.paths {
		all = append(all, t.files[name])
	}
	return all
}

// File returns a file of the tree.
func (t Tree) File(name string) (File, bool) {
	f, found := t.files[name]
	return f, found
}

// tree returns the rendered files of a project, and the outline of all other files.
func (r *Rendering) tree(proj *project.Project, failed []Failed) Tree {
	contents := map[string][]byte{}
	outline := Outline(proj)
	var files []File
	for c := range r.Plan.Files() {
		if c.After == nil {
			continue
		}
		contents[c.Path] = c.After
		f, found := outline.files[c.Path]
		if !found {
			f = File{Path: c.Path, Kustomization: isKustomization(c.Path)}
		}
		f.Template, f.Owner, f.Content = c.Template, templates.OwnerOf(c.Template), c.After
		if !isEditedApart(c.Path) {
			files = append(files, f)
		}
	}
	tree := NewTree(append(outline.Files(), files...)...)
	tree.Contents, tree.Failed, tree.Lock = contents, failed, r.Plan.Lock()
	return tree
}

// isEditedApart reports whether commands have a separate edit for a file.
func isEditedApart(name string) bool {
	return slices.Contains([]string{project.File, layout.BoilerplateFile}, name) ||
		slices.Contains([]string{layout.GoModFile, "go.sum"}, path.Base(name)) ||
		strings.HasPrefix(name, layout.BundleDir+"/")
}
