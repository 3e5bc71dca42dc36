package gomod

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
)

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
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("the runtime in this kctrl: %w", err)
		}
		for _, spec := range file.Imports {
			if imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, "\""), layout.RuntimeModule+"/"); ours {
				pkg.imports = append(pkg.imports, imported)
			}
		}
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
