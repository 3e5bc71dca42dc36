package main

// step is one call of the go command.
type step struct {
	name     string
	dir      string   // directory of the module
	env      []string // added to the environment
	args     []string // arguments of go test, with packages; empty for a step with a command
	command  []string // replaces go test
	patterns []real   // if not empty, only these tests run
	except   []string // directories of excluded packages
	race     bool     // use the race detector if it is available
	nightly  bool     // only make test-all runs it
}

// real is a test that runs on the real API server in make test.
type real struct{ pkg, run, reason string }

// tool is also the environment of make build, of scripts and of scaffolded projects, so the go command compiles shared
// packages once.
var tool = []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath", "KCTRL_TEST_SERVER=in-memory"}

var (
	inMemory   = []string{"KCTRL_TEST_SERVER=in-memory"}
	realServer = []string{"KCTRL_TEST_SERVER=real"}
)

// testEnvironment lists the packages that start test servers.
var testEnvironment = []string{"runtime/testenv"}

// manySeeds sets the number of new seeds of each property in make test-all.
const manySeeds = "KCTRL_TEST_SEEDS=5"

// steps run in this order.
var steps = []step{
	// Scripts run without network. Some of them build programs that import controller-runtime, so its modules are
	// downloaded before.
	{
		name: "download controller-runtime", dir: "compat/controller-runtime/apitest", env: tool,
		command: []string{"go", "mod", "download"},
	},
	{
		// In a workspace, the go command also looks for json-patch/v5 in this module.
		name: "download json-patch", dir: "compat/controller-runtime/apitest", env: tool,
		command: []string{"go", "mod", "download", "github.com/evanphx/json-patch@v0.5.2"},
	},
	{
		name: "compile controller-runtime's API", dir: "compat/controller-runtime", env: tool,
		command: []string{"go", "build", "./..."},
	},
	{name: "compile the API server in memory", env: tool, command: []string{"bin/kctrl", "env", "build", "--in-memory"}},
	{name: "compile the real API server", env: tool, command: []string{"bin/kctrl", "env", "build"}},
	{
		name: "compile kube-controller-manager", env: tool, nightly: true,
		command: []string{"bin/kctrl", "env", "build", "--controller-manager"},
	},
	{name: "tool", env: tool, args: []string{"-timeout", "80m", "./cmd/...", "./internal/...", "."}},
	{
		name: "runtime in memory", env: inMemory, race: true, args: []string{"-timeout", "40m", "./runtime/..."},
		except: testEnvironment,
	},
	// Operators do not link the in-memory API server, so only the tests above use the race detector on it.
	{name: "API server in memory", env: tool, args: []string{"-timeout", "40m", "./testserver/...",
		"./runtime/testenv/..."}},
	{name: "runtime on the real server", env: realServer, race: true, args: []string{"-timeout", "40m"},
		patterns: onRealServer},
	{name: "examples in memory", dir: "examples", env: tool, args: []string{"-timeout", "10m", "./..."}},
	{name: "CronJob example in memory", dir: "examples/cronjob", env: tool, args: []string{"-timeout", "10m", "./..."}},
	{name: "zoo of simulated operators", dir: "examples/zoo", env: tool, args: []string{"-timeout", "10m", "./..."}},

	{
		name: "controller-runtime's API in memory", dir: "compat/controller-runtime", env: tool,
		args: []string{"-timeout", "20m", "./..."},
	},
	{
		// docs/drop-in.md explains the skipped spec, which fails.
		name: "specs of controller-runtime", dir: "bench", env: tool,
		command: []string{
			"go", "run", "./cmd/controllerruntime", "-kctrl", "../bin/kctrl", "-run", "drop-in, in memory", "-packages",
			"./pkg/client ./pkg/client/interceptor ./pkg/controller/controllerutil ./pkg/handler ./pkg/healthz " +
				"./pkg/predicate ./pkg/webhook/admission",
			"-skip", "with structured objects should be able to apply the scale subresource", "-least", "618",
		},
	},
	{
		name: "controller-runtime's API compared", nightly: true, dir: "compat/controller-runtime/apitest", env: tool,
		args: []string{"-timeout", "20m", "./..."},
	},

	{
		name: "all of the runtime on the real server", nightly: true, env: realServer, race: true,
		args: []string{"-timeout", "80m", "./runtime/..."},
	},
	{
		name: "examples on the real server", nightly: true, dir: "examples", env: realServer,
		args: []string{"-timeout", "1h", "./..."},
	},
	{
		name: "CronJob example on the real server", nightly: true, dir: "examples/cronjob", env: realServer,
		args: []string{"-timeout", "10m", "./..."},
	},
	{
		name: "recordings of controller-gen", nightly: true, env: append([]string{"KCTRL_TEST_ORACLE=run"}, tool...),
		args: []string{"-timeout", "1h", "./internal/generate", "./internal/generate/compat"},
	},
	{name: "vet for Windows", nightly: true, env: []string{"GOOS=windows"}, command: []string{"go", "vet", "./..."}},
	{name: "vet for macOS", nightly: true, env: []string{"GOOS=darwin"}, command: []string{"go", "vet", "./..."}},
	{
		name: "controller-runtime, client-go and kubectl as peers", nightly: true, dir: "bench", env: tool,
		args: []string{"-timeout", "40m", "./inmemory", "./cmd/kubectl", "./porting/...", "./chart"},
	},
}
