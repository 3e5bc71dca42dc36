package rewrite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kctrl-dev/kctrl/internal/migrate/rewrite"
	"github.com/kctrl-dev/kctrl/internal/migrate/rules"
)

// project writes the modules in testdata/modules.txtar and files into a new directory. The modules declare the APIs of
// controller-runtime and of the runtime that the files use.
func project(t *testing.T, files map[string]string) rewrite.Module {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/modules.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data) + files[f.Name]
	}
	for name, text := range files {
		target := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return rewrite.Module{Dir: dir}
}

// TestNamesOfImports checks that the file keeps its import names, and that new imports get other names.
func TestNamesOfImports(t *testing.T) {
	const (
		imports = "package p\n\nimport (\n\tctrl \"sigs.k8s.io/controller-runtime\"\n" +
			"\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n)\n\n"
		runtime = "\"github.com/kctrl-dev/kctrl/runtime/"
	)
	for name, test := range map[string]struct{ before, after string }{
		"imports without a use go": {
			imports + "func F(ctrl.Request, client.Object) {}\n",
			"package p\n\nimport (\n\t" + runtime + "object\"\n\t" + runtime + "reconcile\"\n)\n\n" +
				"func F(reconcile.Request, object.Object) {}\n",
		},
		"a package of the same name remains": {
			imports + "func F(c client.WithWatch, err error) error { return client.IgnoreNotFound(err) }\n\nvar _ ctrl.Result\n",
			"package p\n\nimport (\n\tkclient " + runtime + "client\"\n\t" + runtime + "reconcile\"\n" +
				"\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n)\n\n" +
				"func F(c client.WithWatch, err error) error { return kclient.IgnoreNotFound(err) }\n\nvar _ reconcile.Result\n",
		},
		"variables have the name": {
			imports + "func F(object client.Object, reconcile ctrl.Request) {}\n",
			"package p\n\nimport (\n\tkobject " + runtime + "object\"\n\tkreconcile " + runtime + "reconcile\"\n)\n\n" +
				"func F(object kobject.Object, reconcile kreconcile.Request) {}\n",
		},
		"one import alone": {
			"package p\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n\nvar _ ctrl.Request\n",
			"package p\n\nimport " + runtime + "reconcile\"\n\nvar _ reconcile.Request\n",
		},
		"imports in declarations of their own": {
			"package p\n\nimport ctrl \"sigs.k8s.io/controller-runtime\"\n" +
				"import \"sigs.k8s.io/controller-runtime/pkg/client\"\n\nvar _ ctrl.Request\nvar _ client.Object\n",
			"package p\n\nimport (\n\t" + runtime + "object\"\n\t" + runtime + "reconcile\"\n)\n\n" +
				"var _ reconcile.Request\nvar _ object.Object\n",
		},
		"several imports on a line": {
			"package p; import \"sigs.k8s.io/controller-runtime/pkg/client\"; " +
				"import ctrl \"sigs.k8s.io/controller-runtime\"\n\nvar _ client.Object\nvar _ ctrl.Manager\n",
			"package p;  import ctrl \"sigs.k8s.io/controller-runtime\"\nimport " + runtime + "object\"\n\n" +
				"var _ object.Object\nvar _ ctrl.Manager\n",
		},
		"parentheses on a line": {
			"package p\n\nimport (\"sigs.k8s.io/controller-runtime/pkg/client\"; ctrl \"sigs.k8s.io/controller-runtime\")\n\n" +
				"var _ client.Object\nvar _ ctrl.Request\n",
			"package p\n\nimport ( " + runtime + "object\"; " + runtime + "reconcile\")\n\n" +
				"var _ object.Object\nvar _ reconcile.Request\n",
		},
		"a comment between the words": {
			"package p\n\nimport /* the API */ client \"sigs.k8s.io/controller-runtime/pkg/client\"\n\nvar _ client.Object\n",
			"package p\n\nimport " + runtime + "object\"\n\nvar _ object.Object\n",
		},
		"two names of one package": {
			"package p\n\nimport (\n\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n" +
				"\tobject \"sigs.k8s.io/controller-runtime/pkg/client\"\n)\n\nvar _ client.Object\nvar _ object.WithWatch\n",
			"package p\n\nimport (\n\tkobject " + runtime + "object\"\n" +
				"\tobject \"sigs.k8s.io/controller-runtime/pkg/client\"\n)\n\nvar _ kobject.Object\nvar _ object.WithWatch\n",
		},
		"CRLF line ends": {
			strings.ReplaceAll(imports+"var _ client.Object\nvar _ ctrl.Request\nvar _ ctrl.Manager\n", "\n", "\r\n"),
			strings.ReplaceAll("package p\n\nimport (\n\t"+runtime+"object\"\n\t"+runtime+"reconcile\"\n"+
				"\tctrl \"sigs.k8s.io/controller-runtime\"\n)\n\n"+
				"var _ object.Object\nvar _ reconcile.Request\nvar _ ctrl.Manager\n", "\n", "\r\n"),
		},
		"a function as a value stays": {
			imports + "var F = client.IgnoreNotFound\n\nvar _ ctrl.Request\n",
			"package p\n\nimport (\n\t" + runtime + "reconcile\"\n\t\"sigs.k8s.io/controller-runtime/pkg/client\"\n)\n\n" +
				"var F = client.IgnoreNotFound\n\nvar _ reconcile.Request\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := project(t, map[string]string{"p.go": test.before})
			r, err := rewrite.Packages(t.Context(), m, []string{"."}, rules.All)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(r.Files[filepath.Join(m.Dir, "p.go")])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestClientsAreConvertedAtTheBorder moves a package. The packages that pass clients to it, or get clients from it, do
// not move.
func TestClientsAreConvertedAtTheBorder(t *testing.T) {
	const client = "\"sigs.k8s.io/controller-runtime/pkg/client\""
	m := project(t, map[string]string{
		"p/p.go": "package p\n\nimport (\n\t\"example.com/p/lib\"\n\t" + client + "\n)\n\n" +
			"type P struct{ client.Client }\n\nfunc (p P) Do(o client.Object) error {\n" +
			"\tlib.Use(p.Client)\n\treturn p.Get(o)\n}\n",
		"lib/lib.go": "package lib\n\nimport " + client + "\n\nvar Made client.WithWatch\n\nfunc Use(client.Client) {}\n",
		"main.go": "package main\n\nimport (\n\t\"example.com/p/lib\"\n\t\"example.com/p/p\"\n)\n\n" +
			"func main() { _ = p.P{Client: lib.Made} }\n",
	})
	r, err := rewrite.Packages(t.Context(), m, []string{"./p"}, rules.All)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Dropped) > 0 {
		t.Errorf("dropped %v", r.Dropped)
	}
	for name, want := range map[string]string{
		"p/p.go": "package p\n\nimport (\n\t\"example.com/p/lib\"\n\t\"github.com/kctrl-dev/kctrl/runtime/client\"\n" +
			"\t\"github.com/kctrl-dev/kctrl/runtime/object\"\n\tcrclient " + client + "\n)\n\n" +
			"type P struct{ client.Client }\n\nfunc (p P) Do(o object.Object) error {\n" +
			"\tlib.Use(crclient.FromKctrl(p.Client))\n\treturn p.Get(o)\n}\n",
		"main.go": "package main\n\nimport (\n\t\"example.com/p/lib\"\n\t\"example.com/p/p\"\n\t" + client + "\n)\n\n" +
			"func main() { _ = p.P{Client: client.ToKctrl(lib.Made)} }\n",
	} {
		if diff := cmp.Diff(want, string(r.Files[filepath.Join(m.Dir, name)])); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestLoggers checks that loggers are replaced in functions with a request.
func TestLoggers(t *testing.T) {
	const before, after = "package p\n\nimport (\n\t\"sigs.k8s.io/controller-runtime/pkg/log\"\n" +
		"\t\"sigs.k8s.io/controller-runtime/pkg/reconcile\"\n)\n\n",
		"package p\n\nimport (\n\t\"github.com/kctrl-dev/kctrl/runtime/log\"\n" +
			"\t\"github.com/kctrl-dev/kctrl/runtime/reconcile\"\n)\n\n"
	for name, test := range map[string]struct{ body, want string }{
		"unused": {"_ = log.FromContext(ctx)", "_ = log.FromContext(ctx)"},
		"chain":  {"log.FromContext(ctx).Info(\"a\", \"k\", 1)", "log.FromContext(ctx).Info(\"a\", \"k\", 1)"},
		"error": {
			"l := log.FromContext(ctx); l.Error(err, \"a\", \"k\", 1)",
			"l := log.FromContext(ctx); l.Error(\"a\", \"error\", err, \"k\", 1)",
		},
		"level":        {"l := log.FromContext(ctx); l.V(1).Info(\"a\")", ""},
		"odd":          {"l := log.FromContext(ctx); l.Info(\"a\", \"k\")", ""},
		"as a value":   {"l := log.FromContext(ctx); l.Info(\"a\"); _ = l", ""},
		"no error":     {"log.FromContext(ctx).Error(nil, \"a\")", ""},
		"given values": {"_ = log.FromContext(ctx, \"k\", 1)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			function := func(body string) string {
				return "func F(ctx any, err error, _ reconcile.Request) {\n\t" + strings.ReplaceAll(body, "; ", "\n\t") + "\n}\n"
			}
			m := project(t, map[string]string{"p.go": before + function(test.body)})
			r, err := rewrite.Packages(t.Context(), m, []string{"."}, rules.All)
			if err != nil {
				t.Fatal(err)
			}
			got := string(r.Files[filepath.Join(m.Dir, "p.go")])
			if test.want != "" && got != after+function(test.want) || test.want == "" && r.After["log.FromContext"] != 1 {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestGroupsThatDoNotFitAreDropped checks a slice of one interface that the code passes as a slice of another. The
// package is rewritten without the rules for interfaces, and with all other rules.
func TestGroupsThatDoNotFitAreDropped(t *testing.T) {
	m := project(t, map[string]string{
		"a/a.go": "package a\n\nimport \"sigs.k8s.io/controller-runtime/pkg/reconcile\"\n\n" +
			"func F(all []reconcile.Reconciler, r reconcile.Request) {}\n",
		"b/b.go": "package b\n\nimport (\n\t\"example.com/p/a\"\n\t\"sigs.k8s.io/controller-runtime/pkg/reconcile\"\n)\n\n" +
			"func G(all []reconcile.Reconciler) { a.F(all, reconcile.Request{}) }\n",
	})
	r, err := rewrite.Packages(t.Context(), m, []string{"./a"}, rules.All)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Dropped) != 1 || r.Dropped[0].Package != "example.com/p/a" || r.Dropped[0].Group != "interfaces" ||
		!strings.HasPrefix(r.Dropped[0].Reason, "b/b.go:8:") {
		t.Errorf("dropped %v", r.Dropped)
	}
	const want = "package a\n\nimport (\n\tkreconcile \"github.com/kctrl-dev/kctrl/runtime/reconcile\"\n" +
		"\t\"sigs.k8s.io/controller-runtime/pkg/reconcile\"\n)\n\n" +
		"func F(all []reconcile.Reconciler, r kreconcile.Request) {}\n"
	if diff := cmp.Diff(want, string(r.Files[filepath.Join(m.Dir, "a", "a.go")])); diff != "" {
		t.Error(diff)
	}
	if r.Before["reconcile.Request"] != 1 || r.After["reconcile.Request"] != 0 || r.After["reconcile.Reconciler"] != 1 {
		t.Errorf("references %v, then %v", r.Before, r.After)
	}
}

// TestProjectsThatDoNotCompileAreRefused covers programs, tests and patterns without packages.
func TestProjectsThatDoNotCompileAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		files   map[string]string
		pattern string
		says    string
	}{
		"a program": {
			map[string]string{"p.go": "package p\n\nvar X int = \"\"\n"}, "./...",
			`the project does not compile: p.go:3:13: cannot use "" (untyped string constant) as int value`,
		},
		"a test": {
			map[string]string{"p.go": "package p\n", "p_test.go": "package p\n\nvar X Y\n"}, "./...",
			"the project does not compile: p_test.go:3:7: undefined: Y",
		},
		"no package": {map[string]string{"p.go": "package p\n"}, "./other", "cannot find the package"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rewrite.Packages(t.Context(), project(t, test.files), []string{test.pattern}, rules.All)
			if err == nil || !strings.HasPrefix(err.Error(), test.says) {
				t.Errorf("got %v, want %s", err, test.says)
			}
		})
	}
}
