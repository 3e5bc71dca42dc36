package markers

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// module is a Go module: its folder, absolute, and its path.
type module struct{ dir, path string }

// folder is a folder that a pattern matches.
type folder struct {
	dir    string // absolute
	module module
	files  []string // names of the Go files that belong to the package, sorted
}

// importPath returns the import path of the package in the folder.
func (f folder) importPath() string {
	rel, _ := filepath.Rel(f.module.dir, f.dir)
	return path.Join(f.module.path, filepath.ToSlash(rel))
}

// resolver finds the folders that patterns match.
type resolver struct {
	dir     string
	tree    *tree
	modules map[string]module // by folder, absolute; of folders that were asked for
}

// resolve returns the folders that match any of the patterns, without repetition, by path.
func (r *resolver) resolve(patterns []string) ([]folder, error) {
	seen := map[string]bool{}
	var found []folder
	for _, pattern := range patterns {
		matched, err := r.match(pattern)
		if err != nil {
			return nil, err
		}
		for _, f := range matched {
			if !seen[f.dir] {
				seen[f.dir] = true
				found = append(found, f)
			}
		}
	}
	slices.SortFunc(found, func(a, b folder) int { return strings.Compare(a.dir, b.dir) })
	return found, nil
}

// match returns the folders with Go files that a pattern matches.
func (r *resolver) match(pattern string) ([]folder, error) {
	base, below := strings.CutSuffix(filepath.ToSlash(pattern), "...")
	if below && base != "" && !strings.HasSuffix(base, "/") {
		return nil, patternError(pattern, "\"...\" stands for folders and follows a slash", "write "+base+"/...")
	}
	dir, err := r.folderOf(pattern, base)
	if err != nil {
		return nil, err
	}
	if !r.tree.isFolder(dir) {
		if r.tree.exists(dir) {
			return nil, patternError(pattern, "is a file", "name its folder")
		}
		return nil, patternError(pattern, "there is no such folder", "name a folder of the project, such as ./api/v1 or ./...")
	}
	mod, err := r.moduleOf(dir)
	if err != nil {
		return nil, err
	}
	var found []folder
	err = r.walk(folder{dir: dir, module: mod}, below, &found)
	r.tree.noteFolders(dir, below, found, err)
	if err == nil && len(found) == 0 {
		err = patternError(pattern, "no Go package there", "name a folder with Go files, or a tree such as ./...")
	}
	return found, err
}

// folderOf returns the absolute path of the folder that base, a pattern without its dots, starts at.
func (r *resolver) folderOf(pattern, base string) (string, error) {
	dir := filepath.FromSlash(path.Clean(base))
	if base == "" {
		dir = "."
	}
	if mod, err := r.moduleOf(r.dir); err == nil {
		if rest, ok := strings.CutPrefix(path.Clean(base)+"/", mod.path+"/"); ok {
			dir = filepath.Join(mod.dir, filepath.FromSlash(rest))
		}
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.dir, dir)
	}
	if rel, err := filepath.Rel(r.dir, dir); err != nil || !filepath.IsLocal(rel) {
		return "", patternError(pattern, "outside the project", "name a folder of the project, such as ./api/v1 or ./...")
	}
	return dir, nil
}

// walk adds f and, if below is set, the folders below it as far as its module goes.
func (r *resolver) walk(f folder, below bool, found *[]folder) error {
	files, err := r.tree.goFiles(f.dir)
	if err != nil {
		return fileError(r.dir, f.dir, err)
	}
	if f.files = files; len(files) > 0 {
		*found = append(*found, f)
	}
	if !below {
		return nil
	}
	_, folders, err := r.tree.list(f.dir)
	if err != nil {
		return fileError(r.dir, f.dir, err)
	}
	for _, name := range folders {
		sub := folder{dir: filepath.Join(f.dir, name), module: f.module}
		hidden := strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor"
		if hidden || r.tree.isFile(filepath.Join(sub.dir, "go.mod")) {
			continue
		}
		if err := r.walk(sub, below, found); err != nil {
			return err
		}
	}
	return nil
}

// moduleOf returns the module that a folder belongs to.
func (r *resolver) moduleOf(dir string) (module, error) {
	if mod, ok := r.modules[dir]; ok {
		return mod, nil
	}
	name := filepath.Join(dir, "go.mod")
	if !r.tree.exists(name) {
		parent := filepath.Dir(dir)
		if parent == dir {
			return module{}, &diagnostic.Error{
				Message: "no go.mod file: this is not a Go module",
				Hint:    "run kctrl in the folder of a project, name it with -C, or start one with kctrl init",
				Cause:   os.ErrNotExist,
			}
		}
		return r.moduleOf(parent)
	}
	content, err := r.tree.readFile(name)
	if err != nil {
		return module{}, fileError(r.dir, name, err)
	}
	mod := module{dir: dir, path: modfile.ModulePath(content)}
	if mod.path == "" {
		return module{}, &diagnostic.Error{
			Pos:     at(r.dir, name),
			Message: "no module line",
			Hint:    "begin the file with: module example.com/name",
		}
	}
	r.modules[dir] = mod
	return mod, nil
}

func patternError(pattern, message, hint string) error {
	return &diagnostic.Error{Message: fmt.Sprintf("path %q: %s", pattern, message), Hint: hint, Class: diagnostic.ErrUsage}
}
