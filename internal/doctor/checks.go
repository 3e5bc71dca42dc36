package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/version"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/rbac"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/register"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// Checks are all checks, in the order in which they run.
var Checks = []Check{
	{Name: "project", Help: "a PROJECT file that cannot be read, or has unknown fields", Run: checkProject},
	{Name: "lock", Help: "a PROJECT.lock that is missing or broken", Run: checkLock, Fix: fixLock},
	{Name: "conflicts", Help: "git's conflict markers in files that kctrl wrote", RunOurs: checkConflicts},
	{Name: "api-module", Help: "a separate API module that the project cannot build with", RunOurs: checkAPIModules,
		Fix: fixAPIModules},
	{Name: "markers", Help: "markers that are unknown, misplaced, wrong or contradictory", Run: checkMarkers},
	{Name: "generated", Help: "generated files that are out of date, missing, or edited by hand", Run: checkGenerated,
		Fix: fixGenerated},
	{Name: "roles", Help: "roles without the permissions of the markers", Run: checkRoles, Fix: fixGenerated},
	{Name: "rbac", Help: "RBAC markers that grant less or more than the code needs", Run: checkRBAC},
	{Name: "webhooks", Help: "webhook markers with paths that the manager does not serve", Run: checkWebhooks},
	{Name: "samples", Help: "samples that API servers would reject", Run: checkSamples},
	{Name: "deployment", Help: "manifests that config/default cannot build or does not deploy", Run: checkDeployment},
	{Name: "program", Help: "a Makefile or Dockerfile that does not build the manager", RunOurs: checkProgram},
	{Name: "runtime", Help: "a bundled runtime that is incomplete, or of another kctrl", RunOurs: checkRuntime,
		Fix: fixRuntime},
	{Name: "go", Help: "a go command that is missing, or older than go.mod asks for", Run: checkGo},
	{Name: "kctrl", Help: "another version of kctrl that wrote the project", Run: checkKctrl},
	{Name: "control-plane", Help: "a control plane that is not compiled yet", Run: checkControlPlane},
	{Name: "kubebuilder", Help: "unused files of kubebuilder", Run: checkLeftovers, Fix: fixLeftovers},
}

func checkProject(_ context.Context, p *Project) []Finding {
	switch {
	case p.loadErr != nil:
		return problems(p.loadErr)
	case p.project.Foreign:
		return warnings(diagnostic.In(project.File,
			"this is a project of kubebuilder: kctrl checks its markers and generates their output",
			"kctrl generate and kctrl manifests work here; kctrl migrate converts it to a project of kctrl"))
	}
	return warnings(p.project.Warnings()...)
}

func checkLock(_ context.Context, p *Project) []Finding {
	if !p.ours() {
		return nil
	}
	empty, err := p.emptyPlan()
	if err != nil {
		return byHand(problems(err))
	}
	if onDisk, err := empty.HasLock(); err != nil || onDisk {
		return byHand(problems(err))
	}
	return warnings(diagnostic.In(project.LockFile,
		"the file is missing, so kctrl cannot detect files that were edited by hand",
		"restore it from version control; kctrl doctor --fix writes it again, with the files that equal kctrl's "+
			"output"))
}

// fixLock does nothing: every plan writes the lock.
func fixLock(context.Context, *Project, *plan.Plan) error { return nil }

func checkConflicts(_ *Project, empty *plan.Plan) []Finding {
	marked, err := templated.Conflicts(empty)
	found := problems(err)
	for _, e := range marked {
		found = append(found, Finding{Error: e})
	}
	return found
}

func checkAPIModules(p *Project, empty *plan.Plan) []Finding {
	unmet, elsewhere, err := gomod.CheckAPIModules(empty, p.project)
	found := append(problems(err), warnings(elsewhere...)...)
	for _, e := range unmet {
		found = append(found, Finding{Error: e})
	}
	for i := range found {
		found[i].byHand = found[i].Hint != gomod.RequireHint
	}
	return found
}

// fixAPIModules adds requirements to go.mod for replaced modules. It leaves versions to the user and to go mod
// tidy.
func fixAPIModules(_ context.Context, p *Project, fixes *plan.Plan) error {
	return gomod.RequireAPIModules(fixes, p.project)
}

func checkMarkers(ctx context.Context, p *Project) []Finding {
	_, err := p.generated(ctx)
	if errors.Is(err, errTold) {
		return nil
	}
	found := problems(err)
	for _, warning := range p.warnings {
		found = append(found, Finding{Error: warning.Error, Warning: true})
	}
	return found
}

func checkGenerated(ctx context.Context, p *Project) []Finding {
	return p.outOfDate(ctx, func(c plan.Change) bool {
		return c.Template != rolesTemplate && !isNotedOtherwise(c.Path)
	})
}

func checkRoles(ctx context.Context, p *Project) []Finding {
	return p.outOfDate(ctx, func(c plan.Change) bool { return c.Template == rolesTemplate })
}

// checkRBAC compares the markers with the requests of the code. It has no findings for code with type errors or for a
// project that cannot be loaded, because the compiler and other checks report these.
func checkRBAC(ctx context.Context, p *Project) []Finding {
	if p.project == nil {
		return nil
	}
	analyzed, err := p.analyzed(ctx)
	if err != nil {
		return nil
	}
	report, err := rbac.Check(ctx, rbac.Options{Dir: p.Dir, FS: p.FS, Namespaced: p.project.Namespaced,
		Analyzed: analyzed})
	if err != nil || len(report.Problems) > 0 {
		return nil
	}
	var found []Finding
	for _, f := range report.Findings {
		if f.Class == rbac.Missing || f.Class == rbac.Excess {
			found = append(found, warnings(diagnostic.At(f.Pos, string(f.Class)+": "+f.Message, f.Hint))...)
		}
	}
	return found
}

// rolesTemplate is the name in PROJECT.lock for files that are generated from RBAC markers.
const rolesTemplate = "generate/rbac"

// isNotedOtherwise reports whether other findings cover a changed file: PROJECT and PROJECT.lock change together with
// other files, and the runtime has its own check.
func isNotedOtherwise(name string) bool {
	return name == project.LockFile || name == project.File || strings.HasPrefix(name, "third_party/kctrl/")
}

// outOfDate returns findings for generated files that differ from the current output.
func (p *Project) outOfDate(ctx context.Context, wanted func(plan.Change) bool) []Finding {
	generated, err := p.generated(ctx)
	if err != nil {
		return nil // the output is unknown, and the check of markers reports why
	}
	lock := &project.Lock{}
	if p.ours() {
		if lock, err = project.LoadLock(p.FS); err != nil {
			return nil
		}
	}
	var found []Finding
	for c := range generated.Changes() {
		if !wanted(c) {
			continue
		}
		e := &diagnostic.Error{
			Pos:   token.Position{Filename: c.Path},
			Class: diagnostic.ErrDrift,
			Hint:  "kctrl doctor --fix writes it again",
		}
		_, known := lock.Entry(c.Path)
		switch {
		case c.Op == plan.Create:
			e.Message = "is missing"
		case c.Op == plan.Delete:
			e.Message, e.Hint = "the file is no longer generated", "kctrl doctor --fix deletes it"
		case known && lock.Touched(c.Path, c.Before):
			e.Pos.Line = firstDifference(c.Before, c.After)
			e.Message = "is edited by hand, but generated from markers"
			e.Hint = "move the edit to the markers, or to " + patchFile + "; kctrl doctor --fix writes the file again"
		default:
			e.Pos.Line = firstDifference(c.Before, c.After)
			e.Message = "is out of date"
		}
		found = append(found, Finding{Error: e})
	}
	return found
}

// patchFile declares edits of generated manifests.
const patchFile = "kctrl.gen.yaml"

func firstDifference(a, b []byte) int {
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}

func checkProgram(p *Project, empty *plan.Plan) []Finding {
	stale, err := register.StaleBuilds(empty)
	return append(warnings(append(stale, missingPackages(p.FS, stale)...)...), problems(err)...)
}

// missingPackages returns an error for each line of the Makefile and the Dockerfile that builds a missing directory or
// file. It skips the lines of other errors, and lines that change the directory.
func missingPackages(fsys fs.FS, others []*diagnostic.Error) []*diagnostic.Error {
	var found []*diagnostic.Error
	for _, name := range []string{"Makefile", "Dockerfile"} {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			continue // other checks report unreadable files
		}
		line := 0
		for content := range strings.Lines(string(text)) {
			line++
			at := position(name, line)
			built := builtPackage(strings.Fields(content))
			target := path.Clean(built)
			if built == "" || !fs.ValidPath(target) ||
				slices.ContainsFunc(others, func(e *diagnostic.Error) bool { return e.Pos == at }) {
				continue
			}
			if _, err := fs.Stat(fsys, target); errors.Is(err, fs.ErrNotExist) {
				found = append(found, diagnostic.At(at, "builds "+built+", which does not exist",
					"write the directory of the program that starts the manager"))
			}
		}
	}
	return found
}

// builtPackage returns the directory or file that a command line with go build or go run builds, or "".
func builtPackage(words []string) string {
	isGo := false
	for i, word := range words {
		switch {
		case word == "cd" || strings.HasPrefix(word, "#") || isGo && word == "-C":
			return ""
		case i > 0 && (word == "build" || word == "run"):
			command := strings.Trim(words[i-1], "@-(){}$")
			isGo = command == "go" || command == "GO"
		case !isGo || words[i-1] == "-o" || strings.ContainsAny(word, "$*") || strings.Contains(word, "..."):
		case strings.HasPrefix(word, "./") || strings.HasSuffix(word, ".go") && !strings.HasPrefix(word, "-"):
			return word
		}
	}
	return ""
}

func checkRuntime(p *Project, runtime *plan.Plan) []Finding {
	if err := gomod.PlanRuntime(runtime, p.project); err != nil {
		return byHand(problems(err))
	}
	var found []Finding
	for _, note := range runtime.Notes() {
		found = append(found, Finding{Error: note})
	}
	return found
}

func fixRuntime(_ context.Context, p *Project, fixes *plan.Plan) error {
	return gomod.PlanRuntime(fixes, p.project)
}

func checkGo(ctx context.Context, p *Project) []Finding {
	text, err := fs.ReadFile(p.FS, "go.mod")
	if errors.Is(err, fs.ErrNotExist) && errors.Is(p.loadErr, fs.ErrNotExist) {
		return nil // checkProject reports a directory without a project
	}
	if errors.Is(err, fs.ErrNotExist) {
		return problems(diagnostic.In("go.mod", "the file is missing",
			"restore it from version control: the go command builds nothing without it"))
	}
	if err != nil {
		return problems(diagnostic.AtFile("go.mod", "cannot read", err))
	}
	installed, err := p.GoVersion(ctx)
	if err != nil {
		return problems(&diagnostic.Error{Message: "the go command does not run: " + diagnostic.OneLine(err.Error()),
			Hint: "install Go from https://go.dev/dl, and add it to PATH", Cause: err})
	}
	file, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil || file.Go == nil || version.Compare(installed, "go"+file.Go.Version) >= 0 {
		return nil // loading the packages reports an invalid go.mod
	}
	return warnings(diagnostic.At(position("go.mod", file.Go.Syntax.Start.Line),
		fmt.Sprintf("requires go %s, but the go command is %s", file.Go.Version, installed),
		"install a newer Go; unless GOTOOLCHAIN=local, the go command may download it"))
}

func checkKctrl(_ context.Context, p *Project) []Finding {
	if !p.ours() || p.project.Kctrl == "" || p.project.Kctrl == cmp.Or(p.Kctrl.Name(), "devel") {
		return nil
	}
	return warnings(diagnostic.In(project.File,
		fmt.Sprintf("kctrl %s wrote the project, but this is kctrl %s", p.project.Kctrl, p.Kctrl.Name()),
		"use that version, in CI too, so that the output is the same; kctrl upgrade updates the project to this one"))
}

func checkControlPlane(ctx context.Context, p *Project) []Finding {
	if p.Compiled == nil || p.Compiled(ctx) {
		return nil
	}
	return warnings(&diagnostic.Error{
		Message: "the control plane is not compiled yet, so the first kctrl env up takes minutes",
		Hint:    "kctrl env build compiles it; kctrl env up --in-memory does not need it",
	})
}
