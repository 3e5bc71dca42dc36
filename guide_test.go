package kctrl_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/registry"
)

const (
	guide = "docs/guide"
	// leastQuestions is the minimum number of questions that how-do-i.md answers.
	leastQuestions = 50
)

// guidePages returns the pages of the guide by their paths.
func guidePages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(guide + "/*.md")
	if err != nil || len(names) < 14 {
		t.Fatalf("found %d pages: %v", len(names), err)
	}
	pages := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(text)
	}
	return pages
}

// block is a fenced block of a page.
type block struct {
	page, language, text string
	line                 int // of its first line in the page
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

func blocks(page, text string) []block {
	var all []block
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		line := 1 + strings.Count(text[:at[4]], "\n")
		all = append(all, block{page, text[at[2]:at[3]], text[at[4]:at[5]], line})
	}
	return all
}

// TestGuideCompiles compiles the Go blocks of each page of the guide as one package. A block contains declarations
// without imports; guideImports resolves the names of imported packages.
func TestGuideCompiles(t *testing.T) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	dir, root := t.TempDir(), absolute(t, ".")
	var packages []string
	for page, text := range guidePages(t) {
		name := "page" + strings.TrimSuffix(filepath.Base(page), ".md")
		target, types := filepath.Join("testdata", "guide", name), map[string]bool{}
		for n, b := range blocks(page, text) {
			if b.language != "go" {
				continue
			}
			for name := range declared(t, b) {
				types[name] = true
			}
			file := fmt.Sprintf("block%d.go", n)
			write(t, filepath.Join(dir, name+file), guideFile(t, b))
			overlay.Replace[filepath.Join(root, target, file)] = filepath.Join(dir, name+file)
			if !slices.Contains(packages, "./"+filepath.ToSlash(target)) {
				packages = append(packages, "./"+filepath.ToSlash(target))
			}
		}
		if strings.Contains(text, "GuestbookReconciler") && !types["GuestbookReconciler"] {
			write(t, filepath.Join(dir, name+"prelude.go"), guidePrelude)
			overlay.Replace[filepath.Join(root, target, "prelude.go")] = filepath.Join(dir, name+"prelude.go")
		}
	}
	if len(packages) < 8 {
		t.Fatalf("only %d pages have Go code", len(packages))
	}
	replace, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), string(replace))
	slices.Sort(packages)
	build := exec.CommandContext(t.Context(), "go",
		append([]string{"build", "-overlay", filepath.Join(dir, "overlay.json")}, packages...)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("the Go code of the guide does not compile: %v\n%s", err, out)
	}
}

// guidePrelude declares the reconciler for pages that use it but show other code.
const guidePrelude = `package page

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

type GuestbookReconciler struct {
	client.Client
	methods
}

type methods struct{}

func (methods) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

func (methods) SetupWithManager(controller.Manager) error { return nil }
`

// guideImports are the packages that the guide's code uses, by name.
var guideImports = map[string]string{
	"apierrors": "k8s.io/apimachinery/pkg/api/errors", "appsv1": "k8s.io/api/apps/v1", "corev1": "k8s.io/api/core/v1",
	"field": "k8s.io/apimachinery/pkg/util/validation/field", "labels": "k8s.io/apimachinery/pkg/labels",
	"meta": "k8s.io/apimachinery/pkg/api/meta", "metav1": "k8s.io/apimachinery/pkg/apis/meta/v1",
	"rest": "k8s.io/client-go/rest", "runtime": "k8s.io/apimachinery/pkg/runtime",
	"context": "context", "errors": "errors", "http": "net/http", "slices": "slices", "strings": "strings",
	"testing":  "testing",
	"time":     "time",
	"webappv1": module + "/testdata/guide/api/v1", "webappv2": module + "/testdata/guide/api/v2",
	"admission": module + "/runtime/webhook/admission", "conversion": module + "/runtime/webhook/conversion",
	"conversiontest": module + "/runtime/webhook/conversiontest",
}

func init() {
	for _, name := range []string{
		"cache", "client", "controller", "controllerutil", "events", "handler", "log", "manager", "metrics", "object",
		"predicate",
		"reconcile", "registry", "sim", "source", "testenv", "webhook",
	} {
		guideImports[name] = module + "/runtime/" + name
	}
}

// guideFile returns the source of a block, with the imports that it needs.
func guideFile(t *testing.T, b block) string {
	t.Helper()
	used := map[string]bool{}
	ast.Inspect(parseBlock(t, b), func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && guideImports[x.Name] != "" {
				used[x.Name] = true
			}
		}
		return true
	})
	source := "package page\n\nimport (\n"
	for _, name := range slices.Sorted(maps.Keys(used)) {
		source += fmt.Sprintf("\t%s %q\n", name, guideImports[name])
	}
	return source + fmt.Sprintf(")\n\n//line %s:%d\n%s", filepath.ToSlash(absolute(t, b.page)), b.line, b.text)
}

func parseBlock(t *testing.T, b block) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), fmt.Sprintf("%s:%d", b.page, b.line), "package page\n"+b.text, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// declared returns the types of a block.
func declared(t *testing.T, b block) map[string]bool {
	types := map[string]bool{}
	for _, decl := range parseBlock(t, b).Decls {
		if group, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range group.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					types[spec.Name.Name] = true
				}
			}
		}
	}
	return types
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// named describes one kind of name in the guide, and how to look up such a name.
type named struct {
	what   string
	match  *regexp.Regexp // its first group is the name
	exists func(name string) bool
	least  int // the minimum number of names in the guide
}

// TestGuideNamesExist checks that every command, flag, marker, metric, alert, Make target, environment variable and Go
// name in the guide exists.
func TestGuideNamesExist(t *testing.T) {
	commands, flags := guideCommands(t), guideFlags(t)
	markers := match(read(t, "docs/markers.md"), "(?m)^### `(.*)`")
	metrics := sourceTexts(t, "runtime",
		`"((?:controller_runtime|workqueue|rest_client|informer|kctrl|leader_election|certwatcher)_[a-z_]+)"`)
	alerts := match(read(t, "testdata/project/config/components/prometheus/alerts.yaml"), `(?m)alert: (\w+)`)
	targets := match(read(t, "testdata/project/Makefile"), `(?m)^([a-z-]+):`)
	variables := sourceTexts(t, "runtime/testenv", `"(KCTRL[A-Z_]*)"`)
	for name := range match(read(t, "testdata/project/.github/workflows/test.yml"), `\b(KCTRL_[A-Z_]+)`) {
		variables[name] = true
	}
	names := guideGoNames(t)
	kinds := []named{
		{"command", regexp.MustCompile(`\bkctrl((?: [a-z]+)+)`),
			func(name string) bool { return commands[firstCommand(commands, name)] != nil }, 60},
		{"flag", regexp.MustCompile("(?m)[ `'](--[a-z][a-z0-9-]+)"), func(name string) bool { return flags[name] }, 60},
		{"marker", regexp.MustCompile("`(\\+[a-zA-Z][a-zA-Z:-]*)"),
			func(name string) bool { return markers[marker(markers, name)] }, 20},
		{"metric",
			regexp.MustCompile("`((?:controller_runtime|workqueue|rest_client|informer|kctrl|leader_election|certwatcher)_[a-z_]+)`"),
			func(name string) bool { return metrics[name] }, 15},
		{"alert", regexp.MustCompile("`(Operator[A-Z]\\w+)`"), func(name string) bool { return alerts[name] }, 9},
		{"Make target", regexp.MustCompile("(?m)(?:^|`)make ([a-z-]+)"), func(name string) bool { return targets[name] }, 8},
		{"variable", regexp.MustCompile(`\b(KCTRL_[A-Z_]+)`), func(name string) bool { return variables[name] }, 4},
		{"Go name", regexp.MustCompile("`((?:" + strings.Join(slices.Sorted(maps.Keys(names)), "|") +
			`)\.[A-Z]\w*(?:\.[A-Z]\w*)?)`), func(name string) bool {
			pkg, name, _ := strings.Cut(name, ".")
			return names[pkg][name]
		}, 60},
		{"method", regexp.MustCompile("`((?:Manager|Cache|Cluster|Controller|Registry)\\.[A-Z]\\w*)"),
			func(name string) bool {
				return slices.ContainsFunc([]string{"manager", "cache", "controller", "registry", "metrics"},
					func(pkg string) bool { return names[pkg][name] })
			}, 12},
	}
	pages := guidePages(t)
	for _, kind := range kinds {
		found := 0
		for page, text := range pages {
			for n, line := range strings.Split(code(text), "\n") {
				for _, match := range kind.match.FindAllStringSubmatch(line, -1) {
					if found++; !kind.exists(match[1]) && !elsewhere[match[1]] {
						t.Errorf("%s:%d: there is no %s %s", page, n+1, kind.what, strings.TrimSpace(match[1]))
					}
				}
			}
		}
		if found < kind.least {
			t.Errorf("found only %d times a %s, want %d", found, kind.what, kind.least)
		}
	}
}

// TestGuideCommandsHaveTheirFlags checks that each kctrl command in the guide has the flags that are written with it.
func TestGuideCommandsHaveTheirFlags(t *testing.T) {
	commands, checked := guideCommands(t), 0
	called := regexp.MustCompile("\\bkctrl((?: [a-z]+)+)([^`;|&)\n]*)")
	for page, text := range guidePages(t) {
		for _, call := range called.FindAllStringSubmatch(strings.ReplaceAll(code(text), "\\\n", " "), -1) {
			command := firstCommand(commands, call[1])
			for flag := range match(call[1]+call[2], ` (--[a-z][a-z0-9-]+)`) {
				if checked++; !commands[command][flag] && flag != "--help" {
					t.Errorf("%s: kctrl%s has no flag %s", page, command, flag)
				}
			}
		}
	}
	if checked < 60 {
		t.Errorf("found only %d flags", checked)
	}
}

// elsewhere are names that belong to other programs, and names of flags in placeholders.
var elsewhere = map[string]bool{
	// git, kubectl, helm
	"--all": true, "--message": true, "--server-side": true, "--namespace": true, "--create-namespace": true,
	"--help": true, "--concurrent-": true, "+operator-sdk:csv": true,
}

// guideCommands returns the pages of docs/cli by the words of the command.
func guideCommands(t *testing.T) map[string]map[string]bool {
	t.Helper()
	commands := map[string]map[string]bool{}
	names, err := filepath.Glob("docs/cli/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		words := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(name), ".md"), "_", " ")
		commands[strings.TrimPrefix(words, "kctrl")] = match(read(t, name), "(?m)^\\| `(?:-\\w, )?(--[a-z0-9-]+)")
	}
	return commands
}

// code returns the code in a page: shell blocks and text in backquotes.
func code(text string) string {
	var lines []string
	language := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch name, isFence := strings.CutPrefix(line, "```"); {
		case isFence:
			language, line = name, ""
		case language == "":
			line = strings.Join(regexp.MustCompile("`[^`]+`").FindAllString(line, -1), " ")
		case language != "sh" && language != "console":
			line = ""
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// firstCommand returns the words of name that are a command: a word after a command with subcommands must be one of
// these, and further words are arguments.
func firstCommand(commands map[string]map[string]bool, name string) string {
	words := strings.Fields(name)
	for n := len(words); n > 0; n-- {
		prefix := " " + strings.Join(words[:n], " ")
		if commands[prefix] == nil {
			continue
		}
		subcommands := slices.ContainsFunc(slices.Collect(maps.Keys(commands)),
			func(c string) bool { return strings.HasPrefix(c, prefix+" ") })
		if n == len(words) || !subcommands {
			return prefix
		}
		break
	}
	return name
}

// guideFlags returns the flags of kctrl and of a manager with a registry.
func guideFlags(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, flags := range guideCommands(t) {
		for name := range flags {
			all[name] = true
		}
	}
	set := flag.NewFlagSet("manager", flag.ContinueOnError)
	manager.BindFlags(set, manager.Options{})
	registry.New(registry.Options{}).BindFlags(set)
	set.VisitAll(func(f *flag.Flag) { all["--"+f.Name] = true })
	return all
}

// marker returns the longest marker that name begins with: what follows is an argument.
func marker(markers map[string]bool, name string) string {
	longest := ""
	for m := range markers {
		if (name == m || strings.HasPrefix(name, m+":")) && len(m) > len(longest) {
			longest = m
		}
	}
	return longest
}

// guideGoNames returns the names of each package of the runtime: "Name", and "Type.Member" for methods, and fields.
func guideGoNames(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for dir, names := range declarations(t) {
		if pkg, ok := strings.CutPrefix(dir, "runtime/"); ok && !strings.Contains(pkg, "internal") &&
			!strings.Contains(pkg, "compat") {
			pkg = pkg[strings.LastIndexByte(pkg, '/')+1:]
			if all[pkg] == nil {
				all[pkg] = map[string]bool{}
			}
			for name := range names {
				all[pkg][name] = true
			}
		}
	}
	for _, src := range sources(t) {
		names := all[src.dir[strings.LastIndexByte(src.dir, '/')+1:]]
		if src.test || names == nil || !strings.HasPrefix(src.dir, "runtime/") {
			continue
		}
		ast.Inspect(src.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if fields, ok := spec.Type.(*ast.StructType); ok {
					for _, field := range fields.Fields.List {
						for _, name := range field.Names {
							names[spec.Name.Name+"."+name.Name] = true
						}
					}
				}
			}
			return true
		})
	}
	// Methods that a manager and a cluster have by embedding.
	for name := range all["manager"] {
		if method, ok := strings.CutPrefix(name, "connection."); ok {
			all["manager"]["Manager."+method], all["manager"]["Cluster."+method] = true, true
		}
	}
	return all
}

// sourceTexts returns the matches of pattern in the Go files below a directory, except tests.
func sourceTexts(t *testing.T, dir, pattern string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			for name := range match(read(t, path), pattern) {
				all[name] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// match returns the first groups of all matches.
func match(text, pattern string) map[string]bool {
	all := map[string]bool{}
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all[found[1]] = true
	}
	return all
}

var (
	codeSpans = regexp.MustCompile("``.*?``|`[^`]*`")

	mdLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksResolve checks that the targets of all links in pages exist, including anchors.
func TestLinksResolve(t *testing.T) {
	for _, page := range pageNames(t) {
		text := read(t, page)
		for _, found := range mdLink.FindAllStringSubmatch(codeSpans.ReplaceAllString(fence.ReplaceAllString(text, ""), ""),
			-1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := filepath.Join(filepath.Dir(page), target)
			if target == "" {
				to = page
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if anchor != "" && !anchors(read(t, to))[anchor] {
				t.Errorf("%s: %s has no heading #%s", page, to, anchor)
			}
		}
	}
}

// anchors returns the anchors of the headings of a page.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		all[strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-")] = true
	}
	return all
}

// TestQuestionsHaveShortAnswers checks how-do-i.md: each answer has two or three sentences, a link into the guide, and
// a row in docs/research-questions.md.
func TestQuestionsHaveShortAnswers(t *testing.T) {
	_, text, _ := strings.Cut(read(t, guide+"/how-do-i.md"), "\n### ")
	asked := match(read(t, "docs/research-questions.md"), `(?m)^- (… .*?\?) \[`)
	questions := strings.Split(text, "\n### ")
	if len(questions) < leastQuestions {
		t.Errorf("%d questions, want %d", len(questions), leastQuestions)
	}
	for _, q := range questions {
		question, answer, _ := strings.Cut(q, "\n")
		answer, _, _ = strings.Cut(answer, "\n## ")
		if !asked[question] {
			t.Errorf("docs/research-questions.md lacks a link to the question %q", question)
		}
		delete(asked, question)
		if !strings.Contains(answer, ".md") {
			t.Errorf("%q: the answer has no link into the guide", question)
		}
		if n := len(regexp.MustCompile(`[.:]\s`).FindAllString(answer, -1)); n < 2 || n > 4 {
			t.Errorf("%q: the answer has %d sentences", question, n)
		}
	}
	for question := range asked {
		t.Errorf("how-do-i.md does not answer %q", question)
	}
}

// notTyped are prefixes of the guide's commands that no script runs, with the reason.
var notTyped = []struct{ command, reason string }{
	{"$ kctrl manifests", "the script guide_chapters compares its error"},
	{"git tag", "it publishes a module"},
	{"make run RUN_FLAGS", "it needs a cluster in containers"},
	{"make docker-build", "it needs a container engine"},
	{"make deploy", "it needs a cluster"},
	{"make undeploy", "it needs a cluster"},
	{"kubectl", "it needs a cluster"},
	{"helm", "it needs a cluster; make test-chart installs the chart"},
	{"make test", "the script guide_first_operator types it in chapter 1"},
	{"$ curl", "it needs a running operator; testMissingCRD of runtime/manager compares the reason"},
	{"go build ./... && go vet", "the script guide_migration runs go vet"},
	{"kctrl manifests --watch", "it ends with an interrupt; the script watch runs it"},
}

// TestGuideCommandsRun checks that a script runs each command of the guide, or that notTyped gives a reason.
func TestGuideCommandsRun(t *testing.T) {
	typed := map[string][]*regexp.Regexp{} // by page
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^console (\S+)(?: '(.*)')?$`)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range line.FindAllStringSubmatch(string(text), -1) {
			typed[found[1]] = append(typed[found[1]], regexp.MustCompile(found[2]))
		}
	}
	used := map[string]bool{}
	for page, text := range guidePages(t) {
		for _, b := range blocks(page, text) {
			if b.language != "sh" && b.language != "console" {
				continue
			}
			for _, command := range strings.Split(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
				if command == "" || b.language == "console" && !strings.HasPrefix(command, "$ ") {
					continue // output
				}
				isTyped := slices.ContainsFunc(typed[page], func(pattern *regexp.Regexp) bool {
					all := pattern.String() == ""
					return all || b.language == "sh" && pattern.MatchString(command)
				})
				if isTyped {
					continue
				}
				i := slices.IndexFunc(notTyped, func(n struct{ command, reason string }) bool {
					return strings.HasPrefix(command, n.command)
				})
				if i < 0 {
					t.Errorf("%s:%d: no script types %q", page, b.line, command)
					continue
				}
				used[notTyped[i].command] = true
			}
		}
	}
	for _, n := range notTyped {
		if !used[n.command] {
			t.Errorf("notTyped has %q, which is not in the guide", n.command)
		}
	}
}
