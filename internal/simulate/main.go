package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/gocommand"
)

// These packages contain managers. An operator's program imports one of them.
const (
	runtimeManager    = ownPath + "/runtime/manager"
	controllerRuntime = "sigs.k8s.io/controller-runtime"
	theirManager      = controllerRuntime + "/pkg/manager"
)

// mainPackage is the program of an operator.
type mainPackage struct {
	path   string // import path
	dir    string // absolute
	theirs bool   // the program uses controller-runtime's API, not manager.Main
}

// findMain finds the main package that matches pattern, such as ./cmd. Without a pattern, it finds the only main
// package that runs an operator.
func (p *project) findMain(ctx context.Context, pattern string) error {
	if !exists(filepath.Join(p.dir, "go.mod")) {
		return &diagnostic.Error{
			Message: "no go.mod in " + p.dir, Hint: "run the command in the directory of a project",
		}
	}
	patterns := "./..."
	if pattern != "" {
		patterns = pattern
	}
	const format = `{{if eq .Name "main"}}{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{join .Imports " "}}{{"\t"}}` +
		`{{join .Deps " "}}{{end}}`
	const problems = `{{with .Error}}{{.}}{{end}}{{range .DepsErrors}}{{.}}{{"\n"}}{{end}}`
	out, err := gocommand.Output(ctx, p.dir, "list", "-e", "-f", format, patterns)
	if err != nil {
		return notListed(patterns, err)
	}
	var found []mainPackage
	programs := 0
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 4 {
			continue
		}
		programs++
		ours := slices.Contains(strings.Fields(fields[2]), runtimeManager)
		theirs := !ours && slices.Contains(strings.Fields(fields[3]), theirManager)
		if ours || theirs {
			found = append(found, mainPackage{path: fields[0], dir: fields[1], theirs: theirs})
		}
	}
	if len(found) == 0 { // packages with errors may lack imports
		out, err := gocommand.Output(ctx, p.dir, "list", "-e", "-f", problems, patterns)
		if err = cmp.Or(err, gocommand.Reason(out)); err != nil {
			return notListed(patterns, err)
		}
	}
	if len(found) != 1 {
		return notOneMain(found, programs, pattern)
	}
	p.main = found[0]
	if !p.main.theirs {
		return p.checkMain()
	}
	return nil
}

func notListed(patterns string, err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return noGoCommand(err)
	}
	message, hint := diagnostic.GoProblem(err.Error())
	return &diagnostic.Error{
		Message: "cannot list the packages: " + message,
		Hint:    cmp.Or(hint, "repair what go list "+patterns+" reports"),
		Cause:   err,
	}
}

// checkMain fails if the program does not call manager.Main.
func (p *project) checkMain() error {
	files, err := filepath.Glob(filepath.Join(p.main.dir, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return &diagnostic.Error{Message: err.Error(), Hint: "correct the file, then run the command again", Cause: err}
		}
		if callsMain(parsed) {
			return nil
		}
	}
	return inProject(p.dir, &diagnostic.Error{
		Pos:     token.Position{Filename: p.main.dir},
		Message: "main does not call manager.Main of the runtime, through which kctrl simulates an operator",
		Hint:    "call os.Exit(manager.Main(options, setup)) in main",
	})
}

func callsMain(file *ast.File) bool {
	name := ""
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && path == runtimeManager {
			if name = "manager"; spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && name != "" {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Main" {
				of, ok := selector.X.(*ast.Ident)
				found = found || ok && of.Name == name
			}
		}
		return !found
	})
	return found
}

// notOneMain returns the error for a module with no operator, or with several operators.
func notOneMain(found []mainPackage, programs int, pattern string) error {
	e := &diagnostic.Error{
		Pos:     token.Position{Filename: "go.mod"},
		Message: "no main package uses kctrl's or controller-runtime's manager",
		Hint:    "kctrl chaos tests other programs",
	}
	switch {
	case len(found) > 1:
		var names []string
		for _, main := range found {
			names = append(names, main.path)
		}
		e.Message = fmt.Sprintf("%d main packages run operators: %s", len(found), strings.Join(names, ", "))
		e.Hint = "name one of them with --main"
	case programs == 0 && pattern != "":
		e.Pos.Filename, e.Message, e.Hint = pattern, "no main package", "--main names a package such as ./cmd"
	case programs == 0:
		e.Message, e.Hint = "the module has no main package", "run the command in the directory of an operator's module"
	}
	return e
}
