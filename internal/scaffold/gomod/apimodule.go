package gomod

import (
	"bytes"
	"errors"
	"go/token"
	"go/version"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// API packages may be in a Go module of their own: importers of the types then do not depend on the operator's
// requirements. The path of that module is the import path of its directory, so imports are the same with and without
// it. A replace directive in go.mod makes the project build with the directory.

// testedWith is a module that only the tests of imported packages need. go mod tidy requires the same version in the
// project, unless another module that the project builds with already requires it.
const testedWith = "github.com/stretchr/testify"

// GeneratedPaths returns the package patterns for which to generate code: the patterns of the project's module, and the
// patterns of modules in subdirectories that hold API packages. It identifies these modules by directory, regardless of
// the version with which the project builds.
func GeneratedPaths(p *plan.Plan, proj *project.Project) ([]string, error) {
	modules, err := gosource.ApiModules(p, proj)
	if err != nil {
		return nil, err
	}
	replaced, err := replacedModules(p, proj)
	if err != nil {
		return nil, err
	}
	paths := []string{"./..."}
	for _, folder := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(modules, replaced)))) {
		if found, err := hasPackages(p, folder); err != nil {
			return nil, err
		} else if found {
			paths = append(paths, "./"+folder+"/...")
		}
	}
	return paths, nil
}

// replacedModules returns the directories with which go.mod replaces modules whose kinds PROJECT lists by path.
func replacedModules(p *plan.Plan, proj *project.Project) ([]string, error) {
	file, err := ReadModule(p, ".")
	if err != nil {
		return nil, nil // reported by other checks
	}
	var folders []string
	for _, r := range file.Replace {
		folder := path.Clean(r.New.Path)
		isIn := func(kind project.Resource) bool { return kind.Path != "" && within(kind.Path, r.Old.Path) }
		if _, err := p.Read(path.Join(folder, layout.GoModFile)); err != nil || !fs.ValidPath(folder) ||
			r.Old.Path == layout.RuntimeModule {
			continue
		}
		if slices.ContainsFunc(proj.Resources, isIn) {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

// hasPackages reports whether a directory or one of its subdirectories has Go files. It skips subdirectories that the
// go command skips.
func hasPackages(p *plan.Plan, folder string) (bool, error) {
	names, err := gosource.GoFilesOf(p, folder, func(name string) bool { return gosource.IsForeign(p.FS(), name, nil) })
	return slices.ContainsFunc(names, gosource.IsPackageFile), err
}

// RequireForTypes plans the requirements for a kind of the project. The module that contains the Go types requires the
// modules that the types import, and the project requires the module that contains the Go types. If the project builds
// with a published version of that module, RequireForTypes adds a note to the plan.
func RequireForTypes(p *plan.Plan, proj *project.Project, folder string) error {
	module, err := gosource.ModuleAround(p, folder)
	if err != nil {
		return err
	}
	if module == "." {
		return RequireDirectly(p, layout.TypesModule)
	}
	if err := errors.Join(provideForTypes(p, proj, module), requireDir(p, path.Join(proj.Repo, module))); err != nil {
		return err
	}
	for _, e := range []*diagnostic.Error{unused(p, proj, module), copied(p, proj, module)} {
		if e != nil {
			p.Note(e)
		}
	}
	return FollowImports(p, proj)
}

// provideForTypes plans that a module of API packages requires the modules that its Go types import.
func provideForTypes(p *plan.Plan, proj *project.Project, module string) error {
	required := false
	err := EditRequirements(p, module, func(file *modfile.File) bool {
		at := Requirement(file, layout.TypesModule)
		if required = at >= 0; !required || !file.Require[at].Indirect {
			return false
		}
		file.Require[at].Indirect = false
		return true
	})
	if err != nil || required {
		return err
	}
	view := templates.ModuleView{Repo: proj.Repo}
	for _, t := range templates.APIModule() {
		text, err := t.Render(view)
		if err != nil {
			return err
		}
		if path.Base(t.Path(view)) == layout.GoModFile {
			err = adoptRequirements(p, module, text)
		} else {
			err = AddSums(p, module, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// requireDir plans that go.mod requires a module that it replaces with a directory. go mod tidy drops such a
// requirement while no code imports a package of the module.
func requireDir(p *plan.Plan, modulePath string) error {
	return EditRequirements(p, ".", func(file *modfile.File) bool {
		if !replaces(file, modulePath) || Requirement(file, modulePath) >= 0 {
			return false
		}
		file.AddNewRequire(modulePath, layout.Unpublished, true)
		return true
	})
}

// unused returns a finding if the project does not build with the directory of a module, or nil otherwise. The project
// may also use the directory through a workspace in a parent directory.
func unused(p *plan.Plan, proj *project.Project, module string) *diagnostic.Error {
	file, err := ReadModule(p, ".")
	if err != nil || replaces(file, path.Join(proj.Repo, module)) {
		return nil
	}
	if work, err := readWork(p); err == nil && usesDir(work, module) {
		return nil
	}
	hint := "go mod edit -replace=" + path.Join(proj.Repo, module) + "=./" + module +
		" makes the project build with the directory; a go.work may do the same"
	if module == project.APIFolder {
		hint = "kctrl edit --api-module makes the project build with the directory; a go.work may do the same"
	}
	return diagnostic.In(layout.GoModFile, "does not replace "+path.Join(proj.Repo, module)+" by ./"+module+
		", so the project builds with what is published",
		hint)
}

// copied returns a finding if the project builds with a vendored copy of a module, or nil otherwise. It ignores copies
// that go work vendor made.
func copied(p *plan.Plan, proj *project.Project, module string) *diagnostic.Error {
	if _, err := fs.Stat(p.FS(), path.Join("vendor", proj.Repo, module)); err != nil {
		return nil
	}
	return diagnostic.In(vendorList, "has a copy of "+module+", which the go command builds with",
		"go mod vendor copies it again, after each change; or go work init . ./"+module+
			" && go work vendor, which copies none")
}

// CheckAPIModules returns the findings about the modules of the project's API packages. unmet are requirements of these
// modules that go.mod lacks, without which the go command builds nothing. elsewhere are modules of which the project
// builds with a published or vendored version.
func CheckAPIModules(p *plan.Plan, proj *project.Project) (unmet, elsewhere []*diagnostic.Error, err error) {
	file, err := ReadModule(p, ".")
	if err != nil {
		return nil, nil, nil // reported by the go command
	}
	modules, err := gosource.ApiModules(p, proj)
	if err != nil {
		return nil, nil, err
	}
	for _, module := range modules {
		if e := unused(p, proj, module); e != nil {
			elsewhere = append(elsewhere, e)
			continue
		}
		if e := copied(p, proj, module); e != nil && !isCopied(p.FS(), module, path.Join("vendor", proj.Repo, module)) {
			e.Message = "has an older copy of " + module + ", which the go command builds with"
			elsewhere = append(elsewhere, e)
		}
		api, err := ReadModule(p, module)
		if err != nil {
			continue // reported by the go command
		}
		unmet = append(unmet, unmetBy(file, api, path.Join(proj.Repo, module), module)...)
	}
	return unmet, elsewhere, nil
}

// RequireHint is the hint for findings that [RequireAPIModules] resolves.
const RequireHint = "kctrl doctor --fix requires it"

// unmetBy returns the requirements of a directory's module that go.mod lacks.
func unmetBy(file, api *modfile.File, modulePath, folder string) []*diagnostic.Error {
	var found []*diagnostic.Error
	add := func(line int, message, hint string) {
		found = append(found, diagnostic.At(token.Position{Filename: layout.GoModFile, Line: line}, message, hint))
	}
	for _, r := range file.Replace {
		if r.Old.Path == modulePath && Requirement(file, modulePath) < 0 {
			add(r.Syntax.Start.Line, "replaces "+modulePath+", and does not require it", RequireHint)
		}
	}
	if file.Go != nil && api.Go != nil && version.Compare("go"+file.Go.Version, "go"+api.Go.Version) < 0 {
		add(file.Go.Syntax.Start.Line, "declares go "+file.Go.Version+", and "+folder+"/go.mod declares go "+api.Go.Version,
			"go mod tidy raises it")
	}
	for _, r := range api.Require {
		if at := Requirement(file, r.Mod.Path); at >= 0 && semver.Compare(file.Require[at].Mod.Version, r.Mod.Version) < 0 {
			add(file.Require[at].Syntax.Start.Line, "requires "+r.Mod.Path+" "+file.Require[at].Mod.Version+", and "+folder+
				"/go.mod "+r.Mod.Version, "go mod tidy raises it")
		}
	}
	return found
}

// RequireAPIModules plans that go.mod requires the modules of API packages that it replaces with their directories.
func RequireAPIModules(p *plan.Plan, proj *project.Project) error {
	modules, err := gosource.ApiModules(p, proj)
	if err != nil {
		return err
	}
	for _, module := range modules {
		err = errors.Join(err, requireDir(p, path.Join(proj.Repo, module)))
	}
	return errors.Join(err, FollowImports(p, proj))
}

// isCopied reports whether every package in a vendored copy has the same Go files as in the copied directory.
func isCopied(fsys fs.FS, folder, to string) bool {
	same := true
	_ = fs.WalkDir(fsys, to, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		files := packageFiles(fsys, name)
		there := packageFiles(fsys, path.Join(folder, strings.TrimPrefix(name, to)))
		same = same && (len(files) == 0 || maps.EqualFunc(files, there, bytes.Equal))
		return nil
	})
	return same
}

// packageFiles returns the Go files of a package by name. The result is empty if the directory has no package or does
// not exist.
func packageFiles(fsys fs.FS, folder string) map[string][]byte {
	files := map[string][]byte{}
	names, _ := fs.Glob(fsys, path.Join(folder, "*.go"))
	for _, name := range names {
		if text, err := fs.ReadFile(fsys, name); err == nil && gosource.IsPackageFile(name) {
			files[path.Base(name)] = text
		}
	}
	return files
}

func replaces(file *modfile.File, modulePath string) bool {
	return slices.ContainsFunc(file.Replace, func(r *modfile.Replace) bool { return r.Old.Path == modulePath })
}

// FollowImports marks the modules of API packages and [layout.TypesModule] in go.mod as direct if the project imports
// them, and as indirect otherwise.
func FollowImports(p *plan.Plan, proj *project.Project) error {
	imported, err := ImportsOfProject(p, proj)
	if err != nil {
		return err
	}
	modules, err := gosource.ApiModules(p, proj)
	if err != nil {
		return err
	}
	follows := map[string]bool{layout.TypesModule: true}
	for _, folder := range modules {
		follows[path.Join(proj.Repo, folder)] = true
	}
	return markIndirect(p, func(m *modfile.Require, file *modfile.File) bool {
		if follows[m.Mod.Path] {
			return !ImportsOf(m, file, imported)
		}
		return m.Indirect
	})
}

// ImportsOfProject returns the import paths in the Go files of the project's module, including the file that registers
// the project's kinds.
func ImportsOfProject(p *plan.Plan, proj *project.Project) (map[string]bool, error) {
	sources, err := gosource.GoSources(p, proj)
	if err != nil {
		return nil, err
	}
	modules, err := gosource.ApiModules(p, proj)
	if err != nil {
		return nil, err
	}
	imported := map[string]bool{}
	for _, s := range sources {
		if slices.ContainsFunc(modules, func(module string) bool { return strings.HasPrefix(s.Name, module+"/") }) {
			continue
		}
		for _, spec := range s.File.Imports {
			imported[strings.Trim(spec.Path.Value, "\"`")] = true
		}
	}
	for _, r := range proj.Resources {
		if r.API {
			imported[layout.KindView(proj, r, "").ImportPath] = true
		}
	}
	return imported, nil
}

// WriteAPIModule plans the module of the API packages, if the project has one, and a replace directive with which the
// project builds with the module's directory.
func WriteAPIModule(p *plan.Plan, proj *project.Project) error {
	if !proj.APIModule {
		return nil
	}
	view, name := templates.ModuleView{Repo: proj.Repo}, path.Join(project.APIFolder, layout.GoModFile)
	text, err := p.ReadIfExists(name)
	switch {
	case err != nil:
	case text == nil:
		err = templated.RenderAll(p, templates.APIModule(), view, false)
	default:
		err = errors.Join(project.CheckAPIModule(text, proj.Repo, project.APIFolder),
			provideForTypes(p, proj, project.APIFolder))
	}
	if err != nil {
		return err
	}
	modulePath := path.Join(proj.Repo, project.APIFolder)
	err = EditRequirements(p, ".", func(file *modfile.File) bool {
		// AddReplace fails only for an invalid module path.
		return !replaces(file, modulePath) && file.AddReplace(modulePath, "", "./"+project.APIFolder, "") == nil
	})
	if err := errors.Join(err, requireDir(p, modulePath), dropTestedWith(p, proj)); err != nil {
		return err
	}
	return editWork(p, func(file *modfile.WorkFile) bool {
		if !usesDir(file, ".") || usesDir(file, project.APIFolder) {
			return false
		}
		return file.AddUse("./"+project.APIFolder, "") == nil
	})
}

// dropTestedWith removes the requirement of go.mod that only tests of the API module need. It does so only if kctrl
// added every requirement, because otherwise user code may need them.
func dropTestedWith(p *plan.Plan, proj *project.Project) error {
	api, err := ReadModule(p, project.APIFolder)
	if err != nil {
		return err
	}
	pinned, err := pinnedModules(proj)
	if err != nil {
		return err
	}
	return EditRequirements(p, ".", func(file *modfile.File) bool {
		if slices.ContainsFunc(file.Require, func(m *modfile.Require) bool { return !pinned[m.Mod.Path] }) {
			return false
		}
		at, in := Requirement(file, testedWith), Requirement(api, testedWith)
		if at < 0 || in < 0 || !file.Require[at].Indirect || file.Require[at].Mod != api.Require[in].Mod {
			return false
		}
		dropRequirement(file, testedWith)
		return true
	})
}

// pinnedModules returns all modules that kctrl requires in a project.
func pinnedModules(proj *project.Project) (map[string]bool, error) {
	applied, _ := templates.ApplyConfigurationModules(false)
	pinned := map[string]bool{path.Join(proj.Repo, project.APIFolder): true}
	for _, t := range slices.Concat(templates.Modules(), templates.PublishedModules(),
		[]templates.Template[templates.ModuleView]{applied}) {
		view := templates.ModuleView{Repo: proj.Repo, RuntimeVersion: layout.Unpublished}
		if t.Path(view) != layout.GoModFile {
			continue
		}
		text, err := t.Render(view)
		if err != nil {
			return nil, err
		}
		file, err := ParseGoMod(text)
		if err != nil {
			return nil, err
		}
		for _, m := range file.Require {
			pinned[m.Mod.Path] = true
		}
	}
	return pinned, nil
}

// RemoveAPIModule plans that the API packages belong to the project's module again, which then requires the modules
// that they import.
func RemoveAPIModule(p *plan.Plan, proj *project.Project) error {
	for _, base := range []string{layout.GoModFile, "go.sum"} {
		name := path.Join(project.APIFolder, base)
		text, err := p.ReadIfExists(name)
		if err != nil {
			return err
		}
		if text == nil {
			continue
		}
		if base == layout.GoModFile {
			err = adoptAPIRequirements(p, text)
		} else {
			err = AddSums(p, ".", text)
		}
		if err := errors.Join(err, p.Delete(name)); err != nil {
			return err
		}
	}
	modulePath := path.Join(proj.Repo, project.APIFolder)
	err := EditRequirements(p, ".", func(file *modfile.File) bool {
		dropRequirement(file, modulePath)
		for _, r := range slices.Clone(file.Replace) {
			if r.Old.Path == modulePath {
				_ = file.DropReplace(r.Old.Path, r.Old.Version)
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	return editWork(p, func(file *modfile.WorkFile) bool {
		at := slices.IndexFunc(file.Use, func(u *modfile.Use) bool { return path.Clean(u.Path) == project.APIFolder })
		return at >= 0 && file.DropUse(file.Use[at].Path) == nil
	})
}

// dropRequirement removes a module from the requirements of a go.mod, if it is required.
func dropRequirement(file *modfile.File, modulePath string) {
	_ = file.DropRequire(modulePath)
	file.Require = slices.DeleteFunc(file.Require, func(m *modfile.Require) bool { return m.Mod.Path == "" })
}

// adoptAPIRequirements raises the requirements of the project to the requirements of its API packages. In replace
// directives, it makes directories relative to the project.
func adoptAPIRequirements(p *plan.Plan, text []byte) error {
	file, err := ParseGoMod(text)
	if err != nil {
		return err
	}
	for _, r := range slices.Clone(file.Replace) {
		if modfile.IsDirectoryPath(r.New.Path) && !path.IsAbs(r.New.Path) {
			target := path.Join(project.APIFolder, r.New.Path)
			if !strings.HasPrefix(target, "../") {
				target = "./" + target
			}
			if err := file.AddReplace(r.Old.Path, r.Old.Version, target, ""); err != nil {
				return err
			}
		}
	}
	file.Cleanup()
	out, err := file.Format()
	if err != nil {
		return err
	}
	return adoptRequirements(p, ".", out)
}

// RenameAPIModules plans new paths for the modules of API packages after the project's module path changed.
func RenameAPIModules(p *plan.Plan, before, after *project.Project) error {
	modules, err := gosource.ApiModules(p, before)
	if err != nil || before.Repo == after.Repo {
		return err
	}
	for _, folder := range modules {
		from, to := path.Join(before.Repo, folder), path.Join(after.Repo, folder)
		err := EditRequirements(p, folder, func(file *modfile.File) bool { return file.AddModuleStmt(to) == nil })
		if err != nil {
			return err
		}
		err = EditRequirements(p, ".", func(file *modfile.File) bool {
			changed := false
			if at := Requirement(file, from); at >= 0 {
				r := file.Require[at]
				r.Mod.Path, changed = to, true
				renameIn(r.Syntax, from, to)
			}
			for _, r := range file.Replace {
				if r.Old.Path == from {
					r.Old.Path, changed = to, true
					renameIn(r.Syntax, from, to)
				}
			}
			return changed
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// renameIn changes a module path in a line, which keeps its position and its comments.
func renameIn(line *modfile.Line, from, to string) {
	at := slices.IndexFunc(line.Token, func(token string) bool { return strings.Trim(token, "\"`") == from })
	line.Token[at] = strings.Replace(line.Token[at], from, to, 1)
}

// readWork returns the workspace in the directory of a project, or nil if the directory has none.
func readWork(p *plan.Plan) (*modfile.WorkFile, error) {
	text, err := p.ReadIfExists(layout.WorkFile)
	if err != nil || text == nil {
		return nil, err
	}
	file, err := modfile.ParseWork(layout.WorkFile, text, nil)
	if err != nil {
		return nil, &diagnostic.Error{
			Pos: token.Position{Filename: layout.WorkFile}, Message: "not a go.work file: " + strings.ReplaceAll(err.Error(),
				"\n", "; "), Hint: "repair it", Cause: err,
		}
	}
	return file, nil
}

func usesDir(file *modfile.WorkFile, folder string) bool {
	return file != nil && slices.ContainsFunc(file.Use, func(u *modfile.Use) bool { return path.Clean(u.Path) == folder })
}

// editWork plans the change that edit makes to the project's go.work, if the file exists. If edit returns false,
// nothing changes.
func editWork(p *plan.Plan, edit func(*modfile.WorkFile) bool) error {
	file, err := readWork(p)
	if err != nil || file == nil || !edit(file) {
		return err
	}
	file.SortBlocks()
	file.Cleanup()
	return p.Edit(layout.WorkFile, modfile.Format(file.Syntax))
}
