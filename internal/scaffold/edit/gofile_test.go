package edit

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

const managerPath = "github.com/kctrl-dev/kctrl/runtime/manager"

// ensureRegister runs EnsureArgument as create api does, and again on the result.
func ensureRegister(t *testing.T, src string) (string, error) {
	t.Helper()
	out, err := EnsureArgument([]byte(src), "cmd/main.go", managerPath, "Main", "register")
	if err != nil {
		return "", err
	}
	again, err := EnsureArgument(out, "cmd/main.go", managerPath, "Main", "register")
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("a second time: %v\n%s", err, again)
	}
	return string(out), nil
}

// TestEnsureArgumentInsertsOnlyTheArgument expects that only the text between « and » is inserted.
func TestEnsureArgumentInsertsOnlyTheArgument(t *testing.T) {
	imports := "package main\n\nimport \"" + managerPath + "\"\n\n"
	for rule, want := range map[string]string{
		"one line":             imports + "func main() { manager.Main(opts«, register») }\n",
		"no argument":          imports + "func main() { manager.Main(«register») }\n",
		"no argument, comment": imports + "func main() { manager.Main(«register» /* none */) }\n",
		"no argument, lines":   imports + "func main() {\n\tmanager.Main(«\n\t\tregister,»\n\t\t// none\n\t)\n}\n",
		"inside a call": imports +
			"func main() { os.Exit(manager.Main(manager.Options{ID: \"a,b)\"}«, register»)) }\n",
		"trailing comma": imports +
			"func main() {\n\tmanager.Main(\n\t\topts,\n\t\tother,«\n\t\tregister,»\n\t)\n}\n",
		"trailing comma and comments": imports +
			"func main() {\n\tmanager.Main(\n\t\topts, // one, two)\n\t\tother /* , */, /* a */ // " +
			"three,«\n\t\tregister,»\n\t\t// four\n\t)\n}\n",
		"trailing comma on the last line": imports + "func main() { manager.Main(opts,« register») }\n",
		"argument over many lines": imports +
			"func main() {\n\tmanager.Main(manager.Options{\n\t\tID: \"x\",\n\t}«, register»)\n}\n",
		"function literal and trailing comma": imports +
			"func main() {\n\tmanager.Main(func() {\n\t\tx()\n\t},«\n\t\tregister,»\n\t)\n}\n",
		"block comment behind the comma": imports +
			"func main() {\n\tmanager.Main(\n\t\topts, /* a\n\t\tb */«\n\t\tregister,»\n\t)\n}\n",
		"odd formatting": imports + "func main (  ) {manager . Main( opts«, register»    )}\n",
		"parentheses":    imports + "func main() { (manager.Main)(opts«, register») }\n",
		"type arguments": imports + "func main() { manager.Main[int, string](opts«, register») }\n",
		"in a variable":  imports + "var code = manager.Main(opts«, register»)\n",
		"alias": "package main\n\nimport mgr \"" + managerPath +
			"\"\n\nfunc main() { mgr.Main(opts«, register») }\n",
		"raw import": "package main\n\nimport `" + managerPath + "`\n\nfunc main() { manager.Main(opts«, register») }\n",
		"dot import": "package main\n\nimport . \"" + managerPath + "\"\n\nfunc main() { Main(opts«, register») }\n",
		"two imports of it": "package main\n\nimport (\n\t\"" + managerPath + "\"\n\tm \"" + managerPath + "\"\n)\n\n" +
			"func main() { m.Main(opts«, register»); _ = manager.Options{} }\n",
		"build tags": "//go:build linux\n\n// Copyright\n\n" + imports + "func main() { manager.Main(opts«, " +
			"register») }",
		"line directives":  imports + "//line other.go:1\nfunc main() { manager.Main(opts«, register») }\n",
		"template in text": imports + "const x = \"{{ .Resource.Kind }}\"\n\nfunc main() { manager.Main(x«, register») }\n",
		"hidden elsewhere": imports + "func f(manager T) { manager.Main(opts) }\n\nfunc main() { manager.Main(opts«, " +
			"register») }\n",
		"hidden by a variable later": imports +
			"func main() {\n\tmanager.Main(opts«, register»)\n\tmanager := 1\n\tmanager.Main(opts)\n}\n",
		"another package of the name": "package main\n\nimport (\n\tx \"" + managerPath +
			"\"\n\n\t\"example.com/manager\"\n)\n\n" +
			"func main() { manager.Main(opts); x.Main(opts«, register») }\n",
		"method of the name": imports + "func main() { s.manager.Main(1); manager.Main(opts«, register») }\n",
		"register as other use": imports + "var x = register\n\nfunc main() { f(register); manager.Main(f(register)«, " +
			"register») }\n",
		"only mentioned in text": imports + "// manager.Main(opts, register)\nvar s = `manager.Main(register)`\n\nfunc " +
			"main() { manager.Main(«register») }\n",
		"broken elsewhere": imports + "var x int = \"text\" + undefined.y(1)\n\nfunc main() { " +
			"undefined(manager.Main(opts«, register»)) }\n",
	} {
		t.Run(rule, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n"} {
				want := strings.ReplaceAll(want, "\n", eol)
				before, rest, _ := strings.Cut(want, "«")
				inserted, after, _ := strings.Cut(rest, "»")
				got, err := ensureRegister(t, before+after)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before+inserted+after, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestEnsureArgumentKeepsExistingArguments(t *testing.T) {
	imports := "package main\n\nimport \"" + managerPath + "\"\n\n"
	for rule, src := range map[string]string{
		"last":           imports + "func main() { manager.Main(opts, register) }\n",
		"first":          imports + "func main() { manager.Main(register, opts) }\n",
		"in parentheses": imports + "func main() { manager.Main((register)) }\n",
		"with comments": imports + "func main() {\n\tmanager.Main(\n\t\topts,\n\t\t// mine\n\t\tregister, // " +
			"all\n\t)\n}\n",
		"with a slice":     imports + "func main() { manager.Main(register, more...) }\n",
		"one of two calls": imports + "func main() { manager.Main(a); manager.Main(b, register) }\n",
		"in a function": imports + "func run() int {\n\tif x {\n\t\treturn manager.Main(opts, " +
			"register)\n\t}\n\treturn 0\n}\n",
		"not gofmt, no lf":   imports + "func main() {manager.Main(opts,register)}",
		"in a composite":     imports + "var t = unknown.T{F: manager.Main(register)}\n",
		"in a func literal":  imports + "var f = func() { go func() { manager.Main(register) }() }\n",
		"under a dot import": "package main\n\nimport . \"" + managerPath + "\"\n\nfunc main() { Main(register) }\n",
	} {
		t.Run(rule, func(t *testing.T) {
			got, err := ensureRegister(t, src)
			if err != nil || got != src {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}

func TestEnsureArgumentComparesExpressions(t *testing.T) {
	src := "package main\n\nimport \"" + managerPath + "\"\n\nfunc main() { manager.Main(a . B, c.D) }\n"
	got, err := EnsureArgument([]byte(src), "m.go", managerPath, "Main", "a.B")
	if err != nil || string(got) != src {
		t.Errorf("%v\n%s", err, got)
	}
	got, err = EnsureArgument([]byte(src), "m.go", managerPath, "Main", "c.E")
	if err != nil || !strings.Contains(string(got), "(a . B, c.D, c.E)") {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestEnsureArgumentRefusesWithPositionAndSnippet(t *testing.T) {
	imports := "package main\n\nimport \"" + managerPath + "\"\n\n"
	for _, tt := range []struct{ rule, src, want, hint string }{
		{"no call", imports + "func main() {}\n", "cmd/main.go:5:6: no call of Main from " + managerPath,
			`write manager.Main(..., register) in func main, with import "` + managerPath + `"`},
		{"no call, no main", imports, "cmd/main.go:3:8: no call of Main", "write manager.Main(..., register) in the file"},
		{"no import", "package main\n\nfunc main() { manager.Main() }\n", "cmd/main.go:3:6: no call of Main",
			"write manager.Main(..., register) in func main"},
		{"hidden by a variable", imports + "func main() { manager := 1; manager.Main(opts) }\n", "cmd/main.go:5:6: no call",
			"write"},
		{"hidden by a parameter", imports + "func main(manager T) { manager.Main(opts) }\n", "cmd/main.go:5:6: no call",
			"write"},
		{"hidden under a dot import", "package main\n\nimport . \"" + managerPath +
			"\"\n\nfunc main() { Main := 1; Main(opts) }\n", "cmd/main.go:5:6: no call", "write"},
		{"a value, not a call", imports + "var f = manager.Main\n", "cmd/main.go:3:8: no call", "write"},
		{"several calls", imports + "func main() {\n\tmanager.Main(a)\n\tmanager.Main(b)\n}\n",
			"cmd/main.go:6:14: 2 calls of Main, and none has the argument register", "one of them: manager.Main(a, register)"},
		{"a slice", imports + "func main() { manager.Main(opts, fs...) }\n",
			"cmd/main.go:5:36: the call of Main passes a slice",
			"by hand: manager.Main(opts, fs, register)"},
		{"not Go", "package main\n\nfunc main( {\n", "cmd/main.go:3:12: not valid Go: ",
			"it should call manager.Main(..., register)"},
		{"empty", "", "cmd/main.go:1:1: not valid Go: ", "it should call"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			_, err := ensureRegister(t, tt.src)
			e, ok := errors.AsType[*diagnostic.Error](err)
			if !ok || !strings.HasPrefix(e.Error(), tt.want) || !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("got %v\nhint %v", err, e)
			}
		})
	}
}

// TestUsersMainSurvivesCreateAPI checks that a removed registration is restored, that a registration with the user's
// comment is not added again, and that code that looks like a template is not parsed as one.
func TestUsersMainSurvivesCreateAPI(t *testing.T) {
	main := "package main\n\nimport (\n\t\"os\"\n\n\t\"" + managerPath + "\"\n)\n\n" +
		"const banner = \"{{ .Resource.Kind }}\" // [[{{Name: \"http\"}}]]\n\n" +
		"func main() {\n\tos.Exit(manager.Main(\n\t\tmanager.Options{},\n\t\t// all kinds\n\t\tregister, // mine\n\t))\n}\n"
	if got, err := ensureRegister(t, main); err != nil || got != main {
		t.Errorf("%v\n%s", err, got)
	}
	removed := strings.Replace(main, "\t\tregister, // mine\n", "", 1)
	got, err := ensureRegister(t, removed)
	want := strings.Replace(removed, "manager.Options{},\n", "manager.Options{},\n\t\tregister,\n", 1)
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

// FuzzEnsureArgument checks that a file is rejected, or that only the argument is inserted.
func FuzzEnsureArgument(f *testing.F) {
	f.Add("package main\nimport \"" + managerPath + "\"\nfunc main() { manager.Main(a,\n/*x*/ b, // c\n) }\n")
	f.Add("package main\r\nimport . \"" + managerPath + "\"\r\nvar _ = Main(func() {}, /* a\r\n */\r\n)\r\n")
	f.Fuzz(func(t *testing.T, src string) {
		out, err := ensureRegister(t, src)
		if err != nil || out == src {
			return
		}
		n := len(out) - len(src)
		for i := range len(src) + 1 {
			if out[:i] == src[:i] && out[i+n:] == src[i:] {
				return
			}
		}
		t.Errorf("not an insertion:\n%s\n%s", src, out)
	})
}
