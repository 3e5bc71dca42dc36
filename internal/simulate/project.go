package simulate

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/kubectl"
)

// project has the data of a project that a simulation needs.
type project struct {
	dir       string // absolute
	main      mainPackage
	module    string // path of the module, set by build
	rules     bool   // the project has its own rules
	objects   []*unstructured.Unstructured
	samples   []*unstructured.Unstructured
	positions map[*unstructured.Unstructured]token.Position // of samples
	webhooks  []string
	user      string
	namespace string
	args      []string // of the operator's container
	env       map[string]string
}

func readProject(ctx context.Context, dir string, opts SimOptions) (*project, error) {
	p := &project{dir: dir}
	if err := p.findMain(ctx, opts.Main); err != nil {
		return nil, err
	}
	if err := p.readManifests(opts.Options); err != nil {
		return nil, err
	}
	if opts.Args != nil {
		p.args = opts.Args
	}
	if directory := filepath.Join(dir, "config", "sim"); exists(directory) {
		given, err := kubectl.ReadManifests(directory, nil)
		if err != nil {
			return nil, err
		}
		for _, m := range given {
			p.objects = append(p.objects, m.Object)
		}
	}
	if err := p.checkKinds(); err != nil {
		return nil, err
	}
	if file := filepath.Join(dir, "config", "webhook", "manifests.yaml"); exists(file) {
		p.webhooks = []string{file}
	}
	var err error
	p.rules, err = findRules(dir)
	return p, err
}

// rulesDirectory is the directory of the package with the rules of a project, relative to the project.
const rulesDirectory = "internal/sim"

// runtimeSim is the package with the types of rules.
const runtimeSim = "github.com/kctrl-dev/kctrl/runtime/sim"

// findRules reports whether the project has rules, that is, a package in internal/sim that imports runtimeSim. It
// returns an error if that package has no function Rules.
func findRules(dir string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(rulesDirectory), "*.go"))
	if err != nil {
		return false, err
	}
	imports, found := false, false
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, &diagnostic.Error{
				Message: err.Error(), Hint: "correct the file, then run the command again", Cause: err,
			}
		}
		for _, spec := range parsed.Imports {
			path, _ := strconv.Unquote(spec.Path.Value) // the parser accepts only strings
			imports = imports || path == runtimeSim
		}
		for _, d := range parsed.Decls {
			function, ok := d.(*ast.FuncDecl)
			found = found || ok && function.Recv == nil && function.Name.Name == "Rules"
		}
	}
	if imports && !found {
		return false, &diagnostic.Error{
			Pos:     token.Position{Filename: filepath.FromSlash(rulesDirectory)},
			Message: "the package imports runtime/sim and has no function Rules",
			Hint:    "add func Rules() []sim.Rule, which returns the rules that kctrl sim checks",
		}
	}
	return imports, nil
}

// inProject makes the paths in an error relative to the project.
func inProject(dir string, err error) error {
	if d, ok := errors.AsType[*diagnostic.Error](err); ok {
		d.Pos = diagnostic.Relative(dir, d.Pos)
		d.Message = strings.ReplaceAll(d.Message, dir+string(filepath.Separator), "")
		d.Hint = strings.ReplaceAll(d.Hint, dir+string(filepath.Separator), "")
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
