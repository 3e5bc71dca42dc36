package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// copied is the modification time of all files of a copy. A file with another time was written later.
var copied = time.Unix(1_000_000_000, 0)

// Fetch copies the modules of p to dir. It downloads them unless the module cache has them.
func (p Project) Fetch(ctx context.Context, dir string) error {
	if p.Source != "" {
		return copyTree(dir, p.Source)
	}
	for _, module := range p.Modules {
		source, err := module.download(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		if err := copyTree(filepath.Join(dir, module.Dir), source); err != nil {
			return fmt.Errorf("copy %s: %w", module.Path, err)
		}
	}
	for _, name := range p.Applied {
		if err := apply(filepath.Join(dir, p.Dir, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// apply writes the file with the marker for apply configurations of the package in a directory.
func apply(dir string) error {
	var name string
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(source, "_test.go") {
			name = file.Name.Name
		}
	}
	if name == "" {
		return errors.Join(err, fmt.Errorf("no package in %s", dir))
	}
	marked := filepath.Join(dir, "applied.go")
	content := "// +kubebuilder:ac:generate=true\npackage " + name + "\n"
	return errors.Join(os.WriteFile(marked, []byte(content), 0o644), os.Chtimes(marked, copied, copied))
}

// Prepare downloads the imports of the project's packages in dir, and fills the build cache by running go list.
func (p Project) Prepare(ctx context.Context, dir string) error {
	var patterns []string
	for _, call := range p.All() {
		for _, arg := range paths(call) {
			patterns = append(patterns, strings.Split(strings.TrimPrefix(arg, "paths="), ";")...)
		}
	}
	slices.Sort(patterns)
	for _, pattern := range slices.Compact(patterns) {
		listed, rest := filepath.Join(dir, p.Dir, strings.TrimSuffix(pattern, "...")), "."
		switch {
		case !strings.HasPrefix(pattern, "."):
			listed, rest = filepath.Join(dir, p.Dir), pattern // import path
		case strings.HasSuffix(pattern, "..."):
			rest = "./..."
		}
		list := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-f", "", rest)
		list.Dir, list.Env = listed, Environment()
		if out, err := list.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: go list %s: %w\n%s", p.Name, pattern, err, out)
		}
	}
	return nil
}

// Compile compiles the packages in dir that contain the named files, whose names are relative to dir. It also adds
// required modules to go.mod, because apply configurations may import modules that the rest of a project does not need.
func (p Project) Compile(ctx context.Context, dir string, names []string) error {
	packages := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, ".go") {
			packages[filepath.Dir(filepath.Join(dir, filepath.FromSlash(name)))] = true
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		build := exec.CommandContext(ctx, "go", "build", "-mod=mod", ".")
		build.Dir, build.Env = pkg, Environment()
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: compile %s: %w\n%s", p.Name, pkg, err, out)
		}
	}
	return nil
}

// Environment returns the environment of this process, without variables that make the go command look outside a
// project.
func Environment(more ...string) []string {
	return append(append(os.Environ(), "GOWORK=off", "GOFLAGS="), more...)
}

// download returns the directory of the module in the module cache.
func (m Module) download(ctx context.Context) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", m.Path+"@"+m.Version)
	command.Dir = os.TempDir()
	command.Env = Environment()
	out, failed := command.Output()
	var answer struct{ Dir, Error string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("go mod download %s@%s: %w", m.Path, m.Version, errors.Join(failed, err))
	}
	if answer.Error != "" {
		return "", errors.New(answer.Error)
	}
	return answer.Dir, failed
}

// copyTree copies a directory of the module cache, which is read-only, to writable files.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
		return os.Chtimes(target, copied, copied)
	})
}

// Written returns the content of the files in dir that changed since the copy, by path.
func Written(dir string) (map[string]string, error) {
	written := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.ModTime().Equal(copied) {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		written[filepath.ToSlash(rel)] = string(content)
		return err
	})
	return written, err
}

// Accept makes files count as unchanged since the copy.
func Accept(dir string, names ...string) error {
	for _, name := range names {
		if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), copied, copied); err != nil {
			return err
		}
	}
	return nil
}
