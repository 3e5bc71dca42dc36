// Package program makes the program of an operator simulate itself. kctrl adds a file that imports this package to the
// operator's main package; manager.Main then runs simulations instead of a manager. [Chaos] runs plans against the
// process of any program.
package program

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/sim"
	"github.com/kctrl-dev/kctrl/testserver/simulator"
)

// Variable is the environment variable with the path of a file that contains a [Request] in JSON. If it is unset, the
// program is an ordinary operator.
const Variable = "KCTRL_SIMULATION"

// Request has the parameters of the simulation.
type Request struct {
	Objects   []*unstructured.Unstructured `json:"objects"`
	Samples   []*unstructured.Unstructured `json:"samples"`
	Webhooks  []string                     `json:"webhooks,omitempty"`
	User      string                       `json:"user,omitempty"`
	Namespace string                       `json:"namespace,omitempty"` // of the operator
	Args      []string                     `json:"args,omitempty"`      // of its container
	Env       map[string]string            `json:"env,omitempty"`       // of its container
	// Sources is a prefix of the names of the operator's source files. Reports omit it.
	Sources  string        `json:"sources,omitempty"`
	Seed     uint64        `json:"seed"`
	Plans    int           `json:"plans,omitempty"`
	Budget   time.Duration `json:"budget,omitempty"`
	Only     []string      `json:"only,omitempty"`
	Disabled []string      `json:"disabled,omitempty"`
	Replay   []byte        `json:"replay,omitempty"`  // content of a plan file
	Debug    bool          `json:"debug,omitempty"`   // a debugger may stop the program at any time
	Command  *Command      `json:"command,omitempty"` // of [Chaos]
	Output   string        `json:"output"`            // path of the file for the report
}

// Command is the program that [Chaos] runs.
type Command struct {
	Args       []string      `json:"args"`
	Dir        string        `json:"dir"`
	Kubeconfig string        `json:"kubeconfig,omitempty"` // of a real API server; empty means in-memory servers
	Controlled bool          `json:"controlled,omitempty"` // controllers of a cluster run on that server
	Quiet      time.Duration `json:"quiet"`
	Longest    time.Duration `json:"longest"`
	Parallel   int           `json:"parallel"`
}

// Report is the result of a simulation. The program writes it to the output file.
type Report struct {
	Error    string    `json:"error,omitempty"`  // reason why the operator could not be simulated
	Exists   int       `json:"exists,omitempty"` // number, from 1, of a sample that already exists on the API server
	Planned  int       `json:"planned"`
	Run      int       `json:"run"`
	Seconds  float64   `json:"seconds"`
	Writes   int       `json:"writes"` // of the run without faults
	Events   int       `json:"events"` // of the run without faults
	Failures []Failure `json:"failures"`
}

// Failure is a plan that violates invariants.
type Failure struct {
	Title       string                 `json:"title"`
	Plan        string                 `json:"plan"`             // content of a plan file
	Faults      []string               `json:"faults,omitempty"` // faults of the plan and actions of its user
	Violations  []simulator.Violation  `json:"violations"`
	Story       string                 `json:"story"`
	Timeline    []simulator.Entry      `json:"timeline"`
	Differences []simulator.Difference `json:"differences,omitempty"`
	Logs        []string               `json:"logs,omitempty"`
}

// rules are the rules of the project.
var rules []sim.Rule

// SetRules sets the rules of the project. The file that kctrl adds to the main package calls it.
func SetRules(all []sim.Rule) { rules = all }

func init() {
	if os.Getenv(Variable) != "" {
		manager.SetMain(simulate)
	}
}

// simulate simulates an operator with the options and the setup function that the program passes to manager.Main. It
// returns the exit code of the program.
func simulate(options manager.Options, setup func(context.Context, controller.Manager) error) int {
	request := &Request{}
	if err := readRequest(request); err != nil {
		fmt.Fprintln(os.Stderr, "simulation:", err)
		return 1
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	options, err := request.configure(options)
	if err != nil {
		request.write(Report{Error: err.Error()})
		return 0
	}
	operator := request.operator()
	operator.Options, operator.Setup = options, setup
	if len(options.Namespaces) > 0 {
		operator.SampleNamespace = options.Namespaces[0]
	}
	request.runTest(operator)
	return 0
}

// operator returns the operator of the request, without options, setup function and main function.
func (r *Request) operator() *simulator.Operator {
	return &simulator.Operator{
		Objects: r.Objects, Samples: r.Samples, Webhooks: r.Webhooks,
		User: r.User, Namespace: r.Namespace, Sources: r.Sources, Rules: rules,
	}
}

// runTest simulates the operator and writes the report.
func (r *Request) runTest(operator *simulator.Operator) {
	saveTime()
	simulator.Stuck = func(err error) {
		if r.Debug {
			return
		}
		r.write(Report{Error: err.Error()})
		os.Exit(0)
	}
	// testing.Main ends the process. It is the only way for a program to get the testing.T that synctest needs.
	testing.Main(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "simulation", F: func(t *testing.T) { r.answer(t, operator) },
	}}, nil, nil)
}

// configure sets the environment variables of the container. It returns the options after it has parsed the arguments
// of the container, as manager.Main does.
func (r *Request) configure(defaults manager.Options) (manager.Options, error) {
	for name, value := range r.Env {
		if err := os.Setenv(name, value); err != nil {
			return defaults, err
		}
	}
	set := flag.NewFlagSet(filepath.Base(os.Args[0]), flag.ContinueOnError)
	set.SetOutput(io.Discard)
	flags := manager.BindFlags(set, defaults)
	flag.CommandLine.VisitAll(func(own *flag.Flag) {
		if set.Lookup(own.Name) == nil {
			set.Var(own.Value, own.Name, own.Usage)
		}
	})
	if err := set.Parse(r.Args); err != nil {
		return defaults, fmt.Errorf("the arguments in the Deployment: %w", err)
	}
	return flags.Options()
}

// saveTime makes garbage collections less frequent, because runs produce much garbage and retain little memory. The
// environment variables GOGC and GOMEMLIMIT take precedence.
func saveTime() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(1 << 30)
	}
}

// Chaos runs plans against the program of the request, until ctx ends.
func Chaos(ctx context.Context) error {
	r := &Request{}
	if err := readRequest(r); err != nil {
		return err
	}
	c := &simulator.Command{
		Context: ctx, Args: r.Command.Args, Env: r.Env, Dir: r.Command.Dir, Controlled: r.Command.Controlled,
		Quiet: r.Command.Quiet, Longest: r.Command.Longest,
	}
	if r.Command.Kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", r.Command.Kubeconfig)
		if err != nil {
			return err
		}
		config.QPS = -1
		if c.Server, err = simulator.RealServer(config); err != nil {
			return err
		}
	}
	r.answer(nil, &simulator.Operator{
		Command: c, Objects: r.Objects, Samples: r.Samples, User: r.User, Namespace: r.Namespace,
	})
	return nil
}

// answer simulates the operator and writes the report.
func (r *Request) answer(t *testing.T, operator *simulator.Operator) {
	report := Report{}
	result, err := r.run(t, operator)
	if err != nil {
		report.Error = err.Error()
	}
	if e, ok := errors.AsType[*simulator.ExistsError](err); ok {
		report.Exists = e.Sample + 1
	}
	if result != nil {
		report.fill(result)
	}
	r.write(report)
}

// write writes the report into the output file.
func (r *Request) write(report Report) {
	data, err := json.Marshal(report)
	if err == nil {
		err = os.WriteFile(r.Output, data, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulation:", err)
	}
}

func readRequest(to *Request) error {
	data, err := os.ReadFile(os.Getenv(Variable))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// run carries out the plans of the request.
func (r *Request) run(t *testing.T, operator *simulator.Operator) (*simulator.Report, error) {
	if len(r.Replay) == 0 {
		options := simulator.Options{
			Seed: r.Seed, Plans: r.Plans, Budget: r.Budget, Only: r.Only, Disabled: r.Disabled, Progress: progress(),
		}
		if r.Command != nil {
			options.Parallel = r.Command.Parallel
		}
		return simulator.Explore(t, operator, options)
	}
	plan, err := simulator.ParsePlan(r.Replay)
	if err != nil {
		return nil, err
	}
	return simulator.Replay(t, operator, plan, r.Disabled)
}

// progress returns a function that reports at most ten times a second to standard error.
func progress() func(done, planned int) {
	last := time.Now()
	return func(done, planned int) {
		if time.Since(last) > 100*time.Millisecond || done == planned {
			last = time.Now()
			fmt.Fprintf(os.Stderr, "%d %d\n", done, planned)
		}
	}
}

func (r *Report) fill(from *simulator.Report) {
	r.Planned, r.Run, r.Seconds = from.Planned, from.Run, from.Took.Seconds()
	if from.Reference != nil {
		r.Writes = from.Reference.Writes()
		r.Events = len(from.Reference.First.Events)
	}
	for i, f := range from.Failures {
		var story strings.Builder
		f.WriteStory(&story, fmt.Sprint(i+1))
		failure := Failure{
			Title: f.Title(), Plan: string(f.Plan.Bytes()), Violations: f.Violations, Story: story.String(),
			Faults: f.Plan.Steps(), Timeline: f.Timeline(), Differences: f.Differences(from.Reference), Logs: f.Result.Logs,
		}
		r.Failures = append(r.Failures, failure)
	}
}
