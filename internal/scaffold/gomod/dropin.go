package gomod

import (
	"bytes"
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
	imported, err := runtimeImports(p)
	if err != nil {
		return err
	}
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
	modules := slices.Concat(templates.DropInModule(), BundledModules())
	if err := templated.RenderAll(p, modules, templates.ModuleView{Repo: repo}, true); err != nil {
		return err
	}
	return writeSource(p, imported)
}

// AddImported plans the runtime packages that the project imports, with their dependencies.
func AddImported(p *plan.Plan) error {
	imported, err := runtimeImports(p)
	if err != nil {
		return err
	}
	return writeSource(p, imported)
}

// AddRuntime plans runtime packages, such as runtime/client, with their dependencies.
func AddRuntime(p *plan.Plan, packages ...string) error { return writeSource(p, packages) }

func writeSource(p *plan.Plan, packages []string) error {
	names, err := runtimeFiles(slices.Compact(slices.Sorted(slices.Values(packages))))
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := fs.ReadFile(kctrl.Source, name)
		if err != nil {
			return err
		}
		if err := p.WriteFile(bundledFile(name, content)); err != nil {
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
