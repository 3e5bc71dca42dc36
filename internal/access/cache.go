package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// maxUnused is the time after which the cache removes a result that nothing reads.
const maxUnused = 30 * 24 * time.Hour

// entry is the content of a cache file. Each combination of a directory and patterns has its own file.
type entry struct {
	// Inputs identifies everything that the result depends on.
	Inputs   [sha256.Size]byte
	Result   Result // without Problems
	Problems []diagnostic.Error
}

// cache stores the result of one configuration in a file. A cache without a name stores nothing.
type cache struct {
	name   string
	inputs [sha256.Size]byte
}

// newCache returns the cache of a configuration. It reads all files that the result depends on, except modules in the
// module cache, because go.sum identifies them.
func newCache(ctx context.Context, cfg Config) cache {
	if cfg.Cache == "" {
		return cache{}
	}
	inputs, err := cfg.inputs(ctx)
	if err != nil {
		return cache{}
	}
	id := sha256.Sum256([]byte(strings.Join(append([]string{cfg.Dir}, cfg.Patterns...), "\x00")))
	return cache{name: filepath.Join(cfg.Cache, hex.EncodeToString(id[:16])), inputs: inputs}
}

// get returns the cached result if its inputs are the same.
func (c cache) get() (*Result, bool) {
	if c.name == "" {
		return nil, false
	}
	content, err := os.ReadFile(c.name)
	if err != nil {
		return nil, false
	}
	var kept entry
	if gob.NewDecoder(bytes.NewReader(content)).Decode(&kept) != nil || kept.Inputs != c.inputs {
		return nil, false
	}
	for i := range kept.Problems {
		kept.Result.Problems = append(kept.Result.Problems, &kept.Problems[i])
	}
	now := time.Now()
	_ = os.Chtimes(c.name, now, now) // only the removal of unused files depends on the time
	return &kept.Result, true
}

// put stores a result. It ignores errors, which only cause another analysis.
func (c cache) put(result *Result) {
	if c.name == "" {
		return
	}
	kept := entry{Inputs: c.inputs, Result: *result}
	kept.Result.Problems = nil
	for _, problem := range result.Problems {
		e, ok := errors.AsType[*diagnostic.Error](problem)
		if !ok {
			return
		}
		plain := *e
		plain.Cause, plain.Class = nil, nil
		kept.Problems = append(kept.Problems, plain)
	}
	var content bytes.Buffer
	if gob.NewEncoder(&content).Encode(kept) != nil || os.MkdirAll(filepath.Dir(c.name), 0o700) != nil {
		return
	}
	file, err := os.CreateTemp(filepath.Dir(c.name), "*.fresh") // renamed, because another run may read the old one
	if err != nil {
		return
	}
	_, err = file.Write(content.Bytes())
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.name)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	c.prune()
}

// prune removes results that were not read for maxUnused.
func (c cache) prune() {
	files, err := os.ReadDir(filepath.Dir(c.name))
	if err != nil {
		return
	}
	for _, file := range files {
		if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > maxUnused {
			_ = os.Remove(filepath.Join(filepath.Dir(c.name), file.Name()))
		}
	}
}

// goSettings are the go command's settings on which the loaded packages depend.
var goSettings = []string{
	"GOVERSION", "GOROOT", "GOOS", "GOARCH", "GOFLAGS", "CGO_ENABLED", "GOEXPERIMENT", "GOMODCACHE", "GOMOD", "GOWORK",
	"GOAMD64", "GOARM64", "GO111MODULE",
}

// inputs returns a checksum of all inputs that the result depends on.
func (cfg Config) inputs(ctx context.Context) (sum [sha256.Size]byte, err error) {
	command := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, goSettings...)...)
	command.Dir = cfg.Dir
	output, err := command.Output()
	if err != nil {
		return sum, err
	}
	var settings map[string]string
	if err := json.Unmarshal(output, &settings); err != nil {
		return sum, err
	}
	if flags := settings["GOFLAGS"]; strings.Contains(flags, "-modfile") || strings.Contains(flags, "-overlay") {
		return sum, errors.New("other files replace those of the module")
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%q\n", output, programStamp(), cfg.Patterns)
	for _, root := range moduleRoots(settings["GOMOD"], settings["GOWORK"]) {
		err := filepath.WalkDir(root, func(name string, file fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if file.IsDir() {
				if base := file.Name(); name != root && (strings.HasPrefix(base, ".") || base == "node_modules") {
					return filepath.SkipDir
				}
				return nil
			}
			if !isInput(file.Name()) {
				return nil
			}
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(hash, "%s %x\n", name, sha256.Sum256(content))
			return nil
		})
		if err != nil {
			return sum, err
		}
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// isInput reports whether the go command or the analysis reads files with a base name.
func isInput(base string) bool {
	switch base {
	case "go.mod", "go.sum", "go.work", "go.work.sum", "modules.txt":
		return true
	}
	return strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go")
}

// programStamp returns a string that identifies the running version of kctrl.
func programStamp() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(name)
	if err != nil {
		return name
	}
	return fmt.Sprint(name, info.Size(), info.ModTime().UnixNano())
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
	var all []string
	for root := range roots {
		all = append(all, root)
	}
	slices.Sort(all)
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
