package register

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

const mainWith = `package main

import (
	"os"

	run "github.com/kctrl-dev/kctrl/runtime/manager"
)

func main() { os.Exit(run.Main(SETUP)) }
`

func TestManagerIsGivenRegister(t *testing.T) {
	const options = "run.Options{}"
	tests := []struct {
		name, setup, other string
		want               string // resulting arguments, or empty for an error
	}{
		{name: "passed", setup: options + ", register", want: options + ", register"},
		{name: "lost", setup: options, want: options + ", register"},
		{
			name: "called", setup: options + ", func(m controller.Manager) error { return register(m) }",
			want: options + ", func(m controller.Manager) error { return register(m) }",
		},
		{
			name: "called in another file", setup: options + ", setup",
			other: "package main\n\nfunc setup(m controller.Manager) error { return register(m) }\n", want: options + ", setup",
		},
		{name: "replaced", setup: options + ", setup"},
		{name: "only a method of that name", setup: options + ", other.register"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := fstest.MapFS{layout.MainFile: {Data: []byte(strings.Replace(mainWith, "SETUP", test.setup, 1))}}
			if test.other != "" {
				fsys["cmd/setup.go"] = &fstest.MapFile{Data: []byte(test.other)}
			}
			plan := plan.New(fsys)
			g, err := FindProgram(plan)
			if err == nil {
				err = g.EnsureRegistered(plan)
			}
			if test.want == "" {
				e, ok := err.(*diagnostic.Error)
				if !ok || e.Pos.Line == 0 || !strings.Contains(e.Hint, "register(m)") {
					t.Fatalf("got %v, want an error with a position and the text to write", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := plan.Read(layout.MainFile)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(mainWith, "SETUP", test.want, 1); string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestProgramsAreFoundWhereverTheyAre moves and splits the main function. kctrl writes register beside it, or reports
// the line to add.
func TestProgramsAreFoundWhereverTheyAre(t *testing.T) {
	main := strings.Replace(mainWith, "SETUP", "run.Options{}", 1)
	const (
		empty   = "package main\n\nfunc main() {}\n"
		calls   = "package main\n\nfunc main() { start() }\n"
		library = "package app\n\nimport \"github.com/kctrl-dev/kctrl/runtime/manager\"\n\nfunc Start() int { return " +
			"manager.Main(manager.Options{}) }\n"
		other = "package main\n\nimport \"example.com/x/app\"\n\nfunc main() { app.Start(register) }\n"
	)
	starts := strings.Replace(main, "func main() { os.Exit(", "func start() { os.Exit(", 1)
	for name, test := range map[string]struct {
		files  map[string]string
		folder string
		edited string // the file that now passes register
		fails  string
	}{
		"in cmd": {files: map[string]string{"cmd/main.go": main}, folder: "cmd",
			edited: "cmd/main.go"},
		"in the root": {files: map[string]string{"main.go": main}, folder: ".", edited: "main.go"},
		"in a folder of its own": {files: map[string]string{"cmd/manager/main.go": main}, folder: "cmd/manager",
			edited: "cmd/manager/main.go"},
		"under another name": {files: map[string]string{"cmd/manager.go": main}, folder: "cmd",
			edited: "cmd/manager.go"},
		"in two files": {files: map[string]string{"cmd/main.go": calls, "cmd/start.go": starts},
			folder: "cmd", edited: "cmd/start.go"},
		"in two files elsewhere": {files: map[string]string{"a/b/main.go": calls, "a/b/start.go": starts},
			folder: "a/b", edited: "a/b/start.go"},
		"beside another program": {files: map[string]string{"cmd/main.go": empty, "cmd/manager/main.go": main},
			folder: "cmd/manager", edited: "cmd/manager/main.go"},
		"in a library": {files: map[string]string{"app/app.go": library, "operator/main.go": other},
			folder: "operator"},
		"by a library alone": {files: map[string]string{"app/app.go": library, "cmd/main.go": empty},
			folder: "cmd", fails: "no call of Main from"},
		"nowhere": {folder: "cmd", fails: "the file is missing"},
		"twice": {files: map[string]string{"a/main.go": main, "b/main.go": main}, folder: "cmd",
			fails: "several programs start a manager"},
		"twice, with one that was it": {files: map[string]string{"a/main.go": main, "b/main.go": main,
			"b/" + layout.RegisterName: empty}, folder: "b", edited: "b/main.go"},
		"where go does not look": {files: map[string]string{"_old/main.go": main, "testdata/main.go": main,
			"x/go.mod": "module x\n", "x/main.go": main}, folder: "cmd", fails: "the file is missing"},
		"in a file that is not built": {files: map[string]string{"cmd/main.go": "//go:build ignore\n\n" + main,
			"main.go": main}, folder: ".", edited: "main.go"},
		"in a file that does not parse": {files: map[string]string{"cmd/main.go": "package main\n\nfunc main() {"},
			folder: "cmd", fails: "cmd/main.go:3:"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, text := range test.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			p := plan.New(fsys)
			g, err := FindProgram(p)
			if err == nil {
				err = g.EnsureRegistered(p)
			}
			if g.folder != test.folder {
				t.Errorf("the program is in %q, want %q", g.folder, test.folder)
			}
			if test.fails != "" {
				if e, ok := err.(*diagnostic.Error); !ok || !strings.Contains(e.Error(), test.fails) || e.Hint == "" {
					t.Errorf("got %v, want %q with a hint", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for c := range p.Changes() {
				if c.Path != test.edited && c.Path != project.LockFile {
					t.Errorf("%s is changed", c.Path)
				}
			}
			if text, err := p.Read(test.edited); test.edited != "" &&
				(err != nil || !strings.Contains(string(text), "run.Options{}, register)")) {
				t.Errorf("%s: %v\n%s", test.edited, err, text)
			}
		})
	}
}
