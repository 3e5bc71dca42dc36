// Package input reads the CRDs of one side of a comparison from files, a directory, or a git revision.
//
// In a directory or revision, it reads the YAML files. If these contain no CRDs, it generates the CRDs from the Go
// packages. It reads revisions from git's object database and does not check them out.
package input

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/verify/definition"
	"github.com/kctrl-dev/kctrl/internal/verify/manifest"
)

// Side is one side of a comparison.
type Side struct {
	// Name is the user's name for the side.
	Name string
	CRDs map[string]*CRD
	// Samples are objects in config/samples.
	Samples []map[string]any
	// Errs are the errors of unreadable files. All other files were read.
	Errs []error
	// Root reports whether the side is a whole project or module, which may have no kind yet.
	Root bool
	// Partial reports whether CRDs may exist that are missing here. A missing CRD then does not count as removed.
	Partial bool
}

// CRD is a CRD with its source.
type CRD struct {
	*apiextensionsv1.CustomResourceDefinition
	// At returns the position of a problem. Nil means that positions are unknown.
	At func(definition.Problem) token.Position
	// Check returns the errors for which API servers reject the CRD. Nil means that an API server has accepted it.
	Check func() error
}

// Options are the options of Load.
type Options struct {
	// Dir is an absolute path. Names are relative to it.
	Dir   string
	Cache incremental.Store
	// Temporary returns an empty directory, which the caller removes.
	Temporary func() (string, error)
}

// WorkingTree is the name of the side that is read from Dir.
const WorkingTree = "the working tree"

// Load reads a file, a directory or a revision. The empty name means the working tree.
func Load(ctx context.Context, o Options, name string) (*Side, error) {
	r := &reader{Options: o, side: &Side{Name: name, CRDs: map[string]*CRD{}}}
	if name == "" {
		r.side.Name = WorkingTree
		return r.side, r.directory(ctx, o.Dir)
	}
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(o.Dir, name)
	}
	info, err := os.Stat(full)
	switch {
	case err == nil && info.IsDir():
		return r.side, r.directory(ctx, full)
	case err == nil:
		r.disk = true
		r.read(full, r.relative(full), true)
		r.choose()
		return r.side, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, diagnostic.Unreadable(o.Dir, full, err)
	}
	return r.side, r.revision(ctx, name)
}

// Objects returns a side with the CRDs of an API server.
func Objects(name string, crds []*apiextensionsv1.CustomResourceDefinition) *Side {
	side := &Side{Name: name, CRDs: map[string]*CRD{}, Partial: true}
	for _, crd := range crds {
		side.CRDs[crd.Name] = &CRD{CustomResourceDefinition: crd}
	}
	return side
}

// reader reads one side.
type reader struct {
	Options
	side *Side
	// disk reports whether files are from the file system and not from a revision.
	disk  bool
	found []found
	hasGo bool
}

// found is a CRD in a file.
type found struct {
	*manifest.Definition
	at token.Position
}

func (r *reader) fail(err error) { r.side.Errs = append(r.side.Errs, diagnostic.All(err)...) }

func (r *reader) relative(full string) string { return diagnostic.InProject(r.Dir, full).Filename }

// directory reads a directory of the file system.
func (r *reader) directory(ctx context.Context, dir string) error {
	r.disk = true
	_, rel := project.Root(dir)
	r.side.Root = rel == "."
	top := dir + string(filepath.Separator) // follows a symbolic link
	err := filepath.WalkDir(top, func(full string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			r.fail(diagnostic.Unreadable(r.Dir, full, err))
		case entry.IsDir() && full != top && manifest.IsSkipped(entry.Name()):
			return fs.SkipDir
		case entry.Type().IsRegular():
			r.read(full, r.relative(full), false)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	r.choose()
	if !r.hasGo {
		return r.none(len(r.side.CRDs) > 0)
	}
	at := sync.OnceValue(func() map[string]generator.Explain { _, made, _ := r.generated(ctx, dir, false); return made })
	if len(r.side.CRDs) > 0 {
		r.place(at)
		return nil
	}
	crds, _, err := r.generated(ctx, dir, true)
	r.fail(err)
	for _, crd := range crds {
		r.side.CRDs[crd.Name] = &CRD{CustomResourceDefinition: crd}
	}
	r.place(at)
	return r.none(len(crds) > 0 || err != nil)
}

// none returns an error if nothing was found in a file or directory that the user named. [Empty] returns the error for
// other sides.
func (r *reader) none(some bool) error {
	named := r.disk && r.side.Name != WorkingTree || !r.disk && strings.Contains(r.side.Name, ":")
	if some || len(r.side.Errs) > 0 || !named {
		return nil
	}
	return nothing(r.side.Name + " has")
}

// Empty returns an error if there is nothing to compare, except in a project, which may have no kind yet.
func Empty(a, b *Side) error {
	if len(a.CRDs)+len(b.CRDs)+len(a.Errs)+len(b.Errs) > 0 || a.Root || b.Root {
		return nil
	}
	return nothing(fmt.Sprintf("%s and %s have", a.Name, b.Name))
}

func nothing(where string) error {
	return &diagnostic.Error{
		Message: "nothing to compare: " + where + " neither a CRD nor a Go type of a kind",
		Hint:    "use a revision, a directory or a file with CRDs in YAML, or a directory with API packages in Go",
	}
}

// place makes positions refer to the Go source if a CRD is generated from Go. It loads the source at the first problem.
func (r *reader) place(made func() map[string]generator.Explain) {
	for name, crd := range r.side.CRDs {
		inYAML := crd.At
		crd.At = func(p definition.Problem) token.Position {
			if explain := made()[name]; explain != nil {
				if pos := explain(p).Pos; pos.IsValid() {
					return pos
				}
			}
			if inYAML == nil {
				return token.Position{}
			}
			return inYAML(p)
		}
	}
}

// generated returns the CRDs that the Go packages of a directory define, and the functions that find positions of their
// problems.
func (r *reader) generated(ctx context.Context, dir string,
	cached bool) ([]*apiextensionsv1.CustomResourceDefinition, map[string]generator.Explain, error) {
	root, rel := project.Root(dir)
	if root == "" {
		return nil, nil, nil
	}
	var paths []string
	if rel != "." {
		paths = []string{"./" + rel + "/..."}
	}
	fsys := os.DirFS(root)
	proj, err := project.LoadForeign(fsys, true)
	if err != nil {
		return nil, nil, diagnostic.Moved(root, r.Dir, err)
	}
	made := map[string]generator.Explain{}
	o := generate.Options{Generators: []string{generate.CRD}, Paths: paths, LeaveRules: true}
	if cached {
		o.Cache = r.Cache
	} else {
		o.Made = func(crd *apiextensionsv1.CustomResourceDefinition, explain generator.Explain) {
			made[crd.Name] = func(p definition.Problem) *diagnostic.Error { return diagnostic.Moved(root, r.Dir, explain(p)) }
		}
	}
	files, err := generate.Outputs(ctx, root, plan.NewWithoutLock(fsys), proj, o)
	var errs []error
	for _, e := range diagnostic.All(err) {
		errs = append(errs, diagnostic.Moved(root, r.Dir, e))
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		for _, d := range manifest.Parse(file.Path, file.Content) {
			if !d.IsCRD() {
				continue
			}
			if of, err := d.Definition(); err == nil {
				crds = append(crds, of.CRD)
			}
		}
	}
	return crds, made, errors.Join(errs...)
}

// read reads a file. asked reports whether the user passed its name.
func (r *reader) read(full, name string, asked bool) {
	switch path.Ext(name) {
	case ".go":
		r.hasGo = true
		if asked {
			r.fail(&diagnostic.Error{Pos: token.Position{Filename: name}, Message: "no CRD",
				Hint: "use the directory of the Go package, or a file with CRDs in YAML"})
		}
		return
	case ".yaml", ".yml":
	default:
		if !asked {
			return
		}
	}
	text, err := regular.ReadFile(full)
	if err != nil {
		r.fail(diagnostic.Unreadable(r.Dir, full, err))
		return
	}
	r.parse(name, text, asked)
}

// parse reads the CRDs and samples in a text.
func (r *reader) parse(name string, text []byte, asked bool) {
	inSamples := manifest.IsSample(name)
	if !asked && (!manifest.MayHaveCRD(text) && !inSamples || manifest.IsTemplate(text)) {
		return
	}
	before := len(r.found) + len(r.side.Errs)
	for _, d := range manifest.Parse(name, text) {
		switch {
		case d.Err != nil:
			r.fail(d.Err)
		case d.IsCRD():
			of, err := d.Definition()
			if err != nil {
				r.fail(err)
			} else if !of.IsPatch() {
				r.found = append(r.found, found{of, of.At("metadata", "name")})
			} else if asked {
				r.fail(of.Patch())
			}
		case inSamples:
			r.sample(d)
		}
	}
	if asked && len(r.found)+len(r.side.Errs) == before {
		r.fail(&diagnostic.Error{Pos: token.Position{Filename: name}, Message: "no CRD",
			Hint: "use a file with CRDs in YAML"})
	}
}

// sample adds an object of config/samples. It ignores invalid samples, which kctrl verify reports.
func (r *reader) sample(d manifest.Document) {
	var object map[string]any
	text, err := sigsyaml.YAMLToJSON(d.Text())
	if err == nil && utiljson.Unmarshal(text, &object) == nil && object != nil {
		r.side.Samples = append(r.side.Samples, object)
	}
}

// rank orders files that contain CRDs with the same name: the generators' output directory comes first.
func rank(name string) int {
	dir := "/" + path.Dir(name) + "/"
	switch {
	case strings.Contains(dir, "/config/crd/"):
		return 0
	case strings.Contains(dir, "/crds/") || strings.Contains(dir, "/crd/"):
		return 1
	}
	return 2
}

// choose keeps, for each CRD name, the CRD from the first file.
func (r *reader) choose() {
	slices.SortStableFunc(r.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(rank(a.at.Filename), rank(b.at.Filename)), diagnostic.ComparePosition(a.at, b.at))
	})
	type place struct{ dir, name string }
	first := map[place]token.Position{}
	for _, f := range r.found {
		here := place{path.Dir(f.at.Filename), f.CRD.Name}
		if before, twin := first[here]; twin {
			r.fail(manifest.Twin(f.CRD.Name, f.at, before))
			continue
		}
		first[here] = f.at
		if r.side.CRDs[f.CRD.Name] == nil {
			places := sync.OnceValue(f.Places)
			r.side.CRDs[f.CRD.Name] = &CRD{
				CustomResourceDefinition: f.CRD,
				At:                       func(p definition.Problem) token.Position { return places()(p.Path.Steps...) },
				Check:                    f.check,
			}
		}
	}
}

// check returns the errors for which API servers reject the CRD. It ignores labels, because charts have templates
// there.
func (f found) check() error {
	given, crd := *f.Definition, *f.CRD
	crd.Labels = nil
	given.CRD = &crd
	refused, _ := given.Problems()
	return refused
}

// Names returns the names of the CRDs of two sides, sorted.
func Names(sides ...*Side) []string {
	names := map[string]bool{}
	for _, side := range sides {
		for name := range side.CRDs {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// write writes a file of a revision below a directory.
func write(dir, name string, content []byte) error {
	full := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	return os.WriteFile(full, bytes.Clone(content), 0o600)
}
