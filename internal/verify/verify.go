// Package verify checks CRDs and objects of their kinds without an API server.
//
// The CRDs come from YAML files and from the Go packages of a module, for which kctrl's generators run in memory. Each
// finding has a position: the field, type or marker in the Go source if possible, otherwise the line and column in the
// YAML file. One run reports all findings.
package verify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/verify/manifest"
	"github.com/kctrl-dev/kctrl/internal/verify/sample"
)

// Finding is one problem.
type Finding struct {
	*diagnostic.Error
	// Warning reports whether API servers accept the object in spite of the problem.
	Warning bool
}

// Options are the options of Run.
type Options struct {
	// Dir is an absolute path. Names are relative to it.
	Dir string
	// Names are files and directories. Empty means Dir.
	Names []string
	// FS is Dir as a file system if Dir is a project or a module, and Project is the project. Other modules that contain
	// or are in Names are read from disk.
	FS      fs.FS
	Project *project.Project
	// AllowUnknown are prefixes of accepted unknown markers.
	AllowUnknown []string
	// Conventions also checks Go types against the API conventions.
	Conventions bool
	// Disabled are the codes of findings to omit.
	Disabled []string
	Cache    incremental.Store
}

// Result is the result of a run.
type Result struct {
	// Findings are ordered by position.
	Findings []Finding
	// CRDs and Objects are the numbers of checked CRDs and objects.
	CRDs, Objects int
}

// CodeNothing is the code of the finding for an argument that contains nothing to check.
const CodeNothing = "nothing-to-verify"

// Run checks the files and directories in the options. The error reports that the check could not run.
func Run(ctx context.Context, o Options) (*Result, error) {
	r := &run{Options: o, kinds: &sample.Kinds{}, result: &Result{}, generated: map[string]bool{},
		read: map[string]bool{}}
	names := o.Names
	if len(names) == 0 {
		names = []string{"."}
	}
	// Files are first, because some objects in them are only checked if the user named the file.
	isDir := func(name string) bool { info, err := os.Stat(r.path(name)); return err == nil && info.IsDir() }
	files := slices.DeleteFunc(slices.Clone(names), isDir)
	dirs := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isDir(name) })
	for _, name := range slices.Concat(files, dirs) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.name(ctx, name); err != nil {
			return nil, err
		}
	}
	r.twins()
	r.samples()
	r.finish()
	return r.result, nil
}

// run is the state of one call of Run.
type run struct {
	Options
	result *Result
	kinds  *sample.Kinds
	crds   []named
	// objects are documents that may be samples.
	objects []manifest.Document
	// generated has the names of the CRDs that were generated from Go.
	generated map[string]bool
	// read has the paths of the YAML files that were read. Arguments can overlap: repeated counts the CRDs and files that
	// they have in common with earlier arguments.
	read     map[string]bool
	repeated int
}

func (r *run) add(err error, warning bool) {
	r.result.Findings = append(r.result.Findings, findings(err, warning)...)
}

// findings returns the single errors in an error as findings.
func findings(err error, warning bool) (found []Finding) {
	for _, e := range diagnostic.All(err) {
		d, ok := errors.AsType[*diagnostic.Error](e)
		if !ok {
			d = &diagnostic.Error{Message: e.Error(), Cause: e}
		}
		found = append(found, Finding{d, warning})
	}
	return found
}

// path returns the absolute path of a file or directory.
func (r *run) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(r.Dir, name)
}

// name checks the file or directory with a name.
func (r *run) name(ctx context.Context, name string) error {
	path := r.path(name)
	info, err := os.Stat(path)
	if err != nil {
		return &diagnostic.Error{
			Message: fmt.Sprintf("cannot read %s: %s", diagnostic.Quote(name), diagnostic.PlainCause(err)),
			Hint:    "use a directory, or a file with CRDs or objects in YAML", Class: diagnostic.ErrUsage, Cause: err,
		}
	}
	count := func() int {
		return len(r.crds) + len(r.objects) + len(r.generated) + len(r.result.Findings) + r.repeated
	}
	before := count()
	if !info.IsDir() {
		r.file(path, true)
	} else if err := r.directory(ctx, path); err != nil {
		return err
	}
	if count() == before {
		r.add(&diagnostic.Error{
			Pos: diagnostic.InProject(r.Dir, path), Code: CodeNothing,
			Message: "nothing to verify: neither a CRD nor a Go type of a kind",
			Hint:    "use a directory with CRDs in YAML or with API packages in Go",
		}, false)
	}
	return nil
}

// directory checks the YAML files in a directory and below it, and the Go packages.
func (r *run) directory(ctx context.Context, dir string) error {
	hasGo, hasExamples := false, false
	var manifests []string
	top := dir + string(filepath.Separator) // follows a symbolic link
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			r.add(diagnostic.Unreadable(r.Dir, path, err), false)
			return nil
		case entry.IsDir() && path != top && manifest.IsSkipped(entry.Name()):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		switch filepath.Ext(path) {
		case ".go":
			hasGo = true
			if text, err := regular.ReadFile(path); err == nil && bytes.Contains(text, exampleMarker) {
				hasExamples = true
			}
		case ".yaml", ".yml":
			manifests = append(manifests, path)
		}
		return ctx.Err()
	})
	if m := r.module(dir); err == nil && hasGo && m != nil {
		err = r.packages(ctx, m) // before the files, because it generates some of them
		if (hasExamples || r.Conventions) && err == nil {
			err = r.source(ctx, m)
		}
	}
	if err != nil {
		return err
	}
	for _, path := range manifests {
		r.file(path, false)
	}
	return ctx.Err()
}

// module is a project or module with packages to check.
type module struct {
	dir     string
	fs      fs.FS
	project *project.Project
	// patterns select the packages. Nil means all.
	patterns []string
}

// module returns the module of the Go packages in a directory and below it. It returns nil if there is none.
func (r *run) module(dir string) *module {
	root, rel := project.Root(dir)
	m := &module{dir: root, fs: r.FS, project: r.Project}
	if root != r.Dir || r.FS == nil {
		if root == "" {
			return nil
		}
		m.fs = os.DirFS(root)
		var err error
		if m.project, err = project.LoadForeign(m.fs, true); err != nil {
			r.add(diagnostic.Moved(root, r.Dir, err), false)
			return nil
		}
	}
	if rel != "." {
		m.patterns = []string{"./" + rel + "/..."}
	}
	return m
}

// moved adds errors of a module.
func (r *run) moved(m *module, err error, warning bool) {
	for _, e := range diagnostic.All(err) {
		r.add(diagnostic.Moved(m.dir, r.Dir, e), warning)
	}
}

// packages checks the CRDs of the Go packages of a module.
func (r *run) packages(ctx context.Context, m *module) error {
	options := generate.Options{
		Generators: []string{generate.CRD}, AllowUnknown: r.AllowUnknown, Cache: r.Cache,
		Warn: func(f lint.Finding) { r.moved(m, f.Error, true) }, Paths: m.patterns,
	}
	outputs, err := generate.Outputs(ctx, m.dir, plan.NewWithoutLock(m.fs), m.project, options)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.moved(m, err, false)
	for _, file := range outputs {
		for _, d := range manifest.Parse(file.Path, file.Content) {
			if d.IsCRD() {
				if crd, err := d.Definition(); err == nil {
					if r.generated[crd.CRD.Name] {
						r.repeated++
						continue
					}
					r.generated[crd.CRD.Name] = true
					r.kinds.Add(crd.CRD)
					if !slices.ContainsFunc(r.crds, func(n named) bool { return n.Name == crd.CRD.Name }) {
						r.result.CRDs++
					}
				}
			}
		}
	}
	return nil
}

// file reads the CRDs and objects of a YAML file. asked reports whether the command line contains the file.
func (r *run) file(path string, asked bool) {
	if r.read[path] {
		r.repeated++
		return
	}
	pos := diagnostic.InProject(r.Dir, path)
	text, err := regular.ReadFile(path)
	if err != nil {
		r.add(diagnostic.Unreadable(r.Dir, path, err), false)
		return
	}
	if !asked && (!manifest.MayHaveCRD(text) && !manifest.IsSample(pos.Filename) || manifest.IsTemplate(text)) {
		return
	}
	r.read[path] = true
	found := false
	for _, d := range manifest.Parse(pos.Filename, text) {
		switch {
		case d.Err != nil:
			r.add(d.Err, false)
			found = true
		case d.IsCRD():
			found = true
			r.definition(d, asked)
		case asked || manifest.IsSample(pos.Filename):
			found = found || d.IsObject()
			r.objects = append(r.objects, d)
		}
	}
	if asked && !found {
		r.add(&diagnostic.Error{
			Pos: pos, Code: CodeNothing, Message: "neither a CRD nor an object of a kind",
			Hint: "use a file with CRDs or objects in YAML",
		}, false)
	}
}

// definition checks a CRD. asked reports whether the command line contains its file.
func (r *run) definition(d manifest.Document, asked bool) {
	found := r.recordOf(d)
	if found.Partial && !asked {
		return
	}
	if found.Name != "" && !found.Partial {
		r.crds = append(r.crds, named{found, d})
		if r.generated[found.Name] {
			return
		}
		r.result.CRDs++
	}
	r.result.Findings = append(r.result.Findings, found.Findings...)
}

// named is a CRD in YAML with its name.
type named struct {
	record
	document manifest.Document
}

// twins reports CRDs with the same name in one directory.
func (r *run) twins() {
	type key struct{ dir, name string }
	first := map[key]token.Position{}
	for _, crd := range r.crds {
		at := key{filepath.Dir(crd.Pos.Filename), crd.Name}
		before, twin := first[at]
		if !twin {
			first[at] = crd.Pos
			continue
		}
		r.add(manifest.Twin(crd.Name, crd.Pos, before), false)
	}
}

// learn adds to kinds the CRDs whose groups occur in the objects.
func (r *run) learn() {
	groups := map[string]bool{}
	for _, d := range r.objects {
		groups[d.Group()] = true
	}
	for _, crd := range r.crds {
		if !groups[crd.Group] {
			continue
		}
		if of, err := crd.document.Definition(); err == nil {
			r.kinds.Add(of.CRD)
		}
	}
}

// samples checks the objects whose kinds are known.
func (r *run) samples() {
	r.learn()
	for _, d := range r.objects {
		checked, err := d.CheckSample(r.kinds)
		if checked {
			r.result.Objects++
		}
		r.add(err, false)
	}
	if len(r.objects) > 0 && r.result.CRDs+r.result.Objects+len(r.result.Findings) == 0 {
		r.add(&diagnostic.Error{
			Pos: r.objects[len(r.objects)-1].At(), Code: CodeNothing,
			Message: "nothing to verify: no CRD for the object is given",
			Hint:    "add the file or directory with its CRD, such as config/crd",
		}, false)
	}
}

// finish sorts the findings and removes disabled and duplicate ones.
func (r *run) finish() {
	all := slices.DeleteFunc(r.result.Findings, func(f Finding) bool {
		return f.Code != "" &&
			slices.Contains(r.Disabled, f.Code)
	})
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(diagnostic.ComparePosition(a.Pos, b.Pos), cmp.Compare(a.Message, b.Message))
	})
	r.result.Findings = slices.CompactFunc(all, func(a, b Finding) bool { return a.Error.Error() == b.Error.Error() })
}
