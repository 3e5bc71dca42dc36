package scaffold

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/kctrl-dev/kctrl"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

const (
	// runtimeModule is the Go module that the runtime is part of.
	runtimeModule = "github.com/kctrl-dev/kctrl"
	// bundleFolder is where a project has the runtime when it does not require the published module.
	bundleFolder = "third_party/kctrl"
)

// Build is what a kctrl binary knows of itself.
type Build struct {
	// Version is the version of the module, or "(devel)".
	Version string
	// Sum is the checksum of the module, empty when kctrl was not built from a downloaded module.
	Sum string
}

// release returns the version if it is one that was tagged, and "" for a build from somewhere in between.
func (b Build) release() string {
	if !semver.IsValid(b.Version) || module.IsPseudoVersion(b.Version) || semver.Build(b.Version) != "" {
		return ""
	}
	return b.Version
}

// defaultRuntime is Module if the running kctrl is one that a project can require.
func (b Build) defaultRuntime() RuntimeMode {
	if b.release() != "" && b.Sum != "" {
		return Module
	}
	return Bundled
}

func validateRuntime(mode RuntimeMode, kctrl Build) error {
	switch {
	case mode == Bundled, mode == Module && kctrl.Sum != "":
		return nil
	case mode == Module:
		return &diagnostic.Error{
			Message: fmt.Sprintf("kctrl %s is not a published module that a project could require", kctrl.Version),
			Hint:    "use --runtime=bundled, or a kctrl from go install " + runtimeModule + "/cmd/kctrl@latest",
		}
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("unknown runtime %q", string(mode)),
		Hint:    "use --runtime=bundled or --runtime=module",
		Class:   diagnostic.ErrUsage,
	}
}

// writeModules plans go.mod and go.sum, complete and tidy, and the runtime itself when it is bundled. A go.mod that is
// there already may be replaced.
func writeModules(plan *Plan, project *Project, build Build, replace bool) error {
	view := templates.ModuleView{Repo: project.Repo}
	list, writeRuntime := templates.Modules(), writeBundle
	if project.Runtime == Module {
		view.RuntimeVersion = build.Version
		list, writeRuntime = templates.PublishedModules(), func(plan *Plan) error { return addRuntimeSums(plan, build) }
	}
	if err := renderAll(plan, list, view, replace); err != nil {
		return err
	}
	if err := checkRequired(plan, project); err != nil {
		return err
	}
	return writeRuntime(plan)
}

// checkRequired refuses a project that would be a module which it needs.
func checkRequired(plan *Plan, project *Project) error {
	text, err := plan.Read(goModFile)
	if err != nil {
		return err
	}
	file, err := modfile.Parse(goModFile, text, nil)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == project.Repo }) {
		return nil
	}
	return invalidName("module path", project.Repo, "the project needs the module of that name", "example.com/guestbook")
}

// writeBundle plans the source of the runtime, without its tests.
func writeBundle(plan *Plan) error {
	return fs.WalkDir(kctrl.Source, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir(), strings.HasSuffix(name, "_test.go"), !inBundle(name):
			return nil
		}
		content, err := fs.ReadFile(kctrl.Source, name)
		if err != nil {
			return err
		}
		return plan.WriteFile(File{
			Path:     path.Join(bundleFolder, name),
			Content:  content,
			Template: "bundle/" + name,
			Policy:   Own,
		})
	})
}

func inBundle(name string) bool { return name == "LICENSE" || strings.HasPrefix(name, "runtime/") }

// addRuntimeSums adds to go.sum what the go command would find out by downloading the runtime: the checksum of the
// module, which the binary carries, and of its go.mod, which kctrl embeds.
func addRuntimeSums(plan *Plan, build Build) error {
	const name = "go.sum"
	text, err := plan.Read(name)
	if err != nil {
		return err
	}
	goMod, err := fs.ReadFile(kctrl.Source, goModFile)
	if err != nil {
		return err
	}
	goModSum, err := dirhash.Hash1([]string{goModFile}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(goMod)), nil
	})
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(text), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return line > runtimeModule })
	lines = slices.Insert(lines, at,
		fmt.Sprintf("%s %s %s\n", runtimeModule, build.Version, build.Sum),
		fmt.Sprintf("%s %s/go.mod %s\n", runtimeModule, build.Version, goModSum),
	)
	return plan.WriteFile(File{Path: name, Content: []byte(strings.Join(lines, "")), Policy: Edit})
}

// requireDirectly makes the project's go.mod say that its own packages import a module, as go mod tidy would. A module
// that is not required at all is left to go mod tidy: the go command names it.
func requireDirectly(plan *Plan, modulePath string) error {
	text, err := plan.Read(goModFile)
	if err != nil {
		return missingFile(goModFile, err, "kctrl works on Go modules: restore it")
	}
	file, err := parseGoMod(text)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(file.Require, func(r *modfile.Require) bool { return r.Mod.Path == modulePath })
	if at < 0 || !file.Require[at].Indirect {
		return nil
	}
	file.Require[at].Indirect = false
	file.SetRequireSeparateIndirect(file.Require)
	file.Cleanup()
	out, err := file.Format()
	if err != nil {
		return err
	}
	return plan.WriteFile(File{Path: goModFile, Content: out, Policy: Edit})
}
