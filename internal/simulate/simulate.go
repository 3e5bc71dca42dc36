package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Options select the plans and the manifests.
type Options struct {
	// Config and Samples are files, directories or kustomizations, relative to the project. Config has the objects that
	// exist before the operator starts, and Samples the objects of its user. Empty means config/default and
	// config/samples.
	Config  string `json:"-"`
	Samples string `json:"-"`
	// Namespace is the operator's namespace. Empty means the namespace of the Deployment in Config.
	Namespace string `json:"-"`
	// AsAdmin sends the operator's requests with all permissions, instead of the permissions of the Deployment's service
	// account.
	AsAdmin bool `json:"-"`

	Seed     uint64        `json:"seed"`
	Plans    int           `json:"plans,omitempty"`  // maximum number; 0 means all
	Budget   time.Duration `json:"budget,omitempty"` // time for all plans; 0 means no limit
	Only     []string      `json:"only,omitempty"`   // groups of faults; empty means all
	Disabled []string      `json:"disabled,omitempty"`
	Replay   []byte        `json:"replay,omitempty"` // content of a plan file; only this plan runs
}

// request has the same JSON form as Request of package testserver/simulator/program.
type request struct {
	Options
	Objects   []*unstructured.Unstructured `json:"objects"`
	Samples   []*unstructured.Unstructured `json:"samples"`
	Webhooks  []string                     `json:"webhooks,omitempty"`
	User      string                       `json:"user,omitempty"`
	Namespace string                       `json:"namespace,omitempty"`
	Args      []string                     `json:"args,omitempty"`
	Env       map[string]string            `json:"env,omitempty"`
	Sources   string                       `json:"sources"`
	Output    string                       `json:"output"`
	Debug     bool                         `json:"debug,omitempty"`
	Command   *command                     `json:"command,omitempty"`
}

// command has the same JSON form as Command of package testserver/simulator/program.
type command struct {
	Args       []string      `json:"args"`
	Dir        string        `json:"dir"`
	Kubeconfig string        `json:"kubeconfig,omitempty"`
	Controlled bool          `json:"controlled,omitempty"`
	Quiet      time.Duration `json:"quiet"`
	Longest    time.Duration `json:"longest"`
	Parallel   int           `json:"parallel"`
}

// Report is the result of a simulation. kctrl sim -o json prints it as JSON.
type Report struct {
	Error    string    `json:"error,omitempty"`
	Exists   int       `json:"exists,omitempty"` // number, from 1, of a sample that already exists on the API server
	Planned  int       `json:"planned"`
	Run      int       `json:"run"`
	Seconds  float64   `json:"seconds"` // of real time
	Writes   int       `json:"writes"`  // of the run without faults
	Events   int       `json:"events"`  // of the run without faults
	Failures []Failure `json:"failures"`
}

// Failure is a plan that violates invariants.
type Failure struct {
	Title       string       `json:"title"`
	Plan        string       `json:"plan"`             // the content of its file
	Faults      []string     `json:"faults,omitempty"` // faults of the plan and actions of its user
	Violations  []Violation  `json:"violations"`
	Story       string       `json:"story"`
	Timeline    []Entry      `json:"timeline"`
	Differences []Difference `json:"differences,omitempty"` // between its end state and the end state without faults
	Logs        []string     `json:"logs,omitempty"`
}

// Violation is a rule that a plan violates.
type Violation struct {
	Invariant string         `json:"invariant"`
	Message   string         `json:"message"`
	Call      *ViolatingCall `json:"call,omitempty"`
}

// ViolatingCall is the request that violates a rule.
type ViolatingCall struct {
	Target  string `json:"target"`
	Request string `json:"request,omitempty"` // the controller and the key of the reconcile
	Source  string `json:"source,omitempty"`  // the line of the operator's code
}

// Entry is a request or an event in a timeline.
type Entry struct {
	Time    time.Duration `json:"time"` // since the start of the run, in nanoseconds
	Process string        `json:"process"`
	Text    string        `json:"text"`
	Outcome string        `json:"outcome,omitempty"`
	Fault   string        `json:"fault,omitempty"`
	Behind  int           `json:"behind,omitempty"`
	Source  string        `json:"source,omitempty"`
	Request string        `json:"request,omitempty"`
}

// Difference is a field or a number of objects that differs from the run without faults.
type Difference struct {
	Object string `json:"object"`
	Field  string `json:"field,omitempty"`
	Want   string `json:"want"`
	Got    string `json:"got"`
}

// SimOptions are the parameters of [Run].
type SimOptions struct {
	Options
	// Main is the main package of the program, such as ./cmd. Empty means the only one that runs an operator.
	Main string
	// Args replaces the arguments of the container in the Deployment, unless it is nil.
	Args []string
	// Debug runs the program in the debugger dlv, which uses the standard input and output. It requires Replay.
	Debug bool
}

// Run simulates the operator of the project in dir and returns the report. It prints steps to progress, and calls plans
// with the number of completed and planned plans. With opts.Debug, it returns nil if the user has ended the debugger
// before the end of the plan.
func Run(
	ctx context.Context, dir string, opts SimOptions, progress controlplane.Progress, plans func(done, planned int),
) (*Report, error) {
	if opts.Debug {
		if err := checkDebugger(); err != nil {
			return nil, err
		}
	}
	p, err := readProject(ctx, dir, opts)
	if err != nil {
		return nil, err
	}
	source, err := controlplane.Source(ctx)
	if err != nil {
		return nil, err
	}
	work, release, err := lockWorkDir(ctx, dir, progress.Step)
	if err != nil {
		return nil, err
	}
	defer release()
	progress.Step("compiling the operator with an API server and the simulator; the first time takes about a minute")
	program, err := p.build(ctx, progress, source, work, opts.Debug)
	if err != nil {
		return nil, err
	}
	return p.execute(ctx, program, work, request{Options: opts.Options, Debug: opts.Debug}, plans)
}

// execute runs the program and reads its report.
func (p *project) execute(
	ctx context.Context, program, work string, asked request, progress func(done, planned int),
) (*Report, error) {
	output := filepath.Join(work, "report.json")
	if err := os.RemoveAll(output); err != nil {
		return nil, err
	}
	asked.Objects, asked.Samples, asked.Webhooks = p.objects, p.samples, p.webhooks
	asked.User, asked.Namespace, asked.Sources, asked.Output = p.user, p.namespace, p.module+"/", output
	asked.Args, asked.Env = p.args, p.env
	data, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	input := filepath.Join(work, "request.json")
	if err := os.WriteFile(input, data, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it stops the processes it started
	cmd.WaitDelay = 10 * time.Second
	if asked.Command != nil && asked.Command.Kubeconfig != "" {
		cmd.WaitDelay = time.Minute // the program deletes the objects that it has created
	}
	cmd.Dir = p.dir
	// If the hook does not run, the program is an ordinary operator, which must not find an API server.
	cmd.Env = append(
		os.Environ(),
		"KCTRL_SIMULATION="+input,
		"KUBECONFIG="+filepath.Join(work, "none"),
		"KUBERNETES_SERVICE_HOST=",
	)
	if asked.Debug {
		return p.debug(cmd, work, output)
	}
	printed := &messages{progress: progress}
	cmd.Stdout, cmd.Stderr = io.Discard, printed
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, crashed(err, printed.reason())
	}
	if data, err = os.ReadFile(output); err != nil {
		return nil, crashed(err, printed.reason())
	}
	return readReport(data, asked.Command != nil)
}

// readReport returns the report in data, or its error.
func readReport(data []byte, isCommand bool) (*Report, error) {
	report := &Report{}
	if err := json.Unmarshal(data, report); err != nil {
		return nil, err
	}
	if report.Error != "" && isCommand {
		return report, &diagnostic.Error{
			Message: "the plans cannot run: " + report.Error,
			Hint:    "run the program with the kubeconfig of kctrl env up, and read what it prints",
		}
	}
	if report.Error != "" {
		return report, &diagnostic.Error{
			Message: "the operator cannot be simulated: " + report.Error,
			Hint:    "run it on kctrl env up --in-memory, and see its log",
		}
	}
	if report.Failures == nil {
		report.Failures = []Failure{} // an empty list in JSON
	}
	return report, nil
}

// crashed returns the error for a program that ended without a report. reason may be empty.
func crashed(err error, reason string) error {
	return &diagnostic.Error{
		Message: "the simulated program ended: " + cmp.Or(reason, err.Error()),
		Hint:    "a panic outside of Reconcile and os.Exit end the process",
		Cause:   err,
	}
}
