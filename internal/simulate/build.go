package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// ownPath is the path of the module of the runtime and the test server.
const ownPath = "github.com/kctrl-dev/kctrl"

// hook is the file that the compiler adds to the main package.
const hook = `package main

import _ "` + ownPath + `/testserver/simulator/program"
`

// hookWithRules is the hook for a project with rules. The verb is the import path of their package.
const hookWithRules = `package main

import (
	"` + ownPath + `/testserver/simulator/program"

	rules %q
)

func init() { program.SetRules(rules.Rules()) }
`

// build compiles the program of a project with the module in source, and returns its path. work is a directory of the
// project in the cache.
func (p *project) build(ctx context.Context, source, work string) (string, error) {
	mod, sum, err := p.modules(source)
	if err != nil {
		return "", err
	}
	added := hook
	if p.rules {
		added = fmt.Sprintf(hookWithRules, p.module+"/"+rulesDirectory)
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(p.dir, p.main, "zz_simulation.go"): filepath.Join(work, "hook.go")},
	})
	if err != nil {
		return "", err
	}
	for name, content := range map[string][]byte{
		"go.mod": mod, "go.sum": sum, "overlay.json": overlay, "hook.go": []byte(added),
	} {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o600); err != nil {
			return "", err
		}
	}
	program := filepath.Join(work, "simulation")
	err = goBuild(
		ctx, p.dir, "-mod=mod", "-modfile="+filepath.Join(work, "go.mod"),
		"-overlay="+filepath.Join(work, "overlay.json"), "-o", program, p.mainPackage(),
	)
	if err != nil {
		return "", err
	}
	return program, nil
}

// compileError returns the first problem that the go command reported.
func compileError(ctx context.Context, err error, output string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return &diagnostic.Error{
			Message: "no go command on PATH, which compiles the simulation",
			Hint:    "install Go 1.26 or newer",
			Cause:   err,
		}
	}
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: downloading") {
			return &diagnostic.Error{
				Message: "compile the simulation: " + line,
				Hint:    "go build ./... shows the errors of the project",
				Cause:   err,
			}
		}
	}
	return fmt.Errorf("compile the simulation: %w", err)
}

// modules returns go.mod and go.sum for the program: those of the project, and the requirements of the test server.
func (p *project) modules(source string) (mod, sum []byte, err error) {
	ours, err := readMod(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	theirs, err := readMod(filepath.Join(p.dir, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	required := map[string]string{}
	for _, r := range theirs.Require {
		required[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range ours.Require {
		if semver.Compare(r.Mod.Version, required[r.Mod.Path]) > 0 {
			if err := theirs.AddRequire(r.Mod.Path, r.Mod.Version); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, r := range theirs.Replace {
		if r.Old.Path == ownPath {
			if err := theirs.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return nil, nil, err
			}
		}
	}
	if err := theirs.AddReplace(ownPath, "", source, ""); err != nil {
		return nil, nil, err
	}
	if required[ownPath] == "" {
		return nil, nil, &diagnostic.Error{
			Message: "go.mod does not require " + ownPath,
			Hint:    "kctrl sim runs operators on kctrl's runtime; kctrl migrate moves others to it",
		}
	}
	theirs.Cleanup()
	p.module = theirs.Module.Mod.Path
	if mod, err = theirs.Format(); err != nil {
		return nil, nil, err
	}
	for _, directory := range []string{p.dir, source} {
		content, err := os.ReadFile(filepath.Join(directory, "go.sum"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		sum = append(append(sum, content...), '\n')
	}
	return mod, sum, nil
}

func readMod(file string) (*modfile.File, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, diagnostic.AtFile(file, "cannot read", err)
	}
	return modfile.Parse(file, content, nil)
}

// workDir returns a directory for a project in the user's cache.
func workDir(dir string) (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", &diagnostic.Error{Message: err.Error(), Hint: "set HOME or XDG_CACHE_HOME", Cause: err}
	}
	hash := sha256.Sum256([]byte(dir))
	directory := filepath.Join(user, "kctrl", "simulations", hex.EncodeToString(hash[:8]))
	return directory, os.MkdirAll(directory, 0o700)
}
