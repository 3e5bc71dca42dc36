package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
)

// goSettings are the go command's settings on which the loaded packages depend.
var goSettings = []string{
	"GOVERSION", "GOROOT", "GOOS", "GOARCH", "GOFLAGS", "CGO_ENABLED", "GOEXPERIMENT", "GOMODCACHE", "GOMOD", "GOWORK",
	"GOAMD64", "GOARM64", "GO111MODULE",
}

// key identifies everything that the result depends on, except modules in the module cache, because go.sum identifies
// them. It reports false if the result cannot be cached.
func (cfg Config) key(ctx context.Context) (key incremental.Key, ok bool) {
	command := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, goSettings...)...)
	command.Dir = cfg.Dir
	output, err := command.Output()
	var settings map[string]string
	if err != nil || json.Unmarshal(output, &settings) != nil {
		return key, false
	}
	if flags := settings["GOFLAGS"]; strings.Contains(flags, "-modfile") || strings.Contains(flags, "-overlay") {
		return key, false // other files replace those of the module
	}
	texts := [][]byte{[]byte("access"), []byte(cfg.Dir), fmt.Appendf(nil, "%q", cfg.Patterns), output}
	for _, root := range moduleRoots(settings["GOMOD"], settings["GOWORK"]) {
		err := filepath.WalkDir(root, func(name string, file fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case file.IsDir() && name != root && (strings.HasPrefix(file.Name(), ".") || file.Name() == "node_modules"):
				return filepath.SkipDir
			case file.IsDir() || !isInput(file.Name()):
				return nil
			}
			content, err := os.ReadFile(name)
			sum := sha256.Sum256(content)
			texts = append(texts, []byte(name), sum[:])
			return err
		})
		if err != nil {
			return key, false
		}
	}
	return incremental.NewTextKey(texts...)
}

// isInput reports whether the go command or the analysis reads files with a base name.
func isInput(base string) bool {
	switch base {
	case "go.mod", "go.sum", "go.work", "go.work.sum", "modules.txt":
		return true
	}
	return strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go")
}

// moduleRoots returns the directories whose files the go command compiles: the directories of the module, of the
// workspace's modules, and of local module replacements.
func moduleRoots(goMod, goWork string) []string {
	var files []string
	if filepath.IsAbs(goMod) && filepath.Base(goMod) == "go.mod" {
		files = append(files, goMod)
	}
	roots := map[string]bool{}
	if content, err := os.ReadFile(goWork); err == nil {
		if work, err := modfile.ParseWork(goWork, content, nil); err == nil {
			for _, use := range work.Use {
				files = append(files, filepath.Join(absolute(goWork, use.Path), "go.mod"))
			}
			replaced(goWork, work.Replace, roots)
		}
	}
	for _, name := range files {
		roots[filepath.Dir(name)] = true
		if content, err := os.ReadFile(name); err == nil {
			if mod, err := modfile.Parse(name, content, nil); err == nil {
				replaced(name, mod.Replace, roots)
			}
		}
	}
	all := slices.Sorted(maps.Keys(roots))
	return slices.CompactFunc(all, func(a, b string) bool { return within(filepath.ToSlash(a), filepath.ToSlash(b)) })
}

func replaced(file string, replace []*modfile.Replace, roots map[string]bool) {
	for _, r := range replace {
		if r.New.Version == "" {
			roots[absolute(file, r.New.Path)] = true
		}
	}
}

// absolute resolves a path relative to the directory of a file.
func absolute(file, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}
