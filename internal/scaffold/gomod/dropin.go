package gomod

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// DropInDir is the directory of the module that replaces controller-runtime.
const DropInDir = "third_party/controller-runtime"

// WriteDropIn plans the module that replaces controller-runtime, and the runtime packages that this module and the
// project import.
func WriteDropIn(p *plan.Plan, repo string) error {
	source, err := kctrl.ControllerRuntime()
	if err != nil {
		return err
	}
	var imported []string
	err = fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, name)
		if err != nil || path.Ext(name) != ".go" {
			return err
		}
		imported = append(imported, importsOfRuntime(content)...)
		return p.WriteFile(plan.File{
			Path: path.Join(DropInDir, name), Content: content, Template: "bundle/controller-runtime/" + name,
			Owner: plan.Generated,
		})
	})
	if err != nil {
		return err
	}
	modules := slices.Concat(templates.DropInModule(), bundledModules())
	if err := templated.RenderAll(p, modules, templates.ModuleView{Repo: repo}, true); err != nil {
		return err
	}
	return AddRuntime(p, imported...)
}

// AddRuntime plans runtime packages, such as runtime/client, the runtime packages that the project imports, and the
// dependencies of both.
func AddRuntime(p *plan.Plan, packages ...string) error {
	imported, err := runtimeImports(p)
	if err != nil {
		return err
	}
	files, err := sourceFiles(slices.Concat(packages, imported))
	if err != nil {
		return err
	}
	return writeFiles(p, files)
}

// sourceFiles returns the files of runtime packages and of their dependencies.
func sourceFiles(packages []string) ([]plan.File, error) {
	names, err := runtimeFiles(packages)
	var files []plan.File
	for _, name := range names {
		content, failure := fs.ReadFile(kctrl.Source, name)
		err = errors.Join(err, failure)
		files = append(files, plan.File{
			Path: path.Join(layout.BundleDir, name), Content: content, Template: "bundle/" + name, Owner: plan.Generated,
		})
	}
	return files, err
}

func writeFiles(p *plan.Plan, files []plan.File) error {
	for _, f := range files {
		if err := p.WriteFile(f); err != nil {
			return err
		}
	}
	return nil
}

// importsOfRuntime returns the runtime packages that a Go file imports.
func importsOfRuntime(source []byte) (imported []string) {
	if !bytes.Contains(source, []byte(layout.RuntimeModule+"/")) {
		return nil
	}
	file, _ := parser.ParseFile(token.NewFileSet(), "", source, parser.ImportsOnly)
	if file == nil {
		return nil
	}
	for _, spec := range file.Imports {
		if pkg, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, "\"`"), layout.RuntimeModule+"/"); ours {
			imported = append(imported, pkg)
		}
	}
	return imported
}
