package gomod

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"golang.org/x/mod/modfile"
)

func ValidateRuntime(mode project.RuntimeMode, kctrl project.Build) error {
	switch {
	case mode == project.Bundled, mode == project.Module && kctrl.Sum != "":
		return nil
	case mode == project.Module:
		return &diagnostic.Error{
			Message: fmt.Sprintf("kctrl %s is not a published module that a project could require", kctrl.Version),
			Hint:    "use --runtime=bundled, or a kctrl from go install " + layout.RuntimeModule + "/cmd/kctrl@latest",
		}
	}
	return diagnostic.Usage(fmt.Sprintf("unknown runtime %q", string(mode)), "use --runtime=bundled or --runtime=module")
}

// WriteBundle plans the part of the runtime that a project needs: [bundleRoots], the runtime packages that the project
// imports, and all runtime packages that these import.
func WriteBundle(p *plan.Plan) error { return AddRuntime(p, bundleRoots...) }

// bundledModules returns the templates of go.mod and go.sum of the bundled runtime.
func bundledModules() []templates.Template[templates.ModuleView] {
	return slices.DeleteFunc(templates.Modules(), func(t templates.Template[templates.ModuleView]) bool {
		return !strings.HasPrefix(t.Path(templates.ModuleView{}), layout.BundleDir+"/")
	})
}

// PlanRuntime completes a bundled runtime: it writes files that were deleted, and packages that the project imports and
// the runtime lacks. It returns a *diagnostic.Error if another version of kctrl wrote the rest of the runtime.
func PlanRuntime(p *plan.Plan, proj *project.Project) error {
	if proj.Runtime == project.Module || !ReplacesRuntime(p) {
		return nil
	}
	onDisk, err := p.HasLock()
	if err != nil {
		return err
	}
	lock := p.Lock()
	lost, known, err := lostRuntime(p, lock)
	if err != nil {
		return err
	}
	var added []string
	if known && len(lost) == 0 {
		added, err = addedPackages(p)
	}
	if err != nil || onDisk && len(lost)+len(added) == 0 {
		return err
	}
	files, err := wholeRuntime(p, proj, lock)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(files), func(f plan.File) bool { return gosource.Exists(p.FS(), f.Path) })
	message := fmt.Sprintf("the bundled runtime lacks %d of its files", len(missing))
	hint := "kctrl generate writes them; nothing builds without them, so commit them"
	switch others := otherRuntime(files, lock); {
	case len(added) > 0 && len(others) > 0:
		return diagnostic.In(path.Join(layout.BundleDir, added[0]),
			"is missing and imported, and another version of kctrl wrote the bundled runtime",
			"kctrl upgrade brings the whole runtime to this version")
	case len(added) > 0:
		message = fmt.Sprintf("the bundled runtime lacks %s, which the project imports", strings.Join(added, ", "))
		hint = fmt.Sprintf("kctrl generate writes %d files; run go mod tidy after it, and commit both", len(missing))
	case len(lost) == 0:
		if same, err := isSame(p, files); err != nil || !same || len(missing) == 0 {
			return err
		}
	case len(others) > 0:
		if entries, err := fs.ReadDir(p.FS(), layout.BundleDir); err == nil && len(entries) > 0 {
			return mixedRuntime(lost)
		}
		for _, name := range others {
			if err := p.Delete(name); err != nil {
				return err
			}
		}
	}
	p.Note(diagnostic.In(layout.BundleDir, message, hint))
	return writeFiles(p, missing)
}

// ReplaceRuntime plans the bundled runtime of this kctrl, and deletes other files of the runtime that kctrl wrote.
func ReplaceRuntime(p *plan.Plan, proj *project.Project) error {
	if proj.Runtime == project.Module || !ReplacesRuntime(p) {
		return nil
	}
	files, err := wholeRuntime(p, proj, &project.Lock{})
	if err != nil {
		return err
	}
	var old []string
	for entry := range p.Lock().All() {
		if strings.HasPrefix(entry.Path, layout.BundleDir+"/") &&
			!slices.ContainsFunc(files, func(f plan.File) bool { return f.Path == entry.Path }) {
			old = append(old, entry.Path)
		}
	}
	for _, name := range old {
		if err := p.Delete(name); err != nil {
			return err
		}
	}
	for i := range files {
		files[i].Force = true // the lock may be lost
	}
	return writeFiles(p, files)
}

func mixedRuntime(missing []string) error {
	what := "is missing"
	if more := len(missing) - 1; more > 0 {
		what = fmt.Sprintf("and %d more files are missing", more)
	}
	return diagnostic.In(missing[0], what+", of a runtime that another version of kctrl wrote",
		"restore "+layout.BundleDir+" from version control, or remove the directory: then kctrl generate "+
			"writes the runtime of this kctrl")
}

// ReplacesRuntime reports whether go.mod replaces the runtime with its directory. It returns false if go.mod cannot be
// read, because other checks report that.
func ReplacesRuntime(p *plan.Plan) bool {
	return replacesByDir(p, layout.RuntimeModule, layout.BundleDir)
}

// ReplacesControllerRuntime reports whether go.mod replaces controller-runtime with the module that [WriteDropIn]
// writes.
func ReplacesControllerRuntime(p *plan.Plan) bool {
	return replacesByDir(p, "sigs.k8s.io/controller-runtime", DropInDir)
}

func replacesByDir(p *plan.Plan, modulePath, dir string) bool {
	file, err := ReadModule(p, ".")
	return err == nil && slices.ContainsFunc(file.Replace, func(r *modfile.Replace) bool {
		return r.Old.Path == modulePath && path.Clean(r.New.Path) == dir
	})
}

// wholeRuntime returns the runtime files as this kctrl writes them to the project. They include packages that the
// project does not need but the lock records.
func wholeRuntime(p *plan.Plan, proj *project.Project, lock *project.Lock) ([]plan.File, error) {
	roots, err := runtimeImports(p)
	if err != nil {
		return nil, err
	}
	roots = append(roots, bundleRoots...)
	for entry := range lock.All() {
		if name, ours := strings.CutPrefix(entry.Path, layout.BundleDir+"/"); ours {
			roots = append(roots, path.Dir(name))
		}
	}
	files, err := sourceFiles(roots)
	view := templates.ModuleView{Repo: proj.Repo}
	for _, t := range bundledModules() {
		content, failure := t.Render(view)
		err = errors.Join(err, failure)
		files = append(files, plan.File{Path: t.Path(view), Content: content, Template: t.Source(), Owner: plan.Generated})
	}
	return files, err
}

// lostRuntime returns the runtime files that the lock records but that do not exist. If the lock records none, known is
// false, and lost is the runtime's directory if it does not exist.
func lostRuntime(p *plan.Plan, lock *project.Lock) (lost []string, known bool, err error) {
	for entry := range lock.All() {
		if !strings.HasPrefix(entry.Path, layout.BundleDir+"/") {
			continue
		}
		known = true
		if _, err := fs.Stat(p.FS(), entry.Path); errors.Is(err, fs.ErrNotExist) {
			lost = append(lost, entry.Path)
		} else if err != nil {
			return nil, known, diagnostic.AtFile(entry.Path, "cannot read", err)
		}
	}
	if !known && !gosource.Exists(p.FS(), layout.BundleDir) {
		lost = append(lost, layout.BundleDir)
	}
	return lost, known, nil
}

// addedPackages returns the packages of this kctrl's runtime that the project imports and its bundled runtime lacks.
func addedPackages(p *plan.Plan) (added []string, err error) {
	imported, err := runtimeImports(p)
	if err != nil {
		return nil, err
	}
	added = slices.DeleteFunc(imported, func(name string) bool {
		return gosource.Exists(p.FS(), path.Join(layout.BundleDir, name))
	})
	if len(added) == 0 {
		return nil, nil
	}
	all, err := runtimePackages()
	return slices.DeleteFunc(added, func(name string) bool { return all[name] == nil }), err
}

// runtimeImports returns the runtime packages that the Go files of the project and of nested modules import, sorted. If
// a file does not parse, it uses the imports before the error.
func runtimeImports(p *plan.Plan) ([]string, error) {
	files, err := gosource.GoFilesOf(p, ".", gosource.IsIgnored)
	if err != nil {
		return nil, err
	}
	imported := map[string]bool{}
	for _, name := range files {
		text, err := p.Read(name)
		if err != nil {
			return nil, err
		}
		for _, pkg := range importsOfRuntime(text) {
			imported[pkg] = true
		}
	}
	return slices.Sorted(maps.Keys(imported)), nil
}

// isSame reports whether the existing files of the runtime have the content of this kctrl. Otherwise another kctrl
// wrote the runtime and may use other files.
func isSame(p *plan.Plan, files []plan.File) (bool, error) {
	for _, f := range files {
		c, err := p.Lookup(f.Path)
		if err != nil || c.Before != nil && !bytes.Equal(c.Before, f.Content) {
			return false, err
		}
	}
	return true, nil
}

// otherRuntime returns the runtime files in the lock that differ from the runtime files of this kctrl.
func otherRuntime(files []plan.File, lock *project.Lock) []string {
	ours := map[string][]byte{}
	for _, f := range files {
		ours[f.Path] = f.Content
	}
	var others []string
	for entry := range lock.All() {
		if strings.HasPrefix(entry.Path, layout.BundleDir+"/") &&
			(ours[entry.Path] == nil || lock.Touched(entry.Path, ours[entry.Path])) {
			others = append(others, entry.Path)
		}
	}
	return others
}

// bundleRoots are the runtime packages that every project gets, because the templates import them.
var bundleRoots = []string{
	"runtime/cache", "runtime/client", "runtime/controller", "runtime/controllerutil", "runtime/events", "runtime/handler",
	"runtime/informer", "runtime/log", "runtime/manager", "runtime/object", "runtime/predicate", "runtime/reconcile",
	"runtime/source", "runtime/testenv", "runtime/webhook", "runtime/webhook/admission", "runtime/webhook/conversion",
	"runtime/webhook/conversiontest", "runtime/workqueue",
}

// runtimePackage is a runtime package embedded in this binary.
type runtimePackage struct {
	files   []string // without tests
	imports []string // packages of the runtime
}

// runtimePackages returns the runtime packages by directory.
var runtimePackages = sync.OnceValues(func() (map[string]*runtimePackage, error) {
	all := map[string]*runtimePackage{}
	err := fs.WalkDir(kctrl.Source, "runtime", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		pkg := all[path.Dir(name)]
		if pkg == nil {
			pkg = &runtimePackage{}
			all[path.Dir(name)] = pkg
		}
		pkg.files = append(pkg.files, name)
		if path.Ext(name) != ".go" {
			return nil
		}
		content, err := fs.ReadFile(kctrl.Source, name)
		if err != nil {
			return err
		}
		pkg.imports = append(pkg.imports, importsOfRuntime(content)...)
		return nil
	})
	return all, err
})

// runtimeFiles returns the license and the sorted files of packages and their dependencies. It ignores packages that
// the runtime does not have, because the compiler reports them.
func runtimeFiles(roots []string) ([]string, error) {
	all, err := runtimePackages()
	if err != nil {
		return nil, err
	}
	reached := map[string]bool{}
	for queue := slices.Clone(roots); len(queue) > 0; queue = queue[1:] {
		if pkg := all[queue[0]]; pkg != nil && !reached[queue[0]] {
			reached[queue[0]] = true
			queue = append(queue, pkg.imports...)
		}
	}
	files := []string{"LICENSE"}
	for _, name := range slices.Sorted(maps.Keys(reached)) {
		files = append(files, all[name].files...)
	}
	return files, nil
}
