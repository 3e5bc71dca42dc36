package kctrl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/kctrl-dev/kctrl"

// source is one Go file of the module, without the modules nested in it.
type source struct {
	path string // relative, with slashes
	dir  string
	test bool
	file *ast.File
	set  *token.FileSet
}

// importRule forbids imports and gives the reason.
type importRule struct {
	in     []string // directories to which the rule applies, with their subdirectories
	forbid func(imported string) bool
	except []string // directories or files that are exempt
	tests  bool     // the rule also applies to tests
	reason string
}

var importRules = []importRule{
	{
		in:     []string{"runtime"},
		forbid: under(module+"/internal", module+"/cmd"),
		reason: "every operator contains the runtime, which must not depend on kctrl's tools",
	},
	{
		in: []string{"runtime"},
		forbid: func(imported string) bool {
			shared := imported == module+"/internal/testing/seeds" || imported == module+"/internal/testing/listwatch"
			return under(module+"/internal", module+"/cmd")(imported) && !shared
		},
		tests: true,
		reason: "tests of the runtime use only the runtime, the common seeds, and a source of objects for reflectors and " +
			"informers",
	},
	{
		in:     []string{"runtime"},
		forbid: func(imported string) bool { return !runtimeMayImport(imported) },
		except: []string{"runtime/compat/envtest"},
		reason: "every operator contains these packages: only apimachinery, client-go's rest and clientcmd, and single API " +
			"groups",
	},
	{
		in:     []string{"runtime"},
		forbid: under(module + "/runtime/compat"),
		except: []string{"runtime/compat"},
		tests:  true,
		reason: "only migrated code uses these packages; other operators do not link them",
	},
	{
		in:     []string{"testserver"},
		forbid: under(module+"/internal", module+"/cmd", module+"/runtime/compat/envtest"),
		reason: "kctrl compiles the test server from a copy of only runtime/ and testserver/",
	},
	{
		in:     []string{"testserver/apiserver"},
		forbid: func(imported string) bool { return !runtimeMayImport(imported) && !serverMayImport(imported) },
		reason: "the libraries of the API server handle requests; any other library slows the first kctrl env and our tests",
	},
	{
		in:     []string{"testserver/apiserver/internal"},
		forbid: under("k8s.io/apiserver/pkg/endpoints/handlers"),
		reason: "the compiler finishes the handlers last; half of the server compiles in parallel if it does not import them",
	},
	{
		in: []string{"runtime/compat/envtest"},
		forbid: func(imported string) bool {
			return !runtimeMayImport(imported) &&
				!under("k8s.io/api/admissionregistration/v1",
					"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1")(imported)
		},
		reason: "migrated tests pass CRDs and webhook configurations",
	},
	{
		in:     []string{"runtime"},
		forbid: under(module + "/testserver"),
		reason: "projects have only runtime/; kctrl compiles the test server and runs it in another process",
	},
	{
		in: []string{"testserver/fakecontrollers"},
		forbid: func(imported string) bool {
			return !runtimeMayImport(imported) &&
				!under("k8s.io/api/core/v1", "k8s.io/api/apps/v1", "k8s.io/api/batch/v1", "k8s.io/api/discovery/v1",
					"k8s.io/api/storage/v1", "k8s.io/utils/dump", "github.com/robfig/cron/v3",
					"k8s.io/component-helpers/scheduling/corev1/nodeaffinity", "k8s.io/kubernetes/pkg/api/v1/pod",
					"k8s.io/kubernetes/pkg/controller/daemon/util")(imported)
		},
		reason: "fake controllers use the kinds of a cluster's controllers, and the same functions for schedules, " +
			"affinity, daemons and hashes",
	},
	{
		in:     []string{"."},
		forbid: under(module+"/testserver", module+"/runtime/testenv"),
		except: []string{"runtime/testenv", "runtime/compat/envtest", "testserver"},
		reason: "operators link no test code, and kctrl compiles the test server on demand",
	},
	{
		in:     []string{"internal", "cmd"},
		forbid: under(module + "/runtime"),
		except: []string{"internal/kubectl", "internal/testing/listwatch", "cmd/kctrl/env_garbagecollector.go"},
		reason: "packages that write projects use the runtime only as text; packages that call API servers are ordinary " +
			"users of the runtime",
	},
	{
		in:     []string{"."},
		forbid: under("github.com/spf13/cobra", "github.com/spf13/pflag"),
		except: []string{"cmd/kctrl", "testserver/simulator/program"},
		tests:  true,
		reason: "only cmd/kctrl parses command lines; a simulation prepares the flags of another program",
	},
	{
		in:     []string{"."},
		forbid: under("text/template", "html/template"),
		except: []string{"internal/templates", "internal/simulate"}, // internal/simulate renders a page for browsers
		tests:  true,
		reason: "one package renders files, from templates that look like their output",
	},
	{
		in:     []string{"."},
		forbid: under("golang.org/x/tools/go/packages", "sigs.k8s.io/controller-tools/pkg/loader"),
		except: []string{"internal/load", "internal/lint", "internal/verify/convention", "internal/markers/reader_test.go",
			"internal/generate", "internal/migrate", "internal/mutants", "internal/vet", "internal/access"},
		reason: "all generators share one load; a migration needs the types of all code, including tests, and of its " +
			"result; mutants and vet need types too, and access follows calls into libraries",
	},
	{
		in:     []string{"vet"},
		forbid: under(module+"/internal", module+"/cmd", module+"/runtime"),
		reason: "other drivers of go/analysis link the rules, which identify runtimes by import path",
	},
	{
		in: []string{"."},
		forbid: func(imported string) bool {
			return under("sigs.k8s.io/controller-runtime", "k8s.io/client-go/tools/cache", "k8s.io/client-go/util/workqueue",
				"k8s.io/client-go/kubernetes", "k8s.io/client-go/discovery", "k8s.io/client-go/dynamic")(imported)
		},
		except: []string{"compat"},
		tests:  true,
		reason: "kctrl replaces these packages; bench/ compares with them, and compat/ provides their API",
	},
}

func under(prefixes ...string) func(string) bool {
	return func(imported string) bool {
		return slices.ContainsFunc(prefixes,
			func(p string) bool { return imported == p || strings.HasPrefix(imported, p+"/") })
	}
}

// runtimeMayImport reports whether the runtime may import a package. It lists all direct dependencies.
func runtimeMayImport(imported string) bool {
	std := !strings.Contains(strings.Split(imported, "/")[0], ".")
	return std || under(
		module+"/runtime",
		"k8s.io/apimachinery",
		"k8s.io/client-go/rest",
		"k8s.io/client-go/tools/clientcmd",
		"k8s.io/client-go/transport",
		"k8s.io/api/coordination/v1",
		"k8s.io/api/admission/v1",
		"k8s.io/api/apidiscovery/v2",
		"sigs.k8s.io/yaml",
		"golang.org/x/net/idna", // which client-go links
	)(imported)
}

// serverMayImport reports whether the in-memory API server may import a package.
func serverMayImport(imported string) bool {
	return under(
		module+"/testserver/apiserver",
		"k8s.io/api", // the API groups that it serves
		"github.com/google/cel-go",
		"github.com/google/gnostic-models",
		"google.golang.org/protobuf/proto",
		"gopkg.in/evanphx/json-patch.v4",
		"k8s.io/apiextensions-apiserver/pkg",
		"k8s.io/apiserver/pkg",
		"k8s.io/client-go/util/jsonpath",
		// implements writes of built-in kinds; TestTheTestServerLinksNoClientOfEtcd bounds its dependencies
		"k8s.io/component-helpers/resource",
		"k8s.io/kubernetes/pkg",
		"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac", // upstream decides what roles allow
		"k8s.io/kube-openapi/pkg",
		// encode OpenAPI documents in protobuf; kube-openapi imports both packages
		"github.com/google/gnostic-models", "google.golang.org/protobuf/proto",
		"sigs.k8s.io/structured-merge-diff/v6",
	)(imported)
}

func TestImportsFollowTheRules(t *testing.T) {
	for _, src := range sources(t) {
		for _, rule := range importRules {
			if src.test && !rule.tests || !in(src, rule.in) || in(src, rule.except) {
				continue
			}
			for _, spec := range src.file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if rule.forbid(imported) {
					t.Errorf("%s imports %s: %s", src.path, imported, rule.reason)
				}
			}
		}
	}
}

// runtimeLayers orders the packages of runtime/, leaves first. A package imports only packages before it.
var runtimeLayers = []string{
	"internal/partial", "internal/apimachinery", "object", "internal/configuration", "internal/clientconfig",
	"internal/writes", "internal/blocked", "internal/life", "metrics", "log", "workqueue", "reconcile", "internal/wire",
	"internal/pack", "internal/httpserver", "client", "internal/testhost", "internal/testclient", "controllerutil",
	"finalizer", "internal/compact", "internal/collect", "reflector", "informer", "cache", "events", "leaderelection",
	"predicate", "handler", "source", "webhook/server", "controller", "internal/authority", "certificate", "webhook/local",
	"internal/serve", "manager",
	"webhook/admission", "webhook/conversion", "webhook/conversiontest", "webhook", "registry",
	"garbagecollector", "testenv", "compat/envtest", "compat/simulated", "sim",
}

// testserverLayers orders the packages of testserver/ in the same way.
var testserverLayers = []string{
	"apiserver/internal/must", "apiserver/internal/store", "apiserver/internal/validity",
	"apiserver/internal/builtin", "apiserver", "inmemory", "fakecontrollers", "internal/standalone", "program",
	"program/fakecontrollers", "simulator", "simulator/program", "program/chaos",
}

func TestRuntimeAndTestServerImportOnlyLowerLayers(t *testing.T) {
	for dir, layers := range map[string][]string{"runtime/": runtimeLayers, "testserver/": testserverLayers} {
		for _, src := range sources(t) {
			name, found := strings.CutPrefix(src.dir, dir)
			if !found || src.test {
				continue
			}
			layer := slices.Index(layers, name)
			if layer < 0 {
				t.Errorf("%s: the layers of %s do not list %s", src.path, dir, name)
				continue
			}
			for _, spec := range src.file.Imports {
				imported, _ := strconv.Unquote(spec.Path.Value)
				lower, found := strings.CutPrefix(imported, module+"/"+dir)
				if found && slices.Index(layers, lower) >= layer {
					t.Errorf("%s imports %s, which is not in a lower layer", src.path, imported)
				}
			}
		}
	}
}

// TestFirstWebhookAddsAtMost30Packages limits the number of packages that the first webhook adds to an operator.
func TestFirstWebhookAddsAtMost30Packages(t *testing.T) {
	operator := []string{module + "/runtime/manager", module + "/runtime/controller"}
	without := compiledInto(t, operator...)
	added := slices.DeleteFunc(compiledInto(t, append(operator, module+"/runtime/webhook")...), func(name string) bool {
		return slices.Contains(without, name)
	})
	if !slices.Contains(added, module+"/runtime/webhook") || len(added) > 30 {
		t.Errorf("a webhook adds %d packages to an operator, want at most 30: %q", len(added), added)
	}
}

// TestUsersOfTheCacheDoNotCompileInformers checks that packages that use only a cache or an owner graph contain no
// compiled informer code. The compiler generates the code of a generic type again in each package that imports,
// directly or indirectly, a type with a field of that generic type. The informers would be most of the code compiled
// for a controller and for each package of its tests: see runtime/cache/stored.go.
func TestUsersOfTheCacheDoNotCompileInformers(t *testing.T) {
	list := []string{"list", "-export", "-f", "{{.Export}} {{.ImportPath}}"}
	for _, pkg := range []string{"source", "controller", "manager", "testenv"} {
		list = append(list, module+"/runtime/"+pkg)
	}
	packages, nm := map[string]string{}, []string{"tool", "nm"} // packages by archive
	for line := range strings.Lines(goCommand(t, list...)) {
		archive, pkg, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages[archive], nm = pkg, append(nm, archive)
	}
	generics := []string{"runtime/informer.(*Informer[", "runtime/reflector.(*Reflector[",
		"runtime/internal/wire.(*Decoder[", "runtime/workqueue.(*Queue["}
	found, compiled := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(goCommand(t, nm...)) {
		archive, symbol, _ := strings.Cut(line, ":\t")
		found[packages[archive]] = true
		for _, generic := range generics {
			if pkg := packages[archive]; strings.Contains(symbol, generic) && !compiled[pkg+generic] {
				t.Errorf("%s has its own code of %s: a type that it imports has a field of that type", pkg,
					strings.Trim(generic, "[("))
				compiled[pkg+generic] = true
			}
		}
	}
	if found[""] || len(found) != len(packages) {
		t.Errorf("found symbols of the packages %v, want those of %v", found, packages)
	}
}

// compiledInto returns the import paths of packages and of all their dependencies.
func compiledInto(t *testing.T, packages ...string) []string {
	t.Helper()
	return strings.Fields(goCommand(t, append([]string{"list", "-deps"}, packages...)...))
}

// goCommand returns the output of the go command.
func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.Command("go", args...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, &stderr)
	}
	return string(out)
}

// TestTheTestServerLinksNoClientOfEtcd checks that the test server does not link the largest dependencies of
// k8s.io/kubernetes.
func TestTheTestServerLinksNoClientOfEtcd(t *testing.T) {
	linked := compiledInto(t, module+"/testserver/program")
	for _, dear := range []string{"go.etcd.io/etcd/client/v3", "k8s.io/client-go/kubernetes",
		"k8s.io/apiserver/pkg/registry/generic"} {
		if slices.Contains(linked, dear) {
			t.Errorf("the test server links %s: a package of k8s.io/kubernetes imports it", dear)
		}
	}
	if len(linked) > 905 {
		t.Errorf("the test server links %d packages, want at most 905", len(linked))
	}
}

// internalLayer describes a package of internal/: the kctrl packages that it may import, and its purpose, which
// explains the imports.
type internalLayer struct {
	name    string
	imports string // separated by spaces
	reason  string
}

// internalLayers orders the packages of internal/, leaves first. A package may import only the listed packages, all of
// which come before it.
var internalLayers = []internalLayer{
	{"regular", "", "opens files for any reader"},
	{"diagnostic", "regular", "the errors and hints of all packages"},
	{"language", "", "compares regular expressions"},
	{"yamlnode", "", "reads and edits parsed YAML of any kind"},
	{"transaction", "diagnostic regular", "writes files of any content"},
	{"watch", "", "reports changed files to its caller"},
	{"kustomize", "diagnostic", "builds any kustomization"},
	{"kubectl", "diagnostic regular kustomize", "sends requests to any API server"},
	{"controlplane", "diagnostic", "starts API servers"},
	{"gocommand", "", "runs the go command in any directory"},
	{"git", "diagnostic", "runs git in any directory"},
	{"simulate", "diagnostic gocommand kubectl controlplane transaction",
		"compiles and runs a project's program without changing the project"},
	{"demo", "kubectl", "runs commands as a user does, and observes the result through the API server"},
	{"testsuite", "", "a program that runs tests, in any package"},
	{"mutants", "", "a program that changes code and runs tests, in any package"},
	{"recording", "", "a program that records a terminal session for the README"},

	{"source/resolve", "", "resolves files like the go command"},
	{"source", "diagnostic regular source/resolve", "files, directories and modules, but not the content of Go files"},
	{"markers", "diagnostic", "the definitions of markers, independent of packages"},
	{"load", "diagnostic source source/resolve markers",
		"loads packages for generators without checking their markers"},
	{"lint", "diagnostic markers load", "rules read markers and packages; only packages that run generators import it"},

	{"scaffold/edit", "diagnostic yamlnode", "edits the users' files as bytes"},
	{"scaffold/project", "diagnostic regular yamlnode scaffold/edit",
		"projects and their files as data; it writes nothing"},
	{"scaffold/plan", "diagnostic transaction scaffold/project",
		"changes of files of any content, and their record in the lock file"},
	{"templates", "scaffold/plan", "template texts with their owners; other packages choose the paths"},
	{"scaffold/versions", "diagnostic scaffold/edit",
		"derives a version of a kind from another, as text, independent of projects"},
	{"expression", "diagnostic", "compiles CEL like API servers"},
	{"scaffold/fields", "diagnostic language",
		"fields of a kind from flags, as text, independent of files"},
	{"scaffold/layout", "diagnostic templates scaffold/project", "names of a project's parts, from PROJECT only"},
	{"scaffold/gosource", "diagnostic scaffold/edit scaffold/layout scaffold/plan scaffold/project",
		"reads the Go source of a project"},
	{"scaffold/templated", "diagnostic yamlnode templates scaffold/edit scaffold/layout scaffold/plan scaffold/project",
		"writes and lists single files of any feature"},
	{
		"scaffold/gomod", "diagnostic templates scaffold/edit scaffold/gosource scaffold/layout scaffold/plan " +
			"scaffold/project scaffold/templated",
		"modules and the runtime; features define their requirements",
	},
	{
		"scaffold/register", "diagnostic templates scaffold/edit scaffold/gosource scaffold/layout scaffold/plan " +
			"scaffold/project scaffold/templated",
		"the program of the operator; features define its parts",
	},
	{
		"scaffold/render", "diagnostic yamlnode templates scaffold/edit scaffold/fields scaffold/gomod " +
			"scaffold/gosource scaffold/layout scaffold/plan scaffold/project scaffold/register scaffold/templated " +
			"scaffold/versions",
		"renders the files of a project, independent of existing files",
	},
	{
		"scaffold/sync", "diagnostic scaffold/edit scaffold/layout scaffold/plan scaffold/project " +
			"scaffold/render scaffold/templated",
		"the action for each file between two trees, independent of commands",
	},
	{
		"scaffold/refactor", "diagnostic yamlnode templates scaffold/edit scaffold/gomod scaffold/gosource " +
			"scaffold/layout scaffold/plan scaffold/project scaffold/render scaffold/sync scaffold/templated",
		"moves and renames of code and manifests between two states of a project",
	},
	{
		"scaffold/upgrade", "diagnostic templates scaffold/edit scaffold/gomod scaffold/gosource " +
			"scaffold/layout scaffold/plan scaffold/project scaffold/render scaffold/sync scaffold/templated",
		"upgrades projects between versions of kctrl",
	},
	{
		"scaffold", "diagnostic templates expression scaffold/edit scaffold/gomod scaffold/gosource scaffold/layout " +
			"scaffold/plan scaffold/project scaffold/refactor scaffold/register scaffold/render scaffold/sync " +
			"scaffold/templated scaffold/versions",
		"plans the changes of commands; generators are in a later layer",
	},
	{"migrate/rewrite", "diagnostic gocommand", "loads, edits and checks Go code, independent of rules"},
	{"migrate/rules", "migrate/rewrite", "a rule is one row or one function"},
	{"migrate", "diagnostic yamlnode migrate/rewrite migrate/rules scaffold/gomod scaffold/layout scaffold/plan " +
		"scaffold/project", "converts projects of kubebuilder into ordinary projects"},
	{"migrate/measure", "diagnostic gocommand kubectl migrate scaffold/plan scaffold/project",
		"runs an operator before and after a migration, on any API server"},
	{"release", "diagnostic regular kustomize yamlnode templates scaffold/edit scaffold/plan scaffold/sync",
		"packages the output of config/ for distribution; uses neither PROJECT nor generators"},

	{"generate/artifact", "diagnostic regular", "the output of all generators"},
	{"verify/definition", "diagnostic expression",
		"checks any single CRD, and reports positions like API servers"},
	{"verify/sample", "diagnostic yamlnode", "checks any objects of a kind"},
	{"verify/manifest", "diagnostic yamlnode verify/definition verify/sample",
		"reads YAML and adds positions to the findings of other packages"},
	{"verify/convention", "diagnostic markers load", "reads syntax and markers; uses neither CRDs nor generators"},
	{"generate/generator", "diagnostic markers load generate/artifact verify/definition",
		"the interface of generators"},
	{"generate/verdict", "diagnostic generate/artifact generate/generator verify/definition",
		"checks the CRDs of a run; uses neither packages nor projects"},
	{"generate/crd", oneGenerator + " expression verify/definition",
		"a generator; it maps parts of its CRDs to source positions"},
	{"generate/rbac", oneGenerator, "a generator"},
	{"generate/webhook", oneGenerator, "a generator"},
	{"generate/object", oneGenerator, "a generator"},
	{"generate/applyconfig", oneGenerator + " generate/crd", "a generator; it writes the schemas of CRDs into Go code"},
	{"generate/postprocess", "diagnostic generate/artifact yamlnode",
		"edits the files of any generator"},
	{"generate/schemapatch", oneGenerator + " generate/crd yamlnode",
		"a generator; it writes the schemas of CRDs into existing files"},
	{
		"generate/generators",
		"generate/generator generate/crd generate/rbac generate/webhook generate/object generate/applyconfig " +
			"generate/schemapatch",
		"the list of generators",
	},
	{"generate/incremental", "diagnostic source source/resolve lint generate/artifact",
		"caches outputs with their inputs and findings"},
	{
		"generate", "diagnostic source source/resolve load lint scaffold scaffold/edit scaffold/gomod " +
			"scaffold/project scaffold/plan scaffold/templated " +
			anyGenerator + " generate/crd generate/rbac generate/object generate/incremental generate/postprocess " +
			"generate/verdict",
		"loads, checks and runs generators for a project",
	},
	{"access", "diagnostic generate/incremental",
		"derives requests and webhooks from Go code; uses neither markers nor roles"},
	{"rbac", "diagnostic markers load scaffold/edit generate/incremental access",
		"compares requests with permissions, and edits markers"},
	{
		"doctor", "diagnostic kustomize load lint access rbac scaffold/edit scaffold/gomod scaffold/gosource " +
			"scaffold/plan scaffold/project scaffold/register scaffold/render scaffold/templated generate " +
			"generate/generator yamlnode verify/manifest verify/sample",
		"checks the results of commands, and plans like them; only commands import it",
	},
	{
		"verify", "diagnostic regular markers load lint scaffold/plan scaffold/project generate generate/incremental " +
			"generate/artifact verify/manifest verify/sample verify/convention",
		"finds and checks the CRDs and objects of a directory; only commands import it",
	},
	{"diff/change", "expression verify/definition", "compares any two CRDs"},
	{"diff/witness", "language diff/change expression verify/sample",
		"creates objects and validates them with the API server's libraries"},
	{
		"diff/input", "diagnostic git regular scaffold/plan scaffold/project generate generate/generator " +
			"generate/incremental verify/definition verify/manifest",
		"reads the CRDs of a directory or a revision",
	},
	{"diff/accept", "diagnostic", "reads the file of accepted changes, independent of their meaning"},
	{
		"diff", "diagnostic diff/accept diff/change diff/input diff/witness",
		"combines changes and witnesses into a report; only commands import it",
	},
	{
		"generate/compat", "diagnostic regular transaction source source/resolve markers load lint " + anyGenerator +
			" generate/incremental generate/postprocess generate/verdict",
		"loads, checks and runs generators for any Go module, independent of projects",
	},
	{"vet", "diagnostic scaffold/edit scaffold/plan",
		"runs the rules of the public package vet; only commands import it"},
	{"testing/seeds", "", "for tests: seeds of property tests"},
	{"testing/labeled", "", "for tests: labeled CRD changes"},
	{"testing/listwatch", "", "for tests: a source of objects for reflectors and informers"},
	{"testing/oracle", "testing/seeds", "for tests: the results of controller-gen"},
	{"testing/randomapi", "", "for tests: random API packages as text"},
	{"testing/guard", "", "for tests: ends the processes of killed tests"},
	{"testing/module", "", "for tests: modules in directories"},
	{"testing/fault", "", "for tests: injects failures of file writes"},
}

const (
	oneGenerator = "diagnostic markers load generate/artifact generate/generator"
	anyGenerator = "generate/artifact generate/generator generate/generators"
)

func TestInternalImportsOnlyLowerLayers(t *testing.T) {
	listed := map[string]internalLayer{}
	for _, layer := range internalLayers {
		for _, known := range strings.Fields(layer.imports) {
			if _, lower := listed[known]; !lower {
				t.Errorf("internalLayers: %s is not before %s", known, layer.name)
			}
		}
		listed[layer.name] = layer
	}
	for _, src := range sources(t) {
		name, found := strings.CutPrefix(src.dir, "internal/")
		if !found || src.test {
			continue
		}
		layer, ok := listed[name]
		if !ok {
			t.Errorf("%s: internalLayers does not list %s", src.path, name)
			continue
		}
		for _, spec := range src.file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			known, found := strings.CutPrefix(imported, module+"/internal/")
			if found && !slices.Contains(strings.Fields(layer.imports), known) {
				t.Errorf("%s imports %s, which internalLayers does not allow: %s", src.path, imported, layer.reason)
			}
		}
	}
}

// TestOnlyTestsKnowTestPackages checks that released code does not import packages that exist for tests.
func TestOnlyTestsKnowTestPackages(t *testing.T) {
	for _, src := range sources(t) {
		for _, spec := range src.file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if !src.test && strings.HasPrefix(imported, module+"/internal/testing/") {
				t.Errorf("%s imports %s, which is only for tests", src.path, imported)
			}
		}
	}
}

// TestOnlyMainTouchesTheProcess checks that only cmd/kctrl exits the process and writes to its output.
func TestOnlyMainTouchesTheProcess(t *testing.T) {
	forbidden := map[string][]string{
		"os":  {"Exit"},
		"log": {"Fatal", "Fatalf", "Fatalln", "Print", "Printf", "Println", "Panic", "Panicf"},
		"fmt": {"Print", "Printf", "Println"},
	}
	for _, src := range sources(t) {
		base := path.Base(src.path)
		if src.test || base == "main.go" || base == "streams.go" || in(src,
			[]string{"internal/testing", "compat", "testserver/simulator/program"}) {
			continue // test packages contain main functions for tests; functions in compat/ end the program
		}
		std := map[string]bool{}
		for _, spec := range src.file.Imports {
			if imported, _ := strconv.Unquote(spec.Path.Value); spec.Name == nil {
				std[imported] = true
			}
		}
		ast.Inspect(src.file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok && std[pkg.Name] &&
				slices.Contains(forbidden[pkg.Name], selector.Sel.Name) {
				t.Errorf("%s calls %s.%s: only main.go and streams.go touch the process", src.path, pkg.Name, selector.Sel.Name)
			}
			return true
		})
	}
}

// namesOtherLibraries lists the parts of the runtime whose comments may name controller-runtime, with the reason.
var namesOtherLibraries = []struct{ in, reason string }{
	{"runtime/compat", "migrated code compares these packages with their originals"},
}

// TestCommentsOfTheCoreStandAlone checks that comments explain the runtime without comparisons with controller-runtime.
func TestCommentsOfTheCoreStandAlone(t *testing.T) {
	for _, src := range sources(t) {
		if src.test || !in(src, []string{"runtime"}) {
			continue
		}
		if slices.ContainsFunc(namesOtherLibraries,
			func(part struct{ in, reason string }) bool { return in(src, []string{part.in}) }) {
			continue
		}
		for _, group := range src.file.Comments {
			if strings.Contains(group.Text(), "controller-runtime") {
				t.Errorf("%s:%d: a comment names controller-runtime", src.path, src.set.Position(group.Pos()).Line)
			}
		}
	}
}

func TestEveryPackageHasDocs(t *testing.T) {
	documented := map[string]bool{}
	for _, src := range sources(t) {
		if src.test {
			continue
		}
		documented[src.dir] = documented[src.dir] || src.file.Doc != nil &&
			len(src.file.Doc.Text()) > len("Package x is x.\n")
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s has no package doc", dir)
		}
	}
}

var parsed = map[string][]source{} // by the argument of sourcesBelow

// sources returns every Go file of this module. Tests share them, and do not change them.
func sources(t *testing.T) []source {
	t.Helper()
	return sourcesBelow(t, ".")
}

// sourcesBelow returns every Go file below a directory that belongs to the module of that directory.
func sourcesBelow(t *testing.T, root string) []source {
	t.Helper()
	if all := parsed[root]; all != nil {
		return all
	}
	var all []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && slices.Contains([]string{"testdata", "bench", "examples", "third_party", "bin", ".git"},
				entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(name)
		all = append(all, source{path: slash, dir: path.Dir(slash), test: strings.HasSuffix(slash, "_test.go"), file: file,
			set: set})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	parsed[root] = all
	return all
}

func in(src source, places []string) bool {
	return slices.ContainsFunc(places, func(place string) bool {
		return place == "." || src.dir == place || strings.HasPrefix(src.dir, place+"/") || src.path == place
	})
}
